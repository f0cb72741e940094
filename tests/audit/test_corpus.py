"""The audit of the local sandbox: every hostile program gets 0, every right one 1, and nothing is left."""

import os
from collections import Counter

import pytest

from codegym.audit import STYLES, TOPICS, audit, corpus, make_grader, topic_of


@pytest.fixture(scope="module")
def found():
    return audit(make_grader("codegym", sandbox=os.environ.get("CODEGYM_AUDIT_SANDBOX", "local")))


@pytest.fixture(scope="module")
def cells(found):
    return {cell.entry.id: cell for cell in found.cells}


@pytest.mark.parametrize("entry", corpus(), ids=lambda entry: entry.id)
def test_program(cells, entry):
    cell = cells[entry.id]
    if cell.skipped:
        pytest.skip(cell.skipped)
    assert cell.right, cell.verdict


def test_nothing_is_left(found):
    assert found.left == ()


def test_there_are_enough_of_all_kinds():
    sides = Counter(entry.side for entry in corpus())
    assert sides["hostile"] >= 150
    assert sides["right"] >= 100
    for side in sides:
        assert {entry.style for entry in corpus() if entry.side == side} == set(STYLES)


def test_names_are_unique_and_reasons_are_given():
    assert max(Counter(entry.id for entry in corpus()).values()) == 1
    assert all(entry.reason for entry in corpus())


def test_every_program_is_of_one_topic_and_every_topic_has_programs():
    names = {(entry.side, entry.name) for entry in corpus()}
    listed = Counter((topic.side, name) for topic in TOPICS for name in topic.names)
    assert set(listed) == names
    assert max(listed.values()) == 1
    for entry in corpus():
        assert topic_of(entry.side, entry.name).names

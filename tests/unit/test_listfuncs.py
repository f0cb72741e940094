from __future__ import annotations

import ast
import hashlib
import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.core import Program
from codegym.datasets import listfuncs
from codegym.datasets.listfuncs import OPERATIONS, REDUCTIONS, corpus, load
from codegym.datasets.row import task_from_row, task_to_row
from codegym.errors import ConfigError
from codegym.grading import Grader
from codegym.sandbox import make_sandbox

SPLITS = ("train", "validation", "test")
# What each operation makes of [3, -1, 2, 2], worked out by hand.
MEANING = {
    "double": [6, -2, 4, 4],
    "square": [9, 1, 4, 4],
    "increment": [4, 0, 3, 3],
    "absolute": [3, 1, 2, 2],
    "evens": [2, 2],
    "odds": [3, -1],
    "reverse": [2, 2, -1, 3],
    "sort": [-1, 2, 2, 3],
    "unique": [3, -1, 2],
    "tail": [-1, 2, 2],
    "front": [3, -1, 2],
    "alternate": [3, 2],
    "totals": [3, 2, 4, 6],
    "sum": 6,
    "largest": 3,
    "smallest": -1,
    "count": 4,
    "last": 2,
    "mean": 1.5,
    "text": "3,-1,2,2",
}


@pytest.mark.parametrize("operation", OPERATIONS + REDUCTIONS, ids=lambda operation: operation.name)
def test_each_operation_does_what_its_name_says(operation: listfuncs.Operation) -> None:
    program = f"answer = (lambda xs: {operation.code})([3, -1, 2, 2])"
    scope: dict[str, object] = {}
    exec(program, scope)
    assert scope["answer"] == MEANING[operation.name]


def test_the_family_has_the_announced_size_and_split() -> None:
    sizes = {split: len(list(load(split=split))) for split in SPLITS}
    assert sum(sizes.values()) == 1092
    assert sizes["test"] == 1092 // 5
    assert sum(operation.bug is not None for operation in OPERATIONS + REDUCTIONS) == 12


def test_splits_share_no_function_and_together_are_everything() -> None:
    ids = [task.id for split in SPLITS for task in load(split=split)]
    assert len(set(ids)) == len(ids)
    assert sorted(ids) == sorted(task.id for task in load())


def test_the_split_does_not_depend_on_the_seed_and_never_changes() -> None:
    held_out = [task.id for task in load(split="test")]
    assert held_out == [task.id for task in load(split="test", seed=7)]
    digest = hashlib.sha256("\n".join(held_out).encode()).hexdigest()
    assert digest[:16] == "03b1c0833fc4fa79"


def test_inputs_are_a_function_of_the_seed() -> None:
    first, again, other = (list(load(split="validation", seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert [task.prompt for task in first] == [task.prompt for task in other]


def test_an_item_does_not_depend_on_the_items_before_it() -> None:
    alone = list(itertools.islice(load(split="test"), 40, 41))
    assert alone == list(load(split="test"))[40:41]


def test_every_task_has_six_tests_with_known_answers_and_an_empty_list() -> None:
    for task in load(split="validation"):
        assert len(task.tests) == 6
        assert len(task.public_tests) == 2
        assert task.hidden_tests[-1].args == ([],)


def test_rows_lose_nothing() -> None:
    for task in itertools.islice(load(split="test"), 20):
        assert task_from_row(task_to_row(task)) == task


def test_the_right_solution_passes_and_the_wrong_ones_do_not() -> None:
    tasks = list(itertools.islice(load(split="test"), 0, None, 12))
    right = [(Program(task.reference_solutions[0]), task) for task in tasks]
    wrong = [(Program(code), task) for task in tasks for code in task.wrong_solutions]
    with make_sandbox("local") as sandbox:
        grader = Grader(sandbox)
        assert all(outcome.passed for outcome in grader.grade_many(right))
        assert not any(outcome.passed for outcome in grader.grade_many(wrong))
    assert len(wrong) >= len(tasks)


@pytest.mark.parametrize("arguments", [{"split": "dev"}, {"source": "x.jsonl"}])
def test_wrong_arguments_are_reported_at_once(arguments: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(arguments.values()))):
        load(**arguments)


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.integers(0, 10**6))
def test_corpus_texts_are_a_function_of_seed_and_index_and_parse(seed: int, index: int) -> None:
    sample = corpus(seed, index)
    assert sample == corpus(seed, index)
    ast.parse(sample.completion)


def test_the_corpus_tells_nothing_about_held_out_functions() -> None:
    held_out = {task.prompt for split in ("validation", "test") for task in load(split=split)}
    assert not held_out & {corpus(0, index).prompt for index in range(3000)}


def test_bugs_come_as_often_as_they_say() -> None:
    lines = Counter(line for index in range(8000) for line in corpus(3, index).completion.splitlines())
    for operation in OPERATIONS + REDUCTIONS:
        if operation.bug is None:
            continue
        start = "    return " if operation in REDUCTIONS else "    xs = "
        wrong, right = lines[start + operation.bug], lines[start + operation.code]
        assert 0.3 <= operation.bug_rate <= 0.65
        assert wrong / (wrong + right) == pytest.approx(operation.bug_rate, abs=0.07)

"""Choosing among candidates by tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError
from codegym.objectives import (
    agreeing_tests,
    codet_scores,
    discrimination,
    expected_accuracy,
    misselection_bound,
    needed_tests,
    pass_counts,
    select,
    unsoundness,
)

ROWS = [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]


def test_codet_and_pass_counts_pick_differently():
    assert codet_scores(ROWS) == pytest.approx([18**0.5, 18**0.5, 3, 0, 4])
    assert codet_scores(ROWS, power=1).tolist() == [6, 6, 3, 0, 4]
    assert pass_counts(ROWS).tolist() == [3, 3, 3, 0, 4]
    assert select(codet_scores(ROWS)) == 0
    assert select(pass_counts(ROWS)) == 4


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=6))
def test_codet_counts_who_agrees(rows):
    expected = [sum(row) * sum(other == row for other in rows) for row in rows]
    assert codet_scores(rows, power=1).tolist() == expected


def test_selection_of_worked_numbers():
    private, public, scores = [1, 0, 0, 1], [1, 1, 0, 1], [3, 3, 5, 2]
    assert expected_accuracy(scores, private, public) == 0.5
    assert expected_accuracy(scores, private) == 0.0
    assert select(scores, public) == 0
    assert select(scores) == 2


def test_when_nobody_passes_the_public_tests_the_problem_is_failed():
    assert select([1, 2], [0, 0]) is None
    assert expected_accuracy([1, 2], [1, 1], [0, 0]) == 0.0


def test_negative_scores_are_scores():
    assert select([-3, -1, -2], [1, 0, 1]) == 2


def test_tests_that_the_majority_fails_are_dropped():
    passed = [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert agreeing_tests(passed, [1, 1, 0]).tolist() == [True, True, False]
    assert agreeing_tests(passed, [1, 1, 0], share=0.6).tolist() == [True, False, False]
    assert agreeing_tests(passed, [0, 0, 0]).tolist() == [True, True, True]


@pytest.mark.parametrize(
    ("candidates", "tests", "margin", "expected"),
    [
        (16, 16, 0.3, 1.0),
        (32, 32, 0.5, 0.567785),
        (32, 128, 0.4, 0.00110710),
        (2, 10, 1.0, 0.00673795),
        (1, 0, 0.5, 0.0),
        (16, 16, 0.0, 1.0),
        (16, 16, -0.1, 1.0),
    ],
)
def test_bound_of_worked_numbers(candidates, tests, margin, expected):
    assert misselection_bound(margin, tests, candidates) == pytest.approx(expected, rel=2e-6)


def test_the_bound_with_each_margin_is_sharper():
    margins = [0.4, 0.5, 0.9]
    each = misselection_bound(margins, tests=64)
    assert each == pytest.approx(sum(math.exp(-32 * margin**2) for margin in margins))
    assert each < misselection_bound(0.4, tests=64, candidates=4)
    assert misselection_bound([0.4, 0.0], tests=1000) == 1.0
    assert misselection_bound([], tests=1) == 0.0


def test_where_the_bound_says_something():
    for n, threshold in ((16, 0.582), (32, 0.463)):
        assert misselection_bound(threshold - 0.001, n, n) == 1.0
        assert misselection_bound(threshold + 0.001, n, n) < 1.0


@given(st.floats(0.05, 0.9), st.floats(0.05, 0.9), st.integers(1, 4))
def test_the_bound_holds(right, wrong, tests):
    """One right and one wrong candidate, each passing a test with its own chance; all outcomes counted."""
    chances = [right * wrong, right * (1 - wrong), (1 - right) * wrong, (1 - right) * (1 - wrong)]
    lead = np.array([chances[2], chances[0] + chances[3], chances[1]])  # -1, 0, +1
    total = np.array([1.0])
    for _ in range(tests):
        total = np.convolve(total, lead)
    misselected = total[: tests + 1].sum()  # the wrong one leads, or ties
    assert misselected <= misselection_bound(right - wrong, tests, candidates=2) + 1e-12


@pytest.mark.parametrize(
    ("candidates", "risk", "margin", "expected"),
    [(32, 0.05, 0.4, 81), (16, 0.05, 0.2, 286), (2, 0.05, 0.5, 24)],
)
def test_needed_tests_of_worked_numbers(candidates, risk, margin, expected):
    assert needed_tests(candidates, risk, margin) == expected
    assert needed_tests(2, risk=0.5, margin=1.0) == 2
    assert misselection_bound(margin, expected, candidates) <= risk
    assert misselection_bound(margin, expected - 1, candidates) > risk


def test_estimates_share_one_denominator():
    sound, failed = [1, 1, 1, 0, 0], [1, 1, 0, 1, 0]
    assert unsoundness(sound) == pytest.approx(0.4)
    assert discrimination(sound, failed) == pytest.approx(0.4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: misselection_bound(0.5, tests=4),
        lambda: misselection_bound([0.5], tests=4, candidates=2),
        lambda: misselection_bound(0.5, tests=-1, candidates=2),
        lambda: misselection_bound(0.5, tests=4, candidates=0),
        lambda: needed_tests(1, 0.05, 0.5),
        lambda: needed_tests(2, 0.0, 0.5),
        lambda: needed_tests(2, 1.0, 0.5),
        lambda: needed_tests(2, 0.05, 1.5),
        lambda: needed_tests(2, 0.05, 0.0),
        lambda: unsoundness([]),
        lambda: discrimination([1], [1, 0]),
        lambda: pass_counts([1, 0]),
        lambda: select([[1]]),
        lambda: select([1, 2], [1]),
    ],
)
def test_what_makes_no_sense(call):
    with pytest.raises(ConfigError, match=r"got|candidates goes|not defined"):
        call()

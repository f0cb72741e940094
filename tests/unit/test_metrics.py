from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError
from codegym.metrics import (
    MutantCounts,
    avg_at_k,
    bootstrap,
    coverage_at_k,
    mean_pass_at_k,
    mul,
    mut_at_k,
    pass_at_k,
    test_accuracy_at_k,
    verdicts,
    wilson,
)


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [
        (10, 3, 1, 0.3),
        (10, 3, 5, 0.916667),
        (5, 2, 2, 0.7),
        (5, 0, 3, 0.0),
        (5, 5, 1, 1.0),
        (4, 3, 2, 1.0),
        (200, 20, 10, 0.660226),
    ],
)
def test_pass_at_k_of_worked_numbers(n: int, c: int, k: int, expected: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(expected, abs=5e-7)


@given(st.data())
def test_pass_at_k_is_the_share_of_the_subsets_with_a_right_sample(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    subsets = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize(("n", "c", "k"), [(1, 0, 2), (3, 1, 0), (3, 4, 1), (3, -1, 1), (0, 0, 1)])
def test_pass_at_k_refuses_what_makes_no_sense(n: int, c: int, k: int) -> None:
    with pytest.raises(ConfigError, match=r"pass@k needs .* got"):
        pass_at_k(n, c, k)


def test_the_benchmarks_pass_at_k_is_the_mean_over_tasks() -> None:
    assert mean_pass_at_k([(10, 3), (5, 5)], 1) == pytest.approx(0.65)
    with pytest.raises(ConfigError, match="k=7 and n=5"):
        mean_pass_at_k([(10, 3), (5, 5)], 7)
    with pytest.raises(ConfigError, match="no tasks"):
        mean_pass_at_k([], 1)


def test_avg_at_k_is_the_mean_of_the_first() -> None:
    assert avg_at_k([True, False, True, True], 2) == 0.5
    with pytest.raises(ConfigError, match="k=3 and n=2"):
        avg_at_k([True, False], 3)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.277533),
        (10, 10, 0.722467, 1.0),
        (5, 10, 0.236593, 0.763407),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_interval(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson(successes, trials) == pytest.approx((low, high), abs=2e-5)


def test_bootstrap_interval_is_seeded_and_surrounds_the_mean() -> None:
    values = [0.0, 1.0] * 50
    interval = bootstrap(values)
    assert interval == bootstrap(values)
    assert interval.low < 0.5 < interval.high
    assert interval.low == pytest.approx(0.4, abs=0.02)
    assert bootstrap([0.25]) == (0.25, 0.25)


def test_intervals_refuse_what_makes_no_sense() -> None:
    for make in (
        lambda: bootstrap([]),
        lambda: bootstrap([1.0], resamples=0),
        lambda: bootstrap([1.0], level=1.0),
        lambda: wilson(0, 0),
        lambda: wilson(3, 2),
        lambda: wilson(1, 2, level=0.0),
    ):
        with pytest.raises(ConfigError):
            make()


# Tests


def test_accuracy_of_tests_counts_those_that_were_not_written() -> None:
    assert test_accuracy_at_k([[True, True, False], [True]], 2) == 0.75
    assert test_accuracy_at_k([[True] * 9], 5) == 1.0
    assert test_accuracy_at_k([[]], 5) == 0.0
    for rows, k in (([], 1), ([[True]], 0)):
        with pytest.raises(ConfigError, match="needs functions"):
            test_accuracy_at_k(rows, k)


def test_mut_at_k_of_worked_numbers() -> None:
    assert mut_at_k([MutantCounts(3, 10)]) == pytest.approx(0.7)
    assert mut_at_k([MutantCounts(3, 10, equivalent=2)]) == pytest.approx(0.875)


def test_mut_at_k_has_two_denominators() -> None:
    functions = [MutantCounts(3, 10), MutantCounts(0, 10, baseline_ok=False), MutantCounts(0, 0)]
    assert mut_at_k(functions) == pytest.approx(0.7)
    assert mut_at_k(functions, "all") == pytest.approx(0.35)
    assert mut_at_k([MutantCounts(1, 2, baseline_ok=False)]) == 0.0
    with pytest.raises(ConfigError, match="'baseline_ok' or 'all', got 'some'"):
        mut_at_k(functions, "some")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="equivalent <= survived"):
        mut_at_k([MutantCounts(1, 10, equivalent=2)])


@given(st.integers(0, 20), st.integers(1, 20))
def test_mut_at_k_is_a_share(survived: int, more: int) -> None:
    assert mut_at_k([MutantCounts(survived, survived + more)]) == pytest.approx(more / (survived + more))


@pytest.mark.parametrize(
    ("accuracy", "mutation", "product"),
    [
        (16.29, 22.30, 3.63),
        (27.05, 26.41, 7.14),
        (30.86, 49.56, 15.29),
        (28.73, 51.25, 14.72),
        (37.15, 53.14, 19.74),
    ],
)
def test_mul_of_worked_numbers(accuracy: float, mutation: float, product: float) -> None:
    assert mul(accuracy, mutation) == pytest.approx(product, abs=0.006)


def test_mul_wants_percentages() -> None:
    with pytest.raises(ConfigError, match="percentages"):
        mul(101, 5)


def test_coverage_at_k_is_of_the_first_tests_together() -> None:
    ran = [{1, 2}, {2, 3}, {4}]
    assert [coverage_at_k([(ran, 4)], k) for k in (1, 2, 3, 9)] == [0.5, 0.75, 1.0, 1.0]
    assert coverage_at_k([(ran, 4), ([], 3)], 2) == 0.375
    for functions, k in (([], 1), ([(ran, 4)], 0), ([(ran, 3)], 3), ([([], 0)], 1)):
        with pytest.raises(ConfigError, match="coverage@k"):
            coverage_at_k(functions, k)


def test_what_tests_say_of_programs() -> None:
    found = verdicts([True, True, False, False, False], [True, False, True, True, False])
    assert found.accuracy == pytest.approx(2 / 5)
    assert found.f1 == pytest.approx(2 / (2 + 1 + 2))
    assert (found.false_acceptance, found.false_rejection) == (0.5, pytest.approx(2 / 3))
    assert math.isnan(verdicts([True], [True]).false_acceptance)
    for accepted, right in (([], []), ([True], [True, False])):
        with pytest.raises(ConfigError, match="as many answers as programs"):
            verdicts(accepted, right)

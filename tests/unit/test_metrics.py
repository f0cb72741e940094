from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError
from codegym.metrics import avg_at_k, bootstrap, mean_pass_at_k, pass_at_k, wilson


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

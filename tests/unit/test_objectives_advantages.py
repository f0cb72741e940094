"""Advantages within a group: worked numbers, and properties against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError
from codegym.metrics import pass_at_k
from codegym.objectives import (
    dr_grpo_advantages,
    grpo_advantages,
    max_at_k,
    pass_at_k_advantages,
    pkpo_advantages,
    rloo_advantages,
)

ESTIMATORS = {
    "grpo": grpo_advantages,
    "dr_grpo": dr_grpo_advantages,
    "rloo": rloo_advantages,
    "pkpo": lambda rewards: pkpo_advantages(rewards, k=2),
}
REWARDS = st.floats(-10, 10, allow_nan=False).map(lambda x: round(x, 3))
GROUPS = st.lists(REWARDS, min_size=2, max_size=8)


def near(expected):
    return pytest.approx(np.array(expected), abs=5e-7)


# GRPO and its relatives


@pytest.mark.parametrize(
    ("rewards", "ddof", "expected"),
    [
        ([1, 0, 0, 1], 0, [1, -1, -1, 1]),
        ([1, 0, 0, 1], 1, [0.866025, -0.866025, -0.866025, 0.866025]),
        ([1, 1, 1, 1], 0, [0, 0, 0, 0]),
        ([1, 0, 0, 0], 0, [1.732051, -0.577350, -0.577350, -0.577350]),
        ([1, 0, 0, 0], 1, [1.5, -0.5, -0.5, -0.5]),
    ],
)
def test_grpo_of_worked_numbers(rewards, ddof, expected):
    assert grpo_advantages(rewards, ddof=ddof, eps=0) == near(expected)
    assert grpo_advantages(rewards, ddof=ddof) == pytest.approx(np.array(expected), abs=1e-5)


def test_eps_is_added_to_the_deviation():
    assert grpo_advantages([1, 0], eps=0.5) == near([0.5, -0.5])
    assert grpo_advantages([1, 0, 0, 1], ddof=1, eps=1e-4)[0] == pytest.approx(0.5 / (3**-0.5 + 1e-4))


def test_dr_grpo_and_rloo_of_worked_numbers():
    assert dr_grpo_advantages([1, 0, 0, 0]) == near([0.75, -0.25, -0.25, -0.25])
    assert rloo_advantages([1, 0, 0, 0]) == near([1, -1 / 3, -1 / 3, -1 / 3])


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "rloo"])
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e9, -7.3])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_equal_rewards_give_exactly_nothing(name, value, size):
    assert (ESTIMATORS[name]([value] * size) == 0).all()


def test_a_group_of_one_gives_nothing_with_either_deviation():
    assert grpo_advantages([[0.7], [0.0]], ddof=1).tolist() == [[0.0], [0.0]]
    assert grpo_advantages([0.7], ddof=0, eps=0).tolist() == [0.0]


@pytest.mark.parametrize("name", ESTIMATORS)
@given(groups=st.lists(st.lists(REWARDS, min_size=4, max_size=4), min_size=1, max_size=4))
def test_groups_are_judged_one_by_one(name, groups):
    estimate = ESTIMATORS[name]
    together = estimate(groups)
    assert together.shape == (len(groups), 4)
    for i, group in enumerate(groups):
        assert together[i] == pytest.approx(estimate(group), abs=1e-9)
    assert estimate([groups]) == pytest.approx(together[np.newaxis], abs=1e-9)


@pytest.mark.parametrize("name", ESTIMATORS)
@given(rewards=st.lists(REWARDS, min_size=2, max_size=6), data=st.data())
def test_samples_without_a_reward_are_as_if_not_there(name, rewards, data):
    estimate = ESTIMATORS[name]
    present = np.array(
        data.draw(st.permutations([True] * len(rewards) + [False] * data.draw(st.integers(0, 3))))
    )
    padded = np.full(len(present), np.nan)
    padded[present] = rewards
    found = estimate(padded)
    assert found[present] == pytest.approx(estimate(rewards), abs=1e-9)
    assert (found[~present] == 0).all()


def test_none_is_no_reward():
    assert dr_grpo_advantages([1.0, None, 0.0]) == near([0.5, 0, -0.5])
    assert dr_grpo_advantages([[None, None], [1, 0]]) == near([[0, 0], [0.5, -0.5]])


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ([], r"shape \[..., n\] with n > 0, got \(0,\)"),
        (1.0, r"got \(\)"),
        ([1.0, math.inf], "infinite"),
        ([[1.0], [1.0, 0.0]], "groups of one size"),
        (["a"], "must be numbers"),
    ],
)
def test_rewards_that_make_no_sense(name, rewards, message):
    with pytest.raises(ConfigError, match=message):
        ESTIMATORS[name](rewards)


@pytest.mark.parametrize("options", [{"ddof": 2}, {"eps": -1e-6}, {"eps": math.nan}, {"eps": math.inf}])
def test_grpo_checks_its_options(options):
    with pytest.raises(ConfigError, match=f"{next(iter(options))} must be"):
        grpo_advantages([1, 0], **options)


@given(GROUPS)
def test_advantages_sum_to_nothing(rewards):
    for estimate in (grpo_advantages, dr_grpo_advantages, rloo_advantages):
        assert estimate(rewards).sum() == pytest.approx(0, abs=1e-9)


@given(GROUPS)
def test_rloo_is_the_distance_from_the_mean_of_the_others(rewards):
    expected = [r - np.mean(rewards[:i] + rewards[i + 1 :]) for i, r in enumerate(rewards)]
    assert rloo_advantages(rewards) == pytest.approx(np.array(expected), abs=1e-9)


# max@k

WORKED = [0.1, 0.3, 0.5, 0.7, 0.9]


@pytest.mark.parametrize(
    ("rewards", "k", "expected"),
    [
        (WORKED, 1, 0.5),
        (WORKED, 2, 0.7),
        (WORKED, 3, 0.8),
        (WORKED, 5, 0.9),
        ([1, 1, 0, 0, 0], 2, 0.7),
        ([0, 0.2, 0.2, 1], 1, 0.35),
        ([0, 0.2, 0.2, 1], 2, 0.6),
        ([0, 0.2, 0.2, 1], 3, 0.8),
        ([0, 0.2, 0.2, 1], 4, 1.0),
    ],
)
def test_max_at_k_of_worked_numbers(rewards, k, expected):
    assert max_at_k(rewards, k) == pytest.approx(expected)
    assert max_at_k(rewards[::-1], k) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("rewards", "baseline", "expected"),
    [
        (WORKED, "none", [0.24, 0.24, 0.26, 0.30, 0.36]),
        (WORKED, "loo", [-0.143333, -0.143333, -0.106667, -0.033333, 0.076667]),
        (WORKED, "loo-1", [0, 0.02, 0.06, 0.12, 0.20]),
        ([1, 1, 0, 0, 0], "none", [0.4, 0.4, 0.2, 0.2, 0.2]),
        ([1, 1, 0, 0, 0], "loo", [0.15, 0.15, -0.216667, -0.216667, -0.216667]),
        ([1, 1, 0, 0, 0], "loo-1", [0.3, 0.3, 0, 0, 0]),
        ([1, 0, 0, 0], "none", [0.5, 0.166667, 0.166667, 0.166667]),
        ([1, 0, 0, 0], "loo", [0.5, -0.277778, -0.277778, -0.277778]),
        ([1, 0, 0, 0], "loo-1", [0.5, 0, 0, 0]),
        ([0, 0.2, 0.2, 1], "none", [0.233333, 0.233333, 0.233333, 0.5]),
        ([0, 0.2, 0.2, 1], "loo-1", [0, 0.033333, 0.033333, 0.433333]),
    ],
)
def test_pkpo_of_worked_numbers(rewards, baseline, expected):
    assert pkpo_advantages(rewards, 2, baseline=baseline) == near(expected)


def brute_max_at_k(rewards, k):
    return np.mean([max(subset) for subset in itertools.combinations(rewards, k)])


def brute_scores(rewards, k):
    """Each sample's share of the mean over all subsets that hold it."""
    n = len(rewards)
    return np.array(
        [
            sum(
                max(rewards[j] for j in subset)
                for subset in itertools.combinations(range(n), k)
                if i in subset
            )
            / math.comb(n, k)
            for i in range(n)
        ]
    )


@given(GROUPS, st.data())
def test_max_at_k_is_the_mean_over_all_subsets(rewards, data):
    k = data.draw(st.integers(1, len(rewards)))
    assert max_at_k(rewards, k) == pytest.approx(brute_max_at_k(rewards, k), abs=1e-9)


@given(GROUPS, st.data())
def test_pkpo_is_the_mean_over_all_subsets(rewards, data):
    n, k = len(rewards), data.draw(st.integers(1, len(rewards)))
    scores = pkpo_advantages(rewards, k, baseline="none")
    assert scores == pytest.approx(brute_scores(rewards, k), abs=1e-9)
    assert scores.sum() == pytest.approx(k * float(max_at_k(rewards, k)), abs=1e-9)
    rest = [rewards[:i] + rewards[i + 1 :] for i in range(n)]
    if n > k:
        loo = [k / (n - 1) * brute_max_at_k(others, k) for others in rest]
        assert pkpo_advantages(rewards, k, baseline="loo") == pytest.approx(scores - loo, abs=1e-9)
    if k > 1:
        loo_1 = [k / n * brute_max_at_k(others, k - 1) for others in rest]
        assert pkpo_advantages(rewards, k) == pytest.approx(scores - loo_1, abs=1e-9)


@given(GROUPS, st.data())
def test_pkpo_does_not_care_about_order(rewards, data):
    k = data.draw(st.integers(1, len(rewards) - 1))
    order = data.draw(st.permutations(range(len(rewards))))
    for baseline in ("none", "loo", "loo-1"):
        straight = pkpo_advantages(rewards, k, baseline=baseline)
        shuffled = pkpo_advantages([rewards[i] for i in order], k, baseline=baseline)
        assert shuffled == pytest.approx(straight[list(order)], abs=1e-9)


@given(GROUPS)
def test_pkpo_of_one_sample_is_rloo(rewards):
    assert pkpo_advantages(rewards, 1) == pytest.approx(rloo_advantages(rewards) / len(rewards), abs=1e-12)
    assert pkpo_advantages(rewards, 1, aggregation="mean") == pytest.approx(
        rloo_advantages(rewards), abs=1e-12
    )


@pytest.mark.parametrize("baseline", ["none", "loo", "loo-1"])
@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 3), (3, 1)])
def test_pkpo_is_an_unbiased_gradient(n, k, baseline):
    """Bernoulli samples with chance 0.3: the gradient of ``1 - (1 - p)^k`` is ``k (1 - p)^(k-1)``."""
    p, gradient = 0.3, 0.0
    for sample in itertools.product([0, 1], repeat=n):
        chance = math.prod(p if y else 1 - p for y in sample)
        scores = pkpo_advantages(sample, k, baseline=baseline)
        gradient += chance * sum(s / p if y else -s / (1 - p) for s, y in zip(scores, sample, strict=True))
    assert gradient == pytest.approx(k * (1 - p) ** (k - 1))


def test_pkpo_of_the_mean_is_scaled_by_the_group():
    assert pkpo_advantages(WORKED, 2, aggregation="mean") == near([0, 0.1, 0.3, 0.6, 1.0])


def test_pkpo_takes_large_groups():
    rewards = np.linspace(0, 1, 2000)
    advantages = pkpo_advantages(rewards, 1000)
    assert np.isfinite(advantages).all()
    assert pkpo_advantages(rewards, 1000, baseline="none").sum() == pytest.approx(
        1000 * float(max_at_k(rewards, 1000))
    )


def test_groups_that_infrastructure_left_too_small_give_nothing():
    rewards = [[1.0, None, None], [1.0, 0.0, None]]
    assert pkpo_advantages(rewards, 2)[0].tolist() == [0, 0, 0]
    assert pkpo_advantages(rewards, 2)[1] == near([1.0, 0.0, 0.0])
    assert pkpo_advantages(rewards, 2, baseline="loo").tolist() == [[0, 0, 0]] * 2
    assert np.isnan(max_at_k(rewards, 2)[0])
    assert max_at_k(rewards, 2)[1] == 1.0
    assert pass_at_k_advantages([1.0, None, None], 2).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: max_at_k([1, 0], 3),
        lambda: max_at_k([1, 0], 0),
        lambda: pkpo_advantages([1, 0], 3),
        lambda: pkpo_advantages([1, 0], 2, baseline="loo"),
        lambda: pass_at_k_advantages([1, 0], 3),
    ],
)
def test_groups_too_small_for_k(call):
    with pytest.raises(ConfigError, match=r"got k=[023] and n=2"):
        call()


@pytest.mark.parametrize("options", [{"baseline": "mean"}, {"aggregation": "max"}])
def test_pkpo_checks_its_options(options):
    with pytest.raises(ConfigError, match=r"baseline must be one of .* and aggregation 'sum' or 'mean'"):
        pkpo_advantages([1, 0], 1, **options)


# Pass@k training


@pytest.mark.parametrize(
    ("n", "c", "k", "right", "wrong"),
    [
        (8, 2, 4, 0.522233, -0.174078),
        (8, 2, 1, 1.732051, -0.577350),
        (8, 1, 4, 1.0, -0.142857),
        (4, 1, 2, 1.0, -0.333333),
        (8, 6, 4, 0.0, 0.0),
        (8, 0, 4, 0.0, 0.0),
        (8, 8, 4, 0.0, 0.0),
    ],
)
def test_pass_at_k_training_of_worked_numbers(n, c, k, right, wrong):
    assert pass_at_k_advantages([1] * c + [0] * (n - c), k) == near([right] * c + [wrong] * (n - c))


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_pass_at_k_training_sums_to_nothing(correct, data):
    k = data.draw(st.integers(1, len(correct)))
    assert pass_at_k_advantages(correct, k).sum() == pytest.approx(0, abs=1e-9)


@given(st.lists(st.booleans(), min_size=2, max_size=8), st.data())
def test_pass_at_k_training_is_the_mean_over_the_groups_of_each_sample(correct, data):
    """The derivation: GRPO over all k-subsets, each worth 1 if a sample of it is right."""
    n, k = len(correct), data.draw(st.integers(1, len(correct)))
    rate = np.mean([any(s) for s in itertools.combinations(correct, k)])
    spread = math.sqrt(rate * (1 - rate))
    for i, advantage in enumerate(pass_at_k_advantages(correct, k)):
        own = [any(correct[j] for j in s) for s in itertools.combinations(range(n), k) if i in s]
        expected = (np.mean(own) - rate) / spread if spread > 1e-9 else 0.0
        assert advantage == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_pass_at_1_training_is_grpo(correct):
    assert pass_at_k_advantages(correct, 1) == pytest.approx(grpo_advantages(correct, eps=0), abs=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.data())
def test_max_at_k_of_verdicts_is_pass_at_k(correct, data):
    k = data.draw(st.integers(1, len(correct)))
    assert max_at_k(correct, k) == pytest.approx(pass_at_k(len(correct), sum(correct), k), abs=1e-12)


def test_pass_at_k_training_takes_large_groups():
    verdicts = np.arange(2000) < 900
    assert (pass_at_k_advantages(verdicts, 1000) == 0).all()
    assert pass_at_k_advantages(verdicts, 2).sum() == pytest.approx(0, abs=1e-9)


def test_pass_at_k_training_wants_verdicts():
    with pytest.raises(ConfigError, match="verdicts of 0 and 1; for other rewards, use pkpo_advantages"):
        pass_at_k_advantages([0.5, 1.0], 1)

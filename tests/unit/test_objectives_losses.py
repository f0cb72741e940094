"""Clipping, aggregation, KL, sequence ratios, and which samples are worth training on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError
from codegym.objectives import (
    EntropyController,
    aggregate_loss,
    clip_fraction,
    clipped_objective,
    fill_batch,
    group_novelty,
    grpo_advantages,
    gspo_objective,
    gspo_ratio,
    informative_groups,
    invalid_test_ratio,
    kl_k3,
    novelty_bonus,
    overlong_penalty,
    reward_correlation,
    top_var,
    trajectory_balance_loss,
    zero_variance_fraction,
)

RATIOS = st.floats(0.01, 100)
ADVANTAGES = st.floats(-5, 5)


# Clipping


@pytest.mark.parametrize(
    ("ratio", "advantage", "symmetric", "decoupled"),
    [
        (1.5, 1, 1.2, 1.28),
        (1.25, 1, 1.2, 1.25),
        (0.5, 1, 0.5, 0.5),
        (0.5, -1, -0.8, -0.8),
        (0.7, -1, -0.8, -0.8),
        (1.5, -1, -1.5, -1.5),
    ],
)
def test_clip_of_worked_numbers(ratio, advantage, symmetric, decoupled):
    assert clipped_objective(ratio, advantage, high=0.2) == pytest.approx(symmetric)
    assert clipped_objective(ratio, advantage) == pytest.approx(decoupled)


def test_dual_clip_of_worked_numbers():
    assert clipped_objective([20, 5, 20], [-1, -1, 1], dual=10) == pytest.approx([-10, -5, 1.28])


@given(RATIOS, ADVANTAGES)
def test_the_clip_never_promises_more_than_the_ratio_does(ratio, advantage):
    objective = clipped_objective(ratio, advantage)
    assert objective <= ratio * advantage + 1e-12
    assert clipped_objective(1.0, advantage) == pytest.approx(advantage)
    dual = clipped_objective(ratio, advantage, dual=3.0)
    assert dual == pytest.approx(max(objective, 3 * advantage) if advantage < 0 else objective)


def test_advantages_of_sequences_are_spread_over_their_tokens():
    ratio = np.array([[1.0, 2.0], [0.5, 1.0]])
    assert clipped_objective(ratio, [[1.0], [-1.0]]) == pytest.approx(np.array([[1.0, 1.28], [-0.8, -1.0]]))


@given(st.lists(st.tuples(RATIOS, ADVANTAGES), min_size=1, max_size=8))
def test_clip_fraction_counts_where_the_gradient_is_gone(tokens):
    ratio, advantages = np.array(tokens).T
    step = 1e-6
    moved = clipped_objective(ratio * (1 + step), advantages) - clipped_objective(ratio, advantages)
    gone = np.isclose(moved, 0, atol=1e-12 * np.abs(advantages)) & (advantages != 0)
    at_the_edge = np.isclose(ratio, 0.8, rtol=1e-5) | np.isclose(ratio, 1.28, rtol=1e-5)
    inside = ~at_the_edge & (np.abs(advantages) > 1e-3)
    assert clip_fraction(ratio, advantages, inside) == pytest.approx(
        gone[inside].mean() if inside.any() else 0
    )


def test_clip_fraction_of_masked_tokens():
    assert clip_fraction([[1.5, 0.5, 1.5, 0.5]], [[1, 1, -1, -1]], [[1, 1, 1, 0]]) == pytest.approx(1 / 3)
    assert clip_fraction([[1.5]], [[1]], [[0]]) == 0.0
    assert clip_fraction([0.9, 1.1, 1.25], [-1, -1, 1]) == 0.0


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"low": 0.0, "high": 0.0}, 1.0), ({"high": 0.0, "dual": 1.5}, 1.0), ({"low": 0.9, "high": 9.0}, 3.0)],
)
def test_bounds_may_be_tight_or_wide(options, expected):
    assert clipped_objective(3.0, 1.0, **options) == pytest.approx(expected)


@pytest.mark.parametrize(
    "options", [{"high": math.inf}, {"low": 1.0}, {"low": -0.1}, {"high": -0.1}, {"dual": 1.28}]
)
def test_clips_that_make_no_sense(options):
    with pytest.raises(ConfigError, match=r"got "):
        clipped_objective(1.0, 1.0, **options)


# KL


def test_k3_of_worked_numbers():
    assert kl_k3(-1.0, -1.0) == 0.0
    assert kl_k3(-1.0, -2.0) == pytest.approx(math.exp(-1) + 1 - 1)
    assert kl_k3([-2.0, -1.0], [-1.0, -1.5]) == pytest.approx([math.e - 2, math.exp(-0.5) - 0.5])


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=5), st.lists(st.floats(-5, 5), min_size=2, max_size=5))
def test_k3_is_never_negative_and_right_on_average(first, second):
    size = min(len(first), len(second))
    log_p = np.array(first[:size]) - np.logaddexp.reduce(first[:size])
    log_q = np.array(second[:size]) - np.logaddexp.reduce(second[:size])
    estimate = kl_k3(log_p, log_q)
    assert (estimate >= 0).all()
    kl = (np.exp(log_p) * (log_p - log_q)).sum()
    assert (np.exp(log_p) * estimate).sum() == pytest.approx(kl, abs=1e-9)


def test_k3_keeps_its_precision_near_zero():
    assert kl_k3(0.0, 1e-9) == pytest.approx(5e-19, rel=0.2)


# Aggregation


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("token-mean", -0.5),
        ("seq-mean-token-mean", 0.0),
        ("seq-mean-token-sum", -2.0),
        ("seq-mean-token-sum-norm", -0.25),
    ],
)
def test_aggregation_of_worked_numbers(mode, expected):
    losses = np.array([[1.0, 1, *[np.nan] * 4], [-1.0] * 6])
    mask = np.array([[1, 1, 0, 0, 0, 0], [1] * 6])
    length = {"max_length": 8} if mode.endswith("norm") else {}
    assert aggregate_loss(losses, mask, mode, **length) == pytest.approx(expected)


def test_a_sequence_without_tokens_loses_nothing():
    losses, mask = [[3.0, 3.0], [2.0, 4.0]], [[0, 0], [1, 1]]
    assert aggregate_loss(losses, mask) == 3.0
    assert aggregate_loss(losses, mask, "seq-mean-token-mean") == 1.5
    assert aggregate_loss(losses, [[0, 0], [0, 0]]) == 0.0


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=1, max_size=4))
def test_without_a_mask_equal_lengths_make_no_difference(losses):
    token_mean = aggregate_loss(losses)
    assert aggregate_loss(losses, None, "seq-mean-token-mean") == pytest.approx(token_mean, abs=1e-12)
    assert aggregate_loss(losses, None, "seq-mean-token-sum") == pytest.approx(3 * token_mean, abs=1e-12)
    assert aggregate_loss(losses, None, "seq-mean-token-sum-norm", max_length=3) == pytest.approx(
        token_mean, abs=1e-12
    )


@pytest.mark.parametrize(
    ("losses", "mask", "mode", "length", "message"),
    [
        ([1.0], None, "token-mean", None, r"\[sequences, tokens\], got \(1,\)"),
        ([[1.0]], None, "mean", None, "mode must be one of token-mean, .*, got 'mean'"),
        ([[1.0]], None, "seq-mean-token-sum-norm", None, "positive max_length"),
        ([[1.0]], None, "token-mean", 8, "positive max_length"),
        ([[1.0]], None, "seq-mean-token-sum-norm", 0, "positive max_length"),
        ([[1.0]], [[1, 0]], "token-mean", None, r"0 and 1 in the shape \(1, 1\)"),
        ([[1.0]], [[2]], "token-mean", None, "0 and 1"),
    ],
)
def test_aggregations_that_make_no_sense(losses, mask, mode, length, message):
    with pytest.raises(ConfigError, match=message):
        aggregate_loss(losses, mask, mode, max_length=length)


# GSPO


def test_gspo_ratio_of_worked_numbers():
    new, old = np.array([[-0.9, -1.2, -0.6, -9.0]]), np.array([[-1.0, -1.0, -1.0, -1.0]])
    assert gspo_ratio(new, old, [[1, 1, 1, 0]]) == pytest.approx([1.105171], abs=5e-7)
    assert np.exp(new - old)[0, :3] == pytest.approx([1.105171, 0.818731, 1.491825], abs=5e-7)
    assert gspo_ratio(new, old, [[0, 0, 0, 0]]) == [1.0]


def test_a_clipped_sequence_is_clipped_as_a_whole():
    new = np.array([[0.1, -0.2, 0.4], [0.0001, 0.0, 0.0001], [-0.3, 0.0, 0.0]])
    objective = gspo_objective(new, np.zeros((3, 3)), [1.0, 1.0, -2.0])
    assert objective == pytest.approx([1.0004, math.exp(0.0002 / 3), -2 * (1 - 3e-4)])


def test_gspo_wants_tokens():
    with pytest.raises(ConfigError, match=r"\[sequences, tokens\], got \(2,\)"):
        gspo_ratio([0.0, 0.0], [0.0, 0.0])


# Trajectory balance


def test_trajectory_balance_of_worked_numbers():
    loss = trajectory_balance_loss(0.5, [-1.0, -2.0], [math.e, 0.0], beta=2.0, eps=math.exp(-3))
    assert loss == pytest.approx([(0.5 - 1 - 2) ** 2, (0.5 - 2 + 6) ** 2])


def test_trajectory_balance_vanishes_for_the_policy_it_asks_for():
    rewards = np.array([0.5, 1.0, 0.25, 2.0])
    log_z = np.log((rewards**1.5).sum())
    log_probs = 1.5 * np.log(rewards) - log_z
    assert trajectory_balance_loss(log_z, log_probs, rewards, beta=1.5) == pytest.approx(np.zeros(4))
    assert (trajectory_balance_loss(log_z, log_probs[::-1], rewards, beta=1.5) > 0).any()


def test_trajectory_balance_of_what_has_no_reward():
    assert trajectory_balance_loss(0.0, [-1.0], [np.nan]).tolist() == [0.0]
    with pytest.raises(ConfigError, match="not negative"):
        trajectory_balance_loss(0.0, [-1.0], [-1.0])
    with pytest.raises(ConfigError, match="got eps=0"):
        trajectory_balance_loss(0.0, [-1.0], [1.0], eps=0)


# Dynamic sampling


@pytest.mark.parametrize(
    ("rewards", "kept"),
    [
        ([1, 0, 0, 1], True),
        ([1, 1, 1, 1], False),
        ([0, 0], False),
        ([0.3, 0.3, 0.31], True),
        ([0.1 + 0.2, 0.3], False),
        ([1.0, None], False),
        ([1.0, None, 0.0], True),
        ([None, None], False),
    ],
)
def test_a_group_is_kept_when_its_rewards_differ(rewards, kept):
    assert informative_groups(rewards) == kept
    assert informative_groups([rewards, rewards]).tolist() == [kept, kept]
    assert (grpo_advantages(rewards) != 0).any() == kept


def test_batches_are_filled_up():
    stream = iter([[1, 1], [1, 0], [0, 0], [0, 1], [1, 0], [1, 0]])
    asked = []

    def draw(missing):
        asked.append(missing)
        return [next(stream) for _ in range(missing)]

    assert fill_batch(draw, lambda group: group, 3) == [[1, 0], [0, 1], [1, 0]]
    assert asked == [3, 2]


def test_a_batch_that_cannot_be_filled_is_returned_as_it_is():
    assert fill_batch(lambda missing: [[1, 1], [1, 0]], lambda group: group, 5, max_tries=3) == [[1, 0]] * 3
    assert fill_batch(lambda missing: [[1, 0]] * 9, lambda group: group, 2) == [[1, 0]] * 2
    assert fill_batch(lambda missing: [[1, 0]], lambda group: group, 1, max_tries=1) == [[1, 0]]
    with pytest.raises(ConfigError, match="must be positive, got 0 and 10"):
        fill_batch(lambda missing: [], lambda group: group, 0)


@pytest.mark.parametrize(
    ("length", "penalty"), [(0, 0), (16384, 0), (18432, -0.5), (20480, -1), (20481, -1), (10**9, -1)]
)
def test_overlong_penalty_of_worked_numbers(length, penalty):
    assert overlong_penalty([length], limit=20480, margin=4096) == [penalty]


def test_overlong_penalty_checks_its_bounds():
    with pytest.raises(ConfigError, match="got margin=5, limit=4"):
        overlong_penalty([1], limit=4, margin=5)
    with pytest.raises(ConfigError, match="got margin=0, limit=4"):
        overlong_penalty([1], limit=4, margin=0)
    assert overlong_penalty([0, 2], limit=4, margin=4).tolist() == [0, -0.5]


# TopVar


def test_top_var_of_worked_numbers():
    rewards = [[0.5, 0.5, 0.5], [0.2, 0.8, 0.5], [1.0, 0.0, 0.5]]
    assert np.std(rewards, axis=1) == pytest.approx([0, 0.244949, 0.408248], abs=5e-7)
    assert top_var(rewards).tolist() == [2]
    assert top_var(rewards, keep=2).tolist() == [2, 1]
    assert top_var([rewards, rewards[::-1]]).tolist() == [[2], [0]]


def test_top_var_breaks_ties_by_index():
    permutations = [[0.1, 0.7, 0.3], [0.7, 0.3, 0.1], [0.3, 0.1, 0.7]]
    assert top_var(permutations, keep=3).tolist() == [0, 1, 2]
    assert top_var([[None, None], [0.5, 0.5]]).tolist() == [1]


@pytest.mark.parametrize(("rewards", "keep"), [([[0.5]], 2), ([[0.5]], 0), ([0.5], 1)])
def test_top_var_checks_its_shape(rewards, keep):
    with pytest.raises(ConfigError, match=r"1 <= keep <= candidates"):
        top_var(rewards, keep)


# Novelty


def test_novelty_of_worked_numbers():
    items = [{1, 2, 3}, {2, 3}, {3, 9}]
    assert group_novelty(items).tolist() == [0.25, 0, 0.25]
    assert novelty_bonus([0.8, 0.8, 0.0], items) == pytest.approx([0.9, 0.8, 0.0])
    assert group_novelty([set(), set()]).tolist() == [0, 0]
    assert group_novelty([]).tolist() == []


@given(st.lists(st.sets(st.integers(0, 6)), min_size=1, max_size=6))
def test_novelty_is_what_the_others_lack(items):
    union = set().union(*items)
    for i, found in enumerate(group_novelty(items)):
        others = set().union(*items[:i], *items[i + 1 :])
        assert found == pytest.approx(len(items[i] - others) / len(union) if union else 0)


def test_a_missing_reward_stays_missing():
    bonus = novelty_bonus([1.0, np.nan], [{1}, {2}], scale=1.0)
    assert bonus[0] == 1.5
    assert np.isnan(bonus[1])


@pytest.mark.parametrize(
    ("rewards", "items", "scale"), [([1.0], [], 0.5), ([-1.0], [{1}], 0.5), ([1.0], [{1}], -1)]
)
def test_novelty_bonuses_that_make_no_sense(rewards, items, scale):
    with pytest.raises(ConfigError):
        novelty_bonus(rewards, items, scale)


# Entropy


def test_entropy_controller_of_worked_numbers():
    controller = EntropyController()
    found = [controller.update(entropy) for entropy in (0.15, 0.1, 0.25, 0.3, 0.3)]
    assert found == pytest.approx([0.001, 0.002, 0.001, 0, 0], abs=1e-12)


def test_the_coefficient_stays_within_its_bounds_and_counts_only_below_the_target():
    assert EntropyController(coefficient=0.1).update(0.2) == pytest.approx(0.099)
    controller = EntropyController(coefficient=0.0995)
    assert [controller.update(0.0) for _ in range(3)] == [0.1, 0.1, 0.1]
    assert controller.weight(0.1999) == 0.1
    assert controller.weight(0.2) == 0.0
    assert controller.update(0.2) == pytest.approx(0.099)


@pytest.mark.parametrize("options", [{"coefficient": 0.2}, {"least": 0.5}, {"step": 0}])
def test_entropy_controller_checks_its_bounds(options):
    with pytest.raises(ConfigError):
        EntropyController(**options)


# Diagnostics


def test_zero_variance_fraction():
    assert zero_variance_fraction([[1, 1], [1, 0], [0, 0], [None, 1]]) == 0.75
    assert zero_variance_fraction([1, 0]) == 0.0
    with pytest.raises(ConfigError, match="got none"):
        zero_variance_fraction(np.empty((0, 4)))


def test_reward_correlation():
    assert reward_correlation([1, 2, 3, None], [3, 2, 1, 9]) == pytest.approx(-1)
    assert reward_correlation([[1, 2], [3, 4]], [[1, 2], [3, 5]]) == pytest.approx(
        np.corrcoef([1, 2, 3, 4], [1, 2, 3, 5])[0, 1]
    )
    assert reward_correlation([1, 2], [2, 1]) == pytest.approx(-1)
    assert math.isnan(reward_correlation([1, 1], [1, 2]))
    assert math.isnan(reward_correlation([1, None], [1, 2]))
    with pytest.raises(ConfigError, match="the same shape"):
        reward_correlation([1, 2], [1, 2, 3])


def test_invalid_test_ratio():
    assert invalid_test_ratio(3, 12) == 0.25
    assert invalid_test_ratio(0, 0) == 0.0
    with pytest.raises(ConfigError, match="got 2 and 1"):
        invalid_test_ratio(2, 1)

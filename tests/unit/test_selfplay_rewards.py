"""What the players of Code-A1, CURE, UTRL and MIST-RL are paid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym import selfplay
from codegym.errors import ConfigError
from codegym.selfplay import (
    AdaptiveAlpha,
    ConstantAlpha,
    ScheduledAlpha,
    adversarial_reward,
    caught_fraction,
    code_reward,
    cure_advantages,
    cure_code_rewards,
    cure_test_rewards,
    incremental_mutation_rewards,
    nonprintable_ratio,
    pass_new,
    precision_margin,
    utrl_format,
    utrl_reward,
    validity_reward,
)

RATES = st.floats(0, 1)


# Code-A1: validity


@pytest.mark.parametrize(
    ("k", "n_valid", "n_invalid", "expected"),
    [
        (8, 8, 0, 1),
        (8, 8, 2, 0.75),
        (8, 6, 2, 0.75),
        (8, 5, 0, 0.625),
        (8, 0, 8, 0),
        (8, 8, 10, 0),
        (5, 5, 1, 0.8),
        (5, 4, 1, 0.8),
        (5, 3, 0, 0.6),
        (5, 0, 0, 0),
    ],
)
def test_validity_of_worked_numbers(k, n_valid, n_invalid, expected):
    assert validity_reward(n_valid, n_invalid, k) == pytest.approx(expected)


@given(st.data())
def test_of_exactly_k_tests_validity_is_the_valid_share(data):
    k = data.draw(st.integers(1, 12))
    right, corrected = data.draw(st.integers(0, k)), 0
    corrected = data.draw(st.integers(0, k - right))
    # the corrected ones are kept and counted as invalid too
    assert validity_reward(right + corrected, k - right, k) == pytest.approx(right / k)


# Code-A1: the code player


@pytest.mark.parametrize(
    ("new", "hist", "expected"),
    [
        ([0.8, 0.6, 1.0], 0.5, 0.65),
        ([0.8, 0.6, 1.0], None, 0.8),
        ([0.8, None], 0.5, 0.575),
        ([0.8, None], None, 0.4),
        ([0.5], 0.0, 0.25),
        ([None], 0.0, 0.0),
        ([], 0.5, 0.5),
    ],
)
def test_code_reward_of_worked_numbers(new, hist, expected):
    assert code_reward(new, hist) == pytest.approx(expected)


def test_code_that_does_not_load_earns_nothing():
    assert code_reward([1.0], 1.0, loaded=False) == 0.0


# Code-A1: the test player


@pytest.mark.parametrize(
    ("n_valid", "n_failed", "hist", "r_val", "adversarial", "total"),
    [
        (3, 1, 0.5, 1.0, 0.416667, 0.708333),  # the paper's figure, row 1
        (2, 0, 0.5, 2 / 3, 0.25, 0.458333),  # row 2, by its formula
        (3, 2, 0.5, 1.0, 0.583333, 0.791667),  # row N
    ],
)
def test_the_rows_of_the_figure(n_valid, n_failed, hist, r_val, adversarial, total):
    new = pass_new(n_valid, n_failed, k=3)
    assert validity_reward(n_valid, 3 - n_valid, 3) == pytest.approx(r_val)
    assert adversarial_reward(new, hist) == pytest.approx(adversarial, abs=5e-7)
    assert selfplay.test_reward(r_val, new, hist) == pytest.approx(total, abs=5e-7)


def test_test_reward_of_worked_numbers():
    r_val, new = validity_reward(5, 1), pass_new(5, 2, k=5)
    assert adversarial_reward(new) == pytest.approx(0.4)
    for alpha, total in ((0.5, 0.6), (0.7, 0.68), (0.3, 0.52)):
        assert selfplay.test_reward(r_val, new, alpha=alpha) == pytest.approx(total)
    assert adversarial_reward(new, 0.75) == pytest.approx(0.575)
    assert selfplay.test_reward(r_val, new, 0.75) == pytest.approx(0.6875)


def test_both_denominators():
    assert pass_new(4, 1) == 0.75
    assert pass_new(4, 1, k=5) == 0.8
    assert pass_new(1, 1) == 0.0  # one killer test is worth as much as five ...
    assert pass_new(1, 1, k=5) == 0.8  # ... unless K counts
    assert pass_new(0, 0) is None
    assert pass_new(0, 0, k=5) is None


def test_a_suite_without_valid_tests_is_no_attack():
    assert adversarial_reward(None) == 0.0
    assert adversarial_reward(None, 0.9) == 0.0
    assert selfplay.test_reward(0.0, None, 0.9) == 0.0


def test_what_is_taken_off():
    assert selfplay.test_reward(1.0, 0.0, loaded=False) == 0.0
    assert selfplay.test_reward(1.0, 0.0, nonprintable=0.25) == 0.75
    assert nonprintable_ratio("a\n\tß中") == 0.0
    assert nonprintable_ratio("ab\x00\x1b") == 0.5
    assert nonprintable_ratio("") == 0.0


@given(RATES, st.one_of(st.none(), RATES), RATES, RATES)
def test_test_rewards_are_in_range_and_grow_with_failures(r_val, hist, new, alpha):
    reward = selfplay.test_reward(r_val, new, hist, alpha)
    assert 0 <= reward <= 1 + 1e-12
    assert selfplay.test_reward(r_val, new / 2, hist, alpha) >= reward - 1e-12


@given(RATES)
def test_the_game_is_zero_sum_without_a_history_only(new):
    assert code_reward([new]) + adversarial_reward(new) == pytest.approx(1)
    assert code_reward([new], 1.0) + adversarial_reward(new, 1.0) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: validity_reward(-1, 0), "n_valid=-1"),
        (lambda: validity_reward(1, 0, k=0), "k=0"),
        (lambda: pass_new(1, 2), "n_failed=2, n_valid=1"),
        (lambda: pass_new(6, 0, k=5), "n_valid=6, k=5"),
        (lambda: code_reward([1.5]), r"in \[0, 1\], got 1.5"),
        (lambda: code_reward([0.5], -0.1), "pass_hist must be"),
        (lambda: code_reward([], None), "no reward"),
        (lambda: selfplay.test_reward(0.5, 0.5, alpha=1.1), "alpha must be"),
        (lambda: selfplay.test_reward(1.5, 0.5), "r_val must be"),
        (lambda: selfplay.test_reward(0.5, 2.0), "pass_new must be"),
        (lambda: adversarial_reward(None, 2.0), "pass_hist must be"),
    ],
)
def test_numbers_that_make_no_sense(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert isinstance(caught.value, ConfigError)


def test_profiles():
    assert (selfplay.CODE_A1_PAPER.tests, selfplay.CODE_A1_RELEASE.tests) == (5, 8)
    assert (selfplay.CODE_A1_PAPER.replay, selfplay.CODE_A1_PAPER.kept) == (8, 1)
    assert selfplay.CODE_A1_PAPER.alpha == 0.5
    assert selfplay.CODE_A1_PAPER.candidates == selfplay.CODE_A1_RELEASE.suites == 8


# Alpha


def test_alpha_is_constant_unless_asked_otherwise():
    assert {ConstantAlpha().at(step) for step in (0, 10, 10**6)} == {0.5}


@pytest.mark.parametrize(("total", "last"), [(100, 9), (111, 11), (70, 6), (30, 2), (1, 0)])
def test_scheduled_alpha_of_worked_numbers(total, last):
    schedule = ScheduledAlpha(total=total)
    assert [schedule.at(step) for step in (0, last, last + 1)] == [0.7, 0.7, 0.5]


def test_adaptive_alpha_of_worked_numbers():
    rule = AdaptiveAlpha(threshold=0.3)
    found = [rule.update(0.1) for _ in range(6)]
    assert found == pytest.approx([0.45, 0.405, 0.3645, 0.32805, 0.3, 0.3])
    assert rule.temperature == pytest.approx(1.6)
    assert rule.update(0.3) == pytest.approx(0.3)
    assert rule.temperature == pytest.approx(1.6)
    assert rule.rescue() == rule.at(0) == 0.8


def test_adaptive_alpha_goes_on_from_its_state():
    rule = AdaptiveAlpha(threshold=0.3)
    rule.update(0.0)
    other = AdaptiveAlpha(threshold=0.9)
    other.load_state_dict(rule.state_dict())
    assert other == rule
    with pytest.raises(ConfigError, match="expected the fields"):
        other.load_state_dict({"alpha": 0.5})


@pytest.mark.parametrize(
    "make",
    [
        lambda: ConstantAlpha(1.5),
        lambda: ScheduledAlpha(total=0),
        lambda: ScheduledAlpha(total=10, first=2.0),
        lambda: AdaptiveAlpha(threshold=30),
        lambda: AdaptiveAlpha(threshold=0.5).update(50.0),
    ],
)
def test_alphas_that_make_no_sense(make):
    with pytest.raises(ConfigError, match="must be"):
        make()


# CURE

TRUTH = [[1, 1], [1, 1], [1, 0], [0, 0]]
GENERATED = [[1, 1, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0]]


def test_cure_of_worked_numbers():
    rewards = cure_test_rewards(TRUTH, GENERATED)
    assert rewards.tolist() == [0.5, 0.5, -1, 0]
    assert cure_advantages(rewards) == pytest.approx([0.816497, 0.816497, -1.632993, 0], abs=5e-7)
    assert cure_code_rewards(TRUTH).tolist() == [1, 1, 0.5, 0]


def test_cure_after_the_first_stage_wants_all_or_nothing():
    assert cure_test_rewards(TRUTH, GENERATED, post_stage=True).tolist() == [0, 0, -1, 0]
    assert cure_test_rewards([[1], [0]], [[1, 0], [0, 1]], post_stage=True).tolist() == [1, -1]
    assert math.copysign(1, cure_test_rewards(TRUTH, GENERATED)[3]) == 1


def test_cure_without_right_or_without_wrong_programs():
    assert np.isnan(cure_test_rewards([[0], [0]], [[1, 0], [1, 0]])).all()
    assert cure_test_rewards([[1], [1]], [[1, 0], [1, 1]]).tolist() == [1, -1]
    assert cure_advantages([0.5, 0.5]).tolist() == [0, 0]


def test_cure_margin_of_worked_numbers():
    assert precision_margin(0.7, 0.4, 0.2) == pytest.approx(0.36)
    with pytest.raises(ConfigError, match=r"in \[0, 1\], got 1.7"):
        precision_margin(1.7, 0.4, 0.2)


@pytest.mark.parametrize(
    ("truth", "generated"), [([1, 1], [[1]]), ([[1]], [1]), ([[1], [0]], [[1]]), ([[], []], [[1], [1]])]
)
def test_cure_checks_its_tables(truth, generated):
    with pytest.raises(ConfigError, match="got"):
        cure_test_rewards(truth, generated)


# UTRL


def test_utrl_of_worked_numbers():
    assert utrl_reward(True, 0.75, 9, 10) == pytest.approx(0.775)
    assert utrl_reward(False, 1.0, 24, 24) == pytest.approx(0.9)
    assert utrl_reward(True, 0.0, 0, 0) == pytest.approx(0.1)


def test_utrl_counts_whom_valid_tests_catch():
    passed = [[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0]]
    assert caught_fraction(passed, [1, 1, 0]) == 0.5
    assert caught_fraction(passed, [0, 0, 0]) == 0.0
    assert caught_fraction(passed, [1, 1, 1]) == 0.75


@pytest.mark.parametrize(
    ("text", "tests", "right"),
    [
        ("<reasoning>a</reasoning>```1```\n<reasoning>b</reasoning>```2```\n", 2, True),
        ("<reasoning>a</reasoning>```1```", 2, False),
        ("<reasoning>a</reasoning>```1``` done", 1, False),
    ],
)
def test_utrl_format(text, tests, right):
    assert utrl_format(text, tests) is right


@pytest.mark.parametrize(
    "call",
    [
        lambda: utrl_reward(True, 1.5, 1, 1),
        lambda: utrl_reward(True, 0.5, 2, 1),
        lambda: caught_fraction([[1, 0]], [1]),
        lambda: caught_fraction([], []),
        lambda: incremental_mutation_rewards([{1, 2}], mutants=1),
        lambda: incremental_mutation_rewards([], mutants=0),
        lambda: incremental_mutation_rewards([{1}], mutants=1, penalty=-1),
    ],
)
def test_suites_that_make_no_sense(call):
    with pytest.raises(ConfigError, match="got"):
        call()


# Incremental mutation reward


def test_incremental_mutation_rewards():
    found = incremental_mutation_rewards([{1, 2}, {2}, {2, 3}, set()], mutants=4, penalty=0.1)
    assert found == pytest.approx([0.5, -0.1, 0.25, -0.1])


@given(st.lists(st.sets(st.integers(0, 9)), max_size=6))
def test_incremental_rewards_sum_to_the_mutation_score(killed):
    rewards = incremental_mutation_rewards(killed, mutants=10)
    assert rewards.sum() == pytest.approx(len(set().union(*killed)) / 10)

"""Tiers, the reward by tiers, TAROT's curricula and those of the digest."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.core import Comparison, Outcome, Status, Task, TestCase, TestResult
from codegym.curricula import (
    STRONG_START,
    SUITE_RATIO,
    TAROT_POLICIES,
    TIERS,
    WEAK_START,
    CapabilityCurriculum,
    Curriculum,
    DecayCurriculum,
    Schedule,
    Stage,
    TieredTasks,
    TransitionCurriculum,
    canonical_tier,
    capability,
    decay,
    lerp,
    make_curriculum,
    pass_rates,
    small_model_floor,
    strategy,
)
from codegym.curricula.schedule import FORWARD, INTERMEDIATE_FIRST
from codegym.errors import ConfigError, NotFoundError, RewardError
from codegym.grading import compare
from codegym.hookspecs import hookimpl
from codegym.plugins import PluginRegistry, registry
from codegym.rewards import Scorer, TierReward, resolve_rewards

B, I, C, E = TIERS  # noqa: E741
TASK = Task(
    id="t",
    prompt="",
    entry_point="f",
    public_tests=(TestCase.call(0, expected=0, tier="original"),),
    hidden_tests=tuple(TestCase.call(i, expected=i, tier=tier) for i, tier in enumerate(TIERS)),
)
BARE = Task(id="bare", prompt="")


def outcome(*tests):
    """An outcome of tests, each a tier and whether it passed."""
    return Outcome.of(
        [
            TestResult(index=i, tier=tier, status=Status.PASSED if passed else Status.WRONG)
            for i, (tier, passed) in enumerate(tests)
        ]
    )


def all_but(*failed):
    return outcome((None, True), *((tier, tier not in failed) for tier in TIERS))


def by_tier(*values):
    return dict(zip(TIERS, values, strict=True))


# Tiers


@pytest.mark.parametrize(
    ("label", "tier"),
    [
        *((tier, tier) for tier in TIERS),
        ("medium", I),
        ("high", C),
        (None, None),
        ("minimal", None),
        ("original", None),
    ],
)
def test_labels(label, tier):
    assert canonical_tier(label) == tier


@pytest.mark.parametrize("label", ["base", "Basic", "", "performance"])
def test_labels_of_no_tier(label):
    with pytest.raises(ConfigError, match=f"no tier is called '{label}': tiers are basic, intermediate"):
        canonical_tier(label)


# The reward


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("uniform_forward", [0.25, 0.5, 0.75, 1.0]),
        ("bi_weighted", [0.35, 0.70, 0.85, 1.0]),
        ("ce_weighted", [0.15, 0.30, 0.65, 1.0]),
        ("ce_weighted_reverse", [0.35, 0.70, 0.85, 1.0]),
        ("basic_only", [1.0] * 4),
        ("complex_only", [1.0] * 4),
        ("edge_only", [1.0] * 4),
        ("avg_reward", [1.0] * 4),
    ],
)
def test_released_policies_when_all_active_tests_pass(policy, expected):
    curriculum = make_curriculum(policy)
    for progress, reward in zip((0.0, 0.2, 0.4, 0.6), expected, strict=True):
        stage = curriculum.stage(progress)
        inactive = set(TIERS) - set(stage.active)
        assert stage.reward()(BARE, all_but()) == pytest.approx(reward)
        assert stage.reward()(BARE, all_but(*inactive)) == pytest.approx(reward)
        assert stage.reward()(BARE, all_but(*stage.active)) == 0


def test_released_policies_when_a_test_fails():
    assert make_curriculum("ce_weighted").stage(0.7).reward()(BARE, all_but(C)) == pytest.approx(0.65)
    assert make_curriculum("avg_reward").stage(0.0).reward()(BARE, all_but(B, E)) == pytest.approx(0.5)
    assert make_curriculum("basic_only").stage(1.0).reward()(BARE, all_but(B)) == 0.0


def test_the_digests_worked_numbers():
    tests = [(B, 1), (B, 1), (I, 1), (C, 1), (C, 0), (E, 0)]
    reward = TierReward(weights=by_tier(0.1, 0.2, 0.2, 0.5))
    assert reward(BARE, outcome(*tests)) == pytest.approx(0.4)


TESTS = [(B, 1), (B, 0), ("medium", 1), (I, 1), (E, 0), (None, 1), ("original", 1)]


@pytest.mark.parametrize(
    ("normalize", "per_tier", "active", "expected"),
    [
        ("none", "rate", None, 0.2 * 0.5 + 0.4),
        ("none", "sum", None, 0.2 + 0.8),
        ("active", "rate", None, 0.5 / (0.2 + 0.4 + 0.3)),  # no complex test
        ("active", "rate", (B, C), 0.1 / 0.2),
        ("active", "sum", None, 1.0 / (0.4 + 0.8 + 0.3)),
        ("all", "rate", (B, I), 0.5 / 1.0),
        ("all", "sum", (B, I), 1.0 / (0.4 + 0.8 + 0.1 + 0.3)),
        ("active", "rate", (C,), 0.0),
    ],
)
def test_normalisation(normalize, per_tier, active, expected):
    reward = TierReward(
        weights=by_tier(0.2, 0.4, 0.1, 0.3), normalize=normalize, per_tier=per_tier, active=active
    )
    assert reward(BARE, outcome(*TESTS)) == pytest.approx(expected)


@given(
    st.lists(st.tuples(st.sampled_from(TIERS), st.booleans())),
    st.dictionaries(st.sampled_from(TIERS), st.floats(0, 5)),
    st.sampled_from(["active", "all"]),
    st.sampled_from(["rate", "sum"]),
)
def test_normalised_rewards_are_shares(tests, weights, normalize, per_tier):
    reward = TierReward(weights=weights, normalize=normalize, per_tier=per_tier)
    assert 0 <= reward(BARE, outcome(*tests)) <= 1 + 1e-9


def test_the_reward_is_registered():
    (reward,) = resolve_rewards("tiers")
    assert reward({"task": TASK, "outcome": all_but(E)}) == pytest.approx(0.75)
    (reward,) = resolve_rewards(TierReward(normalize="active", active=(B, E)))
    assert reward({"task": TASK, "outcome": all_but(E)}) == pytest.approx(0.5)


def test_a_skipped_or_hanging_test_is_not_passed_and_spoils_no_other():
    """TAROT's released code gives nothing for the whole program when one test hangs."""
    tests = [
        TestResult(index=0, tier=B, status=Status.PASSED),
        TestResult(index=1, tier=I, status=Status.TIMEOUT),
        TestResult(index=2, tier=C, status=Status.SKIPPED),
        TestResult(index=3, tier=E, status=Status.PASSED),
    ]
    assert TierReward()(BARE, Outcome.of(tests)) == pytest.approx(0.5)


@pytest.mark.parametrize(("printed", "passed"), [("0", False), ("0\n1\n", False), ("0\n1\n0\n\n", True)])
def test_a_prefix_of_the_output_does_not_pass(printed, passed):
    """TAROT's released code compares as many lines as there are."""
    test = TestCase.stdio("", expected="0\n1\n0")
    assert compare(Comparison(rule="lines"), test, printed, "0\n1\n0") is passed


def test_unknown_tiers_are_not_passed_over_in_silence():
    (reward,) = resolve_rewards("tiers")
    with pytest.raises(RewardError, match="no tier is called 'plus'"):
        reward({"task": BARE, "outcome": outcome(("plus", True))})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"base": 1.0}}, "no tier is called 'base'"),
        ({"weights": {"medium": 1.0, I: 1.0}}, "each tier once"),
        ({"weights": {None: 1.0}}, "each tier once"),
        ({"weights": {B: -1.0}}, "not negative"),
        ({"weights": {B: math.nan}}, "finite"),
        ({"active": ("medium",)}, "active tiers must be among"),
        ({"normalize": "sum"}, "normalize must be one of"),
        ({"per_tier": "mean"}, "per_tier of"),
    ],
)
def test_rewards_that_make_no_sense(options, message):
    with pytest.raises(ConfigError, match=message):
        TierReward(**options)


# Schedules


@pytest.mark.parametrize(
    ("policy", "sets"),
    [
        ("uniform_forward", [(B,), (B, I), (B, I, C), TIERS]),
        ("bi_weighted", [(B,), (B, I), (B, I, C), TIERS]),
        ("ce_weighted", [(B,), (B, I), (B, I, C), TIERS]),
        ("ce_weighted_reverse", [(C,), (C, E), (I, C, E), TIERS]),
        ("basic_only", [(B,)] * 4),
        ("complex_only", [(C,)] * 4),
        ("edge_only", [(E,)] * 4),
        ("avg_reward", [TIERS] * 4),
    ],
)
def test_boundaries_are_half_open(policy, sets):
    curriculum = make_curriculum(policy)
    for begin, end, active in zip(
        (0, 0.2, 0.4, 0.6), (0.1999999, 0.3999999, 0.5999999, 1), sets, strict=True
    ):
        assert curriculum.active(begin) == curriculum.active(end) == tuple(active)


@pytest.mark.parametrize(("epoch", "active"), [(0.6, (B, I)), (1.2, (B, I, C)), (1.8, TIERS), (0.59, (B,))])
def test_boundaries_of_three_epochs_are_the_same(epoch, active):
    assert make_curriculum("uniform_forward").active(epoch / 3) == active


def test_the_table_of_weights():
    assert {name: tuple(policy.weights(1.0).values()) for name, policy in TAROT_POLICIES.items()} == {
        "basic_only": (1, 0, 0, 0),
        "complex_only": (0, 0, 1, 0),
        "edge_only": (0, 0, 0, 1),
        "uniform_forward": (0.25,) * 4,
        "bi_weighted": (0.35, 0.35, 0.15, 0.15),
        "ce_weighted": (0.15, 0.15, 0.35, 0.35),
        "ce_weighted_reverse": (0.15, 0.15, 0.35, 0.35),
        "avg_reward": (0.25,) * 4,
    }


@pytest.mark.parametrize("progress", [-0.01, 1.01, math.nan])
def test_progress_is_a_share(progress):
    with pytest.raises(ConfigError, match="progress must be"):
        make_curriculum("uniform_forward").stage(progress)


@pytest.mark.parametrize(
    "options",
    [
        {"sets": FORWARD, "boundaries": (0.2, 0.4)},
        {"sets": FORWARD, "boundaries": (0.4, 0.2, 0.6)},
        {"sets": FORWARD, "boundaries": (0.2, 0.4, 1.0)},
        {"sets": ((),), "boundaries": ()},
        {"sets": (("medium",),), "boundaries": ()},
        {"sets": FORWARD, "weights_by_tier": {"base": 1.0}},
        {"sets": FORWARD, "allocation_by_tier": {B: 0.5}},
    ],
)
def test_schedules_that_make_no_sense(options):
    with pytest.raises(ConfigError):
        Schedule(name="mine", **options)


# Stages


def test_two_dials():
    schedule = Schedule(
        name="mine", sets=FORWARD, weights_by_tier=by_tier(0, 0, 0, 1), allocation_by_tier=WEAK_START
    )
    assert schedule.weights(1.0) == by_tier(0, 0, 0, 1)
    assert schedule.allocation(1.0) == WEAK_START
    assert make_curriculum("ce_weighted").allocation(0.3) == by_tier(0.5, 0.5, 0, 0)


def test_draws_follow_the_allocation():
    stage = Stage(active=TIERS, weights={}, allocation=SUITE_RATIO)
    drawn = Counter(stage.sample(5, index) for index in range(4000))
    for tier, share in SUITE_RATIO.items():
        assert drawn[tier] / 4000 == pytest.approx(share, abs=0.03)
    assert [stage.sample(5, i) for i in range(50)] == [stage.sample(5, i) for i in range(50)]
    assert [stage.sample(5, i) for i in range(50)] != [stage.sample(6, i) for i in range(50)]


def test_a_tier_that_earns_nothing_is_not_drawn():
    stage = Stage(active=(I, C), weights={}, allocation=WEAK_START)
    assert {stage.sample(0, i) for i in range(50)} == {I}
    assert {stage.sample(0, i, among=(B, C)) for i in range(50)} == {C}
    with pytest.raises(ConfigError, match="no test has one of the active tiers intermediate, complex"):
        stage.sample(0, 0, among=(B, E))


def test_sampling_by_progress():
    curriculum = make_curriculum("uniform_forward")
    assert {curriculum.sample(0, i, 0.1) for i in range(30)} == {B}
    assert {curriculum.sample(0, i, 0.9) for i in range(60)} == set(TIERS)


def test_restricting_a_task():
    stage = make_curriculum("ce_weighted_reverse").stage(0.0)
    restricted = stage.restrict(TASK)
    assert [test.tier for test in restricted.tests] == ["original", C]
    assert restricted.meta["tier_stage"]["active"] == [C]
    assert TASK.meta == {}
    assert len(TASK.hidden_tests) == 4
    json.dumps(restricted.meta)
    found = outcome(("original", True), (C, True))
    assert TierReward()(restricted, found) == 0.35
    assert TierReward(normalize="active")(restricted, found) == 1.0


def test_the_stage_travels_with_the_task():
    """Public tests of other tiers stay in the task, but do not count."""
    task = Task(
        id="p",
        prompt="",
        entry_point="f",
        public_tests=(TestCase.call(0, expected=0, tier=B), TestCase.call(1, expected=0, tier="high")),
    )
    restricted = make_curriculum("complex_only").stage(0.0).restrict(task)
    assert TierReward()(restricted, outcome((B, True), ("high", False))) == 0.0
    assert TierReward()(task, outcome((B, True), ("high", False))) == 0.25


def test_a_task_that_could_not_be_failed_is_refused():
    stage = make_curriculum("edge_only").stage(0.0)
    task = Task(id="easy", prompt="", entry_point="f", hidden_tests=(TestCase.call(0, expected=0, tier=B),))
    assert stage.applies(TASK)
    assert not stage.applies(task)
    with pytest.raises(ConfigError, match="task 'easy' has no test of the tiers edge"):
        stage.restrict(task)


def test_focus():
    stage = make_curriculum("ce_weighted").stage(0.5)
    assert stage.focus(C).active == (C,)
    assert stage.focus(C).weights[C] == 0.35
    with pytest.raises(ConfigError, match="'edge' is not among the active ones"):
        stage.focus(E)


@pytest.mark.parametrize(
    "options",
    [
        {"active": (), "weights": {}, "allocation": {}},
        {"active": ("high",), "weights": {}, "allocation": {}},
        {"active": (B,), "weights": {B: math.inf}, "allocation": {}},
        {"active": (B,), "weights": {}, "allocation": by_tier(0.5, 0.4, 0, 0)},
    ],
)
def test_stages_that_make_no_sense(options):
    with pytest.raises(ConfigError):
        Stage(**options)


# Tasks by tier


def single(name, tier):
    return Task(id=name, prompt="", entry_point="f", hidden_tests=(TestCase.call(0, expected=0, tier=tier),))


def test_tasks_are_drawn_by_tier():
    deck = TieredTasks([single("b1", B), single("b2", B), single("c", "high"), single("plain", None)])
    assert deck.tiers == (B, C)
    stage = Stage(active=TIERS, weights={}, allocation=by_tier(0.5, 0.2, 0.25, 0.05))
    drawn = [deck.draw(stage, 3, index) for index in range(3000)]
    counts = Counter(task.id for task in drawn)
    assert set(counts) == {"b1", "b2", "c"}
    assert counts["b1"] / 3000 == pytest.approx(1 / 3, abs=0.04)
    assert counts["c"] / 3000 == pytest.approx(1 / 3, abs=0.04)
    assert drawn[:20] == [deck.draw(stage, 3, index) for index in range(20)]
    assert all(task.meta["tier_stage"]["active"] == list(TIERS) for task in drawn)


def test_a_draw_may_count_one_tier_only():
    deck = TieredTasks([TASK])
    stage = make_curriculum("avg_reward").stage(0.0)
    focused = [deck.draw(stage, 0, index, focus=True) for index in range(40)]
    assert {tuple(task.meta["tier_stage"]["active"]) for task in focused} == {(tier,) for tier in TIERS}
    assert all(len(task.hidden_tests) == 1 for task in focused)


def test_tasks_without_tiers_are_refused():
    with pytest.raises(ConfigError, match="none of the 1 tasks has a test with a tier"):
        TieredTasks([single("plain", None)])
    with pytest.raises(ConfigError, match="no tier is called 'plus'"):
        TieredTasks([single("p", "plus")])


def test_live_pass_rates():
    found = pass_rates(
        [
            outcome((B, 1), (B, 0), ("medium", 1), (None, 0)),
            outcome((B, 1), (E, 0)),
            Outcome.infrastructure("gone", TASK.tests),
            None,
        ]
    )
    assert found == {B: 0.75, I: 1.0, E: 0.0}
    assert pass_rates([]) == {}


# Dials


def test_lerp_of_worked_numbers():
    start, end = WEAK_START, by_tier(0, 0.2, 0.5, 0.3)
    for at in (0, 99, 100):
        assert lerp(start, end, at, 100, 10) == start
    assert lerp(start, end, 105, 100, 10) == pytest.approx(by_tier(0.4, 0.2, 0.25, 0.15))
    for at in (110, 111, 10**6):
        assert lerp(start, end, at, 100, 10) == end
    assert lerp(start, end, 99.9, 100, 0) == start
    assert lerp(start, end, 100, 100, 0) == end


def test_decay_of_worked_numbers():
    weights = by_tier(0.4, 0.3, 0.2, 0.1)
    assert decay(weights, 0.9) == pytest.approx(by_tier(0.375, 0.3125, 0.208333, 0.104167), abs=5e-7)
    assert decay(weights, 0.9, steps=0) == pytest.approx(weights)
    assert decay(weights, 0.5, easy=(B, "medium"), steps=2) == pytest.approx(
        by_tier(*(x / 0.475 for x in (0.1, 0.075, 0.2, 0.1)))
    )


@pytest.mark.parametrize(
    ("weights", "gamma", "steps"),
    [({B: 1.0}, 0.0, 1), ({B: 1.0}, 1.5, 1), ({B: 1.0}, 0.9, -1), ({}, 0.9, 1)],
)
def test_decays_that_make_no_sense(weights, gamma, steps):
    with pytest.raises(ConfigError, match="got"):
        decay(weights, gamma, steps=steps)


@given(st.floats(0.01, 1), st.integers(0, 5), st.lists(st.floats(0.01, 1), min_size=4, max_size=4))
def test_faded_weights_sum_to_one(gamma, steps, values):
    faded = decay(by_tier(*values), gamma, steps=steps)
    assert sum(faded.values()) == pytest.approx(1)
    assert faded[I] / faded[E] == pytest.approx(values[1] / values[3])


def test_presets():
    assert tuple(WEAK_START.values()) == (0.8, 0.2, 0, 0)
    assert tuple(STRONG_START.values()) == (0.1, 0.15, 0.5, 0.25)
    assert tuple(SUITE_RATIO.values()) == (0.3, 0.3, 0.2, 0.2)


def test_small_models_get_half_of_their_draws_basic():
    floored = small_model_floor(STRONG_START, 0.5e9)
    assert floored == pytest.approx(by_tier(0.5, 0.15 * 5 / 9, 0.5 * 5 / 9, 0.25 * 5 / 9))
    assert sum(floored.values()) == pytest.approx(1)
    assert small_model_floor(STRONG_START, 1e9) == STRONG_START
    assert small_model_floor(WEAK_START, 1e6) == WEAK_START


# Capability


def test_capability_of_worked_numbers():
    scores = {"humaneval": 60, "mbpp+": 55, "cruxeval": 40}
    assert capability(scores) == pytest.approx(51.667, abs=5e-4)
    assert strategy(capability(scores)) == "intermediate_first"
    assert capability(scores | {"cruxeval": None}) == 57.5
    assert capability(scores, {"humaneval": 3, "mbpp+": 1}) == 58.75


@pytest.mark.parametrize(
    ("percent", "expected"),
    [
        (0, "basic_to_complex"),
        (49.999, "basic_to_complex"),
        (50, "intermediate_first"),
        (70, "intermediate_first"),
        (70.001, "complex_to_edge"),
        (100, "complex_to_edge"),
    ],
)
def test_strategies_and_their_edges(percent, expected):
    assert strategy(percent) == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda: capability({}),
        lambda: capability({"humaneval": None}),
        lambda: capability({"humaneval": 101}),
        lambda: capability({"humaneval": 50}, {"mbpp+": 1.0}),
        lambda: capability({"humaneval": 50, "mbpp+": 60}, {"humaneval": 2.0, "mbpp+": -1.0}),
        lambda: strategy(-1),
        lambda: strategy(math.nan),
        lambda: CapabilityCurriculum({"humaneval": 50}, reassess_every=-1),
        lambda: CapabilityCurriculum({"humaneval": 50}, parameters=0),
        lambda: CapabilityCurriculum({"humaneval": 50}).update({B: 50.0}),
    ],
)
def test_capabilities_that_make_no_sense(call):
    with pytest.raises(ValueError, match="got") as caught:
        call()
    assert isinstance(caught.value, ConfigError)


@pytest.mark.parametrize(
    ("score", "first", "start"),
    [(40, (B,), WEAK_START), (60, (I,), SUITE_RATIO), (80, (C,), STRONG_START)],
)
def test_a_curriculum_by_capability(score, first, start):
    curriculum = CapabilityCurriculum({"humaneval": score})
    assert curriculum.active(0.0) == first
    assert curriculum.active(0.6) == TIERS
    assert curriculum.allocation(0.0) == start
    assert curriculum.allocation(0.6) == pytest.approx(SUITE_RATIO)
    halfway = curriculum.allocation(0.3)
    assert halfway[C] == pytest.approx((start[C] + SUITE_RATIO[C]) / 2)


def test_the_middle_class_begins_in_the_middle():
    curriculum = CapabilityCurriculum({"humaneval": 50})
    assert [curriculum.active(p) for p in (0, 0.2, 0.4, 0.6)] == [*INTERMEDIATE_FIRST]


def test_small_models_stay_basic():
    curriculum = CapabilityCurriculum({"humaneval": 80}, parameters=0.5e9)
    assert curriculum.allocation(0.0)[B] == 0.5


def test_capability_is_assessed_anew():
    curriculum = CapabilityCurriculum({"humaneval": 40}, reassess_every=2)
    curriculum.update({B: 1.0, I: 0.5})
    assert curriculum.strategy == "basic_to_complex"
    curriculum.update({})  # a step that says nothing
    assert curriculum.strategy == "basic_to_complex"
    curriculum.update({B: 0.9, I: 0.7})
    assert curriculum.capability == pytest.approx(77.5)
    assert curriculum.strategy == "complex_to_edge"
    for _ in range(2):
        curriculum.update({C: 0.0})
    assert curriculum.strategy == "basic_to_complex"


def test_capability_is_assessed_every_five_updates():
    curriculum = CapabilityCurriculum({"humaneval": 100})
    found = []
    for _ in range(6):
        curriculum.update({B: 0.1})
        found.append(curriculum.capability)
    assert found == pytest.approx([100, 100, 100, 100, 10, 10])


def test_capability_may_stay_as_it_is():
    curriculum = CapabilityCurriculum({"humaneval": 40}, reassess_every=0)
    for _ in range(20):
        curriculum.update({B: 1.0})
    assert curriculum.capability == 40


# Transitions and decay


def test_a_transition():
    curriculum = TransitionCurriculum("basic_only", "edge_only", begin=0.4, duration=0.2)
    assert curriculum.active(0.4) == (B,)
    assert curriculum.weights(0.4)[B] == 1
    middle = curriculum.stage(0.45)
    assert middle.active == (B, E)
    assert middle.weights == pytest.approx(by_tier(0.75, 0, 0, 0.25))
    assert middle.allocation == pytest.approx(by_tier(0.75, 0, 0, 0.25))
    assert curriculum.active(0.6) == curriculum.active(1.0) == (E,)


def test_in_a_transition_inactive_tiers_weigh_nothing():
    curriculum = TransitionCurriculum("uniform_forward", "edge_only", begin=0.0, duration=0.1)
    assert curriculum.weights(0.05) == pytest.approx(by_tier(0.125, 0, 0, 0.5))


def test_a_transition_at_once():
    curriculum = TransitionCurriculum("basic_only", "edge_only", begin=0.5, duration=0.0)
    assert (curriculum.active(0.499), curriculum.active(0.5)) == ((B,), (E,))
    with pytest.raises(ConfigError, match=r"got 2 and 0\.1"):
        TransitionCurriculum("basic_only", "edge_only", begin=2)


def test_fading_weights():
    base = Schedule(name="mine", sets=(TIERS,), boundaries=(), weights_by_tier=by_tier(0.4, 0.3, 0.2, 0.1))
    curriculum = DecayCurriculum(base)
    assert curriculum.weights(0.0) == pytest.approx(by_tier(0.4, 0.3, 0.2, 0.1))
    curriculum.update({})
    assert curriculum.weights(0.0) == pytest.approx(by_tier(0.375, 0.3125, 0.208333, 0.104167), abs=5e-7)
    with pytest.raises(ConfigError, match="gamma must be"):
        DecayCurriculum(gamma=2.0)
    with pytest.raises(ConfigError, match="no tier is called 'base'"):
        DecayCurriculum(easy=("base",))


# State and registration


def stateful():
    inner = DecayCurriculum(CapabilityCurriculum({"humaneval": 40}, reassess_every=3))
    return TransitionCurriculum(inner, "edge_only", begin=0.5, duration=0.5)


def test_curricula_go_on_from_their_state():
    first, second = stateful(), stateful()
    for _ in range(4):
        first.update({B: 1.0})
    assert first.stage(0.3) != second.stage(0.3)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for _ in range(3):
        assert first.stage(0.3) == second.stage(0.3)
        assert first.stage(0.7) == second.stage(0.7)
        first.update({B: 0.1})
        second.update({B: 0.1})


@pytest.mark.parametrize(
    "curriculum",
    [TAROT_POLICIES["avg_reward"], CapabilityCurriculum({"x": 1}), DecayCurriculum(), stateful()],
    ids=lambda curriculum: type(curriculum).__name__,
)
def test_the_state_of_another_curriculum_is_refused(curriculum):
    with pytest.raises(ConfigError, match="got"):
        curriculum.load_state_dict({"strange": 1})


def test_all_curricula_are_registered():
    names = {entry.name for entry in registry().entries("curriculum")}
    assert names >= {*TAROT_POLICIES, "digest_capability", "digest_decay", "digest_transition"}
    for name in TAROT_POLICIES:
        assert make_curriculum(name) == TAROT_POLICIES[name]
    assert isinstance(make_curriculum("digest_capability", scores={"humaneval": 50}), CapabilityCurriculum)
    decaying = make_curriculum("digest_decay", base="ce_weighted", gamma=0.5)
    decaying.update({})
    assert decaying.weights(1.0)[B] == pytest.approx(0.075 / 0.925)
    assert isinstance(
        make_curriculum("digest_transition", first="basic_only", second="edge_only"), TransitionCurriculum
    )


class Constant(Curriculum):
    """A stranger's curriculum."""

    def __init__(self, tier=B, weight=1.0):
        self.tier, self.weight = tier, weight

    def stage(self, progress):
        return Stage(active=(self.tier,), weights={self.tier: self.weight}, allocation={})


def not_a_curriculum():
    return 3


class Strangers:
    @hookimpl
    def codegym_register_curricula(self, register):
        register("constant", f"{__name__}:Constant", tier=C)
        register("broken", f"{__name__}:not_a_curriculum")


def test_a_strangers_curriculum(monkeypatch):
    fresh = PluginRegistry()
    fresh._discovered = True
    fresh.add(Strangers(), "strangers")
    monkeypatch.setattr("codegym.curricula.base.registry", lambda: fresh)
    curriculum = make_curriculum("constant", weight=0.5)
    assert curriculum.active(0.5) == (C,)
    assert curriculum.weights(0.5)[C] == 0.5
    assert curriculum.state_dict() == {}
    assert make_curriculum(curriculum) is curriculum
    assert make_curriculum(f"{__name__}:Constant").active(0) == (B,)
    with pytest.raises(ConfigError, match=r"'broken' must make a codegym.curricula.Curriculum, got 3"):
        make_curriculum("broken")


def test_names_that_nobody_registered():
    with pytest.raises(NotFoundError, match=r"No curriculum is called 'uniform_forwards'. Did you mean"):
        make_curriculum("uniform_forwards")
    with pytest.raises(ConfigError, match="no released policy is called 'x'; known: basic_only"):
        make_curriculum("uniform_forward", policy="x")


def test_a_scorer_follows_a_curriculum(local):
    right_on_basic = "```python\ndef f(x):\n    return x if x < 1 else -1\n```"
    curriculum = make_curriculum("uniform_forward")
    deck = TieredTasks([TASK])
    with Scorer("tiers", sandbox=local) as scorer:
        for progress, reward, rates in (
            (0.0, 0.25, {B: 1.0}),
            (0.6, 0.25, {B: 1.0, I: 0.0, C: 0.0, E: 0.0}),
        ):
            task = deck.draw(curriculum.stage(progress), seed=0, index=0)
            (score,) = scorer.score([right_on_basic], [task])
            assert score.value == reward
            assert pass_rates([score.outcome]) == rates

"""Ranking and dividing tests, making inputs, and building tiers for real problems in the sandbox."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.core import Comparison, Limits, Outcome, Program, Task, TestCase
from codegym.curricula import (
    SUITE_RATIO,
    TIERS,
    TierFeatures,
    apportion,
    assign_tiers,
    build_tiers,
    cyclomatic_complexity,
    draw_inputs,
    kill_table,
    rank_tests,
    ratio_gaps,
    tier_counts,
    tier_features,
    vary_inputs,
)
from codegym.errors import ConfigError, DataError, InfraError
from codegym.grading import Grader
from codegym.rewards import TierReward

# Features


def test_features_of_a_text():
    assert tier_features("a1 b1") == TierFeatures(length=5, diversity=1.0, transitions=1.0)
    assert tier_features("7 7 7 7") == TierFeatures(length=7, diversity=0.25, transitions=1.0)
    assert tier_features("aaaa") == TierFeatures(length=4, diversity=1.0, transitions=0.0)
    assert tier_features("x, y") == TierFeatures(length=4, diversity=1.0, transitions=1.0)
    assert tier_features("") == TierFeatures(length=0, diversity=0.0, transitions=0.0)


def test_features_of_tests():
    assert tier_features(TestCase.call([1, 2], "a", kwargs={"k": 3}, expected=0)).length == len(
        "[1, 2], 'a', k=3"
    )
    assert tier_features(TestCase.call(10**5000, expected=0)).length > 4000
    assert tier_features(TestCase.stdio("3\n1 2 3\n", expected="6")).length == 8
    assert tier_features(TestCase.code("assert f(1) == 2")).length == 16


@pytest.mark.parametrize(
    ("code", "complexity"),
    [
        ("x = 1", 1),
        ("", 1),
        ("def f(x):\n    return x", 1),
        ("def f(x):\n    if x and x > 1:\n        return 1\n    return 0", 3),
        ("def f(x):\n    return x\ndef g(x):\n    for i in x:\n        while i: i -= 1", 3),
        ("import sys\nfor line in sys.stdin:\n    if line:\n        print(line)", 3),
        ("class S:\n    def f(self, x):\n        return 1 if x else 2", 2),
        ("def f(x):\n    def g(y):\n        if y or x: return 1\n        return 2\n    return g", 3),
    ],
)
def test_complexity(code, complexity):
    assert cyclomatic_complexity(code) == complexity


def test_complexity_of_what_does_not_parse():
    with pytest.raises(ConfigError, match="does not parse"):
        cyclomatic_complexity("def f(")


def test_optional_packages_are_named(monkeypatch):
    for name in ("radon.complexity", "hypothesis"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match="needs the package radon: pip install"):
        cyclomatic_complexity("x = 1")
    with pytest.raises(ConfigError, match="needs the package hypothesis: pip install"):
        draw_inputs(st.integers(), 3)


# Ranking


LOOKS = [TierFeatures(length, 0.5, 0.5) for length in (40, 10, 30, 20)]


def test_without_wrong_programs_looks_decide():
    assert rank_tests(LOOKS) == [1, 3, 2, 0]
    assert rank_tests([]) == []
    mixed = [TierFeatures(10, 0.1, 0.3), TierFeatures(9, 0.9, 0.9), TierFeatures(8, 0.2, 0.2)]
    assert rank_tests(mixed) == [2, 0, 1]


def test_equal_looks_share_a_rank():
    features = [TierFeatures(5, 0.1, 0.5), TierFeatures(5, 0.2, 0.5), TierFeatures(4, 0.15, 0.5)]
    assert rank_tests(features) == [2, 0, 1]


def test_what_a_test_catches_counts_before_looks():
    assert rank_tests(LOOKS, [[0, 0], [1, 1], [1, 0], [1, 0]]) == [0, 3, 2, 1]


def test_what_few_tests_catch_counts_more():
    kills = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 0]]
    assert rank_tests(LOOKS, kills) == [1, 3, 0, 2]


@given(st.lists(st.integers(0, 99), min_size=1, max_size=6, unique=True), st.data())
def test_ranking_is_of_tests_and_not_of_positions(lengths, data):
    features = [TierFeatures(length, 0.5, 0.5) for length in lengths]
    kills = [data.draw(st.tuples(*[st.booleans()] * 3)) for _ in lengths]
    order = data.draw(st.permutations(range(len(lengths))))
    shuffled = rank_tests([features[i] for i in order], [kills[i] for i in order])
    assert [order[i] for i in shuffled] == rank_tests(features, kills)


def test_ranking_checks_its_table():
    with pytest.raises(ConfigError, match=r"\[4, wrong programs\], got \(1, 2\)"):
        rank_tests(LOOKS, [[1, 0]])


# Dividing


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (10, (3, 3, 2, 2)),
        (0, (0, 0, 0, 0)),
        (4, (1, 1, 1, 1)),
        (5, (2, 1, 1, 1)),
        (7, (2, 2, 2, 1)),
        (100, (30, 30, 20, 20)),
    ],
)
def test_apportioning(total, expected):
    assert tuple(apportion(total).values()) == expected


@given(st.integers(0, 500), st.lists(st.floats(0, 10), min_size=4, max_size=4).filter(any))
def test_shares_are_whole_and_near(total, ratio):
    counts = apportion(total, dict(zip(TIERS, ratio, strict=True)))
    assert sum(counts.values()) == total
    for tier, share in zip(TIERS, ratio, strict=True):
        assert abs(counts[tier] - total * share / math.fsum(ratio)) < 1 + 1e-6


def test_ratios_that_make_no_sense():
    with pytest.raises(ConfigError, match="got -1"):
        apportion(-1)
    with pytest.raises(ConfigError, match="nor the ratio empty"):
        apportion(5, {})


def test_tiers_follow_the_ranking():
    assert assign_tiers([3, 1, 4, 0, 2]) == ["complex", "basic", "edge", "basic", "intermediate"]
    assert assign_tiers([1, 0], {"basic": 1, "edge": 1}) == ["edge", "basic"]


def test_the_ratio_of_a_suite():
    labels = ["basic"] * 3 + ["medium"] * 3 + ["high"] * 2 + ["edge"] * 2 + [None, "original"]
    tests = [TestCase.call(i, expected=i, tier=label) for i, label in enumerate(labels)]
    assert tuple(tier_counts(tests).values()) == (3, 3, 2, 2)
    assert set(ratio_gaps(tests).values()) == {0}
    assert tuple(ratio_gaps(tests[3:]).values()) == (-2, 1, 0, 1)


# Inputs

KNOWN = [([3, -1, 2], "ab 12", {"a": 1.5}, (1, 2), {4, 5}, True, None)]


def shape(value):
    """The types of a value, of containers only that they are."""
    return [type(item) for item in value]


def test_variations_keep_their_types():
    varied = vary_inputs(KNOWN, 300, seed=1)
    assert len(varied) == 300
    assert all(shape(value) == shape(KNOWN[0]) for value in varied)
    assert all(len(value[3]) == 2 for value in varied)
    assert all(isinstance(item, int) for value in varied for item in value[0])
    assert all(isinstance(item, float) for value in varied for item in value[2].values())
    assert all(value[6] is None for value in varied)
    for position in range(6):
        assert len({repr(value[position]) for value in varied}) > 1


def test_variations_are_new_and_different():
    varied = vary_inputs(KNOWN, 200, seed=2)
    assert len({repr(value) for value in [*KNOWN, *varied]}) == 201
    assert vary_inputs([(True,)], 5) == [(False,)]
    assert vary_inputs([(None,)], 5) == []
    assert vary_inputs([()], 5) == []


def test_variations_reach_boundaries():
    varied = vary_inputs([([5, 6],)], 200, seed=0)
    lists = [value[0] for value in varied]
    assert [] in lists
    assert any(0 in numbers for numbers in lists)
    assert any(min(numbers, default=0) < 0 for numbers in lists)
    assert max(len(numbers) for numbers in lists) > 3


def test_variations_of_odd_numbers():
    varied = vary_inputs([(math.inf, 1e308, 10**5000, "9" * 5000, "", b"x")], 100, seed=3)
    assert len(varied) == 100


def test_variations_depend_on_the_seed_only():
    """Not on the order of sets, which differs between processes."""
    known = "[({'x', 'yy', 'z'}, {'a': [1, 2]})]"
    code = (
        "from codegym.curricula import vary_inputs\n"
        f"print([(sorted(words), table) for words, table in vary_inputs({known}, 60, 7)])"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    ]
    assert runs[0] == runs[1] == runs[2]
    assert vary_inputs(KNOWN, 20, 1) != vary_inputs(KNOWN, 20, 2)


def test_variations_of_nothing():
    with pytest.raises(ConfigError, match="needs known ones, and a count, got 0"):
        vary_inputs([], 3)


def test_draws_from_a_strategy():
    strategy = st.tuples(st.lists(st.integers(-5, 5), max_size=4))
    drawn = draw_inputs(strategy, 30, seed=4)
    assert len(drawn) == 30
    assert len({repr(value) for value in drawn}) == 30
    assert drawn == draw_inputs(strategy, 30, seed=4)
    assert drawn != draw_inputs(strategy, 30, seed=5)
    assert len(draw_inputs(st.tuples(st.booleans()), 30)) == 2


# Building


@pytest.fixture(scope="module")
def grader(local):
    with Grader(local) as made:
        yield made


LARGEST = Task(
    id="second_largest",
    prompt="The second largest of the different numbers, or None.",
    entry_point="f",
    public_tests=(TestCase.call([3, 1, 2], expected=2),),
    hidden_tests=(TestCase.call([5, 5, 4], expected=4, tier="base"),),
    reference_solutions=(
        "def f(xs):\n    xs = sorted(set(xs))\n    return xs[-2] if len(xs) > 1 else None\n",
        "def f(xs):\n    rest = [x for x in xs if x != max(xs)]\n    return max(rest) if rest else None\n",
    ),
    wrong_solutions=(
        "def f(xs):\n    return sorted(xs)[-2]\n",  # duplicates, short lists
        "def f(xs):\n    xs = sorted(set(xs))\n    return xs[-2]\n",  # short lists only
        "def f(xs):\n    return xs[0]\n",
    ),
)


def test_tiers_for_a_function(grader):
    built = build_tiers(LARGEST, grader, count=60, size=20, seed=3)
    new = built.hidden_tests[1:]
    assert tuple(tier_counts(new).values()) == (6, 6, 4, 4)
    assert [test.tier for test in built.tests[:2]] == ["original", "original"]
    assert [test.tier for test in new] == sorted((test.tier for test in new), key=TIERS.index)
    for test in new:
        different = sorted(set(test.args[0]))
        assert test.expected == (different[-2] if len(different) > 1 else None)
    for code in LARGEST.reference_solutions:
        outcome = grader.grade(Program(code), built)
        assert outcome.passed
        assert TierReward()(built, outcome) == 1.0
    # what only short lists catch is caught by few tests, so these are hard
    hardest = [test for test in new if test.tier == "edge"]
    assert all(len(set(test.args[0])) < 2 for test in hardest)
    rewards = [TierReward()(built, grader.grade(Program(code), built)) for code in LARGEST.wrong_solutions]
    assert max(rewards) < 1.0


def test_building_is_a_function_of_its_arguments(grader):
    assert build_tiers(LARGEST, grader, count=30, seed=3) == build_tiers(LARGEST, grader, count=30, seed=3)
    assert build_tiers(LARGEST, grader, count=30, seed=3) != build_tiers(LARGEST, grader, count=30, seed=4)


def test_given_inputs_and_those_on_which_the_reference_fails(grader):
    task = Task(
        id="inverse",
        prompt="",
        entry_point="f",
        reference_solutions=(
            "import os\ndef f(x):\n    if x == 7: os._exit(0)\n    if x == 8:\n        while True: pass\n"
            "    if x == 9: return object()\n    return [12 // x] * (30000 if x == 12 else 1)\n",
        ),
        limits=Limits(cpu_s=1.0),
    )
    built = build_tiers(task, grader, inputs=[(x,) for x in (*range(7), 7, 10, 8, 11, 9, 12, 3)])
    found = {test.args[0]: test.expected for test in built.hidden_tests}
    assert found == {x: [12 // x] for x in (1, 2, 3, 4, 5, 6, 10, 11)}


def test_references_must_agree(grader):
    task = Task(
        id="abs",
        prompt="",
        entry_point="f",
        reference_solutions=("def f(x):\n    return abs(x)", "def f(x):\n    return x"),
    )
    built = build_tiers(task, grader, inputs=[(x,) for x in range(-5, 6)])
    assert sorted(test.args[0] for test in built.hidden_tests) == [0, 1, 2, 3, 4, 5]


def test_a_reference_must_answer_the_same_again(grader):
    code = "import time\ndef f(x):\n    return time.perf_counter_ns() if x % 2 else x"
    task = Task(id="clock", prompt="", entry_point="f", reference_solutions=(code,))
    built = build_tiers(task, grader, inputs=[(x,) for x in range(10)])
    assert sorted(test.args[0] for test in built.hidden_tests) == [0, 2, 4, 6, 8]


def test_how_answers_are_compared_is_kept(grader):
    task = Task(
        id="in place",
        prompt="",
        entry_point="f",
        public_tests=(
            TestCase.call([2, 1], expected=[1, 2], answer="argument", compare=Comparison(rule="unordered")),
        ),
        reference_solutions=("def f(xs):\n    xs.sort()",),
    )
    built = build_tiers(task, grader, count=12)
    assert all(test.expected == sorted(test.args[0]) for test in built.hidden_tests)
    assert {(test.answer, test.compare.rule) for test in built.hidden_tests} == {("argument", "unordered")}


def test_tiers_for_a_program_with_standard_streams(grader):
    task = Task(
        id="sum",
        prompt="The sum of the numbers.",
        public_tests=(TestCase.stdio("3\n1 2 3\n", expected="6"),),
        reference_solutions=("input()\nprint(sum(map(int, input().split())))",),
        wrong_solutions=("input()\nprint(sum(abs(int(x)) for x in input().split()))",),
    )
    built = build_tiers(task, grader, count=20, size=8)
    assert tuple(tier_counts(built.hidden_tests).values()) == tuple(apportion(8, SUITE_RATIO).values())
    for test in built.hidden_tests:
        assert int(test.expected) == sum(map(int, test.stdin.splitlines()[1].split()))
    negative = ["-" in test.stdin.splitlines()[1] for test in built.hidden_tests]
    assert negative == sorted(negative)
    assert any(negative)


def test_scripts_that_fail_or_print_too_much_make_no_test(grader):
    code = "n = int(input())\nprint('x' * n if n else 1 / n)"
    task = Task(id="x", prompt="", reference_solutions=(code,))
    built = build_tiers(task, grader, inputs=[f"{n}\n" for n in (0, 1, 2, 3, 4, 10**6)])
    assert sorted(test.stdin for test in built.hidden_tests) == ["1\n", "2\n", "3\n", "4\n"]
    assert [test.tier for test in built.hidden_tests] == [*TIERS]


def test_tests_by_keyword_are_no_models_for_inputs(grader):
    task = replace(
        LARGEST, hidden_tests=(TestCase.call(kwargs={"xs": [1]}, expected=None),), wrong_solutions=()
    )
    built = build_tiers(task, grader, count=10)
    assert all(len(test.args) == 1 for test in built.hidden_tests[1:])
    assert len(built.hidden_tests) == 11


def test_inputs_from_a_strategy(grader):
    built = build_tiers(LARGEST, grader, strategy=st.tuples(st.lists(st.integers(0, 3))), count=25)
    assert len(built.hidden_tests) > 10
    assert all(0 <= x <= 3 for test in built.hidden_tests[1:] for x in test.args[0])


def test_a_kill_table(grader):
    task = replace(
        LARGEST,
        public_tests=(),
        hidden_tests=tuple(
            TestCase.call(xs, expected=expected)
            for xs, expected in (([1, 2], 1), ([2, 2, 1], 1), ([1], None))
        ),
    )
    table = kill_table(grader, task, [Program(code) for code in LARGEST.wrong_solutions])
    assert table.astype(int).tolist() == [[0, 0, 0], [1, 0, 1], [1, 1, 1]]
    assert kill_table(grader, task, []).shape == (3, 0)


def test_infrastructure_trouble_is_no_kill(local, monkeypatch):
    with Grader(local) as grader:
        monkeypatch.setattr(
            grader, "grade", lambda program, task, tests=None: Outcome.infrastructure("gone", task.tests)
        )
        with pytest.raises(InfraError, match="gone"):
            kill_table(grader, LARGEST, [Program("x = 1")])
        with pytest.raises(InfraError, match="gone"):
            build_tiers(LARGEST, grader)


@pytest.mark.parametrize(
    ("changes", "options", "error", "message"),
    [
        ({"reference_solutions": ()}, {}, ConfigError, "'second_largest' has no reference solution"),
        ({}, {"size": 3}, ConfigError, "at least the 4 tiers, got 3"),
        ({}, {"inputs": [], "strategy": st.none()}, ConfigError, "not both"),
        ({}, {"inputs": [[1]]}, ConfigError, r"must be tuples of plain data, got \[1\]"),
        ({}, {"inputs": [(object,)]}, ConfigError, "must be tuples of plain data"),
        (
            {"entry_point": None, "public_tests": (), "hidden_tests": ()},
            {"inputs": [(1,)]},
            ConfigError,
            "must be texts",
        ),
        ({"public_tests": (), "hidden_tests": ()}, {}, ConfigError, "needs known ones"),
        ({}, {"inputs": [([1, 2],), ([3, 4],)]}, DataError, "only 2 of 2 inputs make a test"),
        ({"reference_solutions": ("def g(): pass",)}, {}, DataError, "the reference solution does not load"),
    ],
)
def test_what_cannot_be_built(grader, changes, options, error, message):
    with pytest.raises(error, match=message):
        build_tiers(replace(LARGEST, **changes), grader, **options)


def test_a_grader_that_stops_early_will_not_do(local):
    with Grader(local, stop_early=True) as hasty, pytest.raises(ConfigError, match="without stop_early"):
        build_tiers(LARGEST, hasty)


def test_ranks_are_spread_evenly(grader):
    every = build_tiers(LARGEST, grader, count=40)
    some = build_tiers(LARGEST, grader, count=40, size=4)
    first, *_, last = every.hidden_tests[1:]
    kept = some.hidden_tests[1:]
    assert [test.tier for test in kept] == [*TIERS]
    assert (kept[0].args, kept[-1].args) == (first.args, last.args)
    assert Counter(test.tier for test in every.hidden_tests[1:]) == Counter(
        apportion(len(every.hidden_tests) - 1)
    )

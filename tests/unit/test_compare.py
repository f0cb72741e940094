"""The comparison rules."""

from __future__ import annotations

import copy
import importlib
import math
import random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from codegym.core import Comparison, TestCase
from codegym.errors import ConfigError, PluginError
from codegym.grading.compare import compare, default_comparison
from codegym.sandbox.plain import Opaque, decode, encode

module = importlib.import_module("codegym.grading.compare")  # the package has the function of that name
CALL = TestCase.call(expected=0)
NAN, INF = math.nan, math.inf
HUGE = 10**400


def same(rule: str, answer: Any, expected: Any, **options: Any) -> bool:
    return compare(Comparison(rule=rule, **options), CALL, answer, expected)  # type: ignore[arg-type]


def array(*numbers: Any) -> Opaque:
    return Opaque(("ndarray", list(numbers)))


def nested(depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = [leaf]
    return leaf


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (True, 1, True),
        (-0.0, 0.0, True),
        (0.1 + 0.2, 0.3, False),
        ([1, 2], (1, 2), False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ({1, 2}, {2, 1}, True),
        ({1}, frozenset({1}), True),
        ({"b": 1, "a": 2}, {"a": 2, "b": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        (None, 0, False),
        ("1", 1, False),
        (b"a", "a", False),
        (HUGE, float(10**300), False),
        (NAN, NAN, True),
        ([1, NAN], [1.0, float("nan")], True),
        ({"a": [NAN]}, {"a": [float("nan")]}, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (Opaque(("Point", {"x": 1})), Opaque(("Point", {"x": 1.0})), True),
        (Opaque(("Point", {"x": 1})), Opaque(("Other", {"x": 1})), False),
        (Opaque(("Point", {"x": NAN})), Opaque(("Point", {"x": float("nan")})), True),
        (array(1, 2), [1, 2], False),
        (("Point", 1), Opaque(("Point", 1)), False),
        (nested(200, 1), nested(200, 1), True),
        (nested(200, NAN), nested(200, NAN), True),
        (nested(200, 1), nested(200, 2), False),
    ],
)
def test_exact(answer: Any, expected: Any, right: bool) -> None:
    assert same("exact", answer, expected) is right


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        (1.0000001, 1.0, True),
        (1.1, 1.0, False),
        (1, 1.0000001, True),
        (True, 1, True),
        (True, 1.0000001, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (INF, INF, True),
        (-INF, INF, False),
        (1e308, INF, False),
        (INF, 1e308, False),
        (HUGE, INF, False),
        (HUGE, HUGE + 1, True),
        (HUGE, HUGE * 2, False),
        (HUGE, 1.5, False),
        (1.5, HUGE, False),
        (HUGE, HUGE + HUGE // 10**7, True),
        (-1e308, 1e308, False),
        (1 + 1e-9j, 1 + 0j, True),
        (1, 1 + 1e-9j, True),
        (complex(1e308, 1e308), complex(-1e308, 0), False),
        (complex(NAN, 1), complex(NAN, 1), True),
        ([1.0, [2.0000001, (3,)]], [1, [2, (3.0,)]], True),
        ([1.0], (1.0000001,), False),
        ({"a": [0.1 + 0.2]}, {"a": [0.3]}, True),
        ({"a": 1.0}, {"b": 1.0}, False),
        ({1.0}, {1.0000001}, False),
        ("1.0", 1.0, False),
        (None, 0.0, False),
        ([], [], True),
        ([1.0], [1.0, 1.0], False),
        (array(1.0, 2.0000001), [1, 2], True),
        (array(1.0, 2.0000001), (1, 2), True),
        (array([1.0], [2.0000001]), [[1], [2]], True),
        ([array(1.0), array(2.0)], [[1.0000001], [2.0]], True),
        ([1.0, 2.0], array(1.0000001, 2.0), True),
        (array(1.0), array(1.0000001), True),
        (array(1.0), array(1.1), False),
        (array(1.0), 1.0, False),
        (array(1.0), {1.0}, False),
        (Opaque(("range", [0, 3, 1])), [0, 3, 1], False),
        (Opaque(("Point", {"x": 1.0})), Opaque(("Point", {"x": 1.0000001})), True),
        (nested(200, 1.0000001), nested(200, 1.0), True),
    ],
)
def test_float(answer: Any, expected: Any, right: bool) -> None:
    assert same("float", answer, expected, rtol=1e-6, atol=1e-6) is right


def test_float_tolerance_is_relative_to_what_is_expected() -> None:
    assert same("float", 110, 100, rtol=0.1)
    assert not same("float", 111, 100, rtol=0.1)
    assert same("float", 1.5, 1, atol=0.5)
    assert not same("float", -1.5, 1, rtol=0.5)


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ([2, 1], [1, 2], True),
        ([2, 1, 1], [1, 2, 2], False),
        ((2, 1), [1, 2], True),
        ({1, 2}, [2, 1], True),
        ([1, 1], {1}, False),
        (array(2, 1), [1, 2], True),
        ([[1], [2]], [[2], [1]], True),
        ([[1, 2]], [[2, 1]], False),
        ([(1,)], [[1]], False),
        ([{"a": [1]}, {"b": 2}], [{"b": 2}, {"a": [1]}], True),
        ([{"a": [1]}, {"b": 2}], [{"b": 2}, {"a": [2]}], False),
        ([{1}, set()], [set(), {1}], True),
        ([1, True, 1.0], [1, 1, 1], True),
        ([NAN, 1], [1, float("nan")], True),
        ([Opaque(("P", [1])), 1], [1, Opaque(("P", [1]))], True),
        ([[NAN], "x"], ["x", [float("nan")]], True),
        ("ab", "ba", False),
        ("ab", "ab", True),
        ({"a": 1}, {"a": 1}, True),
        (5, [5], False),
        (None, None, True),
        ([], (), True),
    ],
)
def test_unordered(answer: Any, expected: Any, right: bool) -> None:
    assert same("unordered", answer, expected) is right


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ([2.0000001, 1.0], [1, 2], True),
        ([2.1, 1.0], [1, 2], False),
        ([1.05, 1.1], [1.0, 1.05], False),
        ([[1.0, 5], [1.0000001, 3]], [[1.0000001, 5], [1.0, 3]], True),
        ([[1.0, "x"], [2.0, "y"]], [[2.0, "x"], [1.0, "y"]], False),
        ([[1.0, "x"], [2.0, "y"]], [[2.0000001, "y"], [1.0, "x"]], True),
        ([{"a": 1.0}, {"a": 2.0}], [{"a": 2.0000001}, {"a": 1.0}], True),
        ([array(1.0, 2.0), [0.0]], [[0.0], [1.0, 2.0000001]], True),
        ([True, 2.0], [2, 1], True),
        (["a", 1.0], [1.0000001, "b"], False),
        ([1j, 2], [2.0000001, 1j], True),
        ([NAN, INF], [INF, NAN], True),
        (1.0000001, 1.0, True),
    ],
)
def test_unordered_within_a_tolerance(answer: Any, expected: Any, right: bool) -> None:
    assert same("unordered", answer, expected, atol=1e-6) is right


def test_unordered_pairs_so_that_all_fit() -> None:
    assert same("unordered", [1.05, 1.1], [1.0, 1.05], atol=0.06)


@pytest.mark.parametrize(
    ("rule", "answer", "expected", "right"),
    [
        ("text", "a\n", "a\n", True),
        ("text", "a", "a\n", False),
        ("lines", "a  \n b\n\n\n", "a\nb", True),
        ("lines", "a\r\nb\r\n", "a\nb\n", True),
        ("lines", "a\n\nb", "a\nb", False),
        ("lines", "0", "0\n1\n0", False),
        ("lines", "0\n1\n0", "0", False),
        ("lines", "", "", True),
        ("lines", "\na", "a", False),
        ("lines", "1  2", "1 2", False),
        ("lines", 1, "1", False),
        ("lines", None, "", False),
        ("tokens", "1   2\n3", "1 2 3", True),
        ("tokens", "1 2", "1 2 3", False),
        ("tokens", "1.0", "1", False),
        ("tokens", "YES", "yes", False),
    ],
)
def test_texts(rule: str, answer: Any, expected: str, right: bool) -> None:
    assert same(rule, answer, expected) is right


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("0.3333333", "0.33333333", True),
        ("1.0", "1", True),
        ("1e-7", "0", True),
        ("0011", "11", False),
        ("1_0", "10", False),
        ("+1", "1", True),
        (".5", "0.5", True),
        ("nan", "NaN", True),
        ("inf", "Infinity", True),
        ("-inf", "inf", False),
        ("9" * 400, "8" * 400, False),
        ("9" * 400, "9" * 400, True),
        ("\u0661", "1", False),
        ("abc", "abd", False),
        ("0x10", "16", False),
    ],
)
def test_tokens_within_a_tolerance(answer: str, expected: str, right: bool) -> None:
    assert same("tokens", answer, expected, atol=1e-6) is right


def test_text_rule_for_an_expected_value_that_is_no_text() -> None:
    with pytest.raises(ConfigError, match="'lines' compares texts, but 3 is expected"):
        same("lines", "3", 3)


def even(test: TestCase, answer: Any, expected: Any) -> bool:
    if answer is None:
        raise ValueError("nothing there")
    return bool(answer % 2 == 0)


def wordy(test: TestCase, answer: Any, expected: Any) -> Any:
    return "yes"


NOT_CALLABLE = 3


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "even", even, raising=False)
    monkeypatch.setattr(module, "wordy", wordy, raising=False)
    monkeypatch.setattr(module, "NOT_CALLABLE", NOT_CALLABLE, raising=False)
    module._load_judge.cache_clear()


@pytest.mark.usefixtures("judges")
def test_judge() -> None:
    judge = "codegym.grading.compare:even"
    assert same("judge", 4, 0, judge=judge)
    assert not same("judge", 3, 0, judge=judge)


@pytest.mark.usefixtures("judges")
@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        ("even", None, "'codegym.grading.compare:even' raised ValueError: nothing there"),
        ("wordy", 1, "must return a boolean, got 'yes'"),
        ("NOT_CALLABLE", 1, "is not callable: 3"),
        ("missing", 1, "no attribute 'missing'"),
    ],
)
def test_a_broken_judge_is_our_error(name: str, answer: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        same("judge", answer, 0, judge=f"codegym.grading.compare:{name}")


def test_default_comparison() -> None:
    assert default_comparison(TestCase.call(expected=1)).rule == "exact"
    assert default_comparison(TestCase.stdio("", "")).rule == "lines"
    assert default_comparison(TestCase.code("")).rule == "exact"


NUMBERS = st.integers() | st.floats()
SCALARS = st.none() | st.booleans() | NUMBERS | st.complex_numbers() | st.text() | st.binary()
PLAIN = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.sets(st.integers() | st.text())
        | inner.map(lambda value: Opaque(("Thing", value)))
    ),
    max_leaves=12,
)
VALUE_RULES = st.sampled_from(["exact", "float", "unordered"])
TOLERANCES = st.sampled_from([0.0, 1e-9, 1e-6, 0.5, 10.0])


@given(PLAIN, VALUE_RULES, TOLERANCES)
def test_every_value_matches_itself_and_its_copy(value: Any, rule: str, tolerance: float) -> None:
    assert same(rule, value, copy.deepcopy(value), atol=tolerance)
    assert same(rule, decode(encode(value)), value, rtol=tolerance)


@given(PLAIN, PLAIN, VALUE_RULES, TOLERANCES)
def test_accepts_what_is_equal(answer: Any, expected: Any, rule: str, tolerance: float) -> None:
    assert same(rule, answer, expected, atol=tolerance, rtol=tolerance) or answer != expected


@given(st.lists(PLAIN), st.randoms(use_true_random=False), TOLERANCES)
def test_unordered_accepts_every_order(values: list[Any], rng: random.Random, tolerance: float) -> None:
    shuffled = values[:]
    rng.shuffle(shuffled)
    assert same("unordered", shuffled, values, atol=tolerance)


@given(st.lists(PLAIN), PLAIN, TOLERANCES)
def test_unordered_counts(values: list[Any], extra: Any, tolerance: float) -> None:
    assert not same("unordered", [*values, extra], values, atol=tolerance)


@given(NUMBERS, NUMBERS, TOLERANCES)
def test_exact_arithmetic_agrees_with_floats(answer: float, expected: float, tolerance: float) -> None:
    assume(math.isfinite(answer) and math.isfinite(expected) and 1e-12 < abs(answer - expected) < 1e15)
    difference, bound = abs(answer - expected), tolerance * (1 + abs(expected))
    assume(abs(difference - bound) > 1e-9 * difference)
    by_floats = module._close(answer, expected, rtol=tolerance, atol=tolerance)
    assert module._close_exactly(answer, expected, tolerance, tolerance) == by_floats


def test_large_values() -> None:
    numbers = [float(i) for i in range(200_000)]
    moved = [number + 1e-9 for number in numbers]
    assert same("float", moved, numbers, atol=1e-6)
    assert same("unordered", moved[::-1], numbers, atol=1e-6)
    assert same("unordered", [[n] for n in numbers[::-1]], [[n] for n in numbers])
    assert not same("unordered", [*numbers[1:], 0.5], numbers, atol=1e-6)
    assert same("lines", "1 \n" * 300_000, "1\n" * 300_000)
    assert same("tokens", "1.0 " * 300_000, "1\n" * 300_000, atol=1e-6)


def test_colliding_answers_stay_cheap() -> None:
    modulus = 2**61 - 1  # integers that differ by it have one hash
    expected = list(range(100_000))
    assert not same("unordered", [i * modulus for i in range(100_000)], expected)

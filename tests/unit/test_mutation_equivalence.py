"""Telling mutants from the original, and the inputs for it."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError
from codegym.mutation.equivalence import Triage, inputs_for, triage
from codegym.mutation.equivalence_inputs import calls_in, from_strategy, perturbed, strategy_of, vary

SOURCE = """\
def clamp(x: int, low: int, high: int) -> int:
    if x < low:
        return low
    if x > high:
        return high
    return x


def head(xs: list[int]):
    if not xs:
        raise ValueError("empty")
    return xs[0]


def sort(xs: list[int]):
    xs.sort()


def spin(n: int):
    while n > 10**9:
        n = n
    return n


def untyped(x):
    return x + 1
"""
CASES = [
    ("x < low", "x <= low", "value", "differs"),  # where low is above high
    ("x > high", "x >= high", None, "equivalent?"),
    ("return high", "return low", "value", "differs"),
    ("return x\n", "return float(x)\n", "value", "differs"),
    ('ValueError("empty")', 'IndexError("empty")', "exception", "differs"),
    ('ValueError("empty")', 'ValueError("nothing")', "message", "equivalent?"),
    ('raise ValueError("empty")', "return None", "value", "differs"),
    ("xs.sort()", "xs.reverse()", "value", "differs"),
    ("n > 10**9", "True", "value", "differs"),
    ("return low", "import os; os._exit(1)", "value", "differs"),
    ("x + 1", "x + True", None, "equivalent?"),
    ("x + 1", "x + 1.0", "value", "differs"),
    ("return low", "return (", "value", "differs"),
]
TESTS = "assert untyped(1) == 2\nassert clamp(1, 0, 3) == 1\n"


@pytest.fixture(scope="module")
def found(engine, edits):
    mutants = edits(SOURCE, *[case[:2] for case in CASES])
    return triage(engine.sandbox, SOURCE, mutants, tests=TESTS, count=300)


@pytest.mark.parametrize(
    ("number", "level", "label"),
    [pytest.param(n, c[2], c[3], id=f"{c[0]} -> {c[1]}") for n, c in enumerate(CASES)],
)
def test_levels(found, number, level, label):
    assert (found[number].level, found[number].label) == (level, label)


def test_the_evidence_is_an_input_or_their_number(found):
    distinguished = found[2]
    assert distinguished.function == "clamp"
    x, low, high = distinguished.args
    assert x > high
    assert (distinguished.original, distinguished.mutated) == (str(high), str(low))
    assert found[1].tried > 300
    assert (found[1].function, found[1].args) == ("", ())


def test_the_same_again(engine, edits, found):
    mutants = edits(SOURCE, *[case[:2] for case in CASES])
    assert triage(engine.sandbox, SOURCE, mutants, tests=TESTS, count=300) == found


def test_only_the_declared_domain_is_tried(engine, edits):
    mutants = edits(SOURCE, ("return high", "return max(low, high)"))
    ordered = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)).map(
        lambda values: (values[0], *sorted(values[1:]))
    )
    everywhere, inside = (
        triage(engine.sandbox, SOURCE, mutants, functions=["clamp"], domain=domain, count=200)[0]
        for domain in (None, {"clamp": ordered})
    )
    assert everywhere.label == "differs"
    assert inside.label == "equivalent?"


def test_without_inputs_nothing_is_known(engine, edits):
    only = triage(engine.sandbox, SOURCE, edits(SOURCE, ("x + 1", "x + 2")), functions=["untyped"])
    assert only == [Triage(mutant=only[0].mutant, level=None, tried=0, kwargs={})]
    assert only[0].label == "unknown"


def test_unknown_functions_are_refused():
    with pytest.raises(ConfigError, match="no functions"):
        inputs_for(SOURCE, functions=["missing"])


def test_calls_of_tests_come_first_then_variations_then_hints():
    inputs = inputs_for(SOURCE, tests="assert clamp(1, 2, high=3) == 2", functions=["clamp"], count=50)
    assert inputs[0] == ("clamp", ((1, 2), {"high": 3}))
    assert len(inputs) == 50
    assert any(not kwargs and len(args) == 3 for _, (args, kwargs) in inputs)


def test_literal_calls_are_found_wherever_they_stand():
    tests = "x = m.f([1], k='a')\nassert g(f(2)) == f(*xs) + f(y)\nf(2)\n"
    assert calls_in(tests, "f") == [(([1],), {"k": "a"}), ((2,), {})]
    assert calls_in("def (", "f") == []


def function(hints):
    return ast.parse(f"def f({hints}): pass").body[0]


@pytest.mark.parametrize(
    ("hints", "kinds"),
    [
        ("a: int, b: str", (int, str)),
        ("a: 'list[int]'", (list,)),
        ("a: dict[str, list[bool]]", (dict,)),
        ("a: tuple[int, ...], /, b: set[int]", (tuple, set)),
        ("a: int | None", ((int, type(None)),)),
        ("a: Optional[float]", ((float, type(None)),)),
        ("a: typing.Sequence[int], b: list", (list, list)),
        ("a: Union[bytes, bool], b: frozenset[str]", ((bytes, bool), frozenset)),
        ("", ()),
    ],
)
def test_hints_give_values_of_their_types(hints, kinds):
    for args, kwargs in from_strategy(strategy_of(function(hints)), 20, seed=0):
        assert kwargs == {}
        assert len(args) == len(kinds)
        assert all(isinstance(value, kind) for value, kind in zip(args, kinds, strict=True))


@pytest.mark.parametrize("hints", ["a", "a: int, b", "a: Widget", "a: list[Widget]", "a: dict[int]"])
def test_hints_that_are_not_understood_give_nothing(hints):
    assert strategy_of(function(hints)) is None


def test_strategies_give_the_same_for_the_same_seed():
    strategy = st.fixed_dictionaries({"x": st.integers()})
    first = from_strategy(strategy, 30, seed=1)
    assert first == from_strategy(strategy, 30, seed=1)
    assert first != from_strategy(strategy, 30, seed=2)
    assert all(args == () and list(kwargs) == ["x"] for args, kwargs in first)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(PLAIN, st.randoms(use_true_random=False))
def test_variations_keep_the_type(value, rng):
    assert type(vary(value, rng)) is type(value)


def test_variations_change_one_argument():
    calls = [((1, "ab"), {"k": [1, 2]})]
    changed = list(perturbed(calls, seed=0))
    assert len(changed) == 20
    for args, kwargs in changed:
        same = [args[0] == 1, args[1] == "ab", kwargs["k"] == [1, 2]]
        assert sum(same) >= 2
    assert list(perturbed([((), {})], seed=0)) == []

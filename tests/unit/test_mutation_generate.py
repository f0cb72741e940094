"""Mutants of a source: the operators and their examples, what is never mutated, samples, and controls."""

import ast
import textwrap
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError, NotFoundError
from codegym.mutation import Mutant, generate, must_die, shams
from codegym.mutation.signature import signature
from codegym.mutation.source import Source
from codegym.plugins import registry

OPERATORS = [(entry.name, entry.load()()) for entry in registry().entries("operator")]
SAMPLE = '''
"""Module."""
import logging
from typing import TYPE_CHECKING
__all__ = ["clamp"]
LIMIT = 10
logger = logging.getLogger(__name__)

def clamp(x: int, low: int = 0, high: "int" = 5) -> int:
    """Clamp 1 < 2."""
    logger.debug("x %d", x + 1)
    assert low < high, "low < high"
    größe = x
    if größe < low and not x == 3:
        return low
    while x > high:
        x -= 1
        if x % 7 == 0: break
    return min(x, high)

class Box:
    size = 3
    def __init__(self, items=()):
        self.items = list(items)
    def double(self):
        return [item * 2 for item in self.items if item]
    def __repr__(self):
        return "Box" + str(1 + 1)

if TYPE_CHECKING:
    x = 1 + 1
if __name__ == "__main__":
    print(1 + 1)
'''


def texts(source, **options):
    return [mutant.apply(source) for mutant in generate(source, **options).mutants]


@pytest.mark.parametrize(("name", "operator"), OPERATORS, ids=[name for name, _ in OPERATORS])
def test_the_examples_of_an_operator_are_what_it_does(name, operator):
    assert operator.examples
    for before, after in operator.examples:
        source = Source(before)
        edits = [edit for place in source.places() for edit in operator.edits(place, source)]
        made = [before[: e.start] + e.replacement + before[e.end :] for e in edits]
        assert made == list(after), before
        for text in made:
            ast.parse(text)


@pytest.mark.parametrize(("name", "operator"), OPERATORS, ids=[name for name, _ in OPERATORS])
def test_an_operator_is_in_a_group_and_described(name, operator):
    assert operator.group in ("defaults", "stronger")
    assert type(operator).__doc__


def test_mutants_are_in_place_valid_and_different():
    found = generate(SAMPLE, operators="all")
    assert len({mutant.id for mutant in found}) == len(found)
    codes = {signature(compile(mutant.apply(SAMPLE), "m", "exec")) for mutant in found}
    assert len(codes) == len(found)
    assert signature(compile(SAMPLE, "m", "exec")) not in codes
    for mutant in found:
        changed = mutant.apply(SAMPLE)
        assert changed[: mutant.start] == SAMPLE[: mutant.start]
        assert changed.endswith(SAMPLE[mutant.end :])
        assert mutant.line == SAMPLE.count("\n", 0, mutant.start) + 1
        assert mutant.diff(SAMPLE).count("\n+") >= 1


def test_what_is_never_mutated():
    lines = {mutant.line for mutant in generate(SAMPLE, operators="all")}
    text = SAMPLE.splitlines()
    for number in lines:
        line = text[number - 1]
        never = ("logger.debug", "assert", '"""', "import", "__all__", 'return "Box"', "x = 1 + 1", "print(")
        assert not any(word in line for word in never), line
    annotations = [
        m for m in generate(SAMPLE, operators="all") if SAMPLE[m.start : m.end] in ('"int"', "int")
    ]
    assert annotations == []


def test_where_a_mutant_is():
    by_text = {SAMPLE.splitlines()[m.line - 1].strip(): m for m in generate(SAMPLE, operators="all")}
    assert by_text["LIMIT = 10"].at_import
    assert by_text["LIMIT = 10"].function is None
    assert by_text["size = 3"].at_import
    default = next(
        m
        for m in generate(SAMPLE)
        if SAMPLE[m.start : m.end] == "0" and "low: int" in SAMPLE.splitlines()[m.line - 1]
    )
    assert default.at_import
    inner = by_text["return [item * 2 for item in self.items if item]"]
    assert (inner.function, inner.at_import) == ("Box.double", False)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_offsets_are_characters_whatever_the_encoding_and_the_lines(newline):
    source = newline.join(["x = 'ä🐍' + ü * 2", "def f(ü):", "\treturn ü < 3", ""])
    for text in texts(source):
        ast.parse(text)
    assert f"x = 'ä🐍' + ü / 2{newline}" in "".join(texts(source))
    assert any("\treturn ü <= 3" in text for text in texts(source))


@pytest.mark.parametrize(("source", "mutated"), [
    ("x = 1 + 1  # pragma: no mutate\ny = 2 * z\n", {2}),
    ("def f():  # pragma: no mutate\n    return 1 + a\ny = 2 * z\n", {3}),
    ("x = '# pragma: no mutate'\ny = a + b\n", {2}),
    ("if a:  # PRAGMA: NO MUTATE\n    x = 1 + b\nelse:\n    x = 2 + b\n", set()),
], ids=["line", "report-31-function", "report-31-string", "report-31-else"])  # fmt: skip
def test_pragma(source, mutated):
    assert {mutant.line for mutant in generate(source)} == mutated


REPORTS = {
    "2-dataclass-methods": (
        "@dataclass\nclass A:\n    x: int = 1\n    def f(self):\n        return self.x + 1\n",
        "self.x - 1",
    ),
    "22-private-class": ("class _Foo:\n    def f(self):\n        return self.__x < 1\n", "self.__x >= 1"),
    "23-annotations": ("def f(x: A | B, y: 'C' = None) -> D[1]:\n    return x + 1\n", "x - 1"),
    "24-enum-method": (
        "class E(Enum):\n    A = 1\n    def f(self):\n        return self.value * 2\n",
        "self.value / 2",
    ),
    "40-decorated": ("@functools.wraps(g)\ndef f(x):\n    return x == 1\n", "x != 1"),
    "41-constants": ("def f():\n    return 41\n", "return 42"),
    "lambda": ("f = lambda x: x + 1\n", "x - 1"),
    "comprehension": ("def f(a):\n    return [x for x in a if x > 1]\n", "if x >= 1"),
    "chained": ("def f(a):\n    return 0 <= a < 10\n", "0 <= a <= 10"),
    "match": ("def f(a):\n    match a:\n        case 1: return a + 1\n", "return a - 1"),
    "walrus": ("def f(a):\n    if (n := len(a)) > 10: return n\n", ">= 10"),
    "await": ("async def f(a):\n    return await a + 1\n", "await a - 1"),
}


@pytest.mark.parametrize("name", REPORTS)
def test_constructs_that_other_tools_miss(name):
    source, wanted = REPORTS[name]
    found = texts(source, operators="all")
    assert any(wanted in text for text in found)
    assert not any("C'" not in text and "'C'" in source for text in found), "an annotation was mutated"


@pytest.mark.parametrize(("one", "other"), [
    ("f(x).lower()", "f(x).upper()"), ("g(a)", "h(a)"), ("1", "True"), ("0.0", "-0.0"), ("(1, 2)", "(1, 2.0)"),
], ids=["report-45-method", "report-45-name", "report-45-type", "report-45-sign", "report-45-nested"])  # fmt: skip
def test_signatures_tell_apart_what_differs(one, other):
    assert signature(compile(one, "a", "eval")) != signature(compile(other, "a", "eval"))


def test_signatures_ignore_lines_and_files():
    assert signature(compile("x = 1", "a", "exec")) == signature(compile("\n\nx  =  1", "b", "exec"))


def test_equal_code_and_duplicates_are_set_apart():
    found = generate("def f(a):\n    if a:\n        return None\n    return a and a\n", operators="all")
    kept = [mutant.apply("") for mutant in found]
    assert found.duplicates
    assert len(kept) + len(found.duplicates) + len(found.equivalent) + len(found.invalid) >= len(kept)


def test_lines_that_no_mutant_touches_are_named():
    found = generate("def f(a):\n    b = a\n    return b + 1\n")
    assert found.unmutated == (2,)


# Which operators


def test_groups_and_exceptions():
    defaults, stronger = generate(SAMPLE), generate(SAMPLE, operators="stronger")
    assert {m.group for m in defaults} == {"defaults"}
    assert {m.group for m in stronger} == {"defaults", "stronger"}
    fewer = generate(SAMPLE, operators=["defaults", "-constant", "-relational"])
    assert {m.operator for m in fewer} == {m.operator for m in defaults} - {"constant", "relational"}
    assert {m.operator for m in generate(SAMPLE, operators=["arithmetic"])} == {"arithmetic"}
    assert {m.line for m in generate(SAMPLE, lines={14})} == {14}


def test_names_that_are_none():
    with pytest.raises(NotFoundError, match="'arithmetic'"):
        generate(SAMPLE, operators="aritmetic")
    with pytest.raises(ConfigError, match="no operator is left"):
        generate(SAMPLE, operators=["arithmetic", "-arithmetic"])
    with pytest.raises(ConfigError, match="does not parse"):
        generate("def f(:")


# Samples


@given(st.integers(0, 5), st.integers(1, 30))
def test_a_sample_depends_on_the_seed_and_is_fair(seed, limit):
    everything = {m.id for m in generate(SAMPLE, operators="all")}
    sample = [m.id for m in generate(SAMPLE, operators="all", seed=seed, limit=limit)]
    assert sample == [m.id for m in generate(SAMPLE, operators="all", seed=seed, limit=limit)]
    assert len(sample) == min(limit, len(everything))
    assert set(sample) <= everything
    counts = Counter(name.split(":")[0] for name in sample)
    assert max(counts.values()) <= -(-limit // 1)
    if limit <= 10:
        assert max(counts.values()) <= 2


# Controls

PROGRAM = textwrap.dedent(
    '''
    def grade(points, limit=50):
        """Say it."""
        total = 0
        for point in points:
            if point < 0:
                return "negative"
            total += point
        low = limit - 10
        if total < low:
            return "low"
        return "high" if limit <= total else (
            "middle"
        )
    '''
)


@pytest.mark.parametrize("sham", shams(PROGRAM, count=99), ids=lambda sham: sham.id)
def test_shams_behave_like_the_original_and_are_other_code(sham):
    assert sham.control == "sham"
    changed = sham.apply(PROGRAM)
    assert signature(compile(changed, "a", "exec")) != signature(compile(PROGRAM, "a", "exec"))
    one, other = {}, {}
    exec(PROGRAM, one)
    exec(changed, other)
    for points in ([], [-1], [10], [45], [50], [20, 40], [1] * 39):
        assert one["grade"](points) == other["grade"](points)


def test_there_are_shams_and_they_are_a_function_of_the_seed():
    assert len(shams(PROGRAM, count=99)) >= 5
    assert shams(PROGRAM, seed=1, count=3) == shams(PROGRAM, seed=1, count=3)
    assert len(shams(PROGRAM, count=3)) == 3


@pytest.mark.parametrize("body", [
    "return x", "if x:\n        return 1\n    return 2", "for i in x:\n        pass", "while x: x -= 1", "with x: pass",
    '"""Doc."""\n    return x', "x += 1; return x", "raise KeyError",
])  # fmt: skip
def test_what_must_die_dies(body):
    source = f"def f(x):\n    {body}\n"
    (doomed,) = must_die(source)
    assert doomed.control == "must_die"
    namespace = {}
    exec(doomed.apply(source), namespace)
    with pytest.raises(ZeroDivisionError):
        namespace["f"](1)


def test_mutants_are_frozen_data():
    (mutant,) = generate("x = a + b", operators=["arithmetic"])
    assert mutant == Mutant(
        id="arithmetic:1:6:1", operator="arithmetic", group="defaults", start=6, end=7, replacement="-", line=1,
        end_line=1, function=None, at_import=True, description="+ → -",
    )  # fmt: skip

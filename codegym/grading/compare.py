"""When an answer counts as the expected one.

Answers come from programs that may be hostile. They arrive here as plain data (`codegym.sandbox.plain`), so
no code of theirs runs; what is left to them is size and shape. Every rule takes near-linear time: nothing of
an answer is ever inserted into a hash table, elements of it are only looked up in tables made of what was
expected, and nothing recurses deeper than the answer, whose depth the decoder bounds.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from codegym.core import Comparison, TestCase
from codegym.errors import ConfigError, PluginError
from codegym.plugins import describe, load_target
from codegym.sandbox.plain import Opaque

__all__ = ["compare", "default_comparison"]

Pairs = Iterator[tuple[Any, Any]]
Leaf = Callable[[Any, Any], bool]
Numbered = tuple[list[float], Any]

SMALL_GROUP: Final = 64
"""Up to so many elements are paired in every possible way before an unordered answer is called wrong."""


def compare(rule: Comparison, test: TestCase, answer: Any, expected: Any) -> bool:
    """Whether an answer counts as the expected one.

    Args:
        rule: How to compare; see `Comparison`.
        test: The test, for judges.
        answer: What the program answered: plain data, as `codegym.sandbox.plain.decode` gives it, or the text
            that it printed.
        expected: Plain data, or a text.

    Returns:
        Whether they match. An answer of another type than expected is a wrong answer, never an error.

    Raises:
        ConfigError: A rule for text was given an expected value that is no text.
        PluginError: The judge could not be imported, raised, or returned something else than a boolean.
    """
    if rule.rule == "judge":
        return _judged(rule, test, answer, expected)
    if rule.rule in _TEXT_RULES:
        return _compare_text(rule, answer, expected)
    if rule.rule == "unordered":
        return _unordered(rule, answer, expected)
    if rule.rule == "float":
        return bool(answer == expected) or _walk(answer, expected, _leaf(rule), arrays=True)
    return _exact(answer, expected)


def default_comparison(test: TestCase) -> Comparison:
    """The rule for a test where neither it nor its task names one: lines for stdio, exact for the others."""
    return _LINES if test.style == "stdio" else _EXACT


_EXACT: Final = Comparison(rule="exact")
_LINES: Final = Comparison(rule="lines")


# Judges


def _judged(rule: Comparison, test: TestCase, answer: Any, expected: Any) -> bool:
    judge = _load_judge(str(rule.judge))
    try:
        verdict = judge(test, answer, expected)
    except Exception as error:
        raise PluginError(f"Judge {rule.judge!r} raised {describe(error)}") from error
    if not isinstance(verdict, (bool, np.bool_)):
        raise PluginError(f"Judge {rule.judge!r} must return a boolean, got {verdict!r:.200}")
    return bool(verdict)


@functools.cache
def _load_judge(target: str) -> Callable[[TestCase, Any, Any], object]:
    judge = load_target(target)
    if not callable(judge):
        raise PluginError(f"Judge {target!r} is not callable: {judge!r:.200}")
    return judge  # type: ignore[no-any-return]


# Values


def _exact(answer: Any, expected: Any) -> bool:
    """Python's ``==``, except that nan equals nan, as equal bytes on the wire do."""
    return bool(answer == expected) or _walk(answer, expected, _same, arrays=False)


def _same(answer: Any, expected: Any) -> bool:
    if answer == expected:
        return True
    if not (_is_nan(answer) and _is_nan(expected) and type(answer) is type(expected)):
        return False
    return type(answer) is float or (_same(answer.real, expected.real) and _same(answer.imag, expected.imag))


def _is_nan(value: Any) -> bool:
    return type(value) in (float, complex) and value != value


def _walk(answer: Any, expected: Any, leaf: Leaf, *, arrays: bool) -> bool:
    """Compare two values element by element, up to the first difference.

    Args:
        answer: Plain data.
        expected: Plain data.
        leaf: Compares what has no elements.
        arrays: Whether an array (an `Opaque` with a list in it) counts as the list of its elements.
    """
    pending: list[Pairs] = [iter([(answer, expected)])]
    while pending:
        pair = next(pending[-1], None)
        if pair is None:
            pending.pop()
            continue
        if arrays:
            pair = _without_arrays(*pair)
        if not _same_shape(*pair):
            return False
        inner = _elements(*pair)
        if inner is not None:
            pending.append(inner)
        elif not leaf(*pair):
            return False
    return True


def _without_arrays(answer: Any, expected: Any) -> tuple[Any, Any]:
    if _is_array(answer) and (_is_array(expected) or type(expected) in (list, tuple)):
        answer = answer.content if _is_array(expected) else type(expected)(answer.content)
    if _is_array(expected) and type(answer) in (list, tuple):
        expected = type(answer)(expected.content)
    return answer, expected


def _is_array(value: Any) -> bool:
    # the content of a range is its bounds, not its elements
    return type(value) is Opaque and type(value.content) is list and value.name != "range"


def _same_shape(answer: Any, expected: Any) -> bool:
    """Whether two values are of one type and size, as far as they have elements to compare."""
    kind = type(expected)
    if kind is list or kind is tuple or kind is Opaque:
        return type(answer) is kind and len(answer) == len(expected)
    if kind is dict:
        return type(answer) is dict and answer.keys() == expected.keys()
    return True


def _elements(answer: Any, expected: Any) -> Pairs | None:
    """The pairs of elements of two values of the same shape; None where they have none."""
    kind = type(expected)
    if kind is dict:
        return ((answer[key], value) for key, value in expected.items())
    if kind is list or kind is tuple or kind is Opaque:
        return zip(answer, expected, strict=True)
    return None


# Numbers


def _leaf(rule: Comparison) -> Leaf:
    return functools.partial(_close, rtol=rule.rtol, atol=rule.atol)


def _close(answer: Any, expected: Any, *, rtol: float, atol: float) -> bool:
    """Whether two values are the same, or numbers within the tolerance."""
    if _same(answer, expected):
        return True
    kinds = {type(answer), type(expected)}
    if not kinds <= {int, float, complex}:
        return False
    if complex in kinds:
        close = functools.partial(_close, rtol=rtol, atol=atol)
        return close(answer.real, expected.real) and close(answer.imag, expected.imag)
    if not (_is_finite(answer) and _is_finite(expected)):
        return False
    try:
        return bool(abs(answer - expected) <= atol + rtol * abs(expected))
    except OverflowError:  # an integer beyond the floats
        return _close_exactly(answer, expected, rtol, atol)


def _is_finite(number: int | float) -> bool:
    return type(number) is int or math.isfinite(number)


def _close_exactly(answer: int | float, expected: int | float, rtol: float, atol: float) -> bool:
    """The same inequality in integers, multiplied out: the denominators of floats are powers of two."""
    (a, a_unit), (e, e_unit) = answer.as_integer_ratio(), expected.as_integer_ratio()
    (r, r_unit), (t, t_unit) = rtol.as_integer_ratio(), atol.as_integer_ratio()
    difference = abs(a * e_unit - e * a_unit) * r_unit * t_unit
    return difference <= (t * r_unit * e_unit + r * t_unit * abs(e)) * a_unit


# Multisets


def _unordered(rule: Comparison, answer: Any, expected: Any) -> bool:
    answers, wanted = _members(answer), _members(expected)
    if answers is None or wanted is None:
        return _walk(answer, expected, _leaf(rule), arrays=True)
    if len(answers) != len(wanted):
        return False
    if rule.rtol == rule.atol == 0:
        return _same_multiset(answers, wanted)
    return _close_multiset(answers, wanted, _leaf(rule))


def _members(value: Any) -> list[Any] | None:
    """The elements of any collection but a dictionary or a text."""
    if type(value) in (list, tuple, set, frozenset):
        return list(value)
    return list(value.content) if _is_array(value) else None


class _Key:
    """A plain value as a key: equal to what `_exact` calls equal, hashable whatever it holds."""

    __slots__ = ("hash", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.hash = _digest(value, None)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and _exact(other.value, self.value)


def _digest(value: Any, numbers: list[float] | None) -> int:
    """A hash of a plain value that equal values share.

    Args:
        value: Plain data.
        numbers: Where to put the numbers in it; they then do not count for the hash. None: they do.
    """
    if numbers is not None and _is_array(value):
        value = value.content
    kind = type(value)
    if kind is list or kind is tuple or kind is Opaque:
        return hash((kind, *[_digest(element, numbers) for element in value]))
    if kind is dict:
        return sum(hash((key, _digest(value[key], numbers))) for key in value)
    if kind is set or kind is frozenset:
        return hash(frozenset(value))
    if numbers is not None and kind in (bool, int, float, complex):
        numbers += (value.real, value.imag) if kind is complex else (value,)
        return 0
    return 0 if _is_nan(value) else hash(value)


def _same_multiset(answers: Sequence[Any], wanted: Sequence[Any]) -> bool:
    missing = Counter(map(_Key, wanted))
    for answer in answers:
        key = _Key(answer)
        if missing.get(key, 0) == 0:
            return False
        missing[key] -= 1
    return True


def _close_multiset(answers: Sequence[Any], wanted: Sequence[Any], leaf: Leaf) -> bool:
    """Pair answers with what was wanted, within groups of values that differ in their numbers only."""
    groups: dict[int, list[Numbered]] = defaultdict(list)
    for digest, numbered in map(_numbered, wanted):
        groups[digest].append(numbered)
    found: dict[int, list[Numbered]] = {digest: [] for digest in groups}
    for digest, numbered in map(_numbered, answers):
        if digest not in found:
            return False
        found[digest].append(numbered)
    return all(_close_group(found[digest], group, leaf) for digest, group in groups.items())


def _numbered(value: Any) -> tuple[int, Numbered]:
    """The hash of a value without its numbers, and the value with its numbers."""
    numbers: list[float] = []
    return _digest(value, numbers), (numbers, value)


def _close_group(answers: list[Numbered], wanted: list[Numbered], leaf: Leaf) -> bool:
    """Pair in the order of the numbers, which is right for lone numbers; if that fails, try all pairings."""
    if len(answers) != len(wanted):
        return False
    answers, wanted = sorted(answers, key=lambda a: a[0]), sorted(wanted, key=lambda w: w[0])
    close = functools.partial(_walk, leaf=leaf, arrays=True)
    if all(close(a[1], w[1]) for a, w in zip(answers, wanted, strict=True)):
        return True
    return len(wanted) <= SMALL_GROUP and _matching([a[1] for a in answers], [w[1] for w in wanted], close)


def _matching(answers: Sequence[Any], wanted: Sequence[Any], close: Callable[[Any, Any], bool]) -> bool:
    """Whether all can be paired (Kuhn's augmenting paths)."""
    fits = [[i for i, answer in enumerate(answers) if close(answer, value)] for value in wanted]
    taken: dict[int, int] = {}

    def place(value: int, tried: set[int]) -> bool:
        for i in fits[value]:
            if i not in tried:
                tried.add(i)
                if i not in taken or place(taken[i], tried):
                    taken[i] = value
                    return True
        return False

    return all(place(value, set()) for value in range(len(wanted)))


# Texts


def _compare_text(rule: Comparison, answer: Any, expected: Any) -> bool:
    if type(expected) is not str:
        raise ConfigError(f"rule {rule.rule!r} compares texts, but {expected!r:.200} is expected")
    return type(answer) is str and _TEXT_RULES[rule.rule](rule, answer, expected)


def _text(rule: Comparison, answer: str, expected: str) -> bool:
    return answer == expected


def _lines(rule: Comparison, answer: str, expected: str) -> bool:
    return answer == expected or _stripped_lines(answer) == _stripped_lines(expected)


def _stripped_lines(text: str) -> list[str]:
    return [line.strip() for line in text.rstrip().split("\n")]


def _tokens(rule: Comparison, answer: str, expected: str) -> bool:
    answers, wanted = answer.split(), expected.split()
    if len(answers) != len(wanted):
        return False
    if rule.rtol == rule.atol == 0:
        return answers == wanted
    return all(itertools.starmap(functools.partial(_close_tokens, rule), zip(answers, wanted, strict=True)))


def _close_tokens(rule: Comparison, answer: str, expected: str) -> bool:
    if answer == expected:
        return True
    number, goal = _number(answer), _number(expected)
    if number is None or goal is None:
        return False
    return _close(number, goal, rtol=rule.rtol, atol=rule.atol)


_NUMBER: Final = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def _number(token: str) -> float | None:
    """The number that a token writes; None for text (so is ``0011``), and for more than a float holds."""
    if _NOT_FINITE.fullmatch(token):
        return float(token)
    if not _NUMBER.fullmatch(token):
        return None
    number = float(token)
    return number if math.isfinite(number) else None


_TEXT_RULES: Final[dict[str, Callable[[Comparison, str, str], bool]]] = {
    "text": _text,
    "lines": _lines,
    "tokens": _tokens,
}

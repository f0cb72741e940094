"""What a mistake book holds, and how it changes: plain data and pure functions."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from codegym.grading import source

__all__ = [
    "RULES",
    "Change",
    "Entry",
    "Mode",
    "Ruling",
    "Update",
    "canonical",
    "evicted",
    "frequency_rule",
    "set_rule",
]

Mode = Literal["frequency", "set"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A test that once broke a candidate."""

    question: str
    test: str
    frequency: int = 1
    """What it is ranked by; always 1 in the mode ``set``."""
    kind: str = "wrong"
    """How the last candidate failed it: a `codegym.Status`, or whatever else helps."""
    failures: int = 1
    """Times that it was failed, since it came in."""
    passes: int = 0
    """Times that it was passed, since it came in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Update:
    """What became of one question's candidates in a training step. Candidates that did not load are left out.

    Attributes:
        question: Its id.
        failed: New valid tests that failed: one for each candidate and suite, so the same test may be there
            several times. Leave out tests whose expected value cannot be written down and read back.
        passed: Tests from the book that passed: one for each candidate.
        kinds: How tests failed; ``wrong`` where nothing is said.
    """

    question: str
    failed: Iterable[str] = ()
    passed: Iterable[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What updates did to a book."""

    updates: int = 0
    """Questions that were updated."""
    added: int = 0
    removed: int = 0
    """Tests that went out since they passed."""
    evicted: int = 0
    """Tests that gave way to others."""
    failures: int = 0
    passes: int = 0

    def __add__(self, other: Change) -> Change:
        """Both together."""
        return Change(**{name: getattr(self, name) + getattr(other, name) for name in self.__slots__})


# Rules


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of a question's entries."""

    counts: dict[str, int]
    """Test to frequency, in the order in which they came in."""
    added: int
    removed: int


def frequency_rule(counts: Mapping[str, int], failed: Counter[str], passed: Counter[str]) -> Ruling:
    """Code-A1's released rule: passes count down first, then failures count up.

    Each pass of an old test lowers its frequency by one, and at 0 it is gone; each failure of a new test
    raises its frequency by one. A test that goes out and comes in at once is the newest again. An old test
    that fails again is not raised, unless the test player writes it again.
    """
    left = {test: count - passed[test] for test, count in counts.items() if count > passed[test]}
    after = dict(left)
    for test, times in failed.items():
        after[test] = after.get(test, 0) + times
    return Ruling(after, added=len(after) - len(left), removed=len(counts) - len(left))


def set_rule(counts: Mapping[str, int], failed: Counter[str], passed: Counter[str]) -> Ruling:
    """The rule with sets: what failed comes in, then what passed goes out; a test in both goes out."""
    after = {test: 1 for test in [*counts, *failed] if not passed[test]}
    kept = sum(test in after for test in counts)
    return Ruling(after, added=len(after) - kept, removed=len(counts) - kept)


RULES: Final[Mapping[str, Callable[[Mapping[str, int], Counter[str], Counter[str]], Ruling]]] = {
    "frequency": frequency_rule,
    "set": set_rule,
}


def evicted(counts: Mapping[str, int], most: int | None) -> list[str]:
    """Which entries give way where there are more than `most`: the least frequent, the oldest first."""
    if most is None or len(counts) <= most:
        return []
    return sorted(counts, key=counts.__getitem__)[: len(counts) - most]


def canonical(test: str) -> str:
    """A test's text, the same for all ways to lay it out; what does not parse is only stripped.

    >>> canonical("assert   f( 1 )==2  # one")
    'assert f(1) == 2'
    """
    # a lone surrogate cannot be stored
    text = test.strip().encode("utf-8", "backslashreplace").decode("utf-8")
    if "\\" in text:  # `source.parse` may add backslashes, which is no matter but here
        return text
    try:
        return ast.unparse(source.parse(text))
    except (SyntaxError, RecursionError):
        return text

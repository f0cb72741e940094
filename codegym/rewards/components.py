"""The rewards that come with codegym."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, get_args

from codegym.core import Outcome, Program
from codegym.errors import ConfigError
from codegym.grading import source

__all__ = ["Format", "Length", "all_passed", "fraction_passed", "parses"]


def all_passed(outcome: Outcome) -> float:
    """1 when every test passed, else 0."""
    return float(outcome.passed)


def fraction_passed(outcome: Outcome) -> float:
    """Passed tests over all tests."""
    return outcome.fraction_passed


def parses(program: Program | None) -> float:
    """1 when there is a program and it parses, else 0."""
    if program is None:
        return 0.0
    try:
        source.parse(program.code)
    except SyntaxError:
        return 0.0
    return 1.0


Style = Literal["block", "think_answer", "reasoning_solution"]

_OPENING: Final = re.compile(r"```(?:python|python3|py)[ \t]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Format:
    r"""1 when the completion has the form that was asked for, else 0.

    Attributes:
        style: ``block``: one fenced Python block and nothing else. ``think_answer``: thoughts between
            ``<think>`` tags, then an answer with a fenced Python block in it between ``<answer>`` tags,
            each tag on a line of its own (TAROT's rule). ``reasoning_solution``: the same with the tags
            ``<reasoning>`` and ``<solution>``.
    """

    style: Style = "block"

    name: ClassVar[str] = "format"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Check the style."""
        if self.style not in get_args(Style):
            raise ConfigError(f"style must be one of {', '.join(get_args(Style))}, got {self.style!r}")

    def __call__(self, completion: str) -> float:
        """Look at the completion."""
        if self.style == "block":
            return float(_is_block(completion))
        return float(_is_tagged(completion, *self.style.split("_")))


def _is_block(completion: str) -> bool:
    lines = completion.strip().splitlines()
    return (
        len(lines) > 2
        and _OPENING.fullmatch(lines[0]) is not None
        and lines[-1] == "```"
        and not any(line.startswith("```") for line in lines[1:-1])
    )


def _is_tagged(completion: str, thoughts: str, answer: str) -> bool:
    """What the regular expression of TAROT matches, in linear time: each part behind the one before."""
    start = f"<{thoughts}>\n"
    if not completion.startswith(start):
        return False
    position = len(start)
    for part in (f"\n</{thoughts}>\n<{answer}>\n", "```python", "```"):
        found = completion.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return re.compile(rf"\n</{answer}>$", re.MULTILINE).search(completion, position) is not None


@dataclass(frozen=True, slots=True)
class Length:
    """A penalty for being long: 0 up to ``limit - margin``, then falling to -1 at `limit`, and -1 beyond.

    This is DAPO's overlong penalty.

    Attributes:
        limit: The length from which on the penalty is full.
        margin: How long before `limit` it sets in.
        measure: What the length of a text is; characters by default. Pass a tokenizer's count to measure
            tokens.
    """

    limit: int = 8192
    margin: int = 2048
    measure: Callable[[str], int] = len

    name: ClassVar[str] = "length"
    range: ClassVar[tuple[float, float]] = (-1.0, 0.0)

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not 0 < self.margin <= self.limit:
            raise ConfigError(
                f"0 < margin <= limit must hold, got margin={self.margin!r}, limit={self.limit!r}"
            )

    def __call__(self, completion: str) -> float:
        """Measure the completion."""
        excess = self.measure(completion) - (self.limit - self.margin)
        return -min(max(excess / self.margin, 0.0), 1.0)

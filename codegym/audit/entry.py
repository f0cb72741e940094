"""One program of the audit, and the tests that it is put to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from codegym.audit.tests import DEFAULT, SHORT, hostile_tests
from codegym.core import Limits, Task, TestCase

__all__ = ["STYLES", "Entry", "Style", "hostile", "right"]

Style = Literal["call", "stdio", "assert", "check", "pytest"]
STYLES: Final[tuple[Style, ...]] = ("call", "stdio", "assert", "check", "pytest")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A program, and what is the matter with it.

    Attributes:
        side: ``hostile`` (must not pass a single test) or ``right`` (must pass all).
        name: Unique within its side and style.
        style: Of the tests: calls, standard input and output, assert statements, a function
            ``check(candidate)``, or a module that pytest runs.
        code: The program. ``@FILE@``, ``@PORT@``, ``@SOCKET@``, ``@ABSTRACT@`` and ``@PID@`` stand for places
            of the host where the expected answers lie (see `codegym.audit.traps`), and ``@TOKEN@`` for one of
            the answers, to be given only by a program that got where it must not get.
        reason: What it tries, or what trips a naive grader.
        tests: Of a right program: in place of those of its style.
        options: Of a right program's task.
    """

    side: Literal["hostile", "right"]
    name: str
    style: Style
    code: str
    reason: str
    tests: tuple[TestCase, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """What identifies it."""
        return f"{self.side}/{self.style}/{self.name}"

    def task(self) -> Task:
        """The task that it is posed on."""
        options: dict[str, Any] = {"entry_point": None if self.style == "stdio" else "f", **self.options}
        if self.side == "hostile":
            options |= {"hidden_tests": hostile_tests(self.style), "limits": SHORT}
        else:
            options.setdefault("limits", Limits(cpu_s=5, wall_s=30))
            options["hidden_tests"] = self.tests or DEFAULT[self.style]
        return Task(id=self.id, prompt="", **options)


def hostile(name: str, style: Style, code: str, reason: str) -> Entry:
    """A program that must not pass."""
    return Entry(side="hostile", name=name, style=style, code=code, reason=reason)


def right(
    name: str,
    style: Style,
    code: str,
    reason: str,
    tests: tuple[TestCase, ...] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Entry:
    """A program that must pass: it doubles a number or adds up a line, unless it has tests of its own."""
    return Entry(
        side="right", name=name, style=style, code=code, reason=reason, tests=tests, options=options or {}
    )

"""What has to be run to grade a task, worked out once for all programs.

A test is one or more units: calls, which are batched into one process; scripts; and pieces of test code,
which run in a tester.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from codegym.core import REFERENCE, Comparison, Limits, Raises, Task, TestCase
from codegym.errors import ConfigError
from codegym.grading.asserts import as_calls
from codegym.grading.compare import default_comparison
from codegym.sandbox.guest import shorten
from codegym.sandbox.plain import decode, encode, is_plain

__all__ = ["Expected", "Plan", "Unit", "digested_length", "make_plan"]

INLINE_BYTES: Final = 1024
"""Longer answers are compared by digest first."""


@dataclass(slots=True)
class Expected:
    """An expected answer, as far as it is known.

    Attributes:
        known: Whether it is known at all; what a reference answers is not until it has been run.
        value: Plain data, a text, or `Raises`. Absent while only the digest is known.
        has_value: Whether `value` is there.
        length: Bytes of the encoded value.
        payload: The encoded value, or its digest when that is longer than `INLINE_BYTES`: equal bytes are
            equal values.
    """

    known: bool = False
    value: Any = None
    has_value: bool = False
    length: int = 0
    payload: bytes | None = None

    @classmethod
    def of(cls, value: Any, style: str) -> Expected:
        """An expected value that the task states."""
        if value is REFERENCE:
            return cls()
        if isinstance(value, Raises) or style == "stdio":
            return cls(known=True, value=value, has_value=True)
        expected = cls()
        expected.become(encode(value))
        return expected

    def become_digest(self, payload: bytes) -> None:
        """Be the value of which this is the digest."""
        self.known, self.payload, self.length = True, payload, digested_length(payload)

    def become(self, payload: bytes) -> None:
        """Be the value that is encoded here."""
        self.known = self.has_value = True
        self.value, self.length = decode(payload), len(payload)
        _, self.payload = shorten([payload], INLINE_BYTES)


def digested_length(payload: bytes) -> int:
    """The length of what a digest stands for."""
    return int.from_bytes(payload[16:24], "little")


@dataclass(slots=True)
class Unit:
    """The smallest thing that is run and compared."""

    test: int
    """The index of the test that it belongs to."""
    case: TestCase
    rule: Comparison
    limits: Limits
    expected: Expected
    request: Any = b""
    """The encoded arguments, the standard input, or the test code."""
    cpu_s: float = 0.0
    """CPU seconds that it may take."""


@dataclass(slots=True)
class Plan:
    """All units of a task, by style, in the order of the tests."""

    task: Task
    tests: tuple[TestCase, ...]
    calls: dict[str, list[Unit]] = field(default_factory=dict)
    """By the kind of answer, "return" or "argument"."""
    scripts: list[Unit] = field(default_factory=list)
    checks: list[Unit] = field(default_factory=list)
    """Test code that runs apart from the program."""
    shared: list[Unit] = field(default_factory=list)
    """Test code that runs in the program's process."""
    preparing: threading.Lock = field(default_factory=threading.Lock)
    """Held while the reference runs."""
    digest: str | None = None
    """Of all that a verdict depends on besides the program, for a cache; None until one asks."""

    @property
    def units(self) -> list[Unit]:
        """All of them."""
        return (
            [unit for batch in self.calls.values() for unit in batch]
            + self.scripts
            + self.checks
            + self.shared
        )


def make_plan(task: Task, tests: Sequence[TestCase]) -> Plan:
    """Work out what has to be run.

    Raises:
        ConfigError: A test has arguments that are not plain data.
    """
    plan = Plan(task, tuple(tests))
    for index, test in enumerate(plan.tests):
        _add(plan, index, test)
    return plan


def _add(plan: Plan, index: int, test: TestCase) -> None:
    task = plan.task
    if test.shared:
        plan.shared.append(_unit(task, index, test, test, test.source))
        return
    if test.style == "code":
        cases = as_calls(test.source, task.entry_point or "")
        if cases is None:
            plan.checks.append(_unit(task, index, test, test, test.source))
            return
    else:
        cases = [test]
    for case in cases:
        if case.style == "stdio":
            plan.scripts.append(_unit(task, index, test, case, case.stdin.encode("utf-8", "surrogatepass")))
        else:
            if not (is_plain(case.args) and is_plain(dict(case.kwargs))):
                raise ConfigError(f"task {task.id!r}, test {index}: arguments must be plain data")
            request = encode((list(case.args), dict(case.kwargs)))
            plan.calls.setdefault(case.answer, []).append(_unit(task, index, test, case, request))


def _unit(task: Task, index: int, test: TestCase, case: TestCase, request: Any) -> Unit:
    limits = test.limits or task.limits
    rule = case.compare or task.compare or default_comparison(case)
    expected = Expected.of(case.expected, case.style) if case.style != "code" else Expected(known=True)
    return Unit(index, case, rule, limits, expected, request, limits.cpu_s)

"""From what a sandbox reports to verdicts. Nothing here runs anything."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from codegym.core import Raises, Status, TestCase, TestResult
from codegym.grading.compare import compare
from codegym.grading.plan import Unit, digested_length
from codegym.sandbox import Answer, AnswerKind, Ending, Execution
from codegym.sandbox.plain import DecodeError, decode
from codegym.sandbox.wire import ProtocolError, read_exception

__all__ = [
    "SKIPPED",
    "TOO_LONG",
    "UNRESOLVED",
    "Verdict",
    "excerpt",
    "longest",
    "of_call",
    "of_ending",
    "of_script",
    "of_test_code",
    "test_result",
]

UNRESOLVED: Final = None
"""In place of a status: digests differ, and only the values can tell."""
STATUS_OF_ENDING: Final = {
    Ending.INVALID: Status.INVALID,
    Ending.CPU: Status.TIMEOUT,
    Ending.WALL: Status.TIMEOUT,
    Ending.MEMORY: Status.MEMORY,
    Ending.STOPPED: Status.SKIPPED,
}
SHOWN_CHARS: Final = 200
GENEROUS_BYTES: Final = 1 << 16
"""Added to four times the expected length: what is longer is wrong unread, since reading costs us time."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one unit."""

    status: Status | None
    """None: `UNRESOLVED`."""
    cpu_s: float = 0.0
    message: str = ""


TOO_LONG: Final = Verdict(
    Status.WRONG, 0.0, "differs from what is expected, and is too long to compare by value"
)
SKIPPED: Final = Verdict(Status.SKIPPED, 0.0, "not run")


def excerpt(data: bytes) -> str:
    """The two ends of some output, as text."""
    text = data.decode("utf-8", "replace")
    return text if len(text) <= 4096 else f"{text[:2048]}\n...\n{text[-2048:]}"


def shown(value: object) -> str:
    """A value in a message."""
    try:
        text = repr(value)
    except ValueError:  # integers of more digits than Python likes to print
        text = f"<{type(value).__name__}>"
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 3] + "..."


def of_ending(execution: Execution) -> Verdict:
    """On the unit at which the process ended."""
    return Verdict(STATUS_OF_ENDING.get(execution.ending, Status.ERROR), 0.0, execution.message)


def of_call(unit: Unit, answer: Answer) -> Verdict:
    """On a call that was answered."""
    try:
        return _of_call(unit, answer)
    except (DecodeError, ProtocolError) as error:
        return Verdict(Status.ERROR, answer.cpu_s, f"sent an answer that cannot be read: {error}")


def _of_call(unit: Unit, answer: Answer) -> Verdict:
    expected = unit.expected
    if answer.cpu_s > unit.cpu_s:
        return Verdict(Status.TIMEOUT, answer.cpu_s, "used up its CPU time")
    if answer.kind in (AnswerKind.RAISED, AnswerKind.UNSENDABLE):
        return _of_exception(expected.value, answer)
    if isinstance(expected.value, Raises):
        return Verdict(Status.WRONG, answer.cpu_s, f"did not raise {expected.value.exception}")
    if answer.payload == expected.payload:
        return Verdict(Status.PASSED, answer.cpu_s)
    length = digested_length(answer.payload) if answer.kind == AnswerKind.DIGEST else len(answer.payload)
    if length > longest(unit):
        return Verdict(Status.WRONG, answer.cpu_s, f"answered {length} bytes, far more than expected")
    if answer.kind == AnswerKind.DIGEST or not expected.has_value:
        return Verdict(UNRESOLVED, answer.cpu_s)
    value = decode(answer.payload)
    if compare(unit.rule, unit.case, value, expected.value):
        return Verdict(Status.PASSED, answer.cpu_s)
    return Verdict(Status.WRONG, answer.cpu_s, f"answered {shown(value)}")


def longest(unit: Unit) -> int:
    """Bytes that an answer may have before it is wrong unread."""
    return 4 * unit.expected.length + GENEROUS_BYTES


def _of_exception(expected: Any, answer: Answer) -> Verdict:
    names, message = read_exception(answer.payload)
    if isinstance(expected, Raises) and answer.kind == AnswerKind.RAISED and is_a(names, expected.exception):
        return Verdict(Status.PASSED, answer.cpu_s)
    status = Status.MEMORY if "MemoryError" in names else Status.ERROR
    text = f"{names[0]}: {message}" if message else names[0]
    if answer.kind == AnswerKind.UNSENDABLE:
        text = f"answered something that is not data: {text}"
    return Verdict(status, answer.cpu_s, text)


def is_a(names: Sequence[str], expected: str) -> bool:
    """Whether an exception with these class names is one of that name.

    A class of the program's own may claim any number of bases; it counts as the first built-in one among
    them.
    """
    for name in names:
        if name == expected:
            return True
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, BaseException):
            return expected in [base.__name__ for base in kind.__mro__]
    return False


def of_test_code(answer: Answer) -> Verdict:
    """On a piece of test code that ran to its end."""
    if answer.kind == AnswerKind.VALUE:
        return Verdict(Status.PASSED, answer.cpu_s)
    try:
        names, message = read_exception(answer.payload)
    except ProtocolError as error:
        return Verdict(Status.ERROR, answer.cpu_s, str(error))
    if "AssertionError" in names:
        return Verdict(Status.WRONG, answer.cpu_s, "an assertion failed")
    status = {
        "MemoryError": Status.MEMORY,
        "Invalid": Status.INVALID,
        "TestArgumentError": Status.INVALID,
    }.get(names[0], Status.ERROR)
    return Verdict(status, answer.cpu_s, f"{names[0]}: {message}" if message else names[0])


def of_script(unit: Unit, execution: Execution) -> Verdict:
    """On a script that ran."""
    if execution.ending != Ending.DONE:
        status = STATUS_OF_ENDING.get(execution.ending, Status.ERROR)
        return Verdict(status, execution.cpu_s, execution.message)
    try:
        printed = execution.stdout.decode("utf-8")
    except UnicodeDecodeError:
        return Verdict(Status.WRONG, execution.cpu_s, "printed something that is not UTF-8")
    if compare(unit.rule, unit.case, printed.removeprefix("\ufeff"), unit.expected.value):
        return Verdict(Status.PASSED, execution.cpu_s)
    return Verdict(Status.WRONG, execution.cpu_s, f"printed {shown(printed)}")


def test_result(index: int, test: TestCase, verdicts: Sequence[Verdict]) -> TestResult:
    """On a test, from the verdicts on its units: that of the first which did not pass."""
    first = next((verdict for verdict in verdicts if verdict.status != Status.PASSED), None)
    cpu_s = sum(verdict.cpu_s for verdict in verdicts)
    if first is None:
        return TestResult(index=index, status=Status.PASSED, cpu_s=cpu_s, tier=test.tier)
    status = first.status or Status.WRONG
    return TestResult(index=index, status=status, cpu_s=cpu_s, message=first.message, tier=test.tier)

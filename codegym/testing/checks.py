"""What a check is, and the two ways to run checks: all with one error, or one by one under pytest."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from codegym.errors import CodegymError

__all__ = ["Check", "ConformanceError", "checks_in", "parametrize", "require", "run_checks"]

PREFIX: Final = "check_"


class ConformanceError(CodegymError):
    """Something does not keep the promises of its contract.

    Attributes:
        failures: For each check that failed, what was promised and what was seen.
    """

    def __init__(self, subject: str, failures: Mapping[str, str], checks: int) -> None:
        """List them all."""
        self.failures = dict(failures)
        lines = [f"{subject} fails {len(failures)} of {checks} checks:"]
        lines += [f"  {name}: {reason}" for name, reason in failures.items()]
        super().__init__("\n".join(lines))


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, and a function that sees whether it is kept."""

    name: str
    promise: str
    """In one line."""
    function: Callable[[Any], None]

    def __call__(self, subject: Any) -> None:
        """Raises when the promise is not kept."""
        self.function(subject)


class Broken(Exception):
    """A promise is not kept; says what was seen."""


def require(condition: object, seen: str) -> None:
    """Fail a check unless the condition holds.

    Args:
        condition: What was promised.
        seen: What was seen instead.

    Raises:
        Broken: It does not hold.
    """
    if not condition:
        raise Broken(seen)


def checks_in(module: ModuleType) -> list[Check]:
    """The checks that a module defines, in the order of its text; each is a function with a docstring."""
    found = [
        function
        for name, function in vars(module).items()
        if name.startswith(PREFIX) and getattr(function, "__module__", None) == module.__name__
    ]
    return [Check(one.__name__, (inspect.getdoc(one) or "").split("\n\n")[0], one) for one in found]


def run_checks(
    checks: Sequence[Check], subject: Any, name: str, known_failures: Mapping[str, str] | None = None
) -> None:
    """Run all checks, and raise one error for all that fail.

    Args:
        checks: The checks.
        subject: What they look at.
        name: What it is called in the error.
        known_failures: Checks that are known to fail, with the reason. One that passes is an error too.

    Raises:
        ConformanceError: Any failed that was not known to, or passed that was.
    """
    known = dict(known_failures or {})
    unknown = known.keys() - {check.name for check in checks}
    failures = dict.fromkeys(unknown, "there is no such check")
    for check in checks:
        reason = failure_of(check, subject)
        if reason is not None and check.name not in known:
            failures[check.name] = reason
        elif reason is None and check.name in known:
            failures[check.name] = f"was known to fail ({known[check.name]}), and does not any more"
    if failures:
        raise ConformanceError(name, failures, len(checks))


def failure_of(check: Check, subject: Any) -> str | None:
    """Why a check fails; None when it does not."""
    try:
        check(subject)
    except Broken as error:
        return f"promised: {check.promise} Seen: {error}"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}:{last.lineno}"
        return f"promised: {check.promise} Raised: {type(error).__name__}: {error} ({where})"
    return None


def parametrize(
    cases: Iterable[tuple[str, Any, Sequence[Check]]], known_failures: Mapping[str, str] | None = None
) -> Any:
    """A pytest decorator that gives each check of each subject a test of its own.

    The test takes the arguments ``subject`` and ``check``, and calls ``check(subject)``.

    Args:
        cases: Name, subject and checks.
        known_failures: Checks that are known to fail, with the reason: expected failures, strictly.
    """
    import pytest

    known = known_failures or {}
    parameters = [
        pytest.param(
            subject,
            check,
            id=f"{name}-{check.name}",
            marks=[pytest.mark.xfail(strict=True, reason=known[check.name])] if check.name in known else [],
        )
        for name, subject, checks in cases
        for check in checks
    ]
    return pytest.mark.parametrize(("subject", "check"), parameters)

"""What a check is, and the two ways to run checks: all with one error, or one by one under pytest."""

from __future__ import annotations

import inspect
import random
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn, TypeVar
from unittest import SkipTest

from codegym.errors import CodegymError, ConfigError

__all__ = [
    "Check",
    "ConformanceError",
    "checks_in",
    "failures_of",
    "global_seeds",
    "not_applicable",
    "parametrize",
    "promised",
    "require",
]

F = TypeVar("F", bound=Callable[[Any], None])

MARK: Final = "codegym_contract"
"""The attribute of a function that makes it a check."""
SHOWN_CHARS: Final = 1000
"""Characters of what was seen that a report shows."""
TAIL: Final = 3
"""Frames of a traceback that a report shows, the innermost ones."""


class ConformanceError(CodegymError):
    """Something does not keep the promises of its contract.

    Attributes:
        failures: For each check that failed, what was promised and where, what was seen, and where it was
            seen.
    """

    def __init__(self, subject: str, failures: Mapping[str, str], checks: int) -> None:
        """List them all."""
        self.failures = dict(failures)
        lines = [f"{subject} fails {len(failures)} of {checks} checks:"]
        for name, reason in failures.items():
            lines += [f"  {name}", *(f"    {line}" for line in reason.splitlines())]
        super().__init__("\n".join(lines))


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, and a function that sees whether it is kept."""

    name: str
    promise: str
    """In one sentence."""
    contract: str
    """Where the promise is made: ``"module"`` or ``"module:attr"``."""
    function: Callable[[Any], None]

    def __call__(self, subject: Any) -> None:
        """Look at a subject.

        Raises:
            unittest.SkipTest: It does not make the promise. Test runners report that as skipped.
            Exception: It makes the promise and does not keep it.
        """
        self.function(subject)


class Broken(Exception):
    """A promise is not kept; says what was seen."""


def promised(contract: str) -> Callable[[F], F]:
    """Mark a function of a subject as a check; its docstring is the promise.

    Args:
        contract: Where the promise is made: ``"module"`` or ``"module:attr"``.
    """

    def mark(function: F) -> F:
        setattr(function, MARK, contract)
        return function

    return mark


def require(condition: object, seen: str) -> None:
    """Fail a check unless a condition holds.

    Args:
        condition: What was promised.
        seen: What was seen instead.

    Raises:
        Broken: It does not hold.
    """
    if not condition:
        raise Broken(seen)


def not_applicable(reason: str) -> NoReturn:
    """Leave a check: the subject does not make this promise.

    Raises:
        unittest.SkipTest: Always.
    """
    raise SkipTest(reason)


@contextmanager
def global_seeds(seed: int) -> Iterator[None]:
    """Seed the generators that a process has but one of, which nothing may depend on; put them back after."""
    import numpy as np

    states = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def checks_in(module: ModuleType) -> list[Check]:
    """The checks that a module defines, in the order of its text."""
    marked = [
        function
        for function in vars(module).values()
        if hasattr(function, MARK) and function.__module__ == module.__name__
    ]
    return [
        Check(each.__name__, " ".join((inspect.getdoc(each) or "").split()), getattr(each, MARK), each)
        for each in marked
    ]


def known_among(checks: Sequence[Check], known_failures: Mapping[str, str] | None) -> dict[str, str]:
    """The known failures.

    Raises:
        ConfigError: There is no check of a name.
    """
    known = dict(known_failures or {})
    names = [check.name for check in checks]
    if unknown := sorted(known.keys() - set(names)):
        raise ConfigError(f"known_failures: no check is called {unknown[0]!r}; known: {', '.join(names)}")
    return known


def failures_of(
    checks: Sequence[Check], subject: Any, known_failures: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Run all checks.

    Args:
        checks: The checks.
        subject: What they look at.
        known_failures: Checks that are known to fail, with the reason. One that passes is a failure too.

    Returns:
        By name, why those failed that were not known to.

    Raises:
        ConfigError: There is no check of a name in `known_failures`.
    """
    known = known_among(checks, known_failures)
    failures: dict[str, str] = {}
    for check in checks:
        try:
            check(subject)
        except SkipTest:
            continue
        except (Exception, SystemExit) as error:
            if check.name not in known:
                failures[check.name] = reason_of(check, error)
        else:
            if check.name in known:
                failures[check.name] = f"was known to fail ({known[check.name]}), and does not any more"
    return failures


def reason_of(check: Check, error: BaseException) -> str:
    """Why a check failed: what was promised and where, what was seen, and where it was seen."""
    seen = str(error) if isinstance(error, Broken) else f"raised {type(error).__name__}: {error}"
    if len(seen) > SHOWN_CHARS:
        seen = f"{seen[:SHOWN_CHARS]}..."
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__][-TAIL:]
    places = [f"at {Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line}" for frame in own]
    return "\n".join([f"promised: {check.promise} [{check.contract}]", f"seen: {seen}", *places])


def parametrize(
    cases: Iterable[tuple[str, Any]],
    checks: Sequence[Check],
    known_failures: Mapping[str, str] | None = None,
) -> Any:
    """A pytest decorator that gives each check of each subject a test of its own.

    The test takes the arguments ``subject`` and ``check``, and calls ``check(subject)``.

    Args:
        cases: Names and subjects.
        checks: The checks.
        known_failures: Checks that are known to fail, with the reason: expected failures, strictly.

    Raises:
        ConfigError: There is no check of a name in `known_failures`.
    """
    import pytest

    known = known_among(checks, known_failures)
    parameters = [
        pytest.param(
            subject,
            check,
            id=f"{name}-{check.name}",
            marks=[pytest.mark.xfail(strict=True, reason=known[check.name])] if check.name in known else [],
        )
        for name, subject in cases
        for check in checks
    ]
    return pytest.mark.parametrize(("subject", "check"), parameters)

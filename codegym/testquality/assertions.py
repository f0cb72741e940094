"""How good the assertions of a suite are, read from its code."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from codegym.testquality.oracles import strength
from codegym.testquality.reading import read_tests
from codegym.testquality.smells import DETECTORS, GATES

__all__ = ["AssertionQuality", "Finding", "assess"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something that a detector found."""

    test: str
    line: int
    name: str
    """The detector's."""
    meaning: str
    gate: bool
    """Whether it makes the suite worth nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AssertionQuality:
    """What was read.

    Attributes:
        tests: The names of the tests.
        findings: What detectors found, test by test.
        strengths: What each oracle is worth, from 0 to 1; see `codegym.testquality.oracles.strength`.
        invalid: Why the code could not be read; empty when it could.
    """

    tests: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    strengths: tuple[float, ...] = ()
    invalid: str = ""

    @property
    def gates(self) -> tuple[Finding, ...]:
        """The findings that make the suite worth nothing."""
        return tuple(finding for finding in self.findings if finding.gate)

    @property
    def score(self) -> float:
        """The mean strength of its oracles (CGFT's ``q``); 0 without any, and where a gate is shut."""
        if self.gates or not self.strengths:
            return 0.0
        return math.fsum(self.strengths) / len(self.strengths)

    def features(self) -> dict[str, float]:
        """For each detector, the share of the tests in which it found something."""
        counts = {name: len({f.test for f in self.findings if f.name == name}) for name in DETECTORS}
        return {name: count / len(self.tests) if self.tests else 0.0 for name, count in counts.items()}


def assess(code: str, module: str | None = None, functions: Collection[str] = ()) -> AssertionQuality:
    """Read a suite: functions of pytest, unittest's cases, or plain assert statements.

    Args:
        code: The text of the tests.
        module: The name of the module under test. None: whatever is imported that is neither of the standard
            library nor a tool of testers.
        functions: Names of the program under test that are there without an import.

    Returns:
        What was found. Code that does not parse is `invalid`, and scores 0.
    """
    try:
        found = read_tests(code, module, functions)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return AssertionQuality(invalid=f"{type(error).__name__}: {error}")
    findings = [
        Finding(
            test=unit.name,
            line=unit.line,
            name=name,
            meaning=(detector.__doc__ or "").strip(),
            gate=name in GATES,
        )
        for unit in found.units
        for name, detector in DETECTORS.items()
        if detector(unit, found)
    ]
    return AssertionQuality(
        tests=tuple(unit.name for unit in found.units),
        findings=tuple(findings),
        strengths=tuple(strength(oracle) for unit in found.units for oracle in unit.oracles),
    )

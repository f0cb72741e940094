"""What tests do to mutants: statuses, the kill matrix, and what a suite is worth by them."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codegym.core import Wall
from codegym.errors import ConfigError
from codegym.mutation.mutant import Mutant

__all__ = [
    "ASSERTED",
    "DETECTED",
    "Baseline",
    "BaselineTest",
    "Flag",
    "How",
    "Kill",
    "MutantResult",
    "MutantStatus",
    "MutationResult",
    "kill_classes",
    "minimal_classes",
]


class MutantStatus(enum.StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    """A test failed by an assertion of its own."""
    KILLED_BY_ERROR = "killed_by_error"
    """A test failed, but only since something raised; a suite without a single assertion does as much."""
    TIMEOUT = "timeout"
    """A test took many times the steps, or the time, that it takes on the original."""
    CRASH = "crash"
    """It ended the process."""
    SURVIVED = "survived"
    """All tests that run it passed."""
    NOT_COVERED = "not_covered"
    """No test runs it."""
    INVALID = "invalid"
    """It does not compile. Neither killed nor survived: it counts nowhere."""


class How(enum.StrEnum):
    """How a test failed."""

    ASSERTION = "assertion"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASH = "crash"


class Flag(enum.StrEnum):
    """Why a result is worth nothing."""

    FINGERPRINTING = "fingerprinting"
    """Sham mutants, which behave like the original, were killed: the tests look at the code, not at what it
    does.
    """
    NOT_INSTALLED = "not_installed"
    """Mutants that no honest test can miss survived."""
    INTROSPECTION = "introspection"
    """The tests looked at how the program is made; `MutationResult.evidence` says at what."""
    BROKEN = "broken"
    """The tests ended or disturbed the process that runs them, so that it gave no proper account."""


ASSERTED: Final[Mapping[MutantStatus, float]] = {MutantStatus.KILLED: 1.0}
"""Credit for kills by assertion only."""
DETECTED: Final[Mapping[MutantStatus, float]] = {
    MutantStatus.KILLED: 1.0,
    MutantStatus.KILLED_BY_ERROR: 1.0,
    MutantStatus.TIMEOUT: 1.0,
    MutantStatus.CRASH: 1.0,
}
"""Credit for whatever makes a test fail, as mutation tools count."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One test that failed on a mutant."""

    test: str
    how: How


@dataclass(frozen=True, kw_only=True, slots=True)
class MutantResult:
    """What became of one mutant."""

    mutant: Mutant
    status: MutantStatus
    kills: tuple[Kill, ...] = ()
    """The tests that failed: the first one in mode ``score``, all in mode ``matrix``."""
    cpu_s: float = 0.0
    """CPU seconds for compiling and running it; 0 where it had a process of its own."""
    cold: bool = False
    """Whether it needed a process that imports everything afresh."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineTest:
    """One test on the original."""

    name: str
    """The node id, as pytest has it."""
    status: str
    """``passed``, ``skipped``, ``assertion``, ``error``, ``timeout``, ``crash``, ``flaky`` or ``not run``.
    Only tests that passed are run on mutants.
    """
    steps: int = 0
    """Function entries and turns of loops of the module under test."""
    cpu_s: float = 0.0
    lines: frozenset[int] = frozenset()
    """The lines of the module under test that it ran."""
    arcs: frozenset[tuple[int, int]] | None = None
    """Pairs of lines that ran one after the other; ``-n`` is the entry or exit of code on line ``n``. None
    where the test takes too long to be recorded: then `lines` are all those of the functions that it entered.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """The tests on the original."""

    tests: tuple[BaselineTest, ...] = ()
    import_arcs: frozenset[tuple[int, int]] = frozenset()
    """What ran while the module was imported."""
    errors: tuple[str, ...] = ()
    """What could not be collected."""
    stateful: bool = False
    """Whether tests depend on each other, or leave something behind that others may see."""

    @property
    def passed(self) -> tuple[str, ...]:
        """The tests that passed, in their order."""
        return tuple(test.name for test in self.tests if test.status == "passed")


@dataclass(frozen=True, kw_only=True, slots=True)
class MutationResult:
    """What a suite does to the mutants of a module.

    Attributes:
        mutants: The real ones, in the order in which they were given.
        controls: The shams, and those that must die.
        baseline: The tests on the original.
        flags: Why the result is worth nothing; empty when it is sound.
        evidence: What the flags stand on, for people.
        mode: ``score`` or ``matrix``.
        wall: Between tests and program: ``shared`` or ``split``.
        unmutated_share: Of the module's statements, the share that no mutant touches.
        cpu_s: CPU seconds, all told.
    """

    mutants: tuple[MutantResult, ...]
    controls: tuple[MutantResult, ...] = ()
    baseline: Baseline
    flags: frozenset[Flag] = frozenset()
    evidence: tuple[str, ...] = ()
    mode: str = "score"
    wall: Wall = "shared"
    unmutated_share: float = 0.0
    cpu_s: float = 0.0

    @property
    def valid(self) -> bool:
        """Whether nothing speaks against the result."""
        return not self.flags

    def count(self, status: MutantStatus) -> int:
        """How many mutants have a status."""
        return sum(result.status == status for result in self.mutants)

    def killable(self, credit: Mapping[MutantStatus, float] = ASSERTED) -> frozenset[str]:
        """The mutants that this suite gets credit for: with a reference suite, a denominator for others."""
        return frozenset(r.mutant.id for r in self.mutants if credit.get(r.status, 0.0) > 0)

    def score(
        self,
        denominator: Collection[str] | None = None,
        *,
        credit: Mapping[MutantStatus, float] = ASSERTED,
        weights: Mapping[str, float] | None = None,
    ) -> float:
        """The share of mutants that the suite kills.

        Args:
            denominator: The ids of the mutants that count, such as those that a reference suite kills. None:
                all that compile; that includes mutants that no test can kill.
            credit: What a status is worth. By default a kill by assertion 1, anything else 0.
            weights: What a mutant counts, such as `class_weights` of a reference suite; those without one
                count nothing. None: all alike.

        Returns:
            A number in [0, 1]. 0 when there is a flag, or nothing counts.
        """
        if self.flags:
            return 0.0
        total = gained = 0.0
        for result in self.mutants:
            if result.status == MutantStatus.INVALID:
                continue
            if denominator is not None and result.mutant.id not in denominator:
                continue
            weight = 1.0 if weights is None else weights.get(result.mutant.id, 0.0)
            total += weight
            gained += weight * credit.get(result.status, 0.0)
        return gained / total if total else 0.0

    def kill_sets(self) -> dict[str, frozenset[str]]:
        """The tests that kill each mutant, for those that any kills.

        Raises:
            ConfigError: The mode was not ``matrix``, so that only first kills are known.
        """
        if self.mode != "matrix":
            raise ConfigError(f"kill sets need mode='matrix', this result has mode={self.mode!r}")
        return {r.mutant.id: frozenset(kill.test for kill in r.kills) for r in self.mutants if r.kills}

    def matrix(self) -> NDArray[np.bool_]:
        """The kill matrix.

        Returns:
            Shape ``(tests that passed on the original, mutants)``; whether the test kills the mutant.

        Raises:
            ConfigError: The mode was not ``matrix``.
        """
        sets = self.kill_sets()
        rows = {name: row for row, name in enumerate(self.baseline.passed)}
        kills = np.zeros((len(rows), len(self.mutants)), dtype=np.bool_)
        for column, result in enumerate(self.mutants):
            for name in sets.get(result.mutant.id, ()):
                if name in rows:
                    kills[rows[name], column] = True
        return kills

    def class_weights(self, *, minimal: bool = True) -> dict[str, float]:
        """Weights by which each class of mutants counts 1, so that forty easy mutants do not drown one hard
        one.

        Args:
            minimal: Only classes that no other class subsumes; the mutants of others weigh nothing.

        Raises:
            ConfigError: The mode was not ``matrix``.
        """
        classes = minimal_classes(self.kill_sets()) if minimal else kill_classes(self.kill_sets())
        return {mutant: 1.0 / len(members) for members in classes.values() for mutant in members}

    def to_dict(self) -> dict[str, Any]:
        """What matters of it, as plain data: for records and reports."""
        return {
            "mode": self.mode,
            "wall": self.wall,
            "flags": sorted(self.flags),
            "evidence": list(self.evidence),
            "unmutated_share": self.unmutated_share,
            "cpu_s": self.cpu_s,
            "tests": {test.name: test.status for test in self.baseline.tests},
            "mutants": {
                r.mutant.id: {
                    "status": str(r.status),
                    "kills": {kill.test: str(kill.how) for kill in r.kills},
                }
                for r in self.mutants
            },
        }


def kill_classes(kill_sets: Mapping[str, frozenset[str]]) -> dict[frozenset[str], tuple[str, ...]]:
    """Mutants that the same tests kill, by those tests."""
    classes: dict[frozenset[str], tuple[str, ...]] = {}
    for mutant, tests in kill_sets.items():
        classes[tests] = (*classes.get(tests, ()), mutant)
    return classes


def minimal_classes(kill_sets: Mapping[str, frozenset[str]]) -> dict[frozenset[str], tuple[str, ...]]:
    """The classes that no other class subsumes: whoever kills all of these kills all mutants.

    A class subsumes another when every test that kills the first kills the second too (Ammann, Delamaro and
    Offutt, "Establishing theoretical minimal sets of mutants", ICST 2014).
    """
    classes = kill_classes(kill_sets)
    return {
        tests: members for tests, members in classes.items() if not any(other < tests for other in classes)
    }

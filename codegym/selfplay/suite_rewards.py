"""Rewards for tests, as plugins: what a suite that a policy wrote is worth.

Each asks for `suite`, a `codegym.testquality.suites.SuiteOutcome`, and returns None where what it needs was
not looked at: on a completion that is no suite, and without mutants, a candidate or known wrong programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from codegym.core import Outcome, Status
from codegym.errors import ConfigError
from codegym.mutation import MutationResult
from codegym.selfplay.code_a1 import validity_reward
from codegym.selfplay.cure import cure_test_rewards
from codegym.selfplay.suites import (
    caught_fraction,
    incremental_mutation_rewards,
    utrl_format,
    utrl_reward,
)
from codegym.selfplay.tcs import stage1_reward, stage2_reward
from codegym.testquality.assertions import assess
from codegym.testquality.suites import SuiteOutcome

__all__ = [
    "CgftReward",
    "Redundancy",
    "assertion_quality",
    "counterexample",
    "coverage_delta",
    "cure",
    "discrimination",
    "incremental_mutation",
    "mutation_score",
    "soundness",
    "utrl",
    "validity",
]

Suite = SuiteOutcome | None
ZERO: Final = 0.0


def validity(suite: Suite) -> float | None:
    """Code-A1's ``R_val``: valid tests, and the lack of invalid ones, over the number asked for (2603.15611).

    Without a number asked for, over the number written.
    """
    if suite is None:
        return None
    written = suite.suite.unreadable + len(suite.tests)
    k = suite.asked or max(written, 1)
    return validity_reward(suite.n_valid, suite.n_invalid, k)


def soundness(suite: Suite) -> float | None:
    """TCS's ``R_1``: 1 when all tests are right as written, and none is copied (2609.03955, eq. 3)."""
    if suite is None:
        return None
    return stage1_reward(Status.PASSED if suite.sound else Status.WRONG, copied=suite.copied)


def counterexample(suite: Suite) -> float | None:
    """TCS's ``R_2``: 1 when the suite is sound, and the program that was shown fails it (2609.03955, eq. 4).

    None where there was no such program.
    """
    if suite is None:
        return None
    if not soundness(suite):
        return ZERO
    if suite.candidate is None:
        return None
    return stage2_reward(Status.PASSED, suite.candidate.status, copied=suite.copied)


def mutation_score(suite: Suite) -> float | None:
    """The share of mutants that the suite kills by assertion, each class of alike ones counted once.

    The denominator are the mutants that the task's own tests kill, where that is known. 0 for suites that
    look at the program instead of running it. None where there are no mutants.
    """
    if suite is None or (suite.mutation is None and suite.n_valid):
        return None
    if suite.mutation is None:
        return ZERO
    return kill_share(suite.mutation, suite.killable)


def kill_share(result: MutationResult, killable: frozenset[str] | None) -> float | None:
    """Kills by assertion over the mutants that can be killed; None where there are none."""
    known = {one.mutant.id for one in result.mutants} if killable is None else killable
    return result.score(killable) if known else None


def incremental_mutation(suite: Suite) -> float | None:
    """The mean over the tests of what each kills first, as a share of all that can be killed (2603.01409),
    times the number of tests: what the suite kills, without weights.
    """
    killed = _kills_by_test(suite)
    if killed is None:
        return None
    sets, mutants = killed
    return float(incremental_mutation_rewards(sets, mutants).sum()) if sets else ZERO


@dataclass(frozen=True, slots=True)
class Redundancy:
    """A penalty for tests that kill nothing new: minus their share.

    Attributes:
        free: How many such tests cost nothing.
    """

    free: int = 0

    name: ClassVar[str] = "redundancy"
    range: ClassVar[tuple[float, float]] = (-1.0, 0.0)

    def __call__(self, suite: Suite) -> float | None:
        """Count them."""
        killed = _kills_by_test(suite)
        if killed is None:
            return None
        sets, _ = killed
        seen: set[str] = set()
        idle = 0
        for each in sets:
            idle += not each - seen
            seen |= each
        return -max(idle - self.free, 0) / len(sets) if sets else ZERO


def _kills_by_test(suite: Suite) -> tuple[list[frozenset[str]], int] | None:
    """The mutants that each test kills, in the order of the suite, and how many mutants count."""
    if suite is None or suite.mutation is None:
        return None
    result = suite.mutation
    counted = suite.killable if suite.killable is not None else frozenset(result.kill_sets())
    kills = result.kill_sets() if result.valid else {}
    names = result.baseline.passed
    sets = [frozenset(id for id, tests in kills.items() if name in tests and id in counted) for name in names]
    return (sets, len(counted)) if counted else None


def coverage_delta(suite: Suite) -> float | None:
    """What the suite runs beyond the public tests, over what these leave out: statements and branches (CGFT).

    None where coverage is not known, or nothing is left out.
    """
    if suite is None or suite.coverage is None or suite.before is None:
        return None
    if not suite.sound:
        return ZERO
    missing = len(suite.before.missing) + len(suite.before.branches - suite.before.taken)
    new = len(suite.coverage.executed - suite.before.executed) + len(
        suite.coverage.taken - suite.before.taken
    )
    return min(new / missing, 1.0) if missing else None


def discrimination(suite: Suite) -> float | None:
    """The share of the task's known wrong programs that fail a valid test (UTRL's ``disc``, 2508.21107)."""
    if suite is None or (suite.n_valid and not suite.wrong):
        return None
    if not suite.n_valid:
        return ZERO
    return caught_fraction(_table(suite.wrong), np.ones(len(suite.wrong[0].tests), np.bool_))


def utrl(suite: Suite, completion: str) -> float | None:
    """UTRL's whole reward: format, discrimination and validity (2508.21107)."""
    caught = discrimination(suite)
    if suite is None or caught is None:
        return None
    written = len(suite.tests)
    return utrl_reward(utrl_format(completion, written), caught, suite.n_valid, max(written, suite.n_valid))


def cure(suite: Suite) -> float | None:
    """The mean of CURE's rewards of the tests, over the task's right and wrong programs (2506.03136)."""
    if suite is None or not suite.right:
        return None
    generated = (
        np.concatenate([_table(suite.right), _table(suite.wrong)]) if suite.wrong else _table(suite.right)
    )
    truth = np.array([[True]] * len(suite.right) + [[False]] * len(suite.wrong))
    return float(cure_test_rewards(truth, generated).mean())


def _table(outcomes: tuple[Outcome, ...]) -> np.ndarray:
    """Whether each program passes each test."""
    return np.array([[test.status == Status.PASSED for test in one.tests] for one in outcomes], np.bool_)


@dataclass(frozen=True, slots=True)
class CgftReward:
    """The reward of CGFT: ``g (w_cov dcov + w_q q + w_mut mut)``; a term that is not known is left out, and
    the other weights are scaled up.

    The gate g is 1 for a suite that is sound; one that looks at the program instead of running it is not.

    >>> CgftReward().combined(8 / 20, 1.0, 6 / 10)
    0.6

    Attributes:
        coverage: The weight of `coverage_delta`.
        quality: The weight of the quality of its assertions.
        mutation: The weight of `mutation_score`.
    """

    coverage: float = 0.4
    quality: float = 0.2
    mutation: float = 0.4

    name: ClassVar[str] = "cgft"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        """Check the weights."""
        weights = (self.coverage, self.quality, self.mutation)
        if min(weights) < 0 or not 0 < sum(weights) < float("inf"):
            raise ConfigError(f"weights must not be negative, and some positive, got {weights}")

    def __call__(self, suite: Suite) -> float | None:
        """Look at the suite."""
        if suite is None:
            return None
        if not suite.sound:
            return ZERO
        return self.combined(coverage_delta(suite), assertion_quality(suite), mutation_score(suite))

    def combined(self, dcov: float | None, quality: float | None, mut: float | None) -> float | None:
        """The weighted sum of those terms that are known; None where none is."""
        terms = [(self.coverage, dcov), (self.quality, quality), (self.mutation, mut)]
        known = [(weight, value) for weight, value in terms if value is not None]
        total = sum(weight for weight, _ in known)
        return round(sum(weight * value for weight, value in known) / total, 12) if total else None


def assertion_quality(suite: Suite) -> float | None:
    """How much the suite's assertions say, from 0 to 1; 0 where a gate of `codegym.testquality.assess` is
    shut. Tests that state an input and its output are equalities, and worth 1.
    """
    if suite is None:
        return None
    if suite.suite.form != "module":
        return float(suite.n_valid > 0)
    return assess(suite.suite.code).score

"""The results of an evaluation: one for each sample."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

import msgspec

from codegym.core import Outcome, Status, Task
from codegym.evaluation.samples import Key
from codegym.evaluation.stream import read_stream

__all__ = ["Result", "read_results"]

UNTIERED: Final = "all"
"""The name of the tier of tests that have none."""

MESSAGE: Final = 500
"""Characters of a message that are kept."""


class Slowest(msgspec.Struct, frozen=True):
    """The test of a sample that took longest."""

    index: int
    tier: str
    cpu_s: float


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of one sample.

    Attributes:
        task_id: The task.
        sample_index: Number among the samples of the task.
        program: Digest of what was judged.
        status: The verdict over all tests.
        tiers: The verdict of each tier of tests, in the task's order.
        passed: How many tests passed.
        tests: How many there are.
        message: Why it did not pass.
        cpu_s: CPU seconds.
        slowest: The test that took longest; None where no test ran.
        wall: What stood between the program and the expected values.
    """

    task_id: str
    sample_index: int
    program: str
    status: Status
    tiers: dict[str, Status]
    passed: int
    tests: int
    message: str = ""
    cpu_s: float = 0.0
    slowest: Slowest | None = None
    wall: str = "split"

    @property
    def key(self) -> Key:
        """What identifies the sample."""
        return self.task_id, self.sample_index

    @classmethod
    def of(cls, key: Key, program: str, task: Task, outcome: Outcome) -> Self:
        """The result that an outcome amounts to."""
        return cls(
            task_id=key[0],
            sample_index=key[1],
            program=program,
            status=outcome.status,
            tiers={tier or UNTIERED: _tier_status(outcome, tier) for tier in task.tiers},
            passed=sum(test.status == Status.PASSED for test in outcome.tests),
            tests=len(task.tests),
            # a program's words may hold what UTF-8 cannot
            message=outcome.message[:MESSAGE].encode("utf-8", "backslashreplace").decode("utf-8"),
            cpu_s=round(outcome.cpu_s, 6),
            slowest=_slowest(outcome),
            wall=outcome.wall,
        )


def _slowest(outcome: Outcome) -> Slowest | None:
    test = max(outcome.tests, key=lambda test: test.cpu_s, default=None)
    return None if test is None else Slowest(test.index, test.tier or UNTIERED, round(test.cpu_s, 6))


def _tier_status(outcome: Outcome, tier: str | None) -> Status:
    # an outcome without test results is a verdict on the whole
    return outcome.only(tier).status if outcome.tests else outcome.status


def read_results(path: str | Path) -> list[Result]:
    """Read the ``results.jsonl`` of an evaluation; a half-written last line is left out.

    Raises:
        DataError: The file cannot be read, or is damaged elsewhere than at its end.
    """
    return read_stream(path, Result)

"""The results of an evaluation, on disk: one line for each sample, written as they come."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from codegym.core import Outcome, Status, Task
from codegym.errors import DataError
from codegym.evaluation.samples import Key

__all__ = ["Result", "ResultsFile", "read_results"]

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


class ResultsFile:
    """A results file that is being written.

    Args:
        path: The file; made if need be.
        fsync_s: How many seconds of results may be lost when the machine, not only the process, goes down.

    Attributes:
        done: The results that the file held when it was opened. A half-written last line is dropped, and so
            is what could not be judged, which deserves another try.
    """

    def __init__(self, path: Path, fsync_s: float = 2.0) -> None:
        """Open the file, after repairing its end.

        Raises:
            DataError: The file is damaged elsewhere than at its end.
        """
        self._fsync_s = fsync_s
        self._synced = time.monotonic()
        path.parent.mkdir(parents=True, exist_ok=True)
        known = read_results(path) if path.exists() else []
        self.done = {result.key: result for result in known if result.status != Status.INFRA}
        _replace(path, map(_line, self.done.values()))
        self._file = io.BufferedWriter(io.FileIO(path, "ab"))

    def append(self, result: Result) -> None:
        """Write one result, so that it outlives the process."""
        self._file.write(_line(result))
        self._file.flush()
        if time.monotonic() - self._synced >= self._fsync_s:
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        """Nothing to do: the file is open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._sync()
        self._file.close()


def read_results(path: str | Path) -> list[Result]:
    """Read a results file; a half-written last line is left out.

    Raises:
        DataError: The file cannot be read, or is damaged elsewhere than at its end.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path) from error
    *lines, _ = data.split(b"\n")
    return [_result(line, path, number) for number, line in enumerate(lines, 1)]


def _result(line: bytes, path: str | Path, number: int) -> Result:
    try:
        return msgspec.json.decode(line, type=Result)
    except msgspec.DecodeError as error:
        raise DataError(f"not a result: {error}", path=path, line=number) from error


def _line(result: Result) -> bytes:
    return msgspec.json.encode(result) + b"\n"


def _replace(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)

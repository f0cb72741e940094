"""What adapters of other graders have in common: processes of their own, and a deadline."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final

from codegym.audit.entry import Entry
from codegym.audit.run import Verdict
from codegym.audit.topics import topic_of

__all__ = ["DANGER", "ForeignGrader", "no_wall"]

DEADLINE_S: Final = 20.0
DANGER: Final = "it would harm a machine without a wall"

Judge = Callable[..., float]


class ForeignGrader:
    """Another grader: asked in a process that may be lost."""

    def __init__(
        self, name: str, judge: Judge, arguments: Callable[[Entry], tuple[Any, ...] | str], parallel: int
    ) -> None:
        """Start nothing yet.

        Args:
            name: What it is called in tables.
            judge: A function at the top of a module, called elsewhere; returns the fraction that passed.
            arguments: What it is called with for a program, or why it cannot judge it.
            parallel: Programs at one time.
        """
        self.name, self.parallel = name, parallel
        self._judge, self._arguments = judge, arguments
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None

    def skips(self, entry: Entry) -> str:
        """Leave out what would do harm, and what is not in its style."""
        if topic_of(entry.side, entry.name).dangerous:
            return DANGER
        arguments = self._arguments(entry)
        return arguments if isinstance(arguments, str) else ""

    def __call__(self, entry: Entry) -> Verdict:
        """Ask for a verdict."""
        pool = self._started()
        try:
            value = pool.submit(self._judge, *self._arguments(entry)).result(DEADLINE_S)
        except TimeoutError:
            self.close()
            return Verdict(value=None, note=f"no verdict within {DEADLINE_S:g} seconds")
        except BrokenProcessPool:
            self.close()
            return Verdict(value=None, note="the grader's process died")
        except Exception as error:
            return Verdict(value=None, note=f"the grader raised {type(error).__name__}: {error}")
        return Verdict(value=value)

    def close(self) -> None:
        """End its processes."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            for process in (pool._processes or {}).values():
                process.kill()  # one that hangs would keep `shutdown` waiting
            pool.shutdown()

    def _started(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(
                    self.parallel, mp_context=context, initializer=fork_from_now_on
                )
            return self._pool


def fork_from_now_on() -> None:
    """In a new process: start others as graders expect it on Linux, and not as this one was started."""
    multiprocessing.set_start_method("fork", force=True)


@contextlib.contextmanager
def no_wall(grader: ForeignGrader) -> Iterator[ForeignGrader]:
    """A grader that is ended with the block."""
    try:
        yield grader
    finally:
        grader.close()

"""Trouble on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, NoReturn, Self

from codegym.core import Limits
from codegym.errors import InfraError, SandboxUnavailableError
from codegym.sandbox import Execution, Isolation, OnAnswer, Request, Sandbox, Session
from codegym.sandbox.pool import WorkerSandbox

__all__ = ["FailingSandbox", "without_workers"]


class FailingSandbox(Sandbox):
    """A sandbox in which every request fails through no fault of its program."""

    def __init__(self) -> None:
        """Nothing to start."""
        self.workers = 1
        self.isolation = Isolation(frozenset())

    def start(self) -> Self:
        """Start: the only thing that works."""
        return self

    def execute(self, request: Request, on_answer: OnAnswer | None = None) -> Execution:
        """Fail."""
        self._fail()

    def submit(self, request: Request, on_answer: OnAnswer | None = None) -> Future[Execution]:
        """Fail later."""
        future: Future[Execution] = Future()
        future.set_exception(InfraError("a sandbox that fails on purpose"))
        return future

    def session(self, code: str, entry_point: str, limits: Limits | None = None) -> Session:
        """Fail."""
        self._fail()

    def close(self) -> None:
        """Nothing to end."""

    def _fail(self) -> NoReturn:
        raise InfraError("a sandbox that fails on purpose")


@contextmanager
def without_workers(sandbox: WorkerSandbox) -> Iterator[None]:
    """End all workers of a sandbox, and let none start, for the length of a ``with`` block."""

    def refuse(stderr: Any) -> NoReturn:
        raise SandboxUnavailableError("no worker may start, on purpose")

    vars(sandbox)["spawn"] = refuse
    try:
        for worker in list(sandbox._live):
            if worker is not None:
                worker.process.end()
        yield
    finally:
        del vars(sandbox)["spawn"]

"""A sandbox under test, and what the checks of it share."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Final

from codegym.core import Limits
from codegym.sandbox import (
    AnswerKind,
    CallBatch,
    Check,
    Ending,
    Execution,
    Sandbox,
    Script,
    Session,
    make_sandbox,
)
from codegym.sandbox.plain import decode, encode
from codegym.sandbox.pool import WorkerSandbox
from codegym.testing.checks import require
from codegym.testing.faults import without_workers

__all__ = [
    "DOUBLE",
    "QUICK",
    "Fault",
    "SandboxSubject",
    "batch",
    "check_request",
    "script",
    "told",
    "value_of",
]

QUICK: Final = Limits(cpu_s=1.0, wall_s=5.0, total_cpu_s=4.0, memory_mb=256, output_mb=1, processes=16)
DOUBLE: Final = "def f(x):\n    return 2 * x\n"
WORKERS: Final = 2
PATIENCE_S = 5.0
"""Wall seconds after which what waits for a worker is set free, so that a sandbox that blocks is found out
instead of blocking the check."""

Fault = Callable[[Any], AbstractContextManager[None]]
"""Given a started sandbox: a ``with`` block in which it can run nothing."""


class SandboxSubject:
    """A kind of sandbox under test.

    Args:
        make: A registered name, or a function that makes a new one, not yet started, at each call.
        fault: Given a started sandbox, returns a ``with`` block in which none of its requests can be run.
            None: there is one for every `codegym.sandbox.pool.WorkerSandbox`, and for no other.
        options: What a sandbox of that name takes.
    """

    def __init__(
        self, make: str | Callable[[], Sandbox], *, fault: Fault | None = None, **options: Any
    ) -> None:
        """Start nothing yet."""
        if isinstance(make, str):
            name, options = make, {"workers": WORKERS, **options}
            self.make: Callable[[], Sandbox] = lambda: make_sandbox(name, **options)
        else:
            self.make = make
        self._fault = fault
        self._shared: Sandbox | None = None

    @property
    def sandbox(self) -> Sandbox:
        """One that is started when it is first needed, and shared by the checks.

        Raises:
            SandboxUnavailableError: It cannot start here.
        """
        if self._shared is None:
            self._shared = self.make().start()
            weakref.finalize(self, self._shared.close)
        return self._shared

    @contextmanager
    def another(self) -> Iterator[Sandbox]:
        """A new one, not started, and closed in the end."""
        made = self.make()
        try:
            yield made
        finally:
            made.close()

    def fault(self, sandbox: Sandbox) -> AbstractContextManager[None] | None:
        """A ``with`` block in which a sandbox can run nothing; None where nobody knows how to do that."""
        if self._fault is not None:
            return self._fault(sandbox)
        return without_workers(sandbox) if isinstance(sandbox, WorkerSandbox) else None

    def close(self) -> None:
        """Close the shared one."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    # Asking programs

    def call(self, code: str, *args: Any, limits: Limits = QUICK) -> Execution:
        """Call a program once."""
        return self.sandbox.execute(batch(code, args, limits=limits))

    def answer(self, code: str, *args: Any, sandbox: Sandbox | None = None) -> Any:
        """What a program answers, which must be a value."""
        request = batch(code, args, inline_bytes=1 << 16)
        return value_of((sandbox or self.sandbox).execute(request))

    def probe(self, probe: Callable[..., Any], *args: Any, limits: Limits = QUICK) -> Execution:
        """Run a function of `codegym.testing.sandboxes.probes` as a program."""
        source = inspect.getsource(probe)
        return self.sandbox.execute(batch(source, args, entry_point=probe.__name__, limits=limits))

    def crossings(self, probe: Callable[..., list[str]], *args: Any, limits: Limits = QUICK) -> list[str]:
        """What a probe of the wall got hold of: nothing also where the kernel ended it for trying."""
        execution = self.probe(probe, *args, limits=limits)
        ended = execution.ending == Ending.MEMORY or (execution.exit_code or 0) < 0
        return [] if ended else [str(each) for each in value_of(execution)]

    # Occupying workers

    @contextmanager
    def busy(self) -> Iterator[threading.Event]:
        """Occupy every worker with a session, until the block ends or patience does.

        Yields:
            An event that is set when patience ended first.
        """
        gave_up = threading.Event()
        with ExitStack() as stack:
            held = [stack.enter_context(self._held()) for _ in range(int(self.sandbox.workers))]
            timer = threading.Timer(PATIENCE_S, give_up, (gave_up, held))
            timer.daemon = True
            timer.start()
            stack.callback(timer.join)
            stack.callback(timer.cancel)
            yield gave_up

    def _held(self) -> Session:
        return self.sandbox.session("def held(): pass", "held", QUICK)


def give_up(gave_up: threading.Event, held: Sequence[Session]) -> None:
    """Say that patience has ended, and close sessions."""
    gave_up.set()
    for session in held:
        session.close()


def batch(
    code: str, *inputs: tuple[Any, ...], entry_point: str = "f", limits: Limits = QUICK, **options: Any
) -> CallBatch:
    """A request with one call for each tuple of arguments."""
    data = [encode((args, {})) for args in inputs]
    return CallBatch(code=code, entry_point=entry_point, inputs=data, limits=limits, **options)


def script(code: str, stdin: bytes = b"") -> Script:
    """A request to run a script."""
    return Script(code=code, stdin=stdin, limits=QUICK)


def check_request(code: str, *tests: str, preamble: str = "") -> Check:
    """A request to run tests on a program with the entry point ``f``."""
    return Check(code=code, entry_point="f", tests=tests, preamble=preamble, limits=QUICK)


def value_of(execution: Execution) -> Any:
    """The only answer of an execution, which must be a value."""
    answered = execution.ending == Ending.DONE and execution.answers[0].kind == AnswerKind.VALUE
    require(answered, f"no value but {told(execution)}")
    return decode(execution.answers[0].payload)


def told(execution: Execution) -> str:
    """An execution for people."""
    kinds = ", ".join(str(answer.kind) for answer in execution.answers) or "no answers"
    return f"ended as {execution.ending} ({execution.message or 'no message'}), {kinds}"

"""The contract of a sandbox.

A sandbox runs what a policy wrote and says what happened. It judges nothing, and never sees an expected
value. Requests are plain data, so that they can travel to another process, container or machine; every
backend runs the same worker program (`codegym.sandbox.worker`) and differs only in the wall around it.
"""

from __future__ import annotations

import abc
import asyncio
import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Self

from codegym.core import Limits

__all__ = [
    "Answer",
    "AnswerKind",
    "CallBatch",
    "Check",
    "Ending",
    "Execution",
    "Isolation",
    "OnAnswer",
    "Request",
    "Sandbox",
    "Script",
    "Session",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallBatch:
    """Load a program once, then call its entry point on each input in turn, in one process."""

    code: str
    entry_point: str
    inputs: Sequence[bytes]
    """Each ``plain.encode((args, kwargs))``."""
    argument_answers: bool = False
    """Report the first argument after the call in place of what was returned."""
    limits: Limits = field(default_factory=Limits)
    cpu_limits_s: Sequence[float] | None = None
    """CPU seconds for each input, in place of ``limits.cpu_s`` for all."""
    inline_bytes: int = 1024
    """Answers that encode to more than this come as a digest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """Run a program as a script, on real standard streams."""

    code: str
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """Run test code in one process against a program in another; the tester sees only a proxy of its entry
    point. Or, where it has to be, in the program's own.
    """

    code: str
    entry_point: str
    tests: Sequence[str]
    """Test code, each judged by itself in a namespace of its own."""
    preamble: str = ""
    """Code that the tests may use."""
    shared: bool = False
    """Whether the tests run in the program's process and namespace. They are answered like calls."""
    limits: Limits = field(default_factory=Limits)


Request = CallBatch | Script | Check


class AnswerKind(enum.StrEnum):
    """What the guest said of one call or one test."""

    VALUE = "value"
    """Answered; `Answer.payload` is the encoded value."""
    DIGEST = "digest"
    """Answered, with a longer value than asked for; the payload is its BLAKE2b-128 and then its length in 8
    bytes."""
    RAISED = "raised"
    """Raised an exception; the payload is the encoded ``[class names, message]``, base classes last."""
    UNSENDABLE = "unsendable"
    """Answered something that cannot be written as plain data; the payload is the encoded reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply of a guest. All of it is the guest's word, and trusted for nothing but comparison."""

    kind: AnswerKind
    payload: bytes
    cpu_s: float


class Ending(enum.StrEnum):
    """How a run ended, as the worker saw it from outside the guest."""

    DONE = "done"
    """The guest said all that it was asked for, or the script exited with status 0."""
    INVALID = "invalid"
    """The code does not compile."""
    LOAD_ERROR = "load_error"
    """The code raised while it was loaded, or lacks the entry point."""
    EXITED = "exited"
    """The process ended early, or the script's status was not 0."""
    CPU = "cpu"
    """Killed: CPU time used up."""
    WALL = "wall"
    """Killed: past the wall deadline."""
    MEMORY = "memory"
    """Out of memory."""
    OUTPUT = "output"
    """It wrote more than it may."""
    PROTOCOL = "protocol"
    """It sent something that is not an answer."""
    STOPPED = "stopped"
    """Killed at the host's wish: the verdict was clear."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """What happened to one request."""

    ending: Ending
    answers: Sequence[Answer] = ()
    loaded: bool = False
    """Whether the program was loaded, so that its entry point could be called. Not known of a `Script`."""
    message: str = ""
    """Why it ended, in one line."""
    exit_code: int | None = None
    """Negative: minus the signal. None: killed by us."""
    cpu_s: float = 0.0
    """CPU seconds of the guest, user and system."""
    wall_s: float = 0.0
    peak_mb: float = 0.0
    """MiB, largest resident set."""
    stdout: bytes = b""
    """Whole for a `Script`, an excerpt otherwise."""
    stderr: bytes = b""
    """An excerpt."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """What stands between a guest and the machine: only what the kernel was seen to grant."""

    layers: frozenset[str]
    """Among: user, pid, mount, net, ipc, uts (namespaces), root (a read-only file tree of the interpreter and
    its libraries only), scratch (a private folder of bounded size), landlock, seccomp, no_new_privs,
    no_capabilities, rlimits, cgroup (limits on all processes of a program together)."""

    STRONG = frozenset(
        {
            "user",
            "pid",
            "mount",
            "net",
            "ipc",
            "root",
            "scratch",
            "seccomp",
            "no_new_privs",
            "no_capabilities",
            "rlimits",
        }
    )

    @property
    def strong(self) -> bool:
        """Whether files, network, processes, system calls and resources are all cut off."""
        return self.layers >= self.STRONG

    @property
    def missing(self) -> tuple[str, ...]:
        """The layers that strong isolation lacks."""
        return tuple(sorted(self.STRONG - self.layers))


OnAnswer = Callable[[int, Answer], bool]
"""Called on the host with each answer as it comes; returns whether to go on."""


class Session(abc.ABC):
    """A program that stays loaded and is called from the host. Ends with the ``with`` block."""

    @abc.abstractmethod
    def call(self, *args: Any, **kwargs: Any) -> Answer:
        """Call the entry point.

        Args:
            *args: Plain data.
            **kwargs: Plain data.

        Returns:
            The guest's answer, always inline.

        Raises:
            codegym.sandbox.SessionEndedError: The program is no longer there; `ending` says why.
        """

    @abc.abstractmethod
    def close(self) -> Execution:
        """End the program.

        Returns:
            What happened to it. Calling again returns the same.
        """

    def __enter__(self) -> Self:
        """Nothing to do: a session is open when it is made."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the program."""
        self.close()


class Sandbox(abc.ABC):
    """Runs requests behind a wall.

    Implement in a backend: `start`, `execute`, `submit`, `session`, `close`, and the attributes.

    Attributes:
        workers: How many requests run at one time.
        isolation: What the wall is made of; known after `start`.
    """

    workers: int
    isolation: Isolation

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program's behaviour may depend on besides itself; known after `start`. Add to it in a
        backend: the interpreter, the packages that programs may import.
        """
        return {"backend": type(self).__qualname__, "layers": " ".join(sorted(self.isolation.layers))}

    @abc.abstractmethod
    def start(self) -> Self:
        """Start the workers, unless they run already.

        Raises:
            SandboxUnavailableError: It cannot start here.
            IsolationError: It can, but with less isolation than was required.
        """

    @abc.abstractmethod
    def execute(self, request: Request, on_answer: OnAnswer | None = None) -> Execution:
        """Run a request and wait for it; starts the sandbox if need be. Safe from any thread.

        Args:
            request: What to run.
            on_answer: Sees answers as they come and may end the run.

        Returns:
            What happened.

        Raises:
            InfraError: The request failed, after retries, through no fault of the program.
        """

    @abc.abstractmethod
    def submit(self, request: Request, on_answer: OnAnswer | None = None) -> Future[Execution]:
        """Queue a request and return at once; otherwise like `execute`. `on_answer` is called in another
        thread.
        """

    @abc.abstractmethod
    def session(self, code: str, entry_point: str, limits: Limits | None = None) -> Session:
        """Load a program and keep it; occupies a worker until it is closed.

        Raises:
            codegym.sandbox.SessionEndedError: The program does not load.
            InfraError: The sandbox failed.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """End all workers and what runs in them. Idempotent."""

    def run(self, requests: Iterable[Request]) -> list[Execution]:
        """Run requests in parallel and wait for all.

        Raises:
            InfraError: One failed through no fault of its program, after retries.
        """
        return [future.result() for future in [self.submit(request) for request in requests]]

    async def arun(self, requests: Iterable[Request]) -> list[Execution]:
        """Like `run`, without blocking the event loop."""
        futures = [asyncio.wrap_future(self.submit(request)) for request in requests]
        return list(await asyncio.gather(*futures))

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

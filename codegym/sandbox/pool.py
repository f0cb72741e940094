"""Workers on the host's side: one process and one connection each, and a pool that keeps all of them busy.

Every backend whose workers speak the protocol of `codegym.sandbox.worker` over a stream is a subclass of
`WorkerSandbox`: it says how a worker is started.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import importlib.resources
import logging
import marshal
import os
import queue
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from codegym.core import Limits
from codegym.errors import CodegymError, ConfigError, InfraError, SandboxUnavailableError
from codegym.sandbox import cgroups, wire
from codegym.sandbox.base import (
    Answer,
    Ending,
    Execution,
    Isolation,
    OnAnswer,
    Request,
    Sandbox,
    Session,
)

__all__ = [
    "ARGUMENTS",
    "BOOT",
    "ENVIRONMENT",
    "PRELOAD",
    "LocalProcess",
    "Process",
    "SessionEndedError",
    "Spawned",
    "WorkerDiedError",
    "WorkerSandbox",
    "spawn_python",
]

log = logging.getLogger(__name__)

PAUSES_S: Final = (0.05, 0.5)
"""Seconds before each further try of a request whose worker died."""
START_S: Final = 60.0
SUPERVISORS: Final = 3
"""Processes of a worker that are no guests, and one to spare."""
GRACE_S: Final = 15.0
"""Wall seconds that a worker may take to report what it is due to report."""
MODULES: Final = (
    "frames",
    "files",
    "plain",
    "suites",
    "guest",
    "linux",
    "landlock",
    "children",
    "scratch",
    "warm",
    "worker",
)
"""What runs inside, in the order of import."""
PRELOAD: Final = (
    "bisect",
    "collections",
    "copy",
    "functools",
    "heapq",
    "itertools",
    "math",
    "operator",
    "re",
    "string",
    "typing",
)
"""Modules that programs find imported already: what they import most. Each makes every fork dearer; threads,
asyncio, random and numpy by a quarter to a half."""

ENVIRONMENT: Final = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",  # else each thread would reserve address space by the dozen MiB
}
ARGUMENTS: Final = ("-s", "-S", "-P", "-X", "utf8", "-c")
"""The interpreter's, in front of `BOOT`."""
BOOT: Final = """
import marshal, os, socket, sys, types
connection = socket.socket(fileno=0)
def take(count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part: sys.exit(0)
        data += part
    return data
sources = marshal.loads(take(int.from_bytes(take(4), "little")))
connection.detach()
for name in ("codegym", "codegym.sandbox"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
# Compiled in a child: it leaves a heap in pieces, and the more pieces, the more of it each guest has to copy.
reader, writer = os.pipe()
if not os.fork():
    os.close(reader)  # or it would wait for itself, with the connection open, when its parent is killed
    os.close(0)
    with open(writer, "wb") as file:
        marshal.dump([(name, compile(source, f"<codegym {name}>", "exec")) for name, source in sources], file)
    os._exit(0)
os.close(writer)
with open(reader, "rb") as file:
    modules = marshal.load(file)
os.wait()
for name, code in modules:
    module = types.ModuleType("codegym.sandbox." + name)
    sys.modules[module.__name__] = module
    setattr(sys.modules["codegym.sandbox"], name, module)
    exec(code, module.__dict__)
del sources, modules, code
sys.modules["codegym.sandbox.worker"].main()
"""


class WorkerDiedError(Exception):
    """The worker is gone, or has stopped answering; says what it left on standard error."""


class SessionEndedError(CodegymError):
    """The program of a session is no longer there.

    Attributes:
        execution: What happened to it.
    """

    def __init__(self, execution: Execution) -> None:
        """Say how it ended."""
        self.execution = execution
        super().__init__(f"the program ended ({execution.ending}): {execution.message}")


class Process(Protocol):
    """A worker as its host sees it: a process, or a container."""

    def end(self) -> None:
        """Kill it, and all that it has started, and wait for its end. Idempotent."""
        ...


class LocalProcess:
    """A worker that is a process of this machine, in a session of its own."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Take it over."""
        self._process = process
        self.pid = process.pid

    def end(self) -> None:
        """Kill its process group."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, 9)
        self._process.wait()


@dataclass(frozen=True, slots=True)
class Spawned:
    """A worker as a backend started it."""

    process: Process
    connection: socket.socket
    config: Mapping[str, Any]
    """What the worker is told about its wall."""
    scratch: str | None = None
    """A folder to remove when the worker has ended."""


@functools.cache
def worker_sources() -> bytes:
    """The program that runs inside, ready to send; read once, so that all workers have the same."""
    folder = importlib.resources.files("codegym.sandbox")
    sources = [(name, folder.joinpath(f"{name}.py").read_text(encoding="utf-8")) for name in MODULES]
    data = marshal.dumps(sources, 2)
    return len(data).to_bytes(4, "little") + data


def spawn_python(command: list[str], config: Mapping[str, Any], stderr: Any) -> Spawned:
    """Start an interpreter that boots the worker from its standard input.

    Raises:
        SandboxUnavailableError: There is no such interpreter, or no Linux.
    """
    if sys.platform != "linux":
        raise SandboxUnavailableError(
            f"sandboxes need Linux, this is {sys.platform}: run codegym in a container or a virtual machine"
        )
    ours, theirs = socket.socketpair()
    openblas = {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")}
    try:
        process = subprocess.Popen(
            [*command, *ARGUMENTS, BOOT],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=ENVIRONMENT | openblas,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        raise SandboxUnavailableError(f"cannot start {command[0]!r}: {error}") from error
    finally:
        theirs.close()
    return Spawned(LocalProcess(process), ours, config)


class Worker:
    """One worker process, used by one thread at a time."""

    def __init__(self, sandbox: WorkerSandbox) -> None:
        """Start it and read what its wall is made of.

        Raises:
            WorkerDiedError: It did not come up.
            SandboxUnavailableError: It could not even be started.
        """
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self.group: cgroups.Group | None = None
        self.scratch_bytes = sandbox.scratch_mb << 20
        try:
            spawned = sandbox.spawn(self.stderr)
        except BaseException:
            self.stderr.close()
            raise
        self.process, self.connection, self.scratch = spawned.process, spawned.connection, spawned.scratch
        try:
            self.hello = self._boot(sandbox, spawned.config)
        except (OSError, EOFError) as error:
            raise self.died(error) from error
        except BaseException:
            self.close()
            raise

    def _boot(self, sandbox: WorkerSandbox, config: Mapping[str, Any]) -> dict[str, Any]:
        """Send it its program, and read what its wall is made of."""
        parent = cgroups.find_parent() if sandbox.uses_cgroups else None
        if parent is not None:
            assert isinstance(self.process, LocalProcess)
            self.group = cgroups.Group(parent)
            self.group.add(self.process.pid)
        config = {**config, "cgroup": None if self.group is None else self.group.files()}
        self.connection.settimeout(START_S)
        self.connection.sendall(worker_sources() + wire.frame(b"c", marshal.dumps(config, 2)))
        kind, payload = self.receive()
        if kind != wire.HELLO:
            raise EOFError(f"unexpected frame {kind!r}")
        hello: dict[str, Any] = marshal.loads(payload)
        if self.group is not None:
            self.group.measure()
            hello["layers"].append("cgroup")
        return hello

    def open(self, run: wire.Run) -> None:
        """Start a run."""
        if self.group is not None:
            self.group.limit(run.memory_bytes + self.scratch_bytes, run.processes + SUPERVISORS)
        self.connection.sendall(run.opening)

    def receive(self) -> tuple[bytes, bytes]:
        """One frame from the worker."""
        return wire.receive_frame(self.connection)

    def died(self, cause: object) -> WorkerDiedError:
        """The error for a worker that is gone; ends whatever is left of it."""
        self.process.end()
        self.stderr.seek(0)
        last = self.stderr.read()[-2000:].decode(errors="replace").strip()
        text = f"{type(cause).__name__}: {cause}" if isinstance(cause, BaseException) else str(cause)
        self.close()
        return WorkerDiedError(f"{text}; it left: {last}" if last else text)

    def execute(self, request: Request, on_answer: OnAnswer | None) -> Execution:
        """Run a request to its end.

        Raises:
            WorkerDiedError: The worker is gone or silent.
        """
        run = wire.Run(request)
        start = time.monotonic()
        try:
            self.connection.settimeout(run.patience_s + GRACE_S)
            self.open(run)
            while True:
                kind, payload = self.receive()
                if kind == wire.DONE:
                    return run.finish(marshal.loads(payload), time.monotonic() - start)
                if kind != wire.ANSWERS:
                    run.keep(kind, payload)
                elif not run.feed(payload, on_answer):
                    self.connection.sendall(wire.frame(wire.STOP, b""))
        except (OSError, EOFError) as error:
            raise self.died(error) from error
        except BaseException:  # of `on_answer`, or an interrupt: in the middle of a run nobody else can go on
            self.close()
            raise

    def close(self) -> None:
        """End it and give everything back."""
        self.connection.close()
        self.process.end()
        self.stderr.close()
        if self.group is not None:
            self.group.remove()
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)


class WorkerSandbox(Sandbox):
    """A pool of workers.

    Implement in a backend: `spawn`, and `check` where it wants to refuse what it got.

    Attributes:
        uses_cgroups: Whether workers are processes of this machine, to be put into control groups.
        scratch_mb: MiB of memory that files in the scratch folder may take.
    """

    uses_cgroups = True
    scratch_mb = 0

    def __init__(self, workers: int | None = None) -> None:
        """Start nothing yet.

        Args:
            workers: Requests that run at one time. None: one for each CPU that this process may use.
        """
        if workers is not None and workers < 1:
            raise ConfigError(f"workers must be at least 1, got {workers}")
        self.workers = workers or available_cpus()
        self.isolation = Isolation(frozenset())
        self.interpreter = ""
        """Its version, as it says it; known after `start`."""
        self._idle: queue.SimpleQueue[Worker | None] = queue.SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._live: set[Worker | None] = set()
        self._pid = os.getpid()
        weakref.finalize(self, close_workers, self._live, self._pid)

    @abc.abstractmethod
    def spawn(self, stderr: Any) -> Spawned:
        """Start a worker process whose standard error goes to the file `stderr`.

        Raises:
            SandboxUnavailableError: It cannot be started here.
        """

    @property
    def environment(self) -> Mapping[str, str]:
        """The interpreter besides."""
        return {**super().environment, "interpreter": self.interpreter}

    def check(self, isolation: Isolation, reason: str) -> None:
        """Look at what the first worker got; raise to refuse it."""

    def start(self) -> Self:
        """Start the first worker, and with it find out what the wall is made of; the others start when
        needed.
        """
        if self._pid != os.getpid():  # we are a copy that a fork made: the workers belong to the parent
            WorkerSandbox.__init__(self, self.workers)
        with self._lock:
            if self._threads is None:
                if self.uses_cgroups and (parent := cgroups.find_parent()) is not None:
                    cgroups.reap(parent)
                first = self._first_worker()
                self.isolation = Isolation(frozenset(first.hello["layers"]))
                self.interpreter = first.hello["version"]
                try:
                    self.check(self.isolation, first.hello["reason"])
                except BaseException:
                    first.close()
                    raise
                self._idle = queue.SimpleQueue()
                self._idle.put(first)
                for _ in range(self.workers - 1):
                    self._idle.put(None)
                self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="codegym-sandbox")
        return self

    def _new_worker(self) -> Worker:
        try:
            worker = Worker(self)
        except OSError as error:  # no descriptors, no room for temporary files, no group
            raise SandboxUnavailableError(f"a sandbox worker cannot be started: {error}") from error
        self._live.add(worker)
        return worker

    def _first_worker(self) -> Worker:
        try:
            return self._new_worker()
        except WorkerDiedError as error:
            raise SandboxUnavailableError(f"a sandbox worker does not start: {error}") from error

    def submit(self, request: Request, on_answer: OnAnswer | None = None) -> Future[Execution]:
        """Queue a request."""
        self.start()
        assert self._threads is not None
        return self._threads.submit(self.execute, request, on_answer)

    def execute(self, request: Request, on_answer: OnAnswer | None = None) -> Execution:
        """Run a request on an idle worker; where the worker dies, start another and try again."""
        self.start()
        worker = self._idle.get()
        causes = []
        try:
            for pause_s in (*PAUSES_S, 0.0):
                try:
                    worker = worker or self._new_worker()
                    return worker.execute(request, on_answer)
                except (WorkerDiedError, SandboxUnavailableError) as error:
                    self._live.discard(worker)
                    worker = None
                    causes.append(str(error))
                    log.warning("a sandbox worker died: %s", error)
                    time.sleep(pause_s)
                except BaseException:
                    self._live.discard(worker)
                    worker = None
                    raise
            raise InfraError(f"the sandbox failed {len(causes)} times on one request; last: {causes[-1]}")
        finally:
            self._idle.put(worker)

    def session(self, code: str, entry_point: str, limits: Limits | None = None) -> Session:
        """Load a program and keep it on a worker of its own choice."""
        self.start()
        return WorkerSession(self, code, entry_point, limits or Limits())

    def close(self) -> None:
        """End all workers; requests that still wait are cancelled."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is None:
            return
        threads.shutdown(wait=True, cancel_futures=True)
        close_workers(self._live, os.getpid())


def close_workers(workers: set[Worker | None], pid: int) -> None:
    """End workers; those of another process are left alone."""
    while workers and pid == os.getpid():
        if (worker := workers.pop()) is not None:
            worker.close()


class WorkerSession(Session):
    """A session on a worker of a pool."""

    def __init__(self, sandbox: WorkerSandbox, code: str, entry_point: str, limits: Limits) -> None:
        """Load the program.

        Raises:
            SessionEndedError: It does not load.
            InfraError: The worker failed.
        """
        self._sandbox = sandbox
        self._limits = limits
        self._run = wire.ServeRun(code, entry_point, limits)
        self._ended: Execution | None = None
        self._answers = bytearray()
        worker = sandbox._idle.get()
        self._worker: Worker | None = worker
        try:
            self._worker = worker or sandbox._new_worker()
            self._start = time.monotonic()
            self._worker.open(self._run)
            self._until_loaded()
        except (OSError, EOFError, WorkerDiedError) as error:
            raise self._broken(error) from error

    @property
    def _connection(self) -> socket.socket:
        assert self._worker is not None
        connection = self._worker.connection
        connection.settimeout(self._limits.deadline_s + GRACE_S)
        return connection

    def _until_loaded(self) -> None:
        while not self._run.loaded:
            self._handle(*wire.receive_frame(self._connection))

    def _handle(self, kind: bytes, payload: bytes) -> None:
        """Take one frame in.

        Raises:
            SessionEndedError: It says that the program ended.
        """
        if kind == wire.DONE:
            self._finish(self._run.finish(marshal.loads(payload), time.monotonic() - self._start))
            assert self._ended is not None
            raise SessionEndedError(self._ended)
        if kind == wire.ANSWERS:
            self._run.feed(payload, None)
            if self._run.trouble is not None:
                raise SessionEndedError(self._stop(*self._run.trouble))
        elif kind == wire.LINK:
            self._answers += payload
        else:
            self._run.keep(kind, payload)

    def call(self, *args: Any, **kwargs: Any) -> Answer:
        """Call the entry point."""
        if self._ended is not None:
            raise SessionEndedError(self._ended)
        try:
            self._connection.sendall(wire.call_frame(args, kwargs))
            while True:
                reply = wire.take_reply(self._answers, self._limits.output_mb << 20)
                if reply is not None:
                    return reply
                self._handle(*wire.receive_frame(self._connection))
        except wire.ProtocolError as error:
            raise SessionEndedError(self._stop(Ending.PROTOCOL, str(error))) from error
        except (OSError, EOFError) as error:
            raise self._broken(error) from error

    def close(self) -> Execution:
        """End the program."""
        return self._ended or self._stop(Ending.DONE, "")

    def _stop(self, ending: Ending, message: str) -> Execution:
        try:
            self._connection.sendall(wire.frame(wire.STOP, b""))
            while True:
                kind, payload = wire.receive_frame(self._connection)
                if kind == wire.DONE:
                    break
                self._run.keep(kind, payload)
        except (OSError, EOFError) as error:
            raise self._broken(error) from error
        done = self._run.finish(marshal.loads(payload), time.monotonic() - self._start)
        return self._finish(wire.replaced(done, ending, message))

    def _finish(self, execution: Execution) -> Execution:
        self._ended = execution
        self._sandbox._idle.put(self._worker)
        return execution

    def _broken(self, error: BaseException) -> InfraError:
        """Give the place in the pool back when the worker is lost."""
        if self._worker is not None and not isinstance(error, WorkerDiedError):
            error = self._worker.died(error)
        self._sandbox._live.discard(self._worker)
        self._worker = None
        self._finish(Execution(ending=Ending.STOPPED, message="the sandbox failed"))
        return InfraError(f"the sandbox failed in a session: {error}")


def available_cpus() -> int:
    """CPUs that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""A service that runs code over HTTP, as a sandbox: SandboxFusion, and what answers ``/run_code`` as it does.

The service is asked to run one Python program: a driver that starts the worker of every other backend, has it
serve one request, and prints what it said. So verdicts are reached as elsewhere, and expected values stay
here; what stands around a program is what its worker could build over there, besides the service's own wall.
"""

from __future__ import annotations

import base64
import binascii
import marshal
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Literal, Self

from codegym.core import Limits
from codegym.errors import ConfigError, InfraError, SandboxUnavailableError
from codegym.sandbox import pool, wire
from codegym.sandbox.advice import demand
from codegym.sandbox.base import Execution, Isolation, OnAnswer, Request, Sandbox, Session
from codegym.sandbox.frames import FRAME
from codegym.sandbox.seccomp import filter_program

__all__ = ["HttpSandbox"]

BUSY_STATUSES: Final = (408, 425, 429, 500, 502, 503, 504)
"""A service that answers so is asked again."""
TRIES, PAUSE_S = 4, 0.25
START_S: Final = 30.0
"""Wall seconds for the worker's start over there, besides the request's own."""
MARK: Final = "codegym worker: "
MOUNTPOINT: Final = "/tmp/.codegym"
DRIVER: Final = """
import base64, os, socket, struct, subprocess, sys, zlib
try:
    os.unlink(__file__)  # it holds the request, which is the worker's to hand out
except (NameError, OSError):
    pass
data, last = zlib.decompress(base64.b64decode({data!r})), {last!r}
ours, theirs = socket.socketpair()
command = [sys.executable, *{arguments!r}, {boot!r}]
worker = subprocess.Popen(command, stdin=theirs, stdout=subprocess.DEVNULL, env={environment!r}, cwd="/",
                          start_new_session=True)
theirs.close()
ours.settimeout({patience_s!r})
said = bytearray()
def take(count):
    end = len(said) + count
    while len(said) < end:
        part = ours.recv(end - len(said))
        if not part:
            sys.exit(f"the worker ended, with status {{worker.wait()}}")
        said.extend(part)
try:
    ours.sendall(data)
    kind = None
    while kind != last:
        take(5)
        length, kind = struct.unpack("<Ic", said[-5:])
        take(length)
finally:
    ours.close()
    worker.kill()
print({mark!r} + base64.b64encode(zlib.compress(bytes(said), 1)).decode())
"""


class HttpSandbox(Sandbox):
    """Runs programs through a service that answers ``POST /run_code`` as SandboxFusion does.

    Its Python must be 3.11 or later, on Linux and the same kind of processor. Each request starts a worker
    over there, which takes some tenths of a second. There are no sessions, since such a service answers each
    request once. Where the worker cannot build a strong wall (`isolation` says so), a program that attacks
    its worker can keep the service from answering: then the outcome is ``infra``.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        url: str,
        headers: Mapping[str, str] | None = None,
        packages: Sequence[str] | None = None,
        preload: Sequence[str] = (),
        scratch_mb: int = 64,
        require_isolation: Literal["strong"] | None = None,
    ) -> None:
        """Send nothing yet.

        Args:
            workers: Requests under way at one time. None: one for each CPU that this process may use; the
                service may well bear more.
            url: The service, without ``/run_code``.
            headers: Sent with each request, such as a key.
            packages: Distributions of the service's Python that programs may import, with what these require.
                None: numpy and pytest, where it has them.
            preload: Modules that programs find imported already.
            scratch_mb: MiB of files that a program may write.
            require_isolation: ``"strong"`` refuses to start with anything less.

        Raises:
            ConfigError: The package ``requests`` is not installed, or an argument makes no sense.
        """
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"url: expected http://… or https://…, got {url!r}")
        if scratch_mb < 1 or (workers is not None and workers < 1):
            raise ConfigError(f"workers and scratch_mb must be at least 1, got {workers} and {scratch_mb}")
        try:
            import requests
        except ImportError as error:
            raise ConfigError("the sandbox 'http' needs a package: pip install 'codegym[http]'") from error
        self.workers = workers or pool.available_cpus()
        self.isolation = Isolation(frozenset())
        self.url = url.rstrip("/")
        self.require_isolation = require_isolation
        self._requests = requests
        self._headers = dict(headers or {})
        self._config = {
            "enclose": {
                "mountpoint": MOUNTPOINT,
                "names": None if packages is None else list(packages),
                "scratch_mb": scratch_mb,
            },
            "sys_path": ["/packages"],
            "outside_path": [],
            "preload": [*pool.PRELOAD, *preload],
            "seccomp": filter_program(),
            "seccomp_alone": filter_program(alone=True),
            "scratch": "/tmp",
            "cgroup": None,
        }
        self._interpreter = ""
        self._session: Any = None
        self._threads: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    @property
    def environment(self) -> Mapping[str, str]:
        """The service, its interpreter and what it is told besides."""
        told = {name: repr(self._config[name]) for name in ("enclose", "preload")}
        return {**super().environment, "url": self.url, "interpreter": self._interpreter, **told}

    def start(self) -> Self:
        """Ask for a worker's word on its wall."""
        with self._lock:
            if self._threads is None:
                self._session = self._open_session()
                try:
                    hello = self._hello()
                    self._interpreter = hello["version"]
                    self.isolation = Isolation(frozenset(hello["layers"]))
                    demand("http", self.isolation, self.require_isolation, hello["reason"])
                except BaseException:
                    self._session.close()
                    raise
                self._threads = ThreadPoolExecutor(self.workers, thread_name_prefix="codegym-http")
        return self

    def _open_session(self) -> Any:
        """Connections that are kept, one for each request under way, and used again."""
        session = self._requests.Session()
        session.headers.update(self._headers)
        adapter = self._requests.adapters.HTTPAdapter(pool_maxsize=self.workers, pool_block=True)
        session.mount(self.url, adapter)
        return session

    def _hello(self) -> dict[str, Any]:
        try:
            said = self._ask(self._driver(b"", wire.HELLO, START_S), START_S)
        except InfraError as error:
            raise SandboxUnavailableError(f"the sandbox 'http' does not start: {error}") from error
        hello: dict[str, Any] = marshal.loads(dict(said)[wire.HELLO])
        return hello

    def execute(self, request: Request, on_answer: OnAnswer | None = None) -> Execution:
        """Run a request over there; `on_answer` sees the answers when all are there."""
        self.start()
        run, start = wire.Run(request), time.monotonic()
        patience_s = run.patience_s + pool.GRACE_S
        report: Mapping[str, Any] = {}
        for kind, payload in self._ask(self._driver(run.opening, wire.DONE, patience_s), patience_s):
            if kind == wire.ANSWERS:
                run.feed(payload, on_answer)
            elif kind == wire.DONE:
                report = marshal.loads(payload)
            elif kind != wire.HELLO:
                run.keep(kind, payload)
        return run.finish(report, time.monotonic() - start)

    def submit(self, request: Request, on_answer: OnAnswer | None = None) -> Future[Execution]:
        """Queue a request."""
        self.start()
        assert self._threads is not None
        return self._threads.submit(self.execute, request, on_answer)

    def session(self, code: str, entry_point: str, limits: Limits | None = None) -> Session:
        """There are none here.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            "the sandbox 'http' holds no sessions, for its service answers each request once; "
            "use 'local' or 'docker'"
        )

    def close(self) -> None:
        """Close the connections; requests that still wait are cancelled."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=True, cancel_futures=True)
            self._session.close()

    # What is asked, and what is answered

    def _driver(self, opening: bytes, last: bytes, patience_s: float) -> str:
        """The program that the service runs.

        Args:
            opening: What starts the request, for the worker.
            last: The kind of frame after which it is over.
            patience_s: Wall seconds that the worker may be silent.
        """
        config = wire.frame(b"c", marshal.dumps(self._config, 2))
        data = zlib.compress(pool.worker_sources() + config + opening)
        return DRIVER.format(
            data=base64.b64encode(data).decode(),
            last=last,
            arguments=pool.ARGUMENTS,
            boot=pool.BOOT,
            environment=pool.ENVIRONMENT,
            patience_s=patience_s + START_S,
            mark=MARK,
        )

    def _ask(self, code: str, patience_s: float) -> list[tuple[bytes, bytes]]:
        """Have the service run a driver; returns the frames that its worker sent.

        Raises:
            InfraError: The service does not answer, or answers something else, also after retries.
        """
        causes: list[str] = []
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE_S * 4 ** (attempt - 1))
            try:
                return self._post(code, patience_s + 2 * START_S)
            except self._requests.RequestException as error:
                causes.append(f"{type(error).__name__}: {error}")
            except TryAgainError as error:
                causes.append(str(error))
        raise InfraError(f"{self.url}/run_code failed {len(causes)} times on one request; last: {causes[-1]}")

    def _post(self, code: str, timeout_s: float) -> list[tuple[bytes, bytes]]:
        body = {
            "code": code,
            "language": "python",
            "stdin": "",
            "compile_timeout": timeout_s,
            "run_timeout": timeout_s,
            "files": {},
            "fetch_files": [],
        }
        reply = self._session.post(f"{self.url}/run_code", json=body, timeout=timeout_s + START_S)
        if reply.status_code in BUSY_STATUSES:
            raise TryAgainError(f"status {reply.status_code}: {reply.text[:200]}")
        if reply.status_code != 200:
            raise InfraError(
                f"{self.url}/run_code answers with status {reply.status_code}: {reply.text[:500]}"
            )
        try:
            return list(frames_of(reply.json()))
        except ValueError as error:
            raise TryAgainError(str(error)) from error


class TryAgainError(Exception):
    """The service did not do what it was asked for, and may do so the next time."""


def frames_of(reply: Any) -> Iterator[tuple[bytes, bytes]]:
    """The frames in a service's reply.

    Raises:
        ValueError: There are none, with the reason.
    """
    try:
        result = reply["run_result"] or {}
        lines = [line for line in (result.get("stdout") or "").splitlines() if line.startswith(MARK)]
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"expected an object with 'run_result', got {str(reply)[:300]}") from error
    if len(lines) != 1:
        raise ValueError(
            f"no word of the worker; status {reply.get('status')!r}, message {reply.get('message')!r}, "
            f"run {result.get('status')!r}: {str(result.get('stderr'))[-1000:]}"
        )
    try:
        said = zlib.decompress(base64.b64decode(lines[0].removeprefix(MARK), validate=True))
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"the worker's word is cut off: {error}") from error
    position = 0
    while position < len(said):
        length, kind = FRAME.unpack_from(said, position)
        position += FRAME.size + length
        yield kind, said[position - length : position]

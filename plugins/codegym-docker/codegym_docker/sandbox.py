"""Workers in containers."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self

from codegym.errors import ConfigError, SandboxUnavailableError
from codegym.sandbox import Isolation, pool
from codegym.sandbox.advice import demand
from codegym.sandbox.seccomp import filter_program
from codegym_docker.daemon import connect, translated

__all__ = ["IMAGE", "LABEL", "DockerSandbox", "reap"]

IMAGE: Final = "codegym/python"
LABEL: Final = "io.codegym.owner"
"""On every container: who made it, so that those whose maker was killed are found."""
NOBODY: Final = "65534:65534"
START_S: Final = 60.0
LOG_BYTES: Final = 1 << 16
FOLDER: Final = "/codegym"
MOUNTPOINT: Final = "/tmp/.codegym"
CONNECT: Final = f"""
import os, socket
connection = socket.socket(socket.AF_UNIX)
connection.connect({FOLDER + "/socket"!r})
os.dup2(connection.fileno(), 0)
os.close(connection.detach())
"""
"""Runs in the container before `pool.BOOT`, which wants its connection on standard input."""
GRANTED: Final = frozenset({"pid", "mount", "net", "ipc", "uts", "root", "scratch", "cgroup"})
"""What the container alone cuts off, whatever its worker can do inside."""


class DockerSandbox(pool.WorkerSandbox):
    """Runs programs in a warm pool of containers, one worker in each.

    A container has no network, a read-only root, a bounded ``/tmp`` in memory, no capabilities, no way to
    gain rights, limits on memory and processes, and a user that owns nothing. Inside, the worker builds the
    same wall around each program as the sandbox ``local`` does, where the daemon lets it make user
    namespaces; elsewhere the container, Landlock and the system-call filter stand alone, and `isolation` says
    so.

    The daemon must see the same files as this process: one on this machine, or one that shares the folder for
    temporary files.
    """

    uses_cgroups = False

    def __init__(
        self,
        workers: int | None = None,
        *,
        image: str = IMAGE,
        packages: Sequence[str] | None = None,
        preload: Sequence[str] = (),
        scratch_mb: int = 64,
        memory_mb: int = 1536,
        processes: int = 256,
        cpus: float | None = None,
        python: str = "python3",
        require_isolation: Literal["strong"] | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            workers: Containers, and with that requests that run at one time. None: one for each CPU that this
                process may use.
            image: An image with Python 3.11 or later.
            packages: Distributions of the image that programs may import, with what these require. None:
                numpy and pytest, where the image has them.
            preload: Modules that programs find imported already.
            scratch_mb: MiB of files that a program may write.
            memory_mb: MiB that a container may take, with the worker and the files in it.
            processes: Processes and threads that a container may have.
            cpus: CPUs that a container may use. None: all.
            python: The interpreter in the image.
            require_isolation: ``"strong"`` refuses to start with anything less.

        Raises:
            ConfigError: A number makes no sense.
        """
        super().__init__(workers)
        if min(scratch_mb, memory_mb, processes) < 1 or (cpus is not None and cpus <= 0):
            raise ConfigError(
                "scratch_mb, memory_mb, processes and cpus must be positive, got "
                f"{scratch_mb}, {memory_mb}, {processes} and {cpus}"
            )
        self.image, self.preload = image, tuple(preload)
        self.packages = None if packages is None else tuple(packages)
        self.scratch_mb = scratch_mb
        self.require_isolation = require_isolation
        self._memory_mb, self._processes, self._cpus, self._python = memory_mb, processes, cpus, python
        self._image_id = ""

    def start(self) -> Self:
        """Look at daemon and image, clear away what dead makers left, and start the first container."""
        if self._threads is None:
            client = connect()
            with contextlib.closing(client), translated("find the image", self.image):
                self._image_id = client.images.get(self.image).id
                reap(client)
        return super().start()

    @property
    def environment(self) -> Mapping[str, str]:
        """The image besides."""
        return {**super().environment, "image": self._image_id, "packages": repr(self.packages)}

    def spawn(self, stderr: Any) -> pool.Spawned:
        """Start a container whose worker connects to us."""
        config = {
            "enclose": {
                "mountpoint": MOUNTPOINT,
                "names": None if self.packages is None else list(self.packages),
                "scratch_mb": self.scratch_mb,
            },
            "sys_path": ["/packages"],
            "outside_path": [],
            "preload": [*pool.PRELOAD, *self.preload],
            "seccomp": filter_program(),
            "seccomp_alone": filter_program(alone=True),
            "scratch": "/tmp",
        }
        client = connect()
        folder = Path(tempfile.mkdtemp(prefix="codegym-docker-"))
        try:
            folder.chmod(0o755)
            with contextlib.closing(listen(folder / "socket")) as server:
                container = self._run(client, folder)
                process = ContainerProcess(client, container, stderr)
                try:
                    return pool.Spawned(process, accept(server, container), config)
                except BaseException:
                    process.end()
                    raise
        except BaseException:
            client.close()
            raise
        finally:
            shutil.rmtree(folder)

    def _run(self, client: Any, folder: Path) -> Any:
        """Start the container."""
        with translated("start a container", self.image):
            filters = any("seccomp" in option for option in client.info().get("SecurityOptions") or ())
            # docker's own would deny namespaces to the worker, whose filter, which is stricter, follows
            options = ["no-new-privileges", *(["seccomp=unconfined"] if filters else [])]
            return client.containers.run(
                self.image,
                [self._python, *pool.ARGUMENTS, CONNECT + pool.BOOT],
                entrypoint=[],
                detach=True,
                auto_remove=True,
                labels={LABEL: owner()},
                network_mode="none",
                read_only=True,
                user=NOBODY,
                cap_drop=["ALL"],
                security_opt=options,
                tmpfs={"/tmp": f"rw,nosuid,nodev,mode=1777,size={self.scratch_mb + 8}m"},
                volumes={str(folder): {"bind": FOLDER, "mode": "ro"}},
                mem_limit=f"{self._memory_mb}m",
                memswap_limit=f"{self._memory_mb}m",
                pids_limit=self._processes,
                nano_cpus=None if self._cpus is None else int(self._cpus * 1e9),
                environment=dict(pool.ENVIRONMENT),
                working_dir="/",
                log_config={"Type": "json-file", "Config": {"max-size": "64k", "max-file": "1"}},
            )

    def check(self, isolation: Isolation, reason: str) -> None:
        """Add what the container grants; refuse, or warn of, less than strong isolation."""
        self.isolation = Isolation(isolation.layers | GRANTED)
        demand("docker", self.isolation, self.require_isolation, reason)


class ContainerProcess:
    """A worker that is a container."""

    def __init__(self, client: Any, container: Any, stderr: Any) -> None:
        """Take it over, and keep what it says when it fails."""
        self._client, self._container = client, container
        self._logs = threading.Thread(target=self._follow, args=(stderr,), daemon=True)
        self._logs.start()

    def _follow(self, stderr: Any) -> None:
        """Copy what the container prints, up to a bound."""
        left = LOG_BYTES
        with (
            contextlib.suppress(SandboxUnavailableError, ValueError),
            translated("read what a container says"),
        ):
            for piece in self._container.logs(stream=True, follow=True):
                stderr.write(piece[:left])  # a ValueError: the file has been closed
                stderr.flush()
                left -= len(piece)
                if left <= 0:
                    return

    def end(self) -> None:
        """Remove the container by force. One that is gone, or whose daemon is, cannot be removed."""
        with contextlib.suppress(SandboxUnavailableError), translated("remove a container"):
            self._container.remove(force=True)
        self._logs.join(timeout=2.0)
        self._client.close()


def listen(path: Path) -> socket.socket:
    """A socket that a container can connect to, by its file."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    path.chmod(0o777)
    server.listen(1)
    server.settimeout(0.25)
    return server


def accept(server: socket.socket, container: Any) -> socket.socket:
    """Wait for the worker to connect.

    Raises:
        SandboxUnavailableError: The container ended before, or takes too long.
    """
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(TimeoutError):
            connection, _ = server.accept()
            connection.settimeout(None)
            return connection
        with translated("look at a container that has just been started"):
            container.reload()
        if container.status not in ("created", "running"):
            raise SandboxUnavailableError(f"a container ended at once, with status {container.status}")
    raise SandboxUnavailableError(f"a container's worker did not connect within {START_S:g} seconds")


def owner() -> str:
    """This process, so that it is not taken for another of the same number: boot, process id, start."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {os.getpid()} {started(os.getpid())}"


def started(pid: int) -> str:
    """When a process was started, in ticks since boot; empty when it is not there."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def reap(client: Any) -> int:
    """Remove containers whose makers are gone; returns how many."""
    boot = owner().split()[0]
    count = 0
    for container in client.containers.list(all=True, filters={"label": LABEL}):
        made_in, pid, ticks = container.labels[LABEL].split()
        if made_in == boot and started(int(pid)) != ticks:
            with contextlib.suppress(SandboxUnavailableError), translated("remove a container"):
                container.remove(force=True)
                count += 1
    return count

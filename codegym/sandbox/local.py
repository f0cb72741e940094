"""The default sandbox on Linux: warm workers behind namespaces, a read-only root and a system-call filter."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from codegym.errors import ConfigError, SandboxUnavailableError
from codegym.sandbox import files, pool
from codegym.sandbox.advice import demand
from codegym.sandbox.base import Isolation
from codegym.sandbox.seccomp import filter_program

__all__ = ["LocalSandbox", "SubprocessSandbox"]


class LocalSandbox(pool.WorkerSandbox):
    """Runs programs in forks of warm interpreters, each in namespaces of its own.

    Works as root and as an ordinary user. A guest sees the interpreter, its standard library, the packages
    named here, and a scratch folder; no network, no other process, nothing of the host. Where the kernel or a
    container denies a layer, the sandbox says so in `isolation` and with a warning, or refuses to start.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        packages: Sequence[str] | None = None,
        preload: Sequence[str] = (),
        scratch_mb: int = 64,
        require_isolation: Literal["strong"] | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            workers: Requests that run at one time. None: one for each CPU that this process may use.
            packages: Installed distributions that programs and tests may import, with what these require.
                None: numpy, and pytest where it is installed.
            preload: Modules that programs find imported already, besides the common ones of the standard
                library. Worth it for what most programs import: each makes every fork a little slower.
            scratch_mb: MiB of files that a program may write.
            require_isolation: ``"strong"`` refuses to start with anything less.

        Raises:
            ConfigError: A package is not installed, or a number makes no sense.
        """
        super().__init__(workers)
        if scratch_mb < 1:
            raise ConfigError(f"scratch_mb must be at least 1, got {scratch_mb}")
        if require_isolation not in (None, "strong"):
            raise ConfigError(f"require_isolation is 'strong' or None, got {require_isolation!r}")
        self.packages = tuple(filter(files.installed, files.USUAL) if packages is None else packages)
        self.preload = tuple(preload)
        self.scratch_mb = scratch_mb
        self.require_isolation = require_isolation
        try:
            self._package_paths = files.package_paths(self.packages)
        except files.NotInstalledError as error:
            raise ConfigError(f"packages: no distribution {str(error)!r} is installed here") from None

    def spawn(self, stderr: Any) -> pool.Spawned:
        """Start a worker that builds its wall before it serves."""
        folder = base_folder()
        config = {
            "enclose": {
                "mountpoint": folder,
                "binds": list(files.interpreter_paths()),
                "masks": files.site_folders(),
                "packages": self._package_paths,
                "scratch_mb": self.scratch_mb,
            },
            "sys_path": ["/packages"],
            "outside_path": sorted({os.path.dirname(path) for path in self._package_paths}),
            "preload": [*pool.PRELOAD, *self.preload],
            "seccomp": filter_program(),
            "seccomp_alone": filter_program(alone=True),
            "scratch": folder,
        }
        return spawn(config, stderr)

    @property
    def environment(self) -> Mapping[str, str]:
        """The packages, what is imported beforehand and the size of the scratch folder besides."""
        versions = [f"{name} {importlib.metadata.version(name)}" for name in self.packages]
        return {
            **super().environment,
            "packages": ", ".join(versions),
            "preload": " ".join(self.preload),
            "scratch_mb": str(self.scratch_mb),
        }

    def check(self, isolation: Isolation, reason: str) -> None:
        """Refuse, or warn of, less than strong isolation."""
        demand("local", isolation, self.require_isolation, reason)


class SubprocessSandbox(pool.WorkerSandbox):
    """The fallback where there are no namespaces: the same workers with resource limits, and no wall around
    them.

    Programs can read what the user can read, and use the network. For trusted programs, and for trying things
    out.
    """

    def __init__(self, workers: int | None = None, *, preload: Sequence[str] = ()) -> None:
        """Start nothing yet.

        Args:
            workers: Requests that run at one time. None: one for each CPU that this process may use.
            preload: Modules that programs find imported already, besides much of the standard library.
        """
        super().__init__(workers)
        self.preload = tuple(preload)

    def spawn(self, stderr: Any) -> pool.Spawned:
        """Start a worker as it is."""
        config = {
            "enclose": None,
            "outside_path": [path for path in sys.path if path.endswith("-packages")],
            "preload": [*pool.PRELOAD, *self.preload],
            "seccomp_alone": b"",
            "scratch": base_folder(),
        }
        return spawn(config, stderr)


def spawn(config: Mapping[str, Any], stderr: Any) -> pool.Spawned:
    """Start a worker; one without a root of its own makes a folder named by its process id."""
    spawned = pool.spawn_python([files.base_executable()], config, stderr)
    assert isinstance(spawned.process, pool.LocalProcess)
    return dataclasses.replace(spawned, scratch=os.path.join(config["scratch"], str(spawned.process.pid)))


@functools.cache
def base_folder() -> str:
    """The folder that workers mount their root on, each in its own namespace, and in which those without a
    mount namespace make theirs. What workers left that were killed is removed.
    """
    namespace = os.stat("/proc/self/ns/pid").st_ino  # process ids mean something within it only
    folder = os.path.join(tempfile.gettempdir(), f"codegym-{os.getuid()}-{namespace}")
    os.makedirs(folder, mode=0o755, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise SandboxUnavailableError(f"{folder} belongs to another user; set TMPDIR to a folder of your own")
    for name in os.listdir(folder):
        if name.isdigit() and not os.path.exists(f"/proc/{name}"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    return folder

"""Control groups: limits on all processes of a program together, where this process may make groups.

One group holds one worker, and so one program at a time: moving each program into a group of its own would
cost more than running it. Both versions of the kernel's interface are spoken. Version 1 needs the right to
write to the hierarchies, which root has; version 2 a subtree that was delegated to us with its ``memory``
controller, as ``systemd-run --user --scope -p Delegate=yes`` or a container's runtime does it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegym.errors import InfraError

__all__ = ["Group", "Parent", "find_parent", "reap"]

PREFIX: Final = "codegym-"
FILES: Final[dict[int, Mapping[str, str]]] = {
    1: {
        "memory": "memory.limit_in_bytes",
        "usage": "memory.usage_in_bytes",
        "swap": "memory.swappiness",
        "pids": "pids.max",
        "cpu": "cpuacct.usage",
        "kills": "memory.oom_control",
    },
    2: {
        "memory": "memory.max",
        "usage": "memory.current",
        "swap": "memory.swap.max",
        "pids": "pids.max",
        "cpu": "cpu.stat",
        "kills": "memory.events",
    },
}
"""What the files are called, by the version of the interface."""
CONTROLLER: Final = dict.fromkeys(("memory", "usage", "swap", "kills"), "memory") | {
    "pids": "pids",
    "cpu": "cpuacct",
}
"""Which hierarchy of version 1 has a file."""
REMOVE_S: Final = 5.0
"""Wall seconds that the processes of a group may take to disappear after they were killed."""

numbers = itertools.count()


@dataclass(frozen=True, kw_only=True, slots=True)
class Parent:
    """Where groups can be made."""

    version: int
    folders: Mapping[str, Path]
    """By controller: ``memory``, and where they are there ``pids`` and ``cpuacct``. In version 2 all are the
    same folder."""

    def file(self, group: str, name: str) -> Path | None:
        """A file of a group, where its controller is there."""
        folder = self.folders.get(CONTROLLER[name])
        return None if folder is None else folder / group / FILES[self.version][name]


class Group:
    """The group of one worker."""

    def __init__(self, parent: Parent) -> None:
        """Make it, empty and without limits.

        Raises:
            OSError: It cannot be made.
        """
        self.parent = parent
        self.name = f"{PREFIX}{os.getpid()}-{next(numbers)}"
        self._limits: tuple[int, int] | None = None
        self._base = 0
        try:
            for folder in self._folders():
                folder.mkdir(exist_ok=True)
            self._write("swap", 0)
        except BaseException:
            self.remove()
            raise

    def add(self, pid: int) -> None:
        """Move a process into the group, and with it all that it will start."""
        for folder in self._folders():
            (folder / "cgroup.procs").write_text(str(pid))

    def measure(self) -> None:
        """Take what the group uses now as the worker's own: limits come on top of it."""
        usage = self.parent.file(self.name, "usage")
        assert usage is not None
        self._base = int(usage.read_text())

    def limit(self, memory_bytes: int, processes: int) -> None:
        """Limit what may come on top of the worker. Writes only what has changed."""
        if (memory_bytes, processes) == self._limits:
            return
        self._write("memory", self._base + memory_bytes)
        self._write("pids", processes)
        self._limits = (memory_bytes, processes)

    def files(self) -> dict[str, str]:
        """The files that tell CPU time and kills; an empty path for one that is not there."""
        paths = {name: self.parent.file(self.name, name) for name in ("cpu", "kills")}
        return {name: str(path) if path and path.exists() else "" for name, path in paths.items()}

    def remove(self) -> None:
        """Remove the group, whose processes have been killed.

        Raises:
            InfraError: They do not disappear.
        """
        deadline = time.monotonic() + REMOVE_S
        for folder in self._folders():
            while not removed(folder):
                if time.monotonic() > deadline:
                    raise InfraError(f"control group {folder} still has processes, though they were killed")
                time.sleep(0.001)

    def _folders(self) -> Iterator[Path]:
        return (folder / self.name for folder in dict.fromkeys(self.parent.folders.values()))

    def _write(self, name: str, value: int) -> None:
        path = self.parent.file(self.name, name)
        if path is not None and path.exists():  # a kernel without swap accounting has no file for it
            path.write_text(str(value))


def removed(folder: Path) -> bool:
    """Remove a group; returns whether it is gone."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


@functools.cache
def find_parent() -> Parent | None:
    """Where this process may make groups with a memory limit; None where it may not."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    own = Path("/proc/self/cgroup").read_text(encoding="utf-8")
    return next((parent for parent in candidates(mounts, own) if usable(parent)), None)


def candidates(mounts: str, own: str) -> Iterator[Parent]:
    """The places that may do.

    Args:
        mounts: The text of ``/proc/self/mountinfo``.
        own: The text of ``/proc/self/cgroup``.

    Yields:
        In version 1, the groups that this process is in; in version 2, its group and the one above: a group
        that has processes cannot hand controllers on.
    """
    points = dict(mount_points(mounts))
    groups = {name: path for _, names, path in parse_own(own) for name in names.split(",")}
    known: dict[str, Path] = {
        name: points[name] / groups[name].lstrip("/")
        for name in ("memory", "pids", "cpuacct")
        if name in points and name in groups
    }
    if "memory" in known:
        yield Parent(version=1, folders=known)
    if "" in points and "" in groups:
        folder = points[""] / groups[""].lstrip("/")
        for place in dict.fromkeys((folder, folder if folder == points[""] else folder.parent)):
            yield Parent(version=2, folders=dict.fromkeys(("memory", "pids", "cpuacct"), place))


def parse_own(own: str) -> Iterator[tuple[str, str, str]]:
    """Hierarchy, controllers and path of each line of ``/proc/self/cgroup``."""
    for line in own.splitlines():
        hierarchy, names, path = line.split(":", 2)
        yield hierarchy, names, path


def mount_points(mounts: str) -> Iterator[tuple[str, Path]]:
    """Controller and mount point of each hierarchy; version 2 has the controller ""."""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        point = Path(re.sub(r"\\(\d{3})", lambda found: chr(int(found[1], 8)), before.split(" ")[4]))
        if kind == "cgroup2":
            yield "", point
        elif kind == "cgroup":
            for name in options.split(","):
                yield name, point


def usable(parent: Parent) -> bool:
    """Whether a group can be made there, and has a memory limit."""
    try:
        group = Group(parent)
    except OSError:
        return False
    limit = parent.file(group.name, "memory")
    try:
        return limit is not None and os.access(limit, os.W_OK)
    finally:
        group.remove()


def reap(parent: Parent) -> None:
    """Remove groups whose makers were killed before they could do it."""
    for folder in dict.fromkeys(parent.folders.values()):
        for stale in folder.glob(f"{PREFIX}*"):
            maker = stale.name.removeprefix(PREFIX).partition("-")[0]
            if maker.isdigit() and not Path("/proc", maker).exists():
                with contextlib.suppress(PermissionError):  # another user's
                    removed(stale)

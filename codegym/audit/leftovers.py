"""What is there before an audit, and what is there after it."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, Self

from codegym.sandbox import cgroups

__all__ = ["Holdings"]

PATIENCE_S: Final = 3.0
"""Wall seconds that what was killed may take to disappear."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Holdings:
    """What this process holds, and what there is on the machine that could be its doing, by name."""

    processes: frozenset[str]
    descriptors: frozenset[str]
    threads: frozenset[str]
    files: frozenset[str]
    shared_memory: frozenset[str]
    mounts: frozenset[str]
    groups: frozenset[str]

    @classmethod
    def now(cls) -> Self:
        """Look."""
        return cls(
            processes=frozenset(descendants(os.getpid())),
            descriptors=frozenset(open_files()),
            threads=frozenset(thread.name for thread in threading.enumerate()),
            files=frozenset(names(Path(tempfile.gettempdir()), "codegym-*", "codegym-*/*")),
            shared_memory=frozenset(names(Path("/dev/shm"), "*")),
            mounts=frozenset(Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()),
            groups=frozenset(own_groups()),
        )

    def beyond(self, before: Holdings) -> list[str]:
        """What is here and was not there before; waits a little for what is about to go."""
        deadline = time.monotonic() + PATIENCE_S
        held = self
        while (extra := held.extra(before)) and time.monotonic() < deadline:
            time.sleep(0.05)
            held = Holdings.now()
        return extra

    def extra(self, before: Holdings) -> list[str]:
        """What is here and was not there before, in words."""
        return [
            f"{field.name}: {item}"
            for field in fields(self)
            for item in sorted(getattr(self, field.name) - getattr(before, field.name))
        ]


def names(folder: Path, *patterns: str) -> Iterator[str]:
    """The paths that match, but for those that are made once for all sandboxes of a user."""
    lasting = f"codegym-{os.getuid()}-"
    for pattern in patterns:
        for path in folder.glob(pattern):
            if not (path.parent == folder and path.name.startswith((lasting, "codegym-audit-"))):
                yield str(path)


def open_files() -> Iterator[str]:
    """The open descriptors of this process: number and what each is of."""
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # the one that the listing was made with
            continue
        yield f"{name} {target}"


def descendants(pid: int) -> Iterator[str]:
    """The living processes that a process started, and those that these started."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = children.read_text().split()
        except OSError:  # the thread has just ended
            continue
        for child in found:
            yield child
            yield from descendants(int(child))


def own_groups() -> Iterator[str]:
    """The control groups that this process has made."""
    parent = cgroups.find_parent()
    for folder in set(parent.folders.values()) if parent else ():
        yield from map(str, folder.glob(f"codegym-{os.getpid()}-*"))

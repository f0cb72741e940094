"""What code does besides computing: seen by the interpreter's own audit events.

`report` runs in an interpreter of its own, so this module imports the standard library only.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

__all__ = ["report", "watch"]

EVENTS: Final = frozenset({
    "exec",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "socket.bind",
    "socket.connect",
    "socket.getaddrinfo",
    "subprocess.Popen",
})  # fmt: skip
"""Running programs, running source code, and using the network."""
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT

_watching = threading.local()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    seen = getattr(_watching, "seen", None)
    if seen is None:
        return
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
        seen.append(f"open {arguments[0]!r} for writing")
    elif event in EVENTS:
        seen.append(event)


@functools.cache
def _install() -> None:
    sys.addaudithook(_hook)  # for good: there is no way to remove one, so it does nothing unless asked to


@contextmanager
def watch() -> Iterator[list[str]]:
    """Note what this thread does in a ``with`` block: programs, source code, network, files written."""
    _install()
    seen: list[str] = []
    _watching.seen = seen
    try:
        yield seen
    finally:
        _watching.seen = None


def report(target: str, hooks: Sequence[str]) -> None:
    """Import a plugin, call its register hooks, and print as JSON what that did.

    Args:
        target: ``module`` or ``module:attr``.
        hooks: The names of the register hooks.
    """
    module, _, attr = target.partition(":")
    plugin = importlib.import_module(module)
    if attr:
        plugin = functools.reduce(getattr, attr.split("."), plugin)
    imported = set(sys.modules)
    with watch() as seen:
        for hook in filter(None, (getattr(plugin, name, None) for name in hooks)):
            with suppress(Exception):  # that it raises is told by a check of its own
                hook(register=lambda name, target, **spec: None)
    found = {"imported": sorted(imported), "did": seen, "loaded": sorted(set(sys.modules) - imported)}
    sys.stdout.write(json.dumps(found))

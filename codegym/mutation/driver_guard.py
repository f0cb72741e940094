"""Whether tests look at how the program is made instead of at what it does.

An audit hook sees what a test would need in order to tell one version of a function from another: its code
object, frames, the garbage collector's lists, foreign functions, the program's file, a reload. What the
interpreter, the standard library and pytest do of their own accord is not meant.

Runs inside the guest: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

__all__ = ["Guard"]

SIMPLE: Final = frozenset(
    {
        *("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._getframe", "sys._current_frames"),
        *("sys.settrace", "sys.setprofile", "sys.addaudithook", "sys._current_exceptions"),
        *("ctypes.dlopen", "ctypes.dlsym", "ctypes.cdata", "ctypes.string_at", "ctypes.call_function"),
        *("code.__new__", "sys.monitoring.register_callback"),
    }
)
"""Events that are never a test's business."""
FRAMES: Final = frozenset(
    {"f_code", "tb_frame", "gi_code", "cr_code", "ag_code", "gi_frame", "cr_frame", "ag_frame"}
)
"""Attributes by which one gets from an object that runs to its code."""
PEEKING: Final = frozenset(
    {
        *(
            "getsource",
            "getsourcelines",
            "findsource",
            "getsourcefile",
            "getclosurevars",
            "getmembers",
            "stack",
        ),
        *("currentframe", "getinnerframes", "getouterframes", "trace", "getframeinfo", "getmembers_static"),
    }
)
"""Functions of `inspect` by which a caller gets at source or frames."""
TOOLS: Final = frozenset({"inspect", "dis", "trace", "bdb", "pdb", "cProfile", "profile", "threading"})
"""Modules that look on behalf of whoever calls them."""


class Guard:
    """Watches from when it is made until the process ends; there is no way to take it back.

    Attributes:
        seen: What tests did, as event names.
        forks: How often the process has forked.
    """

    def __init__(self, files: Iterable[str], modules: Iterable[str], tests: str) -> None:
        """Begin to watch.

        Args:
            files: The files that the program would have if it were on disk.
            modules: The program's modules.
            tests: The folder that the tests lie in.
        """
        self.seen: set[str] = set()
        self.forks = 0
        self._files, self._modules = frozenset(files), frozenset(modules)
        self._tests = os.path.join(tests, "")
        self._busy = False
        """Whether what happens is our own doing."""
        sys.addaudithook(self._hook)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Look away while we do ourselves what tests must not."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self._busy:
            return
        if event in ("object.__getattr__", "object.__setattr__"):
            if args[1] == "__code__":
                if getattr(args[0], "__globals__", {}).get("__name__") not in self._modules:
                    return
            elif args[1] not in FRAMES:
                return
        elif event == "open":
            if not (isinstance(args[0], (str, bytes)) and os.fsdecode(args[0]) in self._files):
                return
        elif event == "exec":
            if getattr(args[0], "co_filename", None) not in self._files:
                return
        elif event not in SIMPLE:
            self.forks += event == "os.fork"
            return
        with self.paused():
            if event == "open":
                self._look_for_reader()
            else:
                self._look(str(args[1]) if event.startswith("object.") else event)

    def _look(self, what: str) -> None:
        """Note what was done where a test did it, or had it done by a module that is made for that."""
        frame = sys._getframe(2)
        entered = ""
        while frame is not None and frame.f_globals.get("__name__") in TOOLS:
            module = frame.f_globals["__name__"]
            entered = frame.f_code.co_name if module == "inspect" else module
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None or entered not in ("", *(TOOLS - {"inspect"}), *PEEKING):
            return
        if self._is_test(frame.f_code.co_filename):
            self.seen.add(what)

    def _look_for_reader(self) -> None:
        """Note that a test reads the program's file; the interpreter tries that too, to show a line of it."""
        frame = sys._getframe(2)
        while frame is not None and not frame.f_code.co_filename.startswith("driver/"):
            if self._is_test(frame.f_code.co_filename):
                self.seen.add("open")
                return
            frame = frame.f_back  # type: ignore[assignment]

    def _is_test(self, filename: str) -> bool:
        if filename.startswith("<"):  # made with `exec`, unless it is the import system itself
            return not filename.startswith("<frozen ")
        return filename.startswith(self._tests)

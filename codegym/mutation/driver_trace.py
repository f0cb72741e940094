"""Which lines of one file run, and in which order.

An *arc* is a pair of lines that ran one after the other in a frame; ``-n`` stands for the entry and the exit
of code that starts on line ``n``. That is what coverage.py records, so that its analysis can be applied to
it.

On CPython 3.12 and later, events are local to the code objects of the file and cost nothing elsewhere;
before, `sys.settrace` sees each call, and follows those into the file.

Runs inside the guest: standard library only.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any, Final, Protocol

__all__ = ["Collector", "LocalEvents", "TraceFunction", "make_collector"]

RESUME: Final = dis.opmap.get("RESUME")
PUSH_EXC_INFO: Final = dis.opmap.get("PUSH_EXC_INFO")
YIELD_IS_LAST: Final = sys.version_info[:2] != (3, 13)
"""Whether a frame that yields is at its YIELD; in 3.13 it is at the RESUME behind it."""
TOOLS: Final = (4, 3, 5, 2)
"""Tool ids of `sys.monitoring` to try; debuggers, coverage and profilers have others."""


class Collector(Protocol):
    """Collects between `start` and `stop`."""

    slows_others: bool
    """Whether code outside of the file is slower while this collects."""

    def start(self) -> None:
        """Begin, or go on."""

    def stop(self) -> None:
        """Collect nothing more."""

    def take(self) -> set[tuple[int, int]]:
        """The arcs since the last time."""


def make_collector(filename: str, codes: Iterable[CodeType]) -> Collector:
    """The collector for this version of Python.

    Args:
        filename: The file to follow.
        codes: All its code objects.
    """
    if hasattr(sys, "monitoring"):
        return LocalEvents(codes)
    return TraceFunction(filename)


class TraceFunction:
    """Collects with `sys.settrace`."""

    slows_others = True

    def __init__(self, filename: str) -> None:
        """Follow one file."""
        self._arcs: set[tuple[int, int]] = set()
        self._bytecode: dict[CodeType, bytes] = {}
        self._filename = filename
        self._trace: Any = self._make_trace()

    def start(self) -> None:
        """Begin, or go on, in this thread and those that start from now on."""
        sys.settrace(self._trace)
        if "threading" in sys.modules:
            sys.modules["threading"].settrace(self._trace)

    def stop(self) -> None:
        """Collect nothing more in this thread."""
        sys.settrace(None)
        if "threading" in sys.modules:
            sys.modules["threading"].settrace(None)

    def take(self) -> set[tuple[int, int]]:
        """The arcs since the last time."""
        arcs = set(self._arcs)
        self._arcs.clear()
        return arcs

    def _make_trace(self) -> Callable[[FrameType, str, Any], Any]:
        filename, bytecode = self._filename, self._bytecode

        def enter(frame: FrameType, event: str, arg: Any) -> Any:
            code = frame.f_code
            if code.co_filename != filename:
                return None
            if code not in bytecode:
                bytecode[code] = code.co_code
            return self._follow(frame, bytecode[code])

        return enter

    def _follow(self, frame: FrameType, bytecode: bytes) -> Callable[[FrameType, str, Any], Any]:
        """A trace function for one frame that is entered or resumed."""
        arcs = self._arcs
        first = frame.f_code.co_firstlineno
        is_call = bytecode[frame.f_lasti + 1] == 0  # the argument of RESUME
        last = -first if is_call else frame.f_lineno

        def follow(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal last
            if event == "line":
                if bytecode[frame.f_lasti] != PUSH_EXC_INFO:
                    line = frame.f_lineno
                    arcs.add((last, line))
                    last = line
            elif event == "return" and not yields(bytecode, frame.f_lasti):
                arcs.add((last, -first))
            return follow

        return follow


def yields(bytecode: bytes, position: int) -> bool:
    """Whether a frame that hands over control there will be resumed."""
    if YIELD_IS_LAST:
        position += 2
    return position < len(bytecode) and bytecode[position] == RESUME


class LocalEvents:
    """Collects with `sys.monitoring` (3.12 and later)."""

    slows_others = False

    def __init__(self, codes: Iterable[CodeType]) -> None:
        """Follow these code objects."""
        self._arcs: set[tuple[int, int]] = set()
        self._last: dict[int, int] = {}
        """The last line of each frame, by its identity."""
        self._codes = list(codes)
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
        self._tool: int | None = None

    def start(self) -> None:
        """Begin, or go on.

        Raises:
            RuntimeError: All tool ids are taken.
        """
        if self._tool is not None:
            return
        self._tool = next((tool for tool in TOOLS if self._monitoring.get_tool(tool) is None), None)
        if self._tool is None:
            raise RuntimeError("all tool ids of sys.monitoring are taken")
        self._monitoring.use_tool_id(self._tool, "tests")
        events = self._monitoring.events
        handlers = {
            events.PY_START: self._enter,
            events.LINE: self._line,
            events.PY_RETURN: self._leave,
        }
        wanted = 0
        for event, handler in handlers.items():
            self._monitoring.register_callback(self._tool, event, handler)
            wanted |= event
        for code in self._codes:
            self._monitoring.set_local_events(self._tool, code, wanted)

    def stop(self) -> None:
        """Collect nothing more."""
        if self._tool is not None:
            for code in self._codes:
                self._monitoring.set_local_events(self._tool, code, 0)
            self._monitoring.free_tool_id(self._tool)
            self._tool = None

    def take(self) -> set[tuple[int, int]]:
        """The arcs since the last time."""
        arcs = set(self._arcs)
        self._arcs.clear()
        self._last.clear()
        return arcs

    def _enter(self, code: CodeType, offset: int) -> None:
        self._last[id(sys._getframe(1))] = -code.co_firstlineno

    def _line(self, code: CodeType, line: int) -> None:
        frame = sys._getframe(1)
        key = id(frame)
        if PUSH_EXC_INFO is None or code.co_code[frame.f_lasti] != PUSH_EXC_INFO:
            self._arcs.add((self._last.get(key, -code.co_firstlineno), line))
            self._last[key] = line

    def _leave(self, code: CodeType, offset: int, value: Any) -> None:
        first = code.co_firstlineno
        self._arcs.add((self._last.get(id(sys._getframe(1)), -first), -first))

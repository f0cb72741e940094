"""Forked children that write down what they find, and a connection to one that stays.

What a child writes goes to a file in memory: it wakes nobody, and is still there when the child has crashed.

Runs inside the guest: standard library only.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["CPU_SIGNAL", "Child", "Link", "Send", "limit_cpu", "pair"]

LENGTH: Final = struct.Struct("<I")
CPU_SIGNAL: Final = signal.SIGPROF
FAILED: Final = 70
CHUNK: Final = 1 << 20
MOST_DESCRIPTORS: Final = 1 << 16

Send = Callable[[Any], None]


def write_frame(descriptor: int, message: Any) -> None:
    """Write one message."""
    data = marshal.dumps(message, 2)
    view = memoryview(LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(descriptor, view) :]


def take_frame(buffer: bytearray) -> tuple[Any] | None:
    """Remove one message from the front of a buffer; None while there is none.

    Raises:
        EOFError: What is there is no message.
    """
    if len(buffer) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack_from(buffer)
    end = LENGTH.size + size
    if len(buffer) < end:
        return None
    data = bytes(buffer[LENGTH.size : end])
    del buffer[:end]
    try:
        return (marshal.loads(data),)
    except (ValueError, TypeError) as error:
        raise EOFError from error


class Link:
    """One end of a connection, read with a deadline."""

    def __init__(self, read: int, write: int) -> None:
        """Read and write these descriptors."""
        self.read, self.write = read, write
        self._buffer = bytearray()

    def send(self, message: Any) -> None:
        """Send plain data."""
        write_frame(self.write, message)

    def receive(self, patience_s: float | None) -> Any:
        """The next message.

        Args:
            patience_s: Wall seconds to wait for it; None for ever.

        Raises:
            TimeoutError: There is none in that time.
            EOFError: There will be none, or what comes is no message.
        """
        deadline = None if patience_s is None else time.monotonic() + patience_s
        while (message := take_frame(self._buffer)) is None:
            if not readable(self.read, None if deadline is None else deadline - time.monotonic()):
                raise TimeoutError
            data = os.read(self.read, CHUNK)
            if not data:
                raise EOFError
            self._buffer += data
        return message[0]

    def close(self) -> None:
        """Close both descriptors."""
        os.close(self.read)
        os.close(self.write)


def pair() -> tuple[Link, Link]:
    """Two ends of one connection."""
    here_read, there_write = os.pipe()
    there_read, here_write = os.pipe()
    return Link(here_read, here_write), Link(there_read, there_write)


def readable(descriptor: int, patience_s: float | None) -> bool:
    """Wait for a descriptor, at most so many seconds."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(None if patience_s is None else max(0.0, patience_s) * 1000))


class Child:
    """A forked process that writes messages down until it ends.

    Attributes:
        silent: Whether it was killed because it wrote nothing for too long.
    """

    def __init__(self, body: Callable[[Send], None], keep: tuple[int, ...] = ()) -> None:
        """Fork and run a body.

        Args:
            body: Runs in the child, which ends with it; is given a function that writes a message down.
            keep: Descriptors that the child may keep; it loses all others, but for the standard streams.
        """
        self.silent = False
        self._status: int | None = None
        self._record = os.memfd_create("record")
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._be(body, keep)
        self._pidfd = os.pidfd_open(self.pid)

    def _be(self, body: Callable[[Send], None], keep: tuple[int, ...]) -> None:
        status = FAILED
        try:
            os.setpgid(0, 0)
            wanted = sorted({*keep, self._record})
            for low, high in zip([2, *wanted], [*wanted, MOST_DESCRIPTORS], strict=True):
                os.closerange(low + 1, high)
            body(lambda message: write_frame(self._record, message))
            status = 0
        finally:
            os._exit(status)

    def messages(self, patience_s: float) -> Iterator[Any]:
        """What it has written when it has ended; it is killed when it writes nothing for so many seconds."""
        size = 0
        while not readable(self._pidfd, patience_s):
            before, size = size, os.fstat(self._record).st_size
            if size == before:
                self.silent = True
                break
        self.end()
        buffer = bytearray()
        with contextlib.suppress(EOFError):
            while data := os.pread(self._record, CHUNK, len(buffer)):
                buffer += data
            while (message := take_frame(buffer)) is not None:
                yield message[0]

    def end(self) -> int:
        """End it and all that it started.

        Returns:
            Its exit status; of one that a signal ended, minus the signal.
        """
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            os.close(self._pidfd)
        return self._status

    def close(self) -> None:
        """Forget what it has written."""
        os.close(self._record)


def limit_cpu(seconds: float) -> None:
    """Have the kernel end this process after so many CPU seconds, whatever it does; 0 for never."""
    signal.setitimer(signal.ITIMER_PROF, seconds)

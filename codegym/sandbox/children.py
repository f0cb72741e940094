"""Forked children as their worker sees them: their answers from outside, their time, their end.

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from typing import Any

from codegym.sandbox import guest

__all__ = ["Guest", "Progress", "Replies"]


class Progress:
    """Follows a file of answers by their headers. What is in the answers never comes into this process."""

    def __init__(self) -> None:
        self.position = 0
        """Where the next answer begins."""
        self.busy = False
        """Whether the guest has shown that it is alive, but not answered since."""

    def follow(self, descriptor: int, size: int) -> bool:
        """Go on to the end of the file; returns whether there was a whole answer."""
        answered = False
        while self.position + guest.HEADER.size <= size:
            header = os.pread(descriptor, guest.HEADER.size, self.position)
            if len(header) < guest.HEADER.size:
                break
            kind, length, _ = guest.HEADER.unpack(header)
            if self.position + guest.HEADER.size + length > size:
                break
            self.position += guest.HEADER.size + length
            self.busy = kind == guest.BUSY
            answered = answered or not self.busy
        return answered


class Replies:
    """Follows the replies in a stream, of which it keeps nothing but the header of the present one."""

    def __init__(self) -> None:
        self.header = b""
        self.rest = 0
        """Bytes that the present reply still lacks."""
        self.ended = False
        """Whether a reply ended in what came last."""

    def feed(self, data: memoryview) -> None:
        """Take in some bytes."""
        self.ended = False
        while data:
            if self.rest:
                taken = min(self.rest, len(data))
                self.rest -= taken
            else:
                taken = min(guest.HEADER.size - len(self.header), len(data))
                self.header += data[:taken]
                if len(self.header) < guest.HEADER.size:
                    return
                self.kind, self.rest, _ = guest.HEADER.unpack(self.header)
                self.header = b""
            data = data[taken:]
            self.ended = self.ended or (not self.rest and self.kind != guest.CHANGED)


class Guest:
    """One forked child, seen from the worker."""

    def __init__(self, spec: Mapping[str, Any], null: int) -> None:
        self.spec = spec
        self.null = null
        # new ones for each guest: locks, modes and flags of a file outlive those who set them
        self.answers, self.stdout, self.stderr = (os.memfd_create(name) for name in ("answers", "out", "err"))
        self.progress = Progress()
        self.pid = self.pidfd = -1
        self.sent = 0
        """Bytes of answers that the host has."""
        self.mark = 0.0
        """CPU seconds when the guest last showed progress."""
        self.watched = False
        """Whether it took so long that it was looked at."""
        self.ended: dict[str, Any] = {}
        """What the kernel says of its end; empty while it lives."""

    def cpu_s(self) -> float:
        """CPU seconds that the process has used, all threads."""
        return time.clock_gettime((~self.pid << 3) | 2)  # the kernel's id for the CPU clock of a process

    def kill(self, group: bool) -> None:
        """End it; where it is no namespace of its own, with its process group."""
        if not self.ended:
            if group:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def reap(self) -> None:
        """Wait for it, and keep what the kernel says of it."""
        if not self.ended:
            _, status, usage = os.wait4(self.pid, 0)
            self.ended = {
                "exit_code": os.waitstatus_to_exitcode(status),
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "peak_mb": usage.ru_maxrss / 1024,
            }

    def close(self) -> None:
        """Give the descriptors back."""
        for descriptor in (self.null, self.answers, self.stdout, self.stderr, self.pidfd):
            if descriptor >= 0:
                os.close(descriptor)

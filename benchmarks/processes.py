"""Processes that are measured: what they cost, and how they are asked to run something.

Each peer runs in an interpreter of its own, so that nobody pays for what another has imported. Standard
library only, for the same reason.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Self

__all__ = ["Meter", "Peer", "PeerError", "serve"]

HERE: Final = Path(__file__).resolve().parent
TICKS: Final = os.sysconf("SC_CLK_TCK")


class PeerError(Exception):
    """A peer process ended where it should have answered; says what it left on standard error."""


class Meter:
    """A ``with`` block that measures itself.

    Attributes:
        wall_s: Wall seconds.
        cpu_s: CPU seconds of this process, of all living processes that descend from it, and of those that
            any of these has waited for.
    """

    def __enter__(self) -> Self:
        """Start."""
        self._cpu_s, self._start = cpu_seconds(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.wall_s = time.perf_counter() - self._start
        self.cpu_s = cpu_seconds() - self._cpu_s

    def figures(self) -> dict[str, float]:
        """Both figures."""
        return {"wall_s": self.wall_s, "cpu_s": self.cpu_s}


def cpu_seconds() -> float:
    """CPU seconds of this process and of all that it ever started, as far as the kernel still knows."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    children: dict[int, list[tuple[int, float]]] = {}
    for pid, parent, cpu_s in process_table():
        children.setdefault(parent, []).append((pid, cpu_s))
    waiting, total = [os.getpid()], own
    while waiting:
        for pid, cpu_s in children.get(waiting.pop(), ()):
            total += cpu_s
            waiting.append(pid)
    return total


def process_table() -> Iterator[tuple[int, int, float]]:
    """Of each process: its id, its parent's, and the CPU seconds of it and of the children it waited for."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = Path(f"/proc/{name}/stat").read_text()
            except (FileNotFoundError, ProcessLookupError):  # it has just ended
                continue
            fields = text.rpartition(")")[2].split()
            yield int(name), int(fields[1]), sum(map(int, fields[11:15])) / TICKS


class Peer:
    """A script of this folder, running; asked to do something by one line, and answering by one line of
    JSON.
    """

    def __init__(self, script: str, *arguments: object, env: dict[str, str] | None = None) -> None:
        """Start it."""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `__exit__`)
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HERE / script), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            env=os.environ | (env or {}),
        )

    def ask(self, line: str = "go") -> dict[str, Any]:
        """Have it do something, and wait for what it says.

        Raises:
            PeerError: It ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        reply = self._process.stdout.readline()
        if not reply:
            raise self._ended()
        answer: dict[str, Any] = json.loads(reply)
        return answer

    def _ended(self) -> PeerError:
        self._process.wait()
        self._stderr.seek(0)
        last = self._stderr.read()[-2000:].decode(errors="replace")
        return PeerError(f"{self._process.args!r} ended with status {self._process.returncode}: {last}")

    def __enter__(self) -> Self:
        """It runs already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let it end, by closing its standard input."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._stderr.close()


def serve(answer: Callable[[str], dict[str, Any]]) -> None:
    """In a peer: answer each line on standard input. What is printed meanwhile goes nowhere."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        print(json.dumps(answer(line.strip())), file=answers, flush=True)

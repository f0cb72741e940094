"""Tests and program in one process: how both are imported, and a test is run within limits.

Runs inside the guest: standard library and pytest only.
"""

from __future__ import annotations

import mmap
import os
import random
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from codegym.mutation.driver_compile import Steps
from codegym.mutation.driver_guard import Guard
from codegym.mutation.driver_processes import limit_cpu
from codegym.mutation.driver_program import FOLDER, Finder, Source, filename_of
from codegym.mutation.driver_session import ASSERTION, ERROR, TIMEOUT, Collection, Runner

__all__ = [
    "BASELINE_STEPS",
    "CPU_FACTOR",
    "CRASH",
    "FAILING",
    "LEAST_CPU_S",
    "LEAST_STEPS",
    "LEAST_WALL_S",
    "STEP_FACTOR",
    "SURVIVED",
    "WALL_FACTOR",
    "Suite",
    "cpu_so_far",
    "is_program",
    "verdict_of",
]

KILLED, KILLED_BY_ERROR, CRASH, SURVIVED = "killed", "killed_by_error", "crash", "survived"
STATUSES: Final = {ASSERTION: KILLED, ERROR: KILLED_BY_ERROR, TIMEOUT: TIMEOUT, CRASH: CRASH}
FAILING: Final = (ASSERTION, ERROR, TIMEOUT)
STEP_FACTOR, LEAST_STEPS, BASELINE_STEPS = 10, 20_000, 50_000_000
CPU_FACTOR, LEAST_CPU_S = 10, 0.5
WALL_FACTOR, LEAST_WALL_S = 10, 2.0
"""Limits of a test on a mutant, as multiples of what it took on the original, plus a constant."""
STACK_BYTES: Final = 8 << 20
NO_TEST: Final = -1


def verdict_of(kills: Sequence[tuple[int, str]]) -> str:
    """The status of a mutant by what its tests said; an assertion counts most."""
    kinds = [kind for _, kind in kills]
    return next((STATUSES[kind] for kind in STATUSES if kind in kinds), SURVIVED)


class Suite:
    """Tests and program in this process: what a warm process and a cold one have in common."""

    seeded: frozenset[str] = frozenset({"random"})
    """Sources of random numbers that are seeded for each test."""

    def __init__(
        self, spec: Mapping[str, Any], collection: Collection, execute: Callable[[ModuleType], None]
    ) -> None:
        """Make the program importable; nothing is imported yet.

        Args:
            spec: What the host sent.
            collection: Of the tests.
            execute: Runs the code of the module that is mutated in it.
        """
        self.spec, self.collection = spec, collection
        sources = {name: Source(*source) for name, source in spec["modules"].items()}
        self.target: str = spec["target"]
        self.steps = Steps()
        self.finder = Finder(sources, self.target, execute)
        self.finder.install()
        files = [filename_of(name, source) for name, source in sources.items()]
        self.guard = Guard(files, set(sources), spec["folder"])
        self.current = mmap.mmap(-1, 8)
        """The test that is running, for the parent to see."""
        self.note(NO_TEST)

    def collect(self) -> list[str]:
        """Import tests and program; returns what could not be collected."""
        sys.path.insert(0, self.spec["folder"])
        silence()
        threading.stack_size(STACK_BYTES)  # else each thread takes as much address space as the main one may
        errors = self.collection.collect(self.spec["tests"])
        self.runner = Runner(self.collection, is_program, self.steps.left)
        return errors

    def run(self, index: int, after: int | None, steps: int, cpu_s: float) -> str:
        """Run one test within its limits."""
        self.note(index)
        if "random" in self.seeded:
            random.seed(0)
        if "numpy" in self.seeded:
            sys.modules["numpy"].random.seed(0)
        self.steps.grant(steps)
        limit_cpu(cpu_s)
        verdict = self.runner.run(index, after)
        self.note(NO_TEST)
        return verdict

    def note(self, index: int) -> None:
        """Note which test is running."""
        self.current[:] = index.to_bytes(8, "little", signed=True)

    def running(self) -> int:
        """The index of the test that is running, or was when the child ended; negative when none was."""
        return int.from_bytes(self.current[:], "little", signed=True)

    def seen(self) -> list[str]:
        """How tests looked at the program's making."""
        reloaded = {"reload"} if self.finder.loaded.get(self.target, 0) > 1 else set()
        return sorted(self.guard.seen | reloaded)


def is_program(filename: str) -> bool:
    """Whether a file is one of the program's."""
    return filename.startswith(FOLDER + "/")


def cpu_so_far() -> float:
    """CPU seconds of this process, and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def silence() -> None:
    """Drop what is printed: nobody reads it, and a flood of it must not matter."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)

"""Running chunks of mutants in forked children of a process that has everything imported.

Runs inside the guest: standard library and pytest only.
"""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any, Final

from codegym.mutation.driver_compile import NOT_COMPILED, STEPS_STATUS, CannotSwap, Change, SourceMap, family
from codegym.mutation.driver_original import Original, lines_of
from codegym.mutation.driver_processes import CPU_SIGNAL, Child, Link, Send, limit_cpu
from codegym.mutation.driver_session import PASSED, SKIPPED, TIMEOUT, Collection, following
from codegym.mutation.driver_state import State
from codegym.mutation.driver_suite import (
    BASELINE_STEPS,
    CPU_FACTOR,
    CRASH,
    FAILING,
    LEAST_CPU_S,
    LEAST_STEPS,
    LEAST_WALL_S,
    STEP_FACTOR,
    SURVIVED,
    WALL_FACTOR,
    cpu_so_far,
    verdict_of,
)

__all__ = ["COLD", "INVALID", "NOT_COVERED", "Row", "Warm"]

INVALID, NOT_COVERED, COLD = "invalid", "not_covered", "cold"
LOOKING: Final = 5
"""How much longer mutants run than looking at what they leave takes."""
SILENT: Final = 1 << 16
"""In place of an exit status: the child was killed since it sent nothing for too long."""
EARLY: Final = SILENT + 1
"""The child ended, with status 0, before it had run all."""
CLOCKS: Final = (-CPU_SIGNAL, SILENT)
"""Ends of a child that depend on how busy the machine is."""
Row = tuple[int, int, int, str]
"""A mutant: its number, where it starts and ends in the source, and what is there instead."""


class Warm(Original):
    """Waits for chunks of mutants."""

    def __init__(
        self, spec: Mapping[str, Any], collection: Collection, program: SourceMap, link: Link
    ) -> None:
        """Nothing is imported yet.

        Args:
            spec: What the host sent.
            collection: Of the tests.
            program: The original.
            link: To the driver.
        """
        super().__init__(spec, collection, program)
        self.link = link
        self.mode: str = spec["mode"]

    def serve(self) -> None:
        """Prepare, then run chunks until the connection is closed."""
        self.link.send(self.prepare())
        with contextlib.suppress(EOFError):
            while True:
                self.link.send(self._chunk(self.link.receive(None)))
        os._exit(0)

    def _chunk(self, mutants: list[Row]) -> dict[str, Any]:
        """Run mutants in as few children as will do.

        Returns:
            ``results`` by the mutants' numbers, ``seen``, and the CPU seconds of this process and its
            children so far.
        """
        self.results: dict[int, tuple[str, list[tuple[int, str]], int]] = {}
        self.noticed: set[str] = set()
        together, alone = ([], list(mutants)) if self.dependent else (list(mutants), [])
        late: set[int] = set()
        while together:
            doubted, status = self._run_in_child(together)
            left = [row for row in together if row[0] not in self.results]
            if left and (status != 0 or len(left) == len(together)):  # one has ended the child
                doubted.add(left[0][0])
                late |= {left[0][0]} if status in CLOCKS else set()
            alone += [row for row in together if row[0] in doubted]
            together = [row for row in left if row[0] not in doubted]
        for row in alone:
            self._run_alone(row, tries=1 if row[0] in late else 2)
        return {"results": self.results, "seen": sorted(self.noticed), "cpu_s": cpu_so_far()}

    def _run_alone(self, row: Row, tries: int) -> None:
        """Run a mutant in a process of its own; what a clock decides is tried again."""
        number = row[0]
        self.results.pop(number, None)
        for _ in range(tries):
            _, status = self._run_in_child([row])
            if number in self.results:
                return
            kind = TIMEOUT if status in (*CLOCKS, STEPS_STATUS) else CRASH
            if status not in CLOCKS:
                break
        running = self.running()
        self.results[number] = (kind, [(running, kind)] if running >= 0 else [], 0)

    def _run_in_child(self, rows: list[Row]) -> tuple[set[int], int]:
        """Run mutants in one child until it ends.

        Returns:
            Those whose results are in doubt; and how it ended: 0 when it ended as it should.
        """
        child = Child(lambda send: self._run_here(rows, send))
        doubted: set[int] = set()
        ended = False
        for kind, number, *rest in child.messages(self._patience()):
            if kind == "result":
                self.results[number] = tuple(rest)
            elif kind == "doubt":
                doubted |= set(rest[0])
            else:
                self.noticed |= set(rest[0])
                ended = True
        status = child.end()
        child.close()
        if ended:
            return doubted, 0
        return doubted, SILENT if child.silent else status or EARLY

    def _patience(self) -> float:
        return LEAST_WALL_S + WALL_FACTOR * sum(wall for _, _, wall in self.spent)

    def _run_here(self, rows: Sequence[Row], send: Send) -> None:
        """In a child: run mutants one after the other while each leaves everything as it was.

        Whether it did is looked at only so often that looking takes no longer than running. Where it did not,
        all since the last look are in doubt, unless it was one; so are all where the original does not pass
        at the end.
        """
        # mutants give cause for these, and a test module may have made errors of all warnings
        warnings.simplefilter("ignore", SyntaxWarning)
        state = State(self.modules) if len(rows) > 1 else None
        ran: list[int] = []
        unseen: list[int] = []
        since = 0.0
        for number, start, end, replacement in rows:
            began = time.process_time_ns()
            clock = time.perf_counter()
            if state is not None:
                state.empty_caches()
            status, kills, was_run = self._run_mutant(start, end, replacement)
            send(("result", number, status, kills, time.process_time_ns() - began))
            since += time.perf_counter() - clock
            if was_run:
                ran.append(number)
                unseen.append(number)
            if state is not None and unseen and since > LOOKING * state.cost_s:
                if state.is_spoilt():
                    break
                unseen, since = [], 0.0
        if state is not None and unseen and state.is_spoilt():
            send(("doubt", 0, unseen if len(unseen) > 1 else []))
        elif len(ran) > 1 and not self._original_passes():
            send(("doubt", 0, ran))
        send(("end", 0, self.seen()))

    def _original_passes(self) -> bool:
        return all(
            self.run(index, after, *self.limits(index)) in (PASSED, SKIPPED)
            for index, after in following(self.usable)
        )

    def limits(self, index: int) -> tuple[int, float]:
        """Steps and CPU seconds that a test may take on a mutant."""
        steps, cpu_s, _ = self.spent[index]
        return LEAST_STEPS + STEP_FACTOR * steps, LEAST_CPU_S + CPU_FACTOR * cpu_s

    def _run_mutant(self, start: int, end: int, replacement: str) -> tuple[str, list[tuple[int, str]], bool]:
        """Run the tests that cover a mutant; returns its status, the tests that failed, whether any ran."""
        try:
            change = self.map.change(start, end, replacement)
        except CannotSwap:
            return COLD, [], False
        except NOT_COMPILED:
            return INVALID, [], False
        if any(id(code) in self.ran for code in change.own):
            return COLD, [], False
        tests = self._covering(start, end, change)
        if not change.swaps:
            return SURVIVED, [], False
        if not tests:
            return NOT_COVERED, [], False
        installed = self._install(change.swaps)
        if installed is None:
            return COLD, [], False
        kills = self._kills(tests)
        self._put(installed)
        return verdict_of(kills), kills, True

    def _covering(self, start: int, end: int, change: Change) -> list[int]:
        """The tests that run a line that the mutant may change, in their order."""
        lines = self.map.lines_of(start, end)
        if not change.same_scopes:
            lines |= {line for one in change.own for code in family(one) for line in lines_of(code)}
        covering = sorted({index for line in lines for index in self.tests_by_line.get(line, ())})
        if not covering or not (self.dependent or self.leaving):
            return covering
        # what one test leaves may keep another from running the lines that it depends on
        return [index for index in self.usable if self.dependent or index >= covering[0]]

    def _install(self, swaps: Sequence[tuple[CodeType, CodeType]]) -> list[tuple[Any, CodeType]] | None:
        """Put new code into living functions; returns what was there, or None where it does not fit."""
        pairs = [(function, new) for old, new in swaps for function in self.functions[id(old)]]
        with self.guard.paused():
            installed = [(function, function.__code__) for function, _ in pairs]
        fits = all(
            len(code.co_freevars) == len(new.co_freevars)
            for (_, code), (_, new) in zip(installed, pairs, strict=True)
        )
        if not (pairs and fits):
            return None  # nothing lives that could be changed, or it has other variables around it
        self._put(pairs)
        return installed

    def _put(self, pairs: Sequence[tuple[Any, CodeType]]) -> None:
        """Give functions their code."""
        with self.guard.paused():
            for function, code in pairs:
                function.__code__ = code

    def _kills(self, tests: Sequence[int]) -> list[tuple[int, str]]:
        kills = []
        for index, after in following(tests):
            verdict = self.run(index, after, *self.limits(index))
            if verdict in FAILING:
                kills.append((index, verdict))
                if self.mode == "score":
                    break
        limit_cpu(0)
        self.steps.grant(BASELINE_STEPS)
        self.runner.clean_up()
        return kills

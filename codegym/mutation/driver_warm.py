"""The process that has imported the tests and the program once, and forks a child for each chunk of mutants.

Runs inside the guest: standard library and pytest only.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import mmap
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import AsyncGeneratorType, CodeType, CoroutineType, GeneratorType, ModuleType
from typing import Any, Final

from codegym.mutation.driver_compile import (
    NOT_COMPILED,
    STEPS_STATUS,
    CannotSwap,
    Change,
    SourceMap,
    Steps,
    family,
    find_functions,
)
from codegym.mutation.driver_guard import Guard
from codegym.mutation.driver_processes import CPU_SIGNAL, Child, Link, Send, limit_cpu
from codegym.mutation.driver_program import FOLDER, Finder, Source, filename_of
from codegym.mutation.driver_session import (
    ASSERTION,
    ERROR,
    PASSED,
    SKIPPED,
    TIMEOUT,
    Collection,
    Runner,
    following,
)
from codegym.mutation.driver_state import State
from codegym.mutation.driver_trace import make_collector

__all__ = ["COLD", "Suite", "Warm", "verdict_of"]

KILLED, KILLED_BY_ERROR, CRASH, SURVIVED, FLAKY = "killed", "killed_by_error", "crash", "survived", "flaky"
INVALID, NOT_COVERED, COLD = "invalid", "not_covered", "cold"
STEP_FACTOR, LEAST_STEPS, BASELINE_STEPS = 10, 20_000, 50_000_000
CPU_FACTOR, LEAST_CPU_S = 10, 0.5
WALL_FACTOR, LEAST_WALL_S = 10, 2.0
"""Limits of a test on a mutant, as multiples of what it took on the original, plus a constant."""
STATUSES: Final = {ASSERTION: KILLED, ERROR: KILLED_BY_ERROR, TIMEOUT: TIMEOUT, CRASH: CRASH}
LOOKING: Final = 5
"""How much longer mutants run than looking at what they leave takes."""
STACK_BYTES: Final = 8 << 20
NO_TEST: Final = -1
SILENT: Final = 1 << 16
"""In place of an exit status: the child was killed since it sent nothing for too long."""
EARLY: Final = SILENT + 1
"""The child ended, with status 0, before it had run all."""
CLOCKS: Final = (-CPU_SIGNAL, SILENT)
"""Ends of a child that depend on how busy the machine is."""
Row = tuple[int, int, int, str]
"""A mutant: its number, where it starts and ends in the source, and what is there instead."""
FAILING: Final = (ASSERTION, ERROR, TIMEOUT)


def verdict_of(kills: Sequence[tuple[int, str]]) -> str:
    """The status of a mutant by what its tests said; an assertion counts most."""
    kinds = [kind for _, kind in kills]
    return next((STATUSES[kind] for kind in STATUSES if kind in kinds), SURVIVED)


class Suite:
    """Tests and program in this process: what a warm process and a cold one have in common."""

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
        self.current[:] = index.to_bytes(8, "little", signed=True)
        if "random" in self.seeded:
            random.seed(0)
        if "numpy" in self.seeded:
            sys.modules["numpy"].random.seed(0)
        self.steps.grant(steps)
        limit_cpu(cpu_s)
        verdict = self.runner.run(index, after)
        self.current[:] = NO_TEST.to_bytes(8, "little", signed=True)
        return verdict

    seeded: frozenset[str] = frozenset({"random"})
    """Sources of random numbers that are seeded for each test."""

    def running(self) -> int:
        """The index of the test that is running, or was when the child ended."""
        return int.from_bytes(self.current[:], "little", signed=True)

    def seen(self) -> list[str]:
        """How tests looked at the program's making."""
        reloaded = {"reload"} if self.finder.loaded.get(self.target, 0) > 1 else set()
        return sorted(self.guard.seen | reloaded)


def is_program(filename: str) -> bool:
    """Whether a file is one of the program's."""
    return filename.startswith(FOLDER + "/")


def silence() -> None:
    """Drop what is printed: nobody reads it, and a flood of it must not matter."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


class Warm(Suite):
    """Has everything imported, and waits for chunks of mutants."""

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
        self.map = program
        collector, code = make_collector(program.filename, family(program.code)), program.code

        def execute(module: ModuleType) -> None:  # holds no reference to the source
            collector.start()
            exec(code, vars(module))
            if collector.slows_others:
                collector.stop()

        super().__init__(spec, collection, execute)
        self.link, self.collector = link, collector
        self.mode: str = spec["mode"]

    def serve(self) -> None:
        """Collect, measure the tests on the original, then run chunks until the connection is closed."""
        self.steps.grant(BASELINE_STEPS)
        limit_cpu(self.spec["cpu_s"])
        start = time.process_time()
        errors = self.collect()
        with contextlib.suppress(Exception):  # tests may import it only when they run; then they will say so
            importlib.import_module(self.target)
        self.collector.stop()
        limit_cpu(0)
        self.import_cpu_s = time.process_time() - start
        self.import_steps = BASELINE_STEPS - self.steps.left()
        self.steps.ignore_entries()
        waiting = set(map(id, suspended()))
        self.ran = {
            id(c) for c in family(self.map.code) if c.co_firstlineno in self.steps.entered or id(c) in waiting
        }
        import_arcs = self.collector.take()
        self.functions = find_functions(gc.get_objects(), family(self.map.code))
        self.modules = [module for module in list(sys.modules.values()) if self._is_watched(module)]
        gc.collect()
        gc.freeze()
        self._measure()
        self.link.send(self._baseline(errors, import_arcs))
        with contextlib.suppress(EOFError):
            while True:
                self.link.send(self._chunk(self.link.receive(None)))
        os._exit(0)

    def _is_watched(self, module: Any) -> bool:
        filename = getattr(module, "__file__", None) or ""
        return is_program(filename) or filename.startswith(self.spec["folder"] + "/")

    # The original

    def _measure(self) -> None:
        """Run the tests on the original: as they are, and again, in the other direction, with their lines
        recorded. That tells too whether tests depend on each other (`dependent`), or leave something behind
        (`leaving`).
        """
        count = len(self.runner.items)
        self.verdicts = ["not run"] * count
        self.spent: list[tuple[int, float, float]] = [(0, 0.0, 0.0)] * count
        self.entered: list[set[int]] = [set() for _ in range(count)]
        self.arcs: list[set[tuple[int, int]] | None] = [None] * count
        self.traced_s = 0.0
        self.dependent = self.leaving = False
        wanted = [index for index in range(count) if self.runner.is_wanted(index)]
        self._measure_in_child(wanted, self._measure_plain)
        passed = [index for index in wanted if self.verdicts[index] == PASSED]
        again = self._measure_in_child(passed[::-1], self._measure_traced)
        if unsure := [index for index in passed if again.get(index) != PASSED]:
            again = self._measure_in_child(passed, self._measure_traced)
            self.dependent = any(again.get(index) == PASSED for index in unsure)
        for index in passed:
            if again.get(index) != PASSED:
                self.verdicts[index] = FLAKY
        self.usable = [index for index in wanted if self.verdicts[index] == PASSED]
        self.tests_by_line: dict[int, list[int]] = {}
        for index in self.usable:
            for line in self._lines(index):
                self.tests_by_line.setdefault(line, []).append(index)

    def _lines(self, index: int) -> set[int]:
        """The lines that a test runs; of one that was not traced, all of the functions that it enters."""
        arcs = self.arcs[index]
        if arcs is not None:
            return {line for arc in arcs for line in arc if line > 0}
        entered = [code for code in family(self.map.code) if code.co_firstlineno in self.entered[index]]
        return {line for code in entered for line in lines_of(code)}

    def _measure_in_child(
        self, wanted: Sequence[int], measure: Callable[[Sequence[int], Send], None]
    ) -> dict[int, str]:
        """Have a child measure tests, and where one ends it, another measure the rest.

        Returns:
            What became of each test.
        """
        said: dict[int, str] = {}
        child = Child(lambda send: measure(wanted, send))
        done = False
        for kind, index, *rest in child.messages(self.spec["wall_s"]):
            if kind == "plain":
                said[index] = self.verdicts[index] = rest[0]
                self.entered[index], self.spent[index] = set(rest[1]), tuple(rest[2:])
            elif kind == "traced":
                said[index], arcs = rest
                self.arcs[index] = None if arcs is None else set(map(tuple, arcs))
            else:
                done = True
                self.leaving = self.leaving or rest[0]
                self.seeded = frozenset(rest[1])
                self.guard.seen |= set(rest[2])
        running = self.running()
        child.close()
        if not done and running in wanted and running not in said:
            said[running] = CRASH
            if self.verdicts[running] == "not run":
                self.verdicts[running] = CRASH
            said |= self._measure_in_child([index for index in wanted if index not in said], measure)
        return said

    def _measure_plain(self, wanted: Sequence[int], send: Send) -> None:
        """In a child: what tests do and take, and whether they leave something behind."""
        state = State(self.modules)
        seeded, used = random.Random(0).getstate(), set()
        self.steps.note_entries()
        for index, after in following(wanted):
            self.steps.entered.clear()
            start, wall = time.process_time(), time.monotonic()
            verdict = self.run(index, after, BASELINE_STEPS, self.spec["cpu_s"])
            spent = BASELINE_STEPS - self.steps.left(), time.process_time() - start, time.monotonic() - wall
            send(("plain", index, verdict, list(self.steps.entered), *spent))
            if random.getstate() != seeded:
                used.add("random")
        self.runner.clean_up()
        limit_cpu(0)
        spoilt = state.is_spoilt() and not state.opaque
        if hasattr(sys.modules.get("numpy"), "random"):
            used.add("numpy")
        send(("done", 0, spoilt, sorted(used), self.seen()))

    def _measure_traced(self, wanted: Sequence[int], send: Send) -> None:
        """In a child: which lines tests run. What functions remember is forgotten before each."""
        state = State(self.modules)
        everything = {(line, line) for code in family(self.map.code) for line in lines_of(code)}
        for index, after in following(wanted):
            state.empty_caches()
            forks = self.guard.forks
            traced = self._is_worth_tracing(index)
            if traced:
                self.collector.start()
            verdict = self.run(index, after, BASELINE_STEPS, self.spec["cpu_s"])
            self.collector.stop()
            arcs = self.collector.take()
            if self.guard.forks > forks:  # nobody sees what a test's own processes run
                arcs |= everything
            send(("traced", index, verdict, list(arcs) if traced else None))
        send(("done", 0, False, sorted(self.seeded), self.seen()))

    def _is_worth_tracing(self, index: int) -> bool:
        """Whether to record a test's lines: recording takes ten times as long as the test."""
        cpu_s = self.spent[index][1]
        self.traced_s += cpu_s
        most_s: float = self.spec["trace_cpu_s"]
        return cpu_s <= most_s / 10 and self.traced_s <= most_s

    def _baseline(self, errors: list[str], import_arcs: set[tuple[int, int]]) -> dict[str, Any]:
        """All that was found out, for the host and for cold processes."""
        return {
            "errors": errors,
            "ids": self.runner.ids,
            "verdicts": self.verdicts,
            "spent": self.spent,
            "arcs": [None if arcs is None else sorted(arcs) for arcs in self.arcs],
            "lines": [sorted(self._lines(index)) for index in range(len(self.runner.ids))],
            "import_arcs": sorted(import_arcs),
            "import_steps": self.import_steps,
            "import_cpu_s": self.import_cpu_s,
            "stateful": self.dependent or self.leaving,
            "dependent": self.dependent,
            "seen": self.seen(),
        }

    # Mutants

    def _chunk(self, mutants: list[Row]) -> dict[str, Any]:
        """Run mutants in as few children as will do.

        Returns:
            ``results`` by the mutants' numbers, and ``seen``.
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
        return {"results": self.results, "seen": sorted(self.noticed)}

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
        self.results[number] = (kind, [(max(self.running(), 0), kind)], 0)

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
        for function, code in installed:
            function.__code__ = code
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
        if any(len(function.__code__.co_freevars) != len(new.co_freevars) for function, new in pairs):
            return None
        installed = [(function, function.__code__) for function, _ in pairs]
        for function, new in pairs:
            function.__code__ = new
        return installed

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


def lines_of(code: CodeType) -> set[int]:
    """The lines that a code object has instructions on."""
    return {line for *_, line in code.co_lines() if line}


def suspended() -> Iterator[CodeType]:
    """The code of generators and coroutines that wait to be resumed."""
    for candidate in gc.get_objects():
        name = {GeneratorType: "gi_code", CoroutineType: "cr_code", AsyncGeneratorType: "ag_code"}.get(
            type(candidate)
        )
        if name is not None:
            yield getattr(candidate, name)


assert signal.getsignal(CPU_SIGNAL) == signal.SIG_DFL

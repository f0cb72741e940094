"""The process that has imported tests and program once, and what the tests do there on the original.

Runs inside the guest: standard library and pytest only.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import AsyncGeneratorType, CodeType, CoroutineType, GeneratorType, ModuleType
from typing import Any, Final

from codegym.mutation.driver_compile import SourceMap, family, find_functions
from codegym.mutation.driver_processes import Child, Send, limit_cpu
from codegym.mutation.driver_session import PASSED, Collection, following
from codegym.mutation.driver_state import State
from codegym.mutation.driver_suite import BASELINE_STEPS, CRASH, Suite, cpu_so_far, is_program
from codegym.mutation.driver_trace import make_collector

__all__ = ["Original", "lines_of"]

FLAKY, NOT_RUN = "flaky", "not run"
TRACED_SHARE: Final = 10
"""A single test may take this part of all the time that is worth recording."""


class Original(Suite):
    """Has tests and program imported, and knows what the tests do on the original."""

    def __init__(self, spec: Mapping[str, Any], collection: Collection, program: SourceMap) -> None:
        """Nothing is imported yet.

        Args:
            spec: What the host sent.
            collection: Of the tests.
            program: The original.
        """
        self.map = program
        collector, code = make_collector(program.filename, family(program.code)), program.code

        def execute(module: ModuleType) -> None:  # holds no reference to the source
            collector.start()
            exec(code, vars(module))
            if collector.slows_others:
                collector.stop()

        super().__init__(spec, collection, execute)
        self.collector = collector

    def prepare(self) -> dict[str, Any]:
        """Import everything, and measure the tests.

        Returns:
            All that was found out, for the host and for cold processes.
        """
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
        return self._baseline(errors, import_arcs)

    def _is_watched(self, module: Any) -> bool:
        filename = getattr(module, "__file__", None) or ""
        return is_program(filename) or filename.startswith(self.spec["folder"] + "/")

    def _measure(self) -> None:
        """Run the tests on the original: as they are, and again, in the other direction, with their lines
        recorded. That tells too whether tests depend on each other (`dependent`), or leave something behind
        (`leaving`).
        """
        count = len(self.runner.items)
        self.verdicts = [NOT_RUN] * count
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
            if self.verdicts[running] == NOT_RUN:
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
        return cpu_s <= most_s / TRACED_SHARE and self.traced_s <= most_s

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
            "cpu_s": cpu_so_far(),
        }


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

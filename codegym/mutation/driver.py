"""The program that runs tests on mutants, inside a guest: what the host calls.

Three kinds of process: this one, which never runs a test; a *warm* one, which has imported tests and program
and forks a child for each chunk of mutants; and a *cold* one for each mutant that acts while the program is
imported. Nothing tells tests which mutant is in force, or that one is.

Runs inside the guest: standard library and pytest only.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from codegym.mutation.driver_compile import NOT_COMPILED, STEPS_STATUS, SourceMap, Steps, instrumented
from codegym.mutation.driver_processes import CPU_SIGNAL, Child, Link, Send, limit_cpu, pair
from codegym.mutation.driver_program import Source, filename_of
from codegym.mutation.driver_session import ERROR, TIMEOUT, Collection, following
from codegym.mutation.driver_suite import (
    CRASH,
    FAILING,
    LEAST_CPU_S,
    LEAST_STEPS,
    LEAST_WALL_S,
    STEP_FACTOR,
    WALL_FACTOR,
    Suite,
    verdict_of,
)
from codegym.mutation.driver_warm import COLD, INVALID, NOT_COVERED, Row, Warm

__all__ = ["Driver", "run_chunk"]

ANSWERS, LINK = 3, 4
"""Descriptors of the guest that tests must not have."""
GRACE_S: Final = 2.0
FOLDER: Final = "suite"
"""Where the files of the tests lie, in the guest's scratch folder."""


class Driver:
    """Serves the host: prepares a suite, then runs chunks of mutants."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Write the tests' files and start the warm process."""
        self.spec = spec = {**spec, "folder": os.path.abspath(FOLDER)}
        os.makedirs(spec["folder"], exist_ok=True)
        for path, text in spec["files"].items():
            path = os.path.join(spec["folder"], path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
                file.write(text)
        os.chdir(spec["folder"])
        source = Source(*spec["modules"][spec["target"]])
        self.map = SourceMap(source.text, filename_of(spec["target"], source))
        if any("hypothesis" in text for text in spec["files"].values()):
            derandomize()
        self.collection = Collection(spec["folder"])
        ours, theirs = pair()
        self.warm = Child(
            lambda _: Warm(spec, self.collection, self.map, theirs).serve(), keep=(theirs.read, theirs.write)
        )
        theirs.close()
        self.link: Link = ours

    def baseline(self) -> dict[str, Any]:
        """What the tests do on the original."""
        try:
            self.known: dict[str, Any] = self.link.receive(3 * self.spec["wall_s"])
        except (TimeoutError, EOFError) as error:
            status = self.warm.end()
            why = "did not end" if isinstance(error, TimeoutError) else f"ended the process (status {status})"
            self.known = {"errors": [f"importing the tests {why}"], "seen": [], "cpu_s": 0.0}
        return self.known

    def run(self, mutants: Sequence[Row]) -> dict[str, Any]:
        """Run a chunk of mutants: numbers, where they start and end in the source, and what is there instead.

        Returns:
            ``results`` by number: status, the tests that failed with how, CPU nanoseconds, and whether it was
            run cold; ``seen``; and ``cpu_s``, of the warm process and its children so far.
        """
        if "ids" not in self.known:
            return {
                "results": {row[0]: (NOT_COVERED, [], 0, False) for row in mutants},
                "seen": [],
                "cpu_s": 0.0,
            }
        self.link.send(list(mutants))
        answer = self.link.receive(None)
        results = {number: (*result, False) for number, result in answer["results"].items()}
        for mutant in mutants:
            if results[mutant[0]][0] == COLD:
                results[mutant[0]] = self._run_cold(mutant)
        return {**answer, "results": results}

    # Mutants that act at import

    def _run_cold(self, mutant: Row) -> tuple[str, list[tuple[int, str]], int, bool]:
        _, start, end, replacement = mutant
        try:
            code = instrumented(self.map.mutated(start, end, replacement), self.map.filename, 0)
        except NOT_COMPILED:
            return INVALID, [], 0, True
        lines = self.map.lines_of(start, end)
        first = {index for index, ran in enumerate(self.known["lines"]) if not lines.isdisjoint(ran)}
        kills, clock_decided = self._cold_kills(code, first)
        if clock_decided:
            kills, _ = self._cold_kills(code, first)
        return verdict_of(kills), kills, 0, True

    def _cold_kills(self, code: Any, first: Container[int]) -> tuple[list[tuple[int, str]], bool]:
        """The tests that fail, and whether a clock said so; those that run the mutant's lines go first."""
        child = Child(lambda send: Cold(self, code, first, send).serve())
        kills, done, current = [], False, 0
        wall_s = LEAST_WALL_S + WALL_FACTOR * sum(wall for _, _, wall in self.known["spent"]) + GRACE_S
        for kind, index in child.messages(wall_s):
            if kind == "running":
                current = index
            elif kind == "done":
                done = True
            else:
                kills.append((index, kind))
        status = child.end()
        child.close()
        if done:
            return kills, False
        timeout = child.silent or status in (-CPU_SIGNAL, STEPS_STATUS)
        return [*kills, (current, TIMEOUT if timeout else CRASH)], timeout and status != STEPS_STATUS


class Cold(Suite):
    """A process that imports the program with a mutant in it."""

    def __init__(self, driver: Driver, code: Any, first: Container[int], send: Send) -> None:
        """Nothing is imported yet.

        Args:
            driver: What is known of the suite.
            code: The mutated module.
            first: The tests to run first.
            send: Reports.
        """
        super().__init__(driver.spec, driver.collection, lambda module: exec(code, vars(module)))
        self.known, self.first, self.send = driver.known, first, send

    def serve(self) -> None:
        """Collect and run the tests that passed on the original, and such as were not there then."""
        self.steps.grant(LEAST_STEPS + STEP_FACTOR * self.known["import_steps"])
        limit_cpu(LEAST_CPU_S + STEP_FACTOR * self.known["import_cpu_s"])
        errors = self.collect()
        overrun = self.steps.left() < 0
        if overrun or (errors and not self.known["errors"]):
            self.send((TIMEOUT if overrun else ERROR, 0))
            if self.spec["mode"] == "score":
                self._leave()
        indices = {name: index for index, name in enumerate(self.known["ids"])}
        usable = {name for name, index in indices.items() if self.known["verdicts"][index] == "passed"}
        new = set(self.runner.ids) - set(indices)
        wanted = [
            i for i, name in enumerate(self.runner.ids) if name in usable | new and self.runner.is_wanted(i)
        ]
        if not self.known["dependent"]:
            wanted.sort(key=lambda i: indices.get(self.runner.ids[i], -1) not in self.first)
        for here, after in following(wanted):
            there = indices.get(self.runner.ids[here], 0)
            self.send(("running", there))
            steps, cpu_s, _ = self.known["spent"][there]
            verdict = self.run(
                here, after, LEAST_STEPS + STEP_FACTOR * steps, LEAST_CPU_S + STEP_FACTOR * cpu_s
            )
            if verdict in FAILING:
                self.send((verdict, there))
                if self.spec["mode"] == "score":
                    break
        self._leave()

    def _leave(self) -> None:
        self.send(("done", 0))
        os._exit(0)


def derandomize() -> None:
    """Have hypothesis, where it is installed, try the same examples each time."""
    with contextlib.suppress(ImportError):
        import hypothesis

        profile: Any = {"derandomize": True, "database": None, "deadline": None}
        hypothesis.settings.register_profile("mutants", **profile)
        hypothesis.settings.load_profile("mutants")


_driver: list[Driver] = []


def run_chunk(what: str, payload: Any) -> Any:
    """The entry point: ``prepare`` with a specification answers the baseline, ``mutants`` the results."""
    if what == "prepare":
        os.closerange(ANSWERS + 1, LINK + 1)
        sys.modules.pop("solution", None)
        Steps()  # so that what the driver compiles can be run here too
        _driver[:] = [Driver(payload)]
        return _driver[0].baseline()
    return _driver[0].run([tuple(mutant) for mutant in payload])

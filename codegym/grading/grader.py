"""From a program and a task to an outcome."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final, Self

from codegym.core import Outcome, Program, Status, Task, TestCase, TestResult
from codegym.errors import DataError, InfraError
from codegym.grading import judging
from codegym.grading.cache import VerdictCache, key_of
from codegym.grading.plan import INLINE_BYTES, Plan, Unit, make_plan
from codegym.sandbox import Answer, AnswerKind, CallBatch, Check, Ending, Execution, Request, Sandbox, Script

__all__ = ["Grader"]

MAX_DEATHS: Final = 3
"""After so many tests that ended the process, the rest is not run."""
READ_BYTES: Final = 64 << 20
"""Of a program's long answers so much is read, where bytes alone do not tell whether they are right."""
AHEAD: Final = 64
"""Programs for each worker that are taken from a stream before the first of them is judged, so that one that
takes long does not leave the other workers idle."""
PLANS: Final = 512
"""Tasks whose plans are kept."""


class Grader:
    """Grades programs in a sandbox.

    One grader serves any number of tasks and threads. It keeps what it worked out for a task, so reuse it.
    """

    def __init__(
        self, sandbox: Sandbox, *, stop_early: bool = False, cache: VerdictCache | None = None
    ) -> None:
        """Grade in `sandbox`, which is started when it is needed.

        Args:
            sandbox: Where programs run. Stays the caller's to close.
            stop_early: Stop at the first test that does not pass; the others are reported as skipped. For
                binary rewards.
            cache: Where verdicts are remembered. Stays the caller's to close. None: every program is run.
        """
        self.sandbox = sandbox
        self.stop_early = stop_early
        self.cache = cache
        self._plans: OrderedDict[tuple[int, tuple[int, ...] | None], tuple[Any, Plan]] = OrderedDict()
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    # Grading

    def grade(self, program: Program, task: Task, tests: Sequence[TestCase] | None = None) -> Outcome:
        """Grade one program.

        Args:
            program: The answer.
            task: The problem.
            tests: The tests to grade by. None: all of the task's, the public ones first.

        Returns:
            The outcome; infrastructure trouble is the status ``infra``.

        Raises:
            DataError: The task is at fault: its reference solution fails.
            SandboxUnavailableError: The sandbox cannot start at all.
        """
        plan = self._plan(task, tests)
        self.sandbox.start()
        if self.cache is None:
            return self._run(program, plan)
        key = key_of(program, plan, self.sandbox, stop_early=self.stop_early)
        if key is not None and (known := self.cache.get(key)) is not None:
            return replace(known, cached=True)
        outcome = self._run(program, plan)
        if key is not None:
            self.cache.put(key, outcome)
        return outcome

    def _run(self, program: Program, plan: Plan) -> Outcome:
        start = time.monotonic()
        try:
            self._find_expected(plan)
            run = _Grading(self.sandbox, plan, program, self.stop_early)
            results = run.results()
        except InfraError as error:
            return Outcome.infrastructure(str(error), plan.tests)
        return Outcome.of(
            results,
            cpu_s=run.cpu_s,
            wall_s=time.monotonic() - start,
            stdout=judging.excerpt(run.last.stdout) if run.last else "",
            stderr=judging.excerpt(run.last.stderr) if run.last else "",
            wall="shared" if plan.shared else "split",
            isolation=tuple(sorted(self.sandbox.isolation.layers)),
        )

    def submit(
        self, program: Program, task: Task, tests: Sequence[TestCase] | None = None
    ) -> Future[Outcome]:
        """Like `grade`, in the background; as many at a time as the sandbox has workers."""
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self.sandbox.workers, thread_name_prefix="codegym-grader")
        return self._threads.submit(self.grade, program, task, tests)

    def grade_many(self, pairs: Iterable[tuple[Program, Task]]) -> Iterator[Outcome]:
        """Grade a stream of programs in parallel and in order, taking a bounded number ahead."""
        waiting: deque[Future[Outcome]] = deque()
        for program, task in pairs:
            waiting.append(self.submit(program, task))
            if len(waiting) >= AHEAD * self.sandbox.workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    async def agrade(self, program: Program, task: Task, tests: Sequence[TestCase] | None = None) -> Outcome:
        """Like `grade`, without blocking the event loop."""
        return await asyncio.wrap_future(self.submit(program, task, tests))

    def prepare(self, task: Task) -> None:
        """Find the expected values that are what the reference answers, ahead of the first `grade`.

        Raises:
            DataError: The reference solution fails.
            InfraError: The sandbox failed.
        """
        self.sandbox.start()
        self._find_expected(self._plan(task, None))

    def close(self) -> None:
        """Wait for what was submitted. The sandbox stays open."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()

    def __enter__(self) -> Self:
        """Nothing to do: threads start when needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    # Plans

    def _plan(self, task: Task, tests: Sequence[TestCase] | None) -> Plan:
        """The plan for a task, kept with the task itself, whose identity is the key."""
        key = (id(task), None if tests is None else tuple(map(id, tests)))
        with self._lock:
            if key in self._plans:
                self._plans.move_to_end(key)
                return self._plans[key][1]
        plan = make_plan(task, task.tests if tests is None else tests)
        with self._lock:
            self._plans[key] = ((task, tests), plan)
            if len(self._plans) > PLANS:
                self._plans.popitem(last=False)
        return plan

    def _find_expected(self, plan: Plan) -> None:
        """Run the reference where expected values or time limits depend on it."""
        factor = plan.task.meta.get("time_factor")
        if not any(not unit.expected.known for unit in plan.units):
            return
        with plan.preparing:
            unknown = [unit for unit in plan.units if not unit.expected.known]
            if unknown:
                _Reference(self.sandbox, plan, factor).run()


def batch(plan: Plan, program: Program, units: Sequence[Unit], inline_bytes: int = INLINE_BYTES) -> Request:
    """The request that runs units of one style in one process."""
    first = units[0]
    if first.case.style == "code":
        return Check(
            code=program.code,
            entry_point=plan.task.entry_point or "",
            tests=[unit.request for unit in units],
            preamble=plan.task.preamble,
            shared=first.case.shared,
            limits=first.limits,
        )
    return CallBatch(
        code=program.code,
        entry_point=plan.task.entry_point or "",
        inputs=[unit.request for unit in units],
        argument_answers=first.case.answer == "argument",
        limits=first.limits,
        cpu_limits_s=[unit.cpu_s for unit in units],
        inline_bytes=inline_bytes,
    )


def in_groups(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Units whose whole answers fit into one answer file together, and so can share a process."""
    group: list[Unit] = []
    room = 0
    for unit in units:
        size = judging.longest(unit)
        if group and size > room:
            yield group
            group = []
        if not group:
            room = unit.limits.output_mb << 20
        group.append(unit)
        room -= size
    if group:
        yield group


class _Grading:
    """One program on its way through a plan."""

    def __init__(self, sandbox: Sandbox, plan: Plan, program: Program, stop_early: bool) -> None:
        self.sandbox, self.plan, self.program, self.stop_early = sandbox, plan, program, stop_early
        self.verdicts: dict[int, judging.Verdict] = {}
        """By the id of the unit."""
        self.cpu_s = 0.0
        self.last: Execution | None = None
        self.over = False
        """Whether the verdict is clear, and nothing more need be run."""

    def results(self) -> list[TestResult]:
        """Run all units, and say what became of each test."""
        for units in (*self.plan.calls.values(), self.plan.checks, self.plan.shared):
            self._run_together(units)
        for unit in self.plan.scripts:
            self._run_script(unit)
        by_test: list[list[judging.Verdict]] = [[] for _ in self.plan.tests]
        for unit in self.plan.units:
            by_test[unit.test].append(self.verdicts.get(id(unit), judging.SKIPPED))
        return [
            judging.test_result(i, test, verdicts)
            for i, (test, verdicts) in enumerate(zip(self.plan.tests, by_test, strict=True))
        ]

    def _execute(self, request: Request, on_answer: Any = None) -> Execution:
        execution = self.sandbox.execute(request, on_answer)
        self.cpu_s += execution.cpu_s
        self.last = execution
        return execution

    def _note(self, unit: Unit, verdict: judging.Verdict) -> bool:
        """Keep a verdict; returns whether to go on."""
        self.verdicts[id(unit)] = verdict
        if self.stop_early and verdict.status not in (Status.PASSED, judging.UNRESOLVED):
            self.over = True
        return not self.over

    def _run_together(self, units: Sequence[Unit]) -> None:
        """Run units in one process; where one ends the process, go on with the next in another."""
        deaths, retried, pending = 0, False, list(units)
        while pending and not self.over and deaths < MAX_DEATHS:
            current = pending
            execution = self._execute(
                batch(self.plan, self.program, current), functools.partial(self._judge, current)
            )
            pending = current[len(execution.answers) :]
            if execution.ending in (Ending.CPU, Ending.WALL) and not retried:
                retried = True  # once more, in a process of its own, before it counts
                continue
            if not execution.loaded or execution.ending == Ending.PROTOCOL:
                self._note_all(current, judging.of_ending(execution))
                break
            if not pending or self.over:
                break
            deaths += 1
            self._note(pending.pop(0), judging.of_ending(execution))
        self._resolve([unit for unit in units if self._is_unresolved(unit)])

    def _is_unresolved(self, unit: Unit) -> bool:
        verdict = self.verdicts.get(id(unit))
        return verdict is not None and verdict.status is judging.UNRESOLVED

    def _note_all(self, units: Sequence[Unit], verdict: judging.Verdict) -> None:
        for unit in units:
            self.verdicts[id(unit)] = verdict

    def _judge(self, units: Sequence[Unit], index: int, answer: Answer) -> bool:
        unit = units[index]
        if unit.case.style == "code":
            return self._note(unit, judging.of_test_code(answer))
        return self._note(unit, judging.of_call(unit, answer))

    def _resolve(self, units: Sequence[Unit]) -> None:
        """Fetch whole answers where digests differ, since values may be equal all the same."""
        budget = READ_BYTES
        for group in in_groups(units):
            size = sum(unit.expected.length for unit in group)
            if self.over or size > budget:
                self._note_all(group, judging.TOO_LONG)
                continue
            budget -= size
            self._resolve_group(group)

    def _resolve_group(self, units: Sequence[Unit]) -> None:
        self._note_all(units, judging.Verdict(Status.ERROR, 0.0, "did not answer a second time"))
        _Reference(self.sandbox, self.plan, None).fetch(
            [unit for unit in units if not unit.expected.has_value]
        )
        inline = max(judging.longest(unit) for unit in units)
        self._execute(batch(self.plan, self.program, units, inline), functools.partial(self._judge, units))

    def _run_script(self, unit: Unit) -> None:
        deaths = sum(verdict.status == Status.TIMEOUT for verdict in self.verdicts.values())
        if self.over or deaths >= MAX_DEATHS:
            return
        request = Script(
            code=self.program.code, stdin=unit.request, limits=replace(unit.limits, cpu_s=unit.cpu_s)
        )
        execution = self._execute(request)
        if execution.ending in (Ending.CPU, Ending.WALL) and not deaths:
            execution = self._execute(request)
        verdict = judging.of_script(unit, execution)
        self._note(unit, verdict)
        if verdict.status == Status.INVALID:
            self._note_all(self.plan.scripts, verdict)
            self.over = True


class _Reference:
    """The reference solution on its way through a plan."""

    def __init__(self, sandbox: Sandbox, plan: Plan, time_factor: float | None) -> None:
        self.sandbox, self.plan, self.time_factor = sandbox, plan, time_factor
        self.program = Program(plan.task.reference_solutions[0]) if plan.task.reference_solutions else None

    def run(self) -> None:
        """Find all expected values that are not known.

        Raises:
            DataError: The reference fails.
        """
        for units in self.plan.calls.values():
            unknown = [unit for unit in units if not unit.expected.known]
            for unit, answer in zip(unknown, self._answers(unknown, INLINE_BYTES), strict=True):
                self._calibrate(unit, answer.cpu_s)
                if answer.kind == AnswerKind.VALUE:
                    unit.expected.become(answer.payload)
                else:
                    unit.expected.become_digest(answer.payload)
        for unit in self.plan.scripts:
            if not unit.expected.known:
                self._run_script(unit)

    def fetch(self, units: Sequence[Unit]) -> None:
        """Get whole values where only digests are known."""
        size = max((unit.expected.length for unit in units), default=0)
        for unit, answer in zip(units, self._answers(units, size), strict=True):
            unit.expected.become(answer.payload)

    def _answers(self, units: Sequence[Unit], inline_bytes: int) -> Sequence[Answer]:
        if not units:
            return []
        assert self.program is not None
        request = batch(self.plan, self.program, [replace(unit, cpu_s=60.0) for unit in units], inline_bytes)
        assert isinstance(request, CallBatch)
        generous = replace(request.limits, total_cpu_s=600.0, memory_mb=max(4096, request.limits.memory_mb))
        execution = self.sandbox.execute(replace(request, limits=generous))
        for unit, answer in zip(units, execution.answers, strict=False):
            if answer.kind not in (AnswerKind.VALUE, AnswerKind.DIGEST):
                raise self._fault(unit, judging.of_call(unit, answer).message)
        if len(execution.answers) < len(units):
            raise self._fault(units[len(execution.answers)], f"{execution.ending}: {execution.message}")
        return execution.answers

    def _run_script(self, unit: Unit) -> None:
        assert self.program is not None
        limits = replace(unit.limits, cpu_s=60.0)
        execution = self.sandbox.execute(Script(code=self.program.code, stdin=unit.request, limits=limits))
        if execution.ending != Ending.DONE:
            raise self._fault(unit, f"{execution.ending}: {execution.message}")
        self._calibrate(unit, execution.cpu_s)
        unit.expected.value = execution.stdout.decode("utf-8", "replace")
        unit.expected.has_value = unit.expected.known = True

    def _calibrate(self, unit: Unit, cpu_s: float) -> None:
        """Set the time limit by the reference's own time, where the task asks for it."""
        if self.time_factor is not None:
            least = float(self.plan.task.meta.get("min_time_s", 0.0))
            unit.cpu_s = max(least, self.time_factor * cpu_s)

    def _fault(self, unit: Unit, message: str) -> DataError:
        return DataError(
            f"task {self.plan.task.id!r}: the reference solution fails test {unit.test}: {message}"
        )

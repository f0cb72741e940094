"""Mutants in one guest, tests in another: for functions whose arguments and answers are plain data.

The tests see a proxy of the function, so that there is nothing to look at: no code, no source, no process to
spoil. It costs two guests a mutant, some milliseconds, and there is no record of which lines a test runs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from codegym.core import Limits
from codegym.mutation.engine_program import guest_modules
from codegym.mutation.matrix import Baseline, BaselineTest, How, Kill, MutantResult, MutantStatus
from codegym.mutation.mutant import Mutant
from codegym.sandbox import Answer, AnswerKind, Check, Ending, Execution, Sandbox
from codegym.sandbox.wire import ProtocolError, read_exception

__all__ = ["SplitRun"]

STEPS: Final = (20_000, 1_000_000, 50_000_000)
"""Steps that a call of the original may take: the least of these that is enough for all tests."""
FACTOR: Final = 10
"""How many times more a call of a mutant may take."""
PROGRAM: Final = """
{modules}
steps = MODULES["driver_compile"].Steps()
steps.ignore_entries()
steps.grant({budget})
inner = {{"__name__": "solution", "__builtins__": __builtins__}}
exec(MODULES["driver_compile"].instrumented({source!r}, "/tmp/solution.py", 0), inner)
def counted(function):
    def {entry_point}(*args, **kwargs):
        steps.grant({budget})
        return function(*args, **kwargs)
    return {entry_point}
{entry_point} = counted(inner[{entry_point!r}])
"""
HOW: Final = {
    How.ASSERTION: MutantStatus.KILLED,
    How.ERROR: MutantStatus.KILLED_BY_ERROR,
    How.TIMEOUT: MutantStatus.TIMEOUT,
    How.CRASH: MutantStatus.CRASH,
}


class SplitRun:
    """One function's tests on its mutants, each mutant in a guest of its own."""

    def __init__(
        self, sandbox: Sandbox, source: str, entry_point: str, tests: Sequence[str], mode: str, memory_mb: int
    ) -> None:
        """Start nothing yet.

        Args:
            sandbox: Where to run.
            source: The original.
            entry_point: The function that the tests call.
            tests: Each a test by itself.
            mode: ``score`` or ``matrix``.
            memory_mb: MiB for each guest.
        """
        self.sandbox, self.source, self.entry_point, self.tests = sandbox, source, entry_point, list(tests)
        self.stop_early = mode == "score"
        self.limits = Limits(memory_mb=memory_mb)
        self.names = [f"test_{number}" for number in range(len(self.tests))]
        self.usable: list[int] = []
        self.budget = STEPS[0]
        self.cpu_s = 0.0

    def baseline(self) -> Baseline:
        """Run the tests on the original."""
        for budget in STEPS:
            kinds, ending = self._run(self.source, range(len(self.tests)), budget, stop_early=False)
            if How.TIMEOUT not in kinds.values():
                break
        self.budget = FACTOR * budget
        self.usable = [number for number in range(len(self.tests)) if kinds.get(number) == "passed"]
        tests = [BaselineTest(name=name, status=kinds.get(i, "not run")) for i, name in enumerate(self.names)]
        return Baseline(tests=tuple(tests), errors=() if kinds else (ending,))

    def results(self, mutants: Sequence[Mutant], seed: int) -> list[MutantResult]:
        """Run all mutants, as many at a time as the sandbox has workers."""
        order = random.Random(seed).sample(range(len(mutants)), len(mutants))
        futures = {}
        for number in order:
            mutant = mutants[number]
            request = self._request(mutant.apply(self.source), self.usable, self.budget)
            on_answer = self._stop if self.stop_early else None
            futures[number] = self.sandbox.submit(request, on_answer)
        return [self._result(mutants[number], futures[number].result()) for number in range(len(mutants))]

    def _result(self, mutant: Mutant, execution: Execution) -> MutantResult:
        self.cpu_s += execution.cpu_s
        if execution.ending == Ending.INVALID or "SyntaxError" in execution.message:
            return MutantResult(mutant=mutant, status=MutantStatus.INVALID, cpu_s=execution.cpu_s)
        kinds = self._kinds(execution, self.usable)
        if execution.ending in (Ending.CPU, Ending.WALL):  # a clock decided: once more before it counts
            kinds, _ = self._run(mutant.apply(self.source), self.usable, self.budget, self.stop_early)
        failed = {number: kind for number, kind in kinds.items() if isinstance(kind, How)}
        status = next((HOW[how] for how in How if how in failed.values()), MutantStatus.SURVIVED)
        kills = tuple(Kill(self.names[number], how) for number, how in failed.items())
        return MutantResult(mutant=mutant, status=status, kills=kills, cpu_s=execution.cpu_s, cold=True)

    def _request(self, source: str, numbers: Sequence[int], budget: int) -> Check:
        code = PROGRAM.format(
            modules=guest_modules(("driver_compile",)),
            budget=budget,
            source=source,
            entry_point=self.entry_point,
        )
        tests = [self.tests[number] for number in numbers]
        return Check(code=code, entry_point=self.entry_point, tests=tests, limits=self.limits)

    def _run(
        self, source: str, numbers: Sequence[int], budget: int, stop_early: bool
    ) -> tuple[dict[int, str], str]:
        on_answer = self._stop if stop_early else None
        execution = self.sandbox.execute(self._request(source, numbers, budget), on_answer)
        self.cpu_s += execution.cpu_s
        return self._kinds(execution, numbers), f"{execution.ending}: {execution.message}"

    def _kinds(self, execution: Execution, numbers: Sequence[int]) -> dict[int, str]:
        """What became of each test that was run."""
        kinds: dict[int, str] = {}
        for number, answer in zip(numbers, execution.answers, strict=False):
            kinds[number] = kind_of(answer)
            if kinds[number] == How.CRASH:  # there is no program any more
                return kinds
        rest = list(numbers)[len(kinds) :]
        if rest and execution.ending not in (Ending.DONE, Ending.STOPPED):
            if not execution.loaded:
                return dict.fromkeys(numbers, How.ERROR)
            clock = execution.ending in (Ending.CPU, Ending.WALL)
            kinds[rest[0]] = How.TIMEOUT if clock else How.CRASH
        return kinds

    @staticmethod
    def _stop(index: int, answer: Answer) -> bool:
        """Whether to go on after an answer."""
        return answer.kind == AnswerKind.VALUE


def kind_of(answer: Answer) -> str:
    """What an answer of a tester says of its test."""
    if answer.kind == AnswerKind.VALUE:
        return "passed"
    try:
        names, message = read_exception(answer.payload)
    except ProtocolError:
        return How.CRASH
    if "StepBudgetExceeded" in message:
        return How.TIMEOUT
    if "the program ended" in message:
        return How.CRASH
    # of an exception that is the test's own, the message is kept back
    return How.ASSERTION if names[0] == "AssertionError" and not message else How.ERROR

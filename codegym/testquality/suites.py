"""What a suite that a policy wrote can tell: is it sound on a right program, and does it tell others apart?

A `SuiteJudge` brings `WrittenSuite`s to trial. Expected values are compared, and corrected, on the host;
programs, mutants and test code run in a sandbox.
"""

from __future__ import annotations

import ast
import enum
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from codegym.core import Limits, Outcome, Program, Status, Task, TestCase, TestResult
from codegym.errors import ConfigError, InfraError
from codegym.grading import Grader
from codegym.grading.compare import compare, default_comparison
from codegym.mutation import MutationEngine, MutationLimits, MutationResult, generate, make_test_sandbox
from codegym.mutation.matrix import MutantStatus
from codegym.mutation.mutant import Mutant
from codegym.sandbox import AnswerKind, CallBatch, Sandbox
from codegym.sandbox.plain import DecodeError, decode, encode, is_plain
from codegym.testquality.coverage import Coverage, coverage_of
from codegym.testquality.written import Form, WrittenSuite, read_suite

__all__ = ["MEASURES", "Fate", "JudgedTest", "SuiteJudge", "SuiteOutcome", "as_assert"]

MEASURES: Final = ("candidate", "known", "mutation")
"""What a judge can look at besides validity: the candidate that the policy was shown, the task's known right
and wrong solutions, and mutants of the reference."""
LIMITS: Final = Limits(cpu_s=5.0, total_cpu_s=30.0, output_mb=4)
MUTANTS: Final = 60
"""Of a reference, that suites are run on."""
REMEMBERED: Final = 1024
"""Tasks whose mutants a judge keeps."""


class Fate(enum.StrEnum):
    """What became of one test on the reference."""

    KEPT = "kept"
    """The reference passes it."""
    CORRECTED = "corrected"
    """The reference answers something else than it expects; it was given the right expected value."""
    WRONG = "wrong"
    """The reference fails it, and it was not corrected."""
    RAISED = "raised"
    """The reference raises on it, does not end, or answers what is no plain data."""
    REPEATED = "repeated"
    """Another test of the suite is the same."""
    FLAGGED = "flagged"
    """The suite cheats, or does not run the program (see `codegym.mutation.Flag`): no test counts."""


VALID: Final = frozenset({Fate.KEPT, Fate.CORRECTED})
STATUSES: Final = {
    Fate.KEPT: Status.PASSED,
    Fate.CORRECTED: Status.WRONG,
    Fate.WRONG: Status.WRONG,
    Fate.RAISED: Status.ERROR,
    Fate.REPEATED: Status.INVALID,
    Fate.FLAGGED: Status.INVALID,
}
"""What a fate is called in an outcome."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedTest:
    """One test of a suite, and what became of it on the reference.

    Attributes:
        test: The test, with the right expected value where it was corrected.
        fate: What became of it.
        replayable: Whether its text says all of it, so that it can be kept and run again.
    """

    test: TestCase
    fate: Fate
    replayable: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteOutcome:
    """A verdict on a suite, and its evidence.

    Attributes:
        suite: What was read.
        asked: K, the number of tests that were asked for. None: any.
        tests: Its tests on the reference.
        copied: Whether a test has the input of one that the policy was shown.
        infra: Why it could not be judged, through no fault of its own; empty when it was.
        candidate: The valid tests on the program that the policy was shown. None: there was none.
        right: The valid tests on the task's right solutions, in their order.
        wrong: The valid tests on its wrong solutions, in their order.
        mutation: The valid tests on mutants of the reference. None: not looked at, or nothing to run.
            It tells timings, so it does not count when outcomes are compared.
        killable: The mutants that the task's own tests kill: the denominator. None: not known.
        coverage: What the suite runs of the reference. None: not known.
        before: What the public tests alone run of it. None: not known.
    """

    suite: WrittenSuite
    asked: int | None = None
    tests: tuple[JudgedTest, ...] = ()
    copied: bool = False
    infra: str = ""
    candidate: Outcome | None = None
    right: tuple[Outcome, ...] = ()
    wrong: tuple[Outcome, ...] = ()
    mutation: MutationResult | None = field(default=None, compare=False)
    killable: frozenset[str] | None = None
    coverage: Coverage | None = None
    before: Coverage | None = None

    @property
    def valid(self) -> tuple[TestCase, ...]:
        """The tests that count: kept or corrected."""
        return tuple(one.test for one in self.tests if one.fate in VALID)

    @property
    def n_valid(self) -> int:
        """How many tests count."""
        return len(self.valid)

    @property
    def n_invalid(self) -> int:
        """How many tests are wrong in any way: those that were corrected are among them."""
        return self.suite.unreadable + sum(one.fate != Fate.KEPT for one in self.tests)

    @property
    def sound(self) -> bool:
        """Whether there are tests, and the reference passes all of them as they were written."""
        return bool(self.tests) and not self.n_invalid

    @property
    def survivors(self) -> tuple[Mutant, ...]:
        """The mutants that can be killed, as far as is known, and were not."""
        if self.mutation is None:
            return ()
        return tuple(
            one.mutant
            for one in self.mutation.mutants
            if one.status in (MutantStatus.SURVIVED, MutantStatus.NOT_COVERED)
            and (self.killable is None or one.mutant.id in self.killable)
        )

    @property
    def verdict(self) -> Outcome:
        """The suite on the reference, as an outcome: what each test is."""
        tests = [one.test for one in self.tests]
        if self.infra:
            return Outcome.infrastructure(self.infra, tests)
        if not tests or self.suite.unreadable:
            return Outcome.unrunnable("there are tests that cannot be read, or none", tests)
        return Outcome.of(
            [TestResult(index=i, status=STATUSES[one.fate]) for i, one in enumerate(self.tests)]
        )


class SuiteJudge:
    """Judges suites. One judge serves any number of tasks and threads."""

    def __init__(
        self,
        sandbox: str | Sandbox = "local",
        *,
        form: Form = "asserts",
        k: int | None = None,
        correct: bool | None = None,
        measures: Iterable[str] = MEASURES,
        mutants: int = MUTANTS,
        suite_cpu_s: float = 10.0,
        workers: int | None = None,
        seed: int = 0,
    ) -> None:
        """Start nothing yet.

        Args:
            sandbox: Where programs and tests run: a registered name, or a sandbox with pytest inside (see
                `codegym.mutation.make_test_sandbox`), which stays the caller's to close.
            form: How suites are written; see `read_suite`.
            k: Tests that are asked for; see `read_suite`.
            correct: Whether wrong expected values are replaced by what the reference answers, as Code-A1 has
                it. None: where the form is ``asserts``.
            measures: What to look at, of `MEASURES`.
            mutants: How many mutants of a reference are run, at most.
            suite_cpu_s: Seconds of CPU that each test of a module may use on the reference, and its import.
            workers: Of its own sandbox: suites that are judged at one time.
            seed: Of the sample of mutants.

        Raises:
            ConfigError: There is no such measure, or a number makes no sense.
        """
        self.measures = frozenset(measures)
        if unknown := sorted(self.measures - set(MEASURES)):
            raise ConfigError(f"measures: expected {', '.join(MEASURES)}, got {unknown[0]!r}")
        if mutants < 1 or (k is not None and k < 1):
            raise ConfigError(f"mutants and k must be at least 1, got {mutants} and {k}")
        self.form, self.k, self.seed, self._most = form, k, seed, mutants
        self.correct = form == "asserts" if correct is None else correct
        self._owns = isinstance(sandbox, str)
        self.sandbox = make_test_sandbox(workers, name=sandbox) if isinstance(sandbox, str) else sandbox
        self.grader = Grader(self.sandbox)
        limits = MutationLimits(cpu_s=suite_cpu_s, wall_s=3 * suite_cpu_s, chunk_wall_s=10 * suite_cpu_s)
        self.engine = MutationEngine(self.sandbox, limits=limits)
        self._known: dict[int, tuple[Task, _Facts]] = {}
        self._threads: ThreadPoolExecutor | None = None

    def judge(self, completion: str, task: Task, candidate: Program | None = None) -> SuiteOutcome:
        """Judge the suite in a completion.

        Args:
            completion: What the policy wrote.
            task: What the tests are for; needs a reference solution.
            candidate: The program that the policy was shown.

        Returns:
            The outcome; infrastructure trouble is told in it.

        Raises:
            ConfigError: The task has no reference solution, or the form does not fit it.
            SandboxUnavailableError: The sandbox cannot start at all.
        """
        if not task.reference_solutions:
            raise ConfigError(f"task {task.id!r} has no reference solution, so no suite can be judged by it")
        suite = read_suite(completion, task, self.form, self.k)
        outcome = SuiteOutcome(suite=suite, asked=self.k)
        self.sandbox.start()
        try:
            if suite.form == "module":
                return self._judge_module(outcome, task, candidate)
            return self._judge_tests(outcome, task, candidate)
        except InfraError as error:
            return replace(outcome, infra=str(error))

    def submit(self, completion: str, task: Task, candidate: Program | None = None) -> Future[SuiteOutcome]:
        """Like `judge`, in the background; as many at a time as the sandbox has workers."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.sandbox.workers, thread_name_prefix="codegym-suites")
        return self._threads.submit(self.judge, completion, task, candidate)

    def close(self) -> None:
        """Wait for what was submitted, and close the sandbox if it is the judge's own. Idempotent."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
        self.engine.close()
        self.grader.close()
        if self._owns:
            self.sandbox.close()

    def __enter__(self) -> Self:
        """Nothing to do: the sandbox starts when needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    # Tests one by one

    def _judge_tests(self, outcome: SuiteOutcome, task: Task, candidate: Program | None) -> SuiteOutcome:
        shown = {_input_of(test) for test in task.public_tests}
        judged = without_repeats(self._on_reference(outcome.suite.tests, task))
        outcome = replace(
            outcome,
            tests=tuple(judged),
            copied=any(_input_of(one.test) in shown for one in judged),
        )
        outcome = self._on_programs(outcome, task, candidate, outcome.valid)
        if "mutation" in self.measures and task.entry_point and outcome.valid:
            texts = [as_assert(test, task) for test in outcome.valid]
            outcome = self._on_mutants(outcome, task, "\n".join(text for text in texts if text))
        return outcome

    def _on_reference(self, tests: Sequence[TestCase], task: Task) -> list[JudgedTest]:
        """What the reference makes of each test, in their order."""
        answered = iter(self._answers([test for test in tests if _is_callable(test)], task))
        others = iter(self._verdicts([test for test in tests if test.style != "call"], task))
        judged = []
        for test in tests:
            if test.style != "call":
                judged.append(next(others))
            elif _is_callable(test):
                judged.append(next(answered))
            else:
                judged.append(JudgedTest(test=test, fate=Fate.RAISED))
        return judged

    def _answers(self, tests: Sequence[TestCase], task: Task) -> list[JudgedTest]:
        """Call the reference, once more after each call that ends it."""
        judged: list[JudgedTest] = []
        while len(judged) < len(tests):
            rest = tests[len(judged) :]
            request = CallBatch(
                code=task.reference_solutions[0],
                entry_point=str(task.entry_point),
                inputs=[encode((list(test.args), dict(test.kwargs))) for test in rest],
                limits=LIMITS,
                inline_bytes=LIMITS.output_mb << 20,
            )
            answers = self.sandbox.execute(request).answers
            judged += [
                self._compared(test, answer.kind, answer.payload, task)
                for test, answer in zip(rest, answers, strict=False)
            ]
            if len(answers) < len(rest):
                judged.append(JudgedTest(test=rest[len(answers)], fate=Fate.RAISED))
        return judged

    def _compared(self, test: TestCase, kind: AnswerKind, payload: bytes, task: Task) -> JudgedTest:
        """One answer of the reference."""
        if kind != AnswerKind.VALUE:
            return JudgedTest(test=test, fate=Fate.RAISED)
        try:
            value = decode(payload)
        except DecodeError:
            return JudgedTest(test=test, fate=Fate.RAISED)
        if not is_plain(value):
            return JudgedTest(test=test, fate=Fate.RAISED, replayable=False)
        rule = task.compare or default_comparison(test)
        if compare(rule, test, test.expected, value):
            return JudgedTest(test=test, fate=Fate.KEPT, replayable=is_replayable(value))
        if not self.correct:
            return JudgedTest(test=test, fate=Fate.WRONG)
        return JudgedTest(
            test=replace(test, expected=value), fate=Fate.CORRECTED, replayable=is_replayable(value)
        )

    def _verdicts(self, tests: Sequence[TestCase], task: Task) -> list[JudgedTest]:
        """Grade the reference by tests that are scripts or code."""
        if not tests:
            return []
        outcome = self._graded(Program(task.reference_solutions[0]), task, tests)
        return [
            JudgedTest(test=test, fate=_fate_of(result.status))
            for test, result in zip(tests, outcome.tests, strict=True)
        ]

    def _graded(self, program: Program, task: Task, tests: Sequence[TestCase]) -> Outcome:
        outcome = self.grader.grade(program, task, tuple(tests))
        if outcome.status == Status.INFRA:
            raise InfraError(outcome.message)
        return outcome

    # Programs and mutants

    def _on_programs(
        self, outcome: SuiteOutcome, task: Task, candidate: Program | None, tests: Sequence[TestCase]
    ) -> SuiteOutcome:
        """Run the valid tests on the programs that are to be told apart."""
        if not tests:
            return outcome
        if candidate is not None and "candidate" in self.measures:
            outcome = replace(outcome, candidate=self._graded(candidate, task, tests))
        if "known" in self.measures:
            right, wrong = (
                tuple(self._graded(Program(code), task, tests) for code in solutions)
                for solutions in (task.reference_solutions, task.wrong_solutions)
            )
            outcome = replace(outcome, right=right, wrong=wrong)
        return outcome

    def _on_mutants(self, outcome: SuiteOutcome, task: Task, tests: str) -> SuiteOutcome:
        facts = self._facts(task)
        if not (tests and facts.mutants):
            return replace(outcome, killable=facts.killable)
        return replace(outcome, mutation=self._run(task, tests, facts.mutants), killable=facts.killable)

    def _run(self, task: Task, tests: str, mutants: Sequence[Mutant]) -> MutationResult:
        return self.engine.run(
            task.reference_solutions[0],
            tests,
            mutants=mutants,
            mode="matrix",
            style="asserts",
            entry_point=task.entry_point,
            wall="split",
            seed=self.seed,
        )

    def _facts(self, task: Task) -> _Facts:
        """The mutants of a task's reference, and which of them its own tests kill."""
        known = self._known.get(id(task))
        if known is None:
            known = (task, self._find_facts(task))
            if len(self._known) >= REMEMBERED:
                self._known.pop(next(iter(self._known)), None)
            self._known[id(task)] = known
        return known[1]

    def _find_facts(self, task: Task) -> _Facts:
        source = task.reference_solutions[0]
        mutants = generate(source, seed=self.seed, limit=self._most).mutants
        texts = [text for test in task.tests if (text := as_assert(test, task))]
        if not (mutants and texts):
            return _Facts(mutants=mutants)
        killable = self._run(task, "\n".join(texts), mutants).killable()
        return _Facts(mutants=mutants, killable=killable or None)

    # Modules

    def _judge_module(self, outcome: SuiteOutcome, task: Task, candidate: Program | None) -> SuiteOutcome:
        """A module of tests runs beside the reference, with controls among the mutants."""
        if outcome.suite.unreadable:
            return outcome
        facts = self._module_facts(task)
        mutants = facts.mutants if "mutation" in self.measures else ()
        source, code = task.reference_solutions[0], outcome.suite.code
        result = self.engine.run(source, code, mutants=mutants, mode="matrix", seed=self.seed)
        passed = Fate.FLAGGED if result.flags else Fate.KEPT
        tests = [
            JudgedTest(
                test=TestCase.code(f"# {test.name}"),
                fate=passed if test.status == "passed" else Fate.WRONG,
                replayable=False,
            )
            for test in result.baseline.tests
            if test.status != "skipped"
        ]
        broken = replace(outcome.suite, unreadable=len(result.baseline.errors))
        outcome = replace(
            outcome,
            suite=broken,
            tests=tuple(tests),
            mutation=result,
            killable=facts.killable,
            coverage=coverage_of(source, result.baseline),
            before=facts.before,
        )
        if outcome.sound:
            outcome = self._on_programs(outcome, task, candidate, [TestCase.code(code)])
        return outcome

    def _module_facts(self, task: Task) -> _Facts:
        """Those of `_facts`, and what the public tests run of the reference."""
        facts = self._facts(task)
        if facts.before is None:
            source = task.reference_solutions[0]
            texts = [text for test in task.public_tests if (text := as_assert(test, task))]
            suite = "\n".join(texts) or "assert True"
            baseline = self.engine.run(source, suite, mutants=(), style="asserts", controls=False).baseline
            facts.before = coverage_of(source, baseline)
        return facts


@dataclass(slots=True)
class _Facts:
    """What is known of a task's reference."""

    mutants: Sequence[Mutant] = ()
    killable: frozenset[str] | None = None
    before: Coverage | None = field(default=None)


def _is_callable(test: TestCase) -> bool:
    """Whether a test is a call whose arguments can be sent."""
    return test.style == "call" and is_plain(test.args) and is_plain(dict(test.kwargs))


def _fate_of(status: Status) -> Fate:
    if status == Status.PASSED:
        return Fate.KEPT
    return Fate.WRONG if status == Status.WRONG else Fate.RAISED


def without_repeats(tests: Iterable[JudgedTest]) -> list[JudgedTest]:
    """Mark all but the first of equal tests."""
    seen: set[str] = set()
    judged = []
    for one in tests:
        text = repr((one.test.args, sorted(one.test.kwargs.items()), one.test.stdin, one.test.source))
        if one.fate in VALID and text in seen:
            one = replace(one, fate=Fate.REPEATED)
        seen.add(text)
        judged.append(one)
    return judged


def _input_of(test: TestCase) -> str:
    """What a test puts in, as a text that equal inputs share."""
    if test.style == "stdio":
        return test.stdin.strip()
    return repr((test.args, sorted(test.kwargs.items()))) if test.style == "call" else test.source.strip()


def is_replayable(value: Any) -> bool:
    """Whether a value is what its text says."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False


def as_assert(test: TestCase, task: Task) -> str | None:
    """A test of a function as an assert statement; None where it cannot be written as one."""
    if test.style == "code" and not test.shared:
        return test.source
    expected: Any = test.expected
    if test.style != "call" or test.answer != "return" or not is_replayable(expected):
        return None
    name = str(task.entry_point).rpartition(".")[2]
    arguments = [*map(repr, test.args), *(f"{key}={value!r}" for key, value in test.kwargs.items())]
    compared = f"{name}({', '.join(arguments)})"
    rule = test.compare or task.compare or default_comparison(test)
    if isinstance(expected, float) and math.isfinite(expected) and rule.rule == "float":
        return f"assert abs({compared} - {expected!r}) <= {rule.atol + rule.rtol * abs(expected)!r}"
    return f"assert {compared} == {expected!r}"

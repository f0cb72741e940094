"""The vocabulary: tasks, programs, outcomes and scores. All frozen data; read this file first.

A `Task` says what is asked and how an answer is checked. A `Program` is an answer. Running the program on the
task's tests gives an `Outcome`: a verdict with its evidence. Rewards turn an outcome into a `Score`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from codegym.errors import ConfigError

__all__ = [
    "REFERENCE",
    "Comparison",
    "Limits",
    "Outcome",
    "Program",
    "Raises",
    "Reference",
    "Score",
    "Status",
    "Task",
    "TestCase",
    "TestResult",
    "Wall",
]


class Status(enum.StrEnum):
    """What became of a program, or of one test of it."""

    PASSED = "passed"
    """Ran and answered right."""
    WRONG = "wrong"
    """Ran and answered something else."""
    ERROR = "error"
    """Did not answer: it raised, exited early, crashed, or broke the protocol."""
    TIMEOUT = "timeout"
    """Used up its CPU time or the wall deadline."""
    MEMORY = "memory"
    """Ran out of the memory it may have."""
    INVALID = "invalid"
    """Is not a program (it does not parse), or the test is not a test."""
    INFRA = "infra"
    """Could not be judged through no fault of its own. Never a 0: there is no reward."""
    SKIPPED = "skipped"
    """Of a test only: not run, since the verdict was clear before. Counts as not passed."""


class Reference(enum.Enum):
    """The type of `REFERENCE`."""

    REFERENCE = "reference"


REFERENCE: Final = Reference.REFERENCE
"""In place of an expected value: what the task's first reference solution answers."""


@dataclass(frozen=True, slots=True)
class Raises:
    """In place of an expected value: the call must raise this exception, or a subclass of it."""

    exception: str
    """The class's name without its module, such as "ValueError"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """When an answer counts as the expected one.

    Rules for values: ``exact`` (Python's ``==`` between plain data), ``float`` (like exact, and floats, alone
    or in sequences, within ``atol + rtol * |expected|``; numbers of numpy count as numbers), ``unordered``
    (sequences as multisets, at the top level). Rules for text: ``text`` (to the letter), ``lines`` (each line
    stripped, trailing blank lines dropped, as many lines), ``tokens`` (split at white space, and the tokens
    that are numbers within the tolerance). ``judge``: the function named in `judge` decides. Whatever the
    rule, an answer that is the expected one to the last bit passes.
    """

    rule: Literal["exact", "float", "unordered", "text", "lines", "tokens", "judge"]
    rtol: float = 0.0
    atol: float = 0.0
    judge: str | None = None
    """``"module:attr"`` of a ``judge(test, answer, expected) -> bool``. Runs on the host: only for trusted
    data."""

    def __post_init__(self) -> None:
        """Check the combination."""
        if (self.rule == "judge") != (self.judge is not None):
            raise ConfigError(f"a judge goes with the rule 'judge' and only with it, got {self!r}")
        if not (math.isfinite(self.rtol) and math.isfinite(self.atol) and self.rtol >= 0 and self.atol >= 0):
            raise ConfigError(f"tolerances are finite and not negative, got {self!r}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a program may use. CPU time counts first; wall time is only a deadline for what sleeps or
    blocks.
    """

    cpu_s: float = 5.0
    """CPU seconds, per test."""
    wall_s: float | None = None
    """Wall seconds, per test. None: twice the CPU limit, plus one second."""
    total_cpu_s: float = 60.0
    """CPU seconds, for all tests that share one process."""
    memory_mb: int = 512
    """MiB that the program may take on top of the bare interpreter."""
    output_mb: int = 16
    """MiB that it may print, that one file it writes may have, and that one answer may take."""
    processes: int = 64
    """Processes and threads at one time."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("cpu_s", "total_cpu_s", "memory_mb", "output_mb", "processes"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ConfigError(f"Limits.{name} must be a positive number, got {getattr(self, name)!r}")
        if self.wall_s is not None and not self.wall_s > 0:
            raise ConfigError(f"Limits.wall_s must be positive or None, got {self.wall_s!r}")

    @property
    def deadline_s(self) -> float:
        """Wall seconds, per test, with the default worked out."""
        return 2 * self.cpu_s + 1 if self.wall_s is None else self.wall_s


@dataclass(frozen=True, kw_only=True, slots=True)
class TestCase:
    """One check of a program, in one of three styles; build it with `call`, `stdio` or `code`.

    Attributes:
        style: ``call`` (the entry point is called with `args`, and its answer compared with `expected`),
            ``stdio`` (the program is run as a script on `stdin`, and what it prints compared with
            `expected`), or ``code`` (`source` is test code: assert statements, a function
            ``check(candidate)``, or tests of pytest or unittest).
    """

    __test__ = False  # for pytest: not a test class

    style: Literal["call", "stdio", "code"]
    args: tuple[Any, ...] = ()
    """Style call: positional arguments, plain data."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Style call: keyword arguments, plain data."""
    stdin: str = ""
    """Style stdio: the whole of standard input."""
    source: str = ""
    """Style code: the test code. A function ``check`` in it is called with the entry point; otherwise its
    statements run with the entry point under its own name."""
    expected: Any = REFERENCE
    """Styles call and stdio: plain data, the text, a `Raises`, or `REFERENCE`."""
    answer: Literal["return", "argument"] = "return"
    """Style call: whether the answer is what the call returns, or its first argument after the call (in-place
    tasks)."""
    compare: Comparison | None = None
    """None: the task's."""
    shared: bool = False
    """Style code: whether the test code runs in the program's own process and namespace, as it must where it
    patches what the program uses. Such a program can tamper with its tests; the outcome says so (`wall`)."""
    tier: str | None = None
    """A label to report by: "base", "plus", or a difficulty tier."""
    limits: Limits | None = None
    """None: the task's. Of the tests that share a process, the memory and output limits of the first hold."""

    @classmethod
    def call(cls, *args: Any, expected: Any = REFERENCE, **options: Any) -> TestCase:
        """A test that calls the entry point with `args`."""
        return cls(style="call", args=args, expected=expected, **options)

    @classmethod
    def stdio(cls, stdin: str, expected: Any = REFERENCE, **options: Any) -> TestCase:
        """A test that runs the program as a script on `stdin` and compares what it prints."""
        return cls(style="stdio", stdin=stdin, expected=expected, **options)

    @classmethod
    def code(cls, source: str, **options: Any) -> TestCase:
        """A test that is itself code; it passes when it ends without raising."""
        return cls(style="code", source=source, **options)


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A problem, and everything that is needed to judge an answer to it.

    Attributes:
        id: Unique in its dataset, such as ``HumanEval/0``.
        prompt: What the policy is told.
        entry_point: The function to write: ``name``, or ``Class.method``. None where programs speak stdio.
        starter_code: Code that the answer continues or starts from; part of the prompt where it is not empty.
        preamble: Code that test code (style ``code``) may use besides the entry point, such as helpers from
            the prompt.
        public_tests: Tests that the policy may see.
        hidden_tests: Tests that it may not.
        reference_solutions: Right programs; the first one defines expected values that are `REFERENCE`.
        wrong_solutions: Programs known to be wrong.
        compare: How answers are compared. None: exact for calls, lines for stdio.
        limits: What a program may use.
        meta: Anything else that is known: difficulty, tags, source.
    """

    id: str
    prompt: str
    entry_point: str | None = None
    starter_code: str = ""
    preamble: str = ""
    public_tests: tuple[TestCase, ...] = ()
    hidden_tests: tuple[TestCase, ...] = ()
    reference_solutions: tuple[str, ...] = ()
    wrong_solutions: tuple[str, ...] = ()
    compare: Comparison | None = None
    limits: Limits = field(default_factory=Limits)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that the task can be judged at all."""
        if not self.id:
            raise ConfigError("a task needs a non-empty id")
        for test in self.tests:
            if test.shared and test.style != "code":
                raise ConfigError(f"task {self.id!r}: only test code can share the program's process")
            if test.style == "call" and self.entry_point is None:
                raise ConfigError(f"task {self.id!r} has call tests but no entry point")
            if test.style != "code" and test.expected is REFERENCE and not self.reference_solutions:
                raise ConfigError(
                    f"task {self.id!r} has a test without expected value and no reference solution"
                )

    @property
    def tests(self) -> tuple[TestCase, ...]:
        """All tests, the public ones first."""
        return self.public_tests + self.hidden_tests

    @property
    def tiers(self) -> dict[str | None, tuple[TestCase, ...]]:
        """The tests by tier, in the order in which the tiers first occur."""
        names = dict.fromkeys(test.tier for test in self.tests)
        return {name: tuple(t for t in self.tests if t.tier == name) for name in names}


@dataclass(frozen=True, slots=True)
class Program:
    """An answer: source code, nothing else."""

    code: str
    language: Literal["python"] = "python"


@dataclass(frozen=True, kw_only=True, slots=True)
class TestResult:
    """What became of one test."""

    __test__ = False

    index: int
    """Position among the tests that were graded."""
    status: Status
    cpu_s: float = 0.0
    """CPU seconds, as the program's side measured them."""
    message: str = ""
    """Why it did not pass, for people and for feedback: never contains the expected value of a hidden
    test."""
    tier: str | None = None


Wall = Literal["split", "shared", "none"]
"""Between the program and the expected values: ``split`` (other processes hold them), ``shared`` (tests ran
beside the program), ``none`` (nothing ran)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """A verdict and its evidence. Build it with `of`, `unrunnable` or `infrastructure`.

    Attributes:
        status: ``passed`` when every test passed, else the status of the first test that did not.
        tests: One result for each test, in order.
        cpu_s: CPU seconds of the guest, all tests.
        wall_s: Wall seconds, from request to verdict.
        stdout: The beginning and the end of what it printed.
        stderr: Likewise.
        message: Why it did not pass, in one line.
        wall: What stood between the program and the expected values.
        isolation: The names of the layers that cut the program off, as the kernel granted them.
        cached: Whether the verdict was remembered instead of measured.
    """

    status: Status
    tests: tuple[TestResult, ...] = ()
    cpu_s: float = 0.0
    wall_s: float = 0.0
    stdout: str = ""
    stderr: str = ""
    message: str = ""
    wall: Wall = "split"
    isolation: tuple[str, ...] = ()
    cached: bool = False

    @classmethod
    def of(cls, tests: Sequence[TestResult], **evidence: Any) -> Outcome:
        """The outcome that these results amount to."""
        first = next((test for test in tests if test.status != Status.PASSED), None)
        if first is None:
            return cls(status=Status.PASSED, tests=tuple(tests), **evidence)
        return cls(status=first.status, tests=tuple(tests), message=first.message, **evidence)

    @classmethod
    def unrunnable(cls, message: str, tests: Sequence[TestCase] = ()) -> Outcome:
        """The outcome of something that is no program."""
        results = tuple(
            TestResult(index=i, status=Status.INVALID, message=message, tier=test.tier)
            for i, test in enumerate(tests)
        )
        return cls(status=Status.INVALID, tests=results, message=message, wall="none")

    @classmethod
    def infrastructure(cls, message: str, tests: Sequence[TestCase] = ()) -> Outcome:
        """The outcome of a request that could not be judged."""
        results = tuple(
            TestResult(index=i, status=Status.INFRA, message=message, tier=test.tier)
            for i, test in enumerate(tests)
        )
        return cls(status=Status.INFRA, tests=results, message=message, wall="none")

    @property
    def passed(self) -> bool:
        """Whether every test passed."""
        return self.status == Status.PASSED

    @property
    def fraction_passed(self) -> float:
        """Passed tests over all tests, in [0, 1]; without tests, 1.0 for a pass and 0.0 otherwise."""
        if not self.tests:
            return float(self.passed)
        return sum(test.status == Status.PASSED for test in self.tests) / len(self.tests)

    def only(self, tier: str | None) -> Outcome:
        """The same outcome, reduced to the tests of one tier."""
        kept = Outcome.of([test for test in self.tests if test.tier == tier])
        return replace(self, status=kept.status, tests=kept.tests, message=kept.message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """What an outcome is worth.

    Attributes:
        value: The weighted sum of the components. None: no reward, leave the sample out (infrastructure
            trouble).
        components: Each reward's own value before its weight; None where it did not apply.
        outcome: What was judged.
    """

    value: float | None
    components: Mapping[str, float | None]
    outcome: Outcome | None = None

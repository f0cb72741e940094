"""Running a test suite on mutants.

The host decides which mutants are run and reads the results; tests and mutants run in guests of a sandbox, by
the driver program (`codegym.mutation.driver`). Tests and program share a process there, hence
``wall="shared"``: sham mutants among the real ones, and an audit hook, tell whether the tests look at the
program instead of running it.
"""

from __future__ import annotations

import ast
import asyncio
import math
import random
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from codegym.core import Limits
from codegym.errors import ConfigError, InfraError
from codegym.mutation.engine_program import driver_program
from codegym.mutation.engine_split import SplitRun
from codegym.mutation.engine_suites import (
    Style,
    SuiteFiles,
    UnreadableError,
    as_sources,
    as_suite,
    check_source,
)
from codegym.mutation.generate import generate, must_die, shams
from codegym.mutation.matrix import (
    DETECTED,
    Baseline,
    BaselineTest,
    Flag,
    How,
    Kill,
    MutantResult,
    MutantStatus,
    MutationResult,
)
from codegym.mutation.mutant import Mutant
from codegym.sandbox import AnswerKind, CallBatch, Ending, Execution, Sandbox, make_sandbox
from codegym.sandbox.plain import DecodeError, decode, encode

__all__ = ["MutationEngine", "MutationLimits", "make_test_sandbox"]

Mode = Literal["score", "matrix"]

PYTEST_PLUGINS: Final = (
    *(
        "argparsing",
        "assertion",
        "assertion.rewrite",
        "capture",
        "config",
        "debugging",
        "fixtures",
        "helpconfig",
    ),
    *(
        "legacypath",
        "logging",
        "main",
        "mark",
        "monkeypatch",
        "python",
        "python_api",
        "raises",
        "recwarn",
        "reports",
    ),
    *(
        "runner",
        "setuponly",
        "setupplan",
        "skipping",
        "subtests",
        "tmpdir",
        "unittest",
        "warnings",
        "_argcomplete",
    ),
    *("terminal", "doctest", "faulthandler", "junitxml", "pastebin", "stepwise", "cacheprovider"),
    *("unraisableexception", "threadexception"),
)
PRELOAD: Final = (
    *(
        "pytest",
        *(f"_pytest.{name}" for name in PYTEST_PLUGINS),
        "asyncio",
        "dataclasses",
        "datetime",
        "decimal",
    ),
    *("enum", "fractions", "json", "pdb", "random", "statistics", "tempfile", "unittest.mock"),
)
CHUNK: Final = 250
"""Mutants that are sent to a guest at a time."""
ALONE: Final = 200
"""Up to so many mutants one guest runs all: each guest has to import and measure the tests first."""
RUN: Final = frozenset(MutantStatus) - {MutantStatus.NOT_COVERED, MutantStatus.INVALID}
"""Statuses of mutants that a test ran."""
ENTRY_POINT: Final = "run_chunk"


@dataclass(frozen=True, kw_only=True, slots=True)
class MutationLimits:
    """What a suite may use. On mutants, a test may take ten times what it takes on the original."""

    cpu_s: float = 60.0
    """CPU seconds for importing everything, and for each test on the original."""
    wall_s: float = 120.0
    """Wall seconds that one test may be silent on the original."""
    chunk_wall_s: float = 1200.0
    """Wall seconds for a chunk of some hundred mutants."""
    trace_cpu_s: float = 2.0
    """CPU seconds of tests, as they are without, whose lines are recorded; a single test may take a tenth. Of
    those that take more, only the functions that they enter are known."""
    memory_mb: int = 1024
    """MiB on top of the bare interpreter, for each process."""


def make_test_sandbox(
    workers: int | None = None, packages: Sequence[str] = (), name: str = "local", **options: Any
) -> Sandbox:
    """A sandbox in which test suites can run: with pytest in it, and loaded.

    Args:
        workers: Suites that run at one time. None: one for each CPU.
        packages: Distributions that tests or program import besides.
        name: Which sandbox. Only ``local`` is told of `packages`; others bring their own.
        **options: What the sandbox takes besides.

    Raises:
        ConfigError: A package is not installed.
    """
    if name in ("local", "subprocess"):
        options.setdefault("preload", PRELOAD)
    if name == "local":
        options["packages"] = ("pytest", *packages)
    return make_sandbox(name, workers, **options)


class MutationEngine:
    """Runs test suites on mutants. One engine serves any number of suites and threads."""

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        *,
        packages: Sequence[str] = (),
        workers: int | None = None,
        limits: MutationLimits | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            sandbox: Where suites run; needs pytest inside (see `make_test_sandbox`) and stays the caller's to
                close. None: one of its own.
            packages: Of its own sandbox: distributions that tests or program import besides pytest.
            workers: Of its own sandbox: suites that run at one time.
            limits: What a suite may use.

        Raises:
            ConfigError: A package is not installed.
        """
        self._owns = sandbox is None
        self.sandbox = make_test_sandbox(workers, packages) if sandbox is None else sandbox
        self.limits = limits or MutationLimits()
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    def run(
        self,
        source: str | Mapping[str, str],
        tests: str | Mapping[str, str],
        *,
        mutants: Sequence[Mutant] | None = None,
        mode: Mode = "score",
        target: str = "solution",
        style: Style = "auto",
        entry_point: str | None = None,
        controls: bool | Sequence[Mutant] = True,
        seed: int = 0,
        wall: Literal["shared", "split"] = "shared",
    ) -> MutationResult:
        """Run a suite on mutants.

        Args:
            source: One module's text, or the files of a package: path to text.
            tests: One text, or files: path to text. Those whose name starts with ``test_`` or ends with
                ``_test.py`` are collected; others, such as a ``conftest.py``, lie beside them.
            mutants: Of the target's text. None: all that `codegym.mutation.generate` makes.
            mode: ``score`` stops at the first test that fails on a mutant; ``matrix`` runs all that cover it.
            target: The name under which tests import the module that is mutated.
            style: How to read tests that come as one text.
            entry_point: The function that ``check(candidate)`` is called with.
            controls: Whether to run shams and mutants that must die among the others, or which.
            seed: Decides the order in which mutants are run, and which controls.
            wall: ``split`` runs each mutant in a guest of its own and the tests in another, for functions of
                plain data and the styles ``asserts`` and ``check``. What lines run is not known then.

        Returns:
            The result. It depends on the arguments only, but for CPU times.

        Raises:
            ConfigError: The arguments do not fit each other, or the source does not compile.
            InfraError: The sandbox failed.
            SandboxUnavailableError: The sandbox cannot start at all.
        """
        if wall == "split":
            if not (isinstance(source, str) and isinstance(tests, str) and entry_point):
                raise ConfigError("wall='split' takes source and tests as one text each, and an entry_point")
            check_source(source, target)
            real, extra = chosen(source, mutants, controls, seed)
            try:
                texts = as_sources(tests, style, entry_point)
            except UnreadableError as error:
                return unreadable(str(error), real, extra, mode)
            return self._run_split(source, entry_point, texts, mode, real, extra, seed)
        suite = as_suite(source, tests, target=target, style=style, entry_point=entry_point)
        real, extra = chosen(suite.source, mutants, controls, seed)
        return _Run(self.sandbox, self.limits, suite, mode).result(real, extra, seed)

    def _run_split(
        self,
        source: str,
        entry_point: str,
        tests: Sequence[str],
        mode: Mode,
        real: Sequence[Mutant],
        controls: Sequence[Mutant],
        seed: int,
    ) -> MutationResult:
        run = SplitRun(self.sandbox, source, entry_point, tests, mode, self.limits.memory_mb)
        baseline = run.baseline()
        results = run.results([*real, *controls], seed)
        flags, evidence = flags_of(results[len(real) :])
        return MutationResult(
            mutants=tuple(results[: len(real)]),
            controls=tuple(results[len(real) :]),
            baseline=baseline,
            flags=flags,
            evidence=evidence,
            mode=mode,
            wall="split",
            unmutated_share=unmutated_share(source, real),
            cpu_s=run.cpu_s,
        )

    def submit(
        self, source: str | Mapping[str, str], tests: str | Mapping[str, str], **options: Any
    ) -> Future[MutationResult]:
        """Like `run`, in the background; as many at a time as the sandbox has workers."""
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(
                    self.sandbox.workers, thread_name_prefix="codegym-mutation"
                )
        return self._threads.submit(self.run, source, tests, **options)

    def run_many(self, jobs: Iterable[Mapping[str, Any]]) -> list[MutationResult]:
        """Run several suites at once; each job holds the arguments of `run` by name. In order."""
        return [future.result() for future in [self.submit(**job) for job in jobs]]

    async def arun(
        self, source: str | Mapping[str, str], tests: str | Mapping[str, str], **options: Any
    ) -> MutationResult:
        """Like `run`, without blocking the event loop."""
        return await asyncio.wrap_future(self.submit(source, tests, **options))

    def close(self) -> None:
        """Wait for what was submitted, and close the sandbox if it is the engine's own. Idempotent."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
        if self._owns:
            self.sandbox.close()

    def __enter__(self) -> Self:
        """Start the sandbox."""
        self.sandbox.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def chosen(
    source: str, mutants: Sequence[Mutant] | None, controls: bool | Sequence[Mutant], seed: int
) -> tuple[list[Mutant], list[Mutant]]:
    """The real mutants and the controls."""
    real = list(generate(source).mutants if mutants is None else mutants)
    if controls is True:
        return real, [*shams(source, seed=seed), *must_die(source)]
    return real, [] if controls is False else list(controls)


def unreadable(
    message: str, real: Sequence[Mutant], controls: Sequence[Mutant], mode: Mode
) -> MutationResult:
    """The result of tests that are none."""
    left = [MutantResult(mutant=mutant, status=MutantStatus.NOT_COVERED) for mutant in [*real, *controls]]
    return MutationResult(
        mutants=tuple(left[: len(real)]),
        controls=tuple(left[len(real) :]),
        baseline=Baseline(errors=(message,)),
        mode=mode,
        wall="none",
    )


def flags_of(
    controls: Sequence[MutantResult], broken: Sequence[str] = (), seen: Iterable[str] = ()
) -> tuple[frozenset[Flag], tuple[str, ...]]:
    """What speaks against a result, and on what evidence.

    Args:
        controls: What became of shams and of mutants that must die.
        broken: What was wrong with the account of those who ran the tests.
        seen: What tests looked at.
    """
    evidence: dict[Flag, list[str]] = {}
    if broken:
        evidence[Flag.BROKEN] = list(broken)
    if seen := sorted(seen):
        evidence[Flag.INTROSPECTION] = seen
    killed = [r for r in controls if r.mutant.control == "sham" and r.status in DETECTED]
    if killed:
        names = sorted({kill.test for result in killed for kill in result.kills})
        evidence[Flag.FINGERPRINTING] = [f"{len(killed)} shams, by {', '.join(names)}"]
    doomed = [r for r in controls if r.mutant.control == "must_die" and r.status in RUN]
    if doomed and not any(r.status in DETECTED for r in doomed):
        evidence[Flag.NOT_INSTALLED] = [f"{len(doomed)} mutants that must die survived"]
    lines = [f"{flag}: {'; '.join(texts)}" for flag, texts in evidence.items()]
    return frozenset(evidence), tuple(lines)


class _Run:
    """One suite on its way through the sandbox."""

    def __init__(self, sandbox: Sandbox, limits: MutationLimits, suite: SuiteFiles, mode: Mode) -> None:
        self.sandbox, self.limits, self.suite, self.mode = sandbox, limits, suite, mode
        self.baseline: Baseline | None = None
        self.broken: list[str] = []
        self.seen: set[str] = set()
        self.cpu_s = 0.0

    def result(self, real: Sequence[Mutant], controls: Sequence[Mutant], seed: int) -> MutationResult:
        """Run everything, and say what came of it."""
        everything = [*real, *controls]
        order = random.Random(seed).sample(range(len(everything)), len(everything))
        # numbered by their places in that order: a number must not tell a sham from a real mutant
        found = self._run_all([(number, everything[index]) for number, index in enumerate(order)])
        results = [MutantResult(mutant=mutant, status=MutantStatus.NOT_COVERED) for mutant in everything]
        for number, index in enumerate(order):
            results[index] = found.get(number, results[index])
        of_controls = [self._confirmed(result) for result in results[len(real) :]]
        flags, evidence = flags_of(of_controls, self.broken, self.seen)
        return MutationResult(
            mutants=tuple(results[: len(real)]),
            controls=tuple(of_controls),
            baseline=self.baseline or Baseline(),
            flags=flags,
            evidence=evidence,
            mode=self.mode,
            unmutated_share=unmutated_share(self.suite.source, real),
            cpu_s=self.cpu_s,
        )

    def _confirmed(self, result: MutantResult) -> MutantResult:
        """A sham that was killed is run once more, by itself, before it counts."""
        if result.mutant.control != "sham" or result.status not in DETECTED:
            return result
        return self._run_all([(0, result.mutant)]).get(0, result)

    def _run_all(self, numbered: Sequence[tuple[int, Mutant]]) -> dict[int, MutantResult]:
        """Run mutants in as many guests as are worth it."""
        guests = min(self.sandbox.workers, math.ceil(len(numbered) / ALONE)) or 1
        shares = [numbered[start::guests] for start in range(guests)]
        requests = [self._request(share) for share in shares]
        futures = [self.sandbox.submit(request) for request in requests[1:]]
        executions = [self.sandbox.execute(requests[0]), *(future.result() for future in futures)]
        results: dict[int, MutantResult] = {}
        for share, execution in zip(shares, executions, strict=True):
            results |= self._read(dict(share), execution)
        return results

    def _request(self, share: Sequence[tuple[int, Mutant]]) -> CallBatch:
        specification = self.suite.specification(
            mode=self.mode,
            cpu_s=self.limits.cpu_s,
            wall_s=self.limits.wall_s,
            trace_cpu_s=self.limits.trace_cpu_s,
        )
        inputs = [encode((("prepare", specification), {}))]
        for start in range(0, len(share), CHUNK):
            rows = [(n, m.start, m.end, m.replacement) for n, m in share[start : start + CHUNK]]
            inputs.append(encode((("mutants", rows), {})))
        wall_s = max(3 * self.limits.wall_s + 60, self.limits.chunk_wall_s)
        limits = Limits(
            cpu_s=wall_s,
            wall_s=wall_s,
            total_cpu_s=wall_s * len(inputs),
            memory_mb=self.limits.memory_mb,
            output_mb=64,
        )
        return CallBatch(
            code=driver_program(), entry_point=ENTRY_POINT, inputs=inputs, limits=limits, inline_bytes=1 << 26
        )

    # What the guest says; it is trusted for nothing but its word

    def _read(self, mutants: Mapping[int, Mutant], execution: Execution) -> dict[int, MutantResult]:
        self.cpu_s += execution.cpu_s
        if execution.ending == Ending.WALL:
            raise InfraError(f"a suite did not get through a chunk of mutants: {execution.message}")
        results: dict[int, MutantResult] = {}
        try:
            if execution.ending != Ending.DONE:
                raise _Unreadable(f"{execution.ending}: {execution.message}")
            first, *rest = [payload_of(execution, index) for index in range(len(execution.answers))]
            baseline = read_baseline(first)
            self.baseline = self.baseline or baseline
            self.seen |= set(strings(first.get("seen", [])))
            names = [test.name for test in baseline.tests]
            self.cpu_s += float((rest or [first])[-1]["cpu_s"])
            for answer in rest:
                self.seen |= set(strings(answer["seen"]))
                results |= read_results(answer["results"], mutants, names)
        except (_Unreadable, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            self.broken.append(f"{error}"[:500])
        return results


class _Unreadable(Exception):
    """A guest did not answer as the driver does."""


def payload_of(execution: Execution, index: int) -> Any:
    """One answer as plain data."""
    answer = execution.answers[index]
    try:
        content = decode(answer.payload)
    except DecodeError as error:
        raise _Unreadable(str(error)) from error
    if answer.kind != AnswerKind.VALUE:
        raise _Unreadable(f"the driver {answer.kind}: {content}")
    return content


def strings(values: Any) -> list[str]:
    """A list of texts, and nothing else."""
    if not all(type(value) is str for value in values):
        raise _Unreadable("a text is no text")
    return [value[:700] for value in values]


def arcs_of(values: Any) -> frozenset[tuple[int, int]]:
    """Pairs of line numbers."""
    return frozenset((int(first), int(second)) for first, second in values)


def read_baseline(answer: Mapping[str, Any]) -> Baseline:
    """The baseline as the driver tells it."""
    if "ids" not in answer:
        return Baseline(errors=tuple(strings(answer["errors"])))
    tests = [
        BaselineTest(
            name=name,
            status=status,
            steps=int(spent[0]),
            cpu_s=float(spent[1]),
            lines=frozenset(map(int, lines)),
            arcs=None if arcs is None else arcs_of(arcs),
        )
        for name, status, spent, lines, arcs in zip(
            strings(answer["ids"]),
            strings(answer["verdicts"]),
            answer["spent"],
            answer["lines"],
            answer["arcs"],
            strict=True,
        )
    ]
    return Baseline(
        tests=tuple(tests),
        import_arcs=arcs_of(answer["import_arcs"]),
        errors=tuple(strings(answer["errors"])),
        stateful=bool(answer["stateful"]),
    )


def read_results(
    answer: Mapping[int, Any], mutants: Mapping[int, Mutant], names: Sequence[str]
) -> dict[int, MutantResult]:
    """The results of one chunk."""
    results = {}
    for number, (status, kills, cpu_ns, cold) in answer.items():
        results[number] = MutantResult(
            mutant=mutants[number],
            status=MutantStatus(status),
            kills=tuple(Kill(names[index], How(how)) for index, how in kills),
            cpu_s=int(cpu_ns) / 1e9,
            cold=bool(cold),
        )
    return results


def unmutated_share(source: str, mutants: Iterable[Mutant]) -> float:
    """Of the statements of a module, without docstrings and definitions' headers, the share that no mutant
    touches.
    """
    touched = {line for mutant in mutants for line in range(mutant.line, mutant.end_line + 1)}
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt) and counts(node)]
    untouched = [node for node in statements if touched.isdisjoint(own_lines(node))]
    return len(untouched) / len(statements) if statements else 0.0


def counts(node: ast.stmt) -> bool:
    """Whether a statement is one that could be mutated."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.Pass():
            return False
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Global() | ast.Nonlocal():
            return False
    return True


def own_lines(node: ast.stmt) -> range:
    """The lines of a statement, of a compound one those of its header."""
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) and body else (node.end_lineno or node.lineno)
    return range(node.lineno, max(node.lineno, last) + 1)

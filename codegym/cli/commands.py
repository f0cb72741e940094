"""The commands that come with codegym."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import codegym
from codegym.cli.audit import audit
from codegym.cli.compare import compare, reverify
from codegym.cli.doctor import doctor
from codegym.cli.generate import (
    Backend,
    MaxTokens,
    Options,
    Samples,
    Seed,
    Style,
    System,
    Temperature,
    generate,
)
from codegym.cli.generate import write as write_samples
from codegym.errors import ConfigError
from codegym.plugins import KINDS, registry

if TYPE_CHECKING:
    from codegym.core import Outcome, Task, TestResult
    from codegym.evaluation import Evaluation
    from codegym.sandbox import Sandbox

__all__ = ["NAMES", "evaluate", "list_names", "options", "report", "score", "version"]

NOT_PASSED: Final = 1
NOT_JUDGED: Final = 3
SHOWN: Final = 20
"""Tests of a program that are shown, of those that it did not pass."""

Dataset = Annotated[str, typer.Option(help="Name of the dataset, such as humaneval+.")]
Source = Annotated[
    str | None,
    typer.Option(help="File, folder or hub id of the dataset. Default: $CODEGYM_DATA, else the hub."),
]
SandboxName = Annotated[str, typer.Option("--sandbox", help="Name of the sandbox.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Programs to run at one time. Default: one per core.")
]


def _print_version(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A gym for reinforcement learning on code and on tests."""
    del version  # its callback has the last word


def version() -> None:
    """Show the version."""
    typer.echo(f"codegym {codegym.__version__} (Python {'.'.join(map(str, sys.version_info[:3]))})")


def list_names(
    kind: Annotated[str | None, typer.Argument(help=f"One of: {', '.join(KINDS)}. Default: all.")] = None,
) -> None:
    """Show what is registered, and the plugins that failed to load."""
    kinds = list(KINDS) if kind is None else [_kind(kind)]
    blank = ""
    for each in kinds:
        entries = list(registry().entries(each))
        if not entries and kind is None:
            continue
        typer.echo(f"{blank}{each}:")
        blank = "\n"
        width = max((len(entry.name) for entry in entries), default=0)
        for entry in entries:
            typer.echo(f"  {entry.name:{width}}  {entry.target}  ({entry.plugin})")
        if not entries:
            typer.echo("  none")
    for plugin, reason in registry().broken.items():
        typer.echo(f"Plugin {plugin!r} failed to load: {reason}", err=True)


def _kind(text: str) -> str:
    """A kind by its singular, or by the plural in its hook's name."""
    plurals = {hook.removeprefix("codegym_register_"): kind for kind, hook in KINDS.items()}
    name = text.lower()
    for candidate in (name, plurals.get(name), name.removesuffix("s")):
        if candidate in KINDS:
            return str(candidate)
    raise ConfigError(f"no kind of plugin is called {text!r}; known: {', '.join(KINDS)}")


def evaluate(
    dataset: Dataset,
    samples: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines of task_id and completion or solution; also .gz. Or --model writes them."
        ),
    ] = None,
    source: Source = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder to write to, or to go on in. Default: runs/DATASET-SAMPLES or -MODEL."),
    ] = None,
    workers: Workers = None,
    sandbox: SandboxName = "local",
    k: Annotated[
        str | None,
        typer.Option("--k", help="The k of pass@k, such as 1,10. Default: of 1, 10, 100 what fits."),
    ] = None,
    all_tests: Annotated[
        bool, typer.Option("--all-tests", help="Go on after a failed test, to count how many pass.")
    ] = False,
    verbatim: Annotated[
        bool, typer.Option("--verbatim", help="Take samples as they are; look for no code in chatter.")
    ] = False,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Remember verdicts, for programs that come again.")
    ] = True,
    model: Annotated[
        str | None, typer.Option(help="Generate the samples with this model first; see codegym generate.")
    ] = None,
    backend: Backend = "openai",
    options: Options = None,
    number: Samples = 1,
    temperature: Temperature = 0.0,
    max_tokens: MaxTokens = 1024,
    seed: Seed = 0,
    style: Style = "chat",
    system: System = None,
) -> None:
    """Judge a file of samples, or what a model writes: pass@k by tier of tests, failures, a report.

    Started again with the same arguments, it goes on where it was interrupted.
    """
    from codegym.datasets import load_tasks
    from codegym.evaluation import evaluate as run
    from codegym.grading import Grader, VerdictCache
    from codegym.report import write_evaluation_report
    from codegym.sandbox import make_sandbox

    if (samples is None) == (model is None):
        raise ConfigError("expected --samples FILE, or --model NAME to have them generated")
    ks = None if k is None else _numbers(k)
    what = samples.name.split(".")[0] if samples else re.sub(r"[^\w.-]+", "-", str(model))
    folder = output or Path("runs") / f"{dataset}-{what}"
    tasks = list(load_tasks(dataset, source=source))
    if samples is None:
        samples = folder / "samples.jsonl"
        sampling = {"samples": number, "temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        write_samples(tasks, samples, str(model), backend, options or (), sampling, style, system)
    with ExitStack() as stack:
        box = stack.enter_context(make_sandbox(sandbox, workers=workers))
        verdicts = stack.enter_context(closing(VerdictCache())) if cache else None
        grader = stack.enter_context(Grader(box, stop_early=not all_tests, cache=verdicts))
        _warn_if_weak(box)
        evaluation = run(tasks, samples, grader, folder, ks=ks, extract=not verbatim, dataset=dataset)
    page = write_evaluation_report(folder / "report.html", evaluation)
    _print_evaluation(evaluation)
    typer.echo(f"Report: {page}")
    if evaluation.summary["not_judged"]:
        raise typer.Exit(NOT_JUDGED)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"--k: expected numbers separated by commas, got {text!r}") from None


def _warn_if_weak(sandbox: Sandbox) -> None:
    if not sandbox.isolation.strong:
        missing = ", ".join(sandbox.isolation.missing)
        typer.echo(f"codegym: the sandbox is weak here; it lacks: {missing}", err=True)


def _print_evaluation(evaluation: Evaluation) -> None:
    summary = evaluation.summary
    typer.echo(f"{summary['dataset']}: {summary['samples']} samples of {summary['tasks']} tasks")
    for tier, by_k in summary["pass_at_k"].items():
        for k, found in by_k.items():
            typer.echo(f"  {tier:8} pass@{k:4} {_figure(found)}")
    for kind, by_label in summary["breakdown"].items():
        typer.echo(f"  pass@1 by {kind}:")
        for label, found in list(by_label.items())[:SHOWN]:
            typer.echo(f"    {label:20} {_figure(found)}, {found['tasks']} tasks")
    if summary["failures"]:
        typer.echo("Failed: " + ", ".join(f"{count} {kind}" for kind, count in summary["failures"].items()))
    if summary["missing_tasks"]:
        missing = summary["missing_tasks"]
        typer.echo(f"Tasks without a sample: {len(missing)}, such as {missing[0]}", err=True)
    if summary["not_judged"]:
        typer.echo(f"Not judged, and left out: {summary['not_judged']}. Run it again to retry.", err=True)


def _figure(found: dict[str, Any] | None) -> str:
    if found is None:
        return "too few samples were judged"
    return f"{found['value']:.3f}  (95 %: {found['low']:.3f} to {found['high']:.3f}, {found['interval']})"


def score(
    program: Annotated[Path, typer.Argument(help="The program's file; - for standard input.")],
    dataset: Annotated[str | None, typer.Option(help="Name of the dataset that has the task.")] = None,
    task: Annotated[str | None, typer.Option(help="The task's id, such as HumanEval/0.")] = None,
    source: Source = None,
    tests: Annotated[
        Path | None, typer.Option(help="In place of a task: a file of assert statements or check(candidate).")
    ] = None,
    entry_point: Annotated[str | None, typer.Option(help="With --tests: the function they call.")] = None,
    sandbox: SandboxName = "local",
) -> None:
    """Judge one program by the tests of a task, or by a file of tests."""
    from codegym.core import Program, Status
    from codegym.grading import Grader
    from codegym.sandbox import make_sandbox

    chosen = _task(dataset, task, source, tests, entry_point)
    code = Program(sys.stdin.read() if str(program) == "-" else _read(program))
    with make_sandbox(sandbox, workers=1) as box:
        _warn_if_weak(box)
        outcome = Grader(box).grade(code, chosen)
    _print_outcome(chosen, outcome)
    if outcome.status == Status.INFRA:
        raise typer.Exit(NOT_JUDGED)
    if not outcome.passed:
        raise typer.Exit(NOT_PASSED)


def _task(
    dataset: str | None, task_id: str | None, source: str | None, tests: Path | None, entry_point: str | None
) -> Task:
    """The task that the options of ``score`` mean."""
    if tests is not None:
        from codegym.core import Task, TestCase

        if dataset is not None or task_id is not None:
            raise ConfigError("--tests stands in place of --dataset and --task; give one or the other")
        case = TestCase.code(_read(tests))
        return Task(id=tests.name, prompt="", entry_point=entry_point, hidden_tests=(case,))
    if dataset is None or task_id is None:
        raise ConfigError("expected --dataset and --task, or --tests")
    return _find(dataset, task_id, source)


def _find(dataset: str, task_id: str, source: str | None) -> Task:
    import difflib

    from codegym.datasets import load_tasks

    names = []
    for task in load_tasks(dataset, source=source):
        if task.id == task_id:
            return task
        names.append(task.id)
    close = difflib.get_close_matches(task_id, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"it begins with {names[:3]}"
    raise ConfigError(f"the dataset {dataset!r} has no task {task_id!r}; {hint}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8: {error.reason} at byte {error.start}") from error


def _print_outcome(task: Task, outcome: Outcome) -> None:
    typer.echo(f"{task.id}: {outcome.status.value}" + (f": {outcome.message}" if outcome.message else ""))
    tiers = dict.fromkeys(test.tier for test in outcome.tests)
    for tier in tiers:
        results = [test for test in outcome.tests if test.tier == tier]
        passed = sum(test.status == "passed" for test in results)
        cpu_s = sum(test.cpu_s for test in results)
        typer.echo(f"  {tier or 'tests':8} {passed} of {len(results)} passed, {cpu_s:.3f} CPU seconds")
    failed = [test for test in outcome.tests if test.status != "passed"]
    for test in failed[:SHOWN]:
        typer.echo(_line(test))
    if len(failed) > SHOWN:
        typer.echo(f"  and {len(failed) - SHOWN} more")


def _line(test: TestResult) -> str:
    tier = f"{test.tier} " if test.tier else ""
    return f"  test {test.index}: {tier}{test.status.value}, {test.cpu_s:.3f} s: {test.message}"


def report(
    folder: Annotated[Path, typer.Argument(help="The folder that an evaluation wrote to.")],
    to: Annotated[
        Path | None, typer.Option(help="The HTML file. Default: report.html in the folder.")
    ] = None,
) -> None:
    """Write the report of a finished evaluation again."""
    from codegym.evaluation import read_evaluation
    from codegym.report import write_evaluation_report

    page = write_evaluation_report(to or folder / "report.html", read_evaluation(folder))
    typer.echo(f"Report: {page}")


NAMES: Final[dict[Callable[..., None], str]] = {
    list_names: "list",
    generate: "generate",
    evaluate: "eval",
    score: "score",
    report: "report",
    compare: "compare",
    reverify: "reverify",
    doctor: "doctor",
    audit: "audit",
    version: "version",
}
"""The commands, in the order of the help, and what they are called."""

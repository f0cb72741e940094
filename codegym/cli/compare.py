"""The commands ``codegym compare`` and ``codegym reverify``."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

__all__ = ["compare", "reverify"]

CHANGED: Final = 1
SHOWN: Final = 20


def compare(
    before: Annotated[Path, typer.Argument(help="The folder of the first evaluation.")],
    after: Annotated[Path, typer.Argument(help="The folder of the second.")],
) -> None:
    """Compare two evaluations of the same benchmark, task by task, with a paired test."""
    from codegym.evaluation import compare_evaluations, read_evaluation

    found = compare_evaluations(read_evaluation(before).results, read_evaluation(after).results)
    low, high = found.difference
    typer.echo(f"{found.tasks} tasks in both: pass@1 {found.before:.3f} before, {found.after:.3f} after")
    typer.echo(f"  difference {found.after - found.before:+.3f} (95 %: {low:+.3f} to {high:+.3f})")
    if found.p_value is not None:
        typer.echo(f"  McNemar's exact test: p = {found.p_value:.4f}")
    for change in found.changes[:SHOWN]:
        typer.echo(f"  {change.task_id}: {change.before:.2f} before, {change.after:.2f} after")
    if len(found.changes) > SHOWN:
        typer.echo(f"  and {len(found.changes) - SHOWN} more tasks that differ")
    for name, missing in (("first", found.only_before), ("second", found.only_after)):
        if missing:
            typer.echo(f"Only in the {name}: {len(missing)} tasks, such as {missing[0]}", err=True)


def reverify(
    folder: Annotated[Path, typer.Argument(help="The folder of an evaluation.")],
    source: Annotated[str | None, typer.Option(help="File, folder or hub id of the dataset.")] = None,
    samples: Annotated[
        Path | None, typer.Option(help="The samples. Default: the file that the evaluation was made of.")
    ] = None,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Name of the sandbox.")] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help="Programs to run at one time.")] = None,
) -> None:
    """Judge the samples of an evaluation once more, remembering nothing, and say which verdicts changed.

    Exits with 1 if any did.
    """
    from codegym.datasets import load_tasks
    from codegym.evaluation import evaluate, read_evaluation, verdict_changes
    from codegym.grading import Grader
    from codegym.sandbox import make_sandbox

    old = read_evaluation(folder)
    tasks = list(load_tasks(old.summary["dataset"], source=source))
    with ExitStack() as stack:
        box = stack.enter_context(make_sandbox(sandbox, workers=workers))
        grader = stack.enter_context(Grader(box, stop_early=True))
        fresh = stack.enter_context(tempfile.TemporaryDirectory(prefix="codegym-reverify-"))
        new = evaluate(tasks, samples or old.summary["sample_file"], grader, fresh, dataset="")
    changes = verdict_changes(old.results, new.results)
    typer.echo(f"{len(new.results)} samples judged again, {len(changes)} verdicts changed")
    for change in changes[:SHOWN]:
        typer.echo(f"  sample {change.index} of {change.task_id}: {change.before} before, {change.after} now")
    if changes:
        raise typer.Exit(CHANGED)

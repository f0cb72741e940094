"""The report of a training run."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from codegym.report import LineChart, Section, Table, write_report
from codegym_trl.evaluation import Evaluation

__all__ = ["write_training_report"]

SHOWN: Final = 12
"""How many tasks' answers are shown, before and after."""


def write_training_report(
    path: Path,
    summary: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    before: Evaluation,
    after: Evaluation,
) -> Path:
    """Write the report.

    Args:
        path: The HTML file.
        summary: The run's summary.
        rows: What `Metrics` collected.
        before: The held-out evaluation before training.
        after: And after it.

    Returns:
        The path.
    """
    config = summary["config"]
    rewards = {name: _series(rows, "train", name) for name in _reward_names(rows)}
    validation = {"validation": _series(rows, "validation", "pass_rate")}
    sections = [
        Section("Before and after", html=_notes(summary), table=_verdicts(before, after)),
        Section("Reward", chart=LineChart(rewards, x="step", y="mean of the batch")),
        Section("Greedy pass rate", chart=LineChart(validation, x="step", y="pass rate")),
        Section(
            "Entropy",
            chart=LineChart({"entropy": _series(rows, "train", "entropy")}, x="step", y="nats a token"),
        ),
        Section("Answers to held-out tasks", table=_answers(before, after)),
        Section(
            "Configuration",
            table=Table(["setting", "value"], [[name, str(value)] for name, value in config.items()]),
        ),
    ]
    return write_report(path, f"GRPO on {config['dataset']}", sections)


def _series(rows: Sequence[Mapping[str, Any]], phase: str, name: str) -> list[tuple[float, float | None]]:
    return [(row["step"], row.get(name)) for row in rows if row["phase"] == phase and name in row]


def _reward_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The total, and each component beside it."""
    names = dict.fromkeys(name for row in rows for name in row if name.startswith("codegym/"))
    return ["reward", *(name for name in names if name != "codegym/not_judged")]


def _notes(summary: Mapping[str, Any]) -> str:
    seconds = ", ".join(f"{name} {value:.0f} s" for name, value in summary["seconds"].items())
    lines = [
        f"Greedy pass rate on {summary['tasks']['test']} held-out tasks: "
        f"{summary['before']['pass_rate']:.1%} before, {summary['after']['pass_rate']:.1%} after.",
        f"Weights of step {summary['selected_step']} of {summary['config']['steps']}. Time: {seconds}.",
    ]
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def _verdicts(before: Evaluation, after: Evaluation) -> Table:
    names = dict.fromkeys([*before.verdicts, *after.verdicts])
    return Table(
        ["verdict", "before", "after"],
        [[name, before.verdicts.get(name, 0), after.verdicts.get(name, 0)] for name in names],
    )


def _answers(before: Evaluation, after: Evaluation) -> Table:
    """Tasks whose verdict changed, first."""
    pairs = sorted(
        zip(before.samples, after.samples, strict=True),
        key=lambda pair: pair[0]["verdict"] == pair[1]["verdict"],
    )
    rows = [
        [old["task_id"], old["completion"], old["verdict"], new["completion"], new["verdict"]]
        for old, new in pairs[:SHOWN]
    ]
    return Table(["task", "before", "verdict", "after", "verdict"], rows)

"""The report of an evaluation."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codegym.report.charts import BarChart
from codegym.report.page import Section, Table, write_report

if TYPE_CHECKING:
    from codegym.evaluation import Evaluation, Result

__all__ = ["write_evaluation_report"]

SLOWEST: Final = 20
"""How many of the slowest tests are listed."""
FAILED: Final = 200
"""How many failed samples are listed."""


def write_evaluation_report(path: str | Path, evaluation: Evaluation) -> Path:
    """Write the report of an evaluation: figures, failures, slow tests.

    Args:
        path: The HTML file.
        evaluation: What `codegym.evaluation.evaluate` returned.

    Returns:
        The path.
    """
    summary = evaluation.summary
    failed = [result for result in evaluation.results if result.status != "passed"]
    sections = [
        Section("Pass@k", html=_notes(summary), table=_figures(summary["pass_at_k"])),
        *(Section(f"Pass@1 by {kind}", table=_labelled(by)) for kind, by in summary["breakdown"].items()),
        Section("How samples failed", chart=BarChart(summary["failures"])),
        Section(f"Failed samples ({len(failed)})", table=_failed(failed[:FAILED])),
        Section("Slowest tests", table=_slowest(evaluation.results)),
    ]
    return write_report(path, f"Evaluation of {summary['dataset'] or 'samples'}", sections)


def _notes(summary: dict[str, Any]) -> str:
    lines = [f"{summary['samples']} samples of {summary['tasks']} tasks."]
    if summary["missing_tasks"]:
        lines.append(f"Tasks without a sample: {', '.join(summary['missing_tasks'])}.")
    if summary["not_judged"]:
        lines.append(f"{summary['not_judged']} samples could not be judged and are left out.")
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def _figures(pass_at_k: dict[str, Any]) -> Table:
    rows = [
        [tier, f"pass@{k}", found["value"], found["low"], found["high"], found["interval"], found["tasks"]]
        for tier, by_k in pass_at_k.items()
        for k, found in by_k.items()
        if found is not None
    ]
    return Table(["tests", "metric", "value", "95 % from", "to", "interval", "tasks"], rows)


def _labelled(by_label: dict[str, Any]) -> Table:
    rows = [
        [label, found["value"], found["low"], found["high"], found["tasks"]]
        for label, found in by_label.items()
    ]
    return Table(["label", "pass@1", "95 % from", "to", "tasks"], rows)


def _failed(results: Iterable[Result]) -> Table:
    rows = [
        [
            result.task_id,
            result.sample_index,
            result.status.value,
            f"{result.passed}/{result.tests}",
            result.message,
        ]
        for result in results
    ]
    return Table(["task", "sample", "verdict", "tests passed", "why"], rows)


def _slowest(results: Iterable[Result]) -> Table:
    timed = [(result, result.slowest) for result in results if result.slowest is not None]
    timed.sort(key=lambda pair: -pair[1].cpu_s)
    rows = [
        [result.task_id, result.sample_index, test.index, test.tier, test.cpu_s]
        for result, test in timed[:SLOWEST]
    ]
    return Table(["task", "sample", "test", "tests", "CPU seconds"], rows)

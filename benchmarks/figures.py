"""Figures side by side, as a table for people and as JSON for later."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["Figure", "Report", "mean", "median"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One comparison.

    Attributes:
        part: The part of the benchmark.
        what: What was done.
        unit: Of `ours` and `other`.
        against: What `other` is the figure of.
        ratio: How many times better than a peer, or how many times the floor.
        target: What the ratio should be.
        at_least: Whether the target is a minimum; else it is a maximum.
    """

    part: str
    what: str
    unit: str
    ours: float
    other: float
    against: str
    ratio: float
    target: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        return self.ratio >= self.target if self.at_least else self.ratio <= self.target


@dataclass(slots=True)
class Report:
    """All that a run found."""

    figures: list[Figure] = field(default_factory=list)
    judged: list[dict[str, Any]] = field(default_factory=list)
    """How many verdicts were right."""
    notes: list[str] = field(default_factory=list)
    """What was skipped and why, and which problems were misjudged."""
    wrong_verdicts: int = 0
    """Of ours."""

    def faster(
        self, part: str, what: str, unit: str, ours: float, other: float, against: str, target: float
    ) -> None:
        """Note how many times less we take than a peer."""
        figure = Figure(
            part=part,
            what=what,
            unit=unit,
            ours=ours,
            other=other,
            against=against,
            ratio=other / ours,
            target=target,
            at_least=True,
        )
        self.figures.append(figure)

    def overhead(
        self, part: str, what: str, unit: str, ours: float, other: float, against: str, target: float
    ) -> None:
        """Note how many times the floor we take."""
        figure = Figure(
            part=part,
            what=what,
            unit=unit,
            ours=ours,
            other=other,
            against=against,
            ratio=ours / other,
            target=target,
            at_least=False,
        )
        self.figures.append(figure)

    def verdicts(self, part: str, what: str, whose: str, right: int, of: int) -> None:
        """Note how many verdicts were right."""
        self.judged.append({"part": part, "what": what, "whose": whose, "right": right, "of": of})
        if whose == "codegym":
            self.wrong_verdicts += of - right

    def show(self, console: Console) -> None:
        """Print it."""
        console.print(self._judged_table(), self._figures_table())
        for note in self.notes:
            console.print(note, markup=False, highlight=False)

    def _figures_table(self) -> Table:
        table = table_of(
            "figures", "part", "what", "codegym>", "other>", "against", "ratio>", "target", "met"
        )
        for one in self.figures:
            target = f"{'≥' if one.at_least else '≤'} {one.target:g}"
            numbers = (f"{value:.3g} {one.unit}" for value in (one.ours, one.other))
            met = "[green]yes[/]" if one.met else "[red]no[/]"
            table.add_row(one.part, one.what, *numbers, one.against, f"{one.ratio:.2f}", target, met)
        return table

    def _judged_table(self) -> Table:
        table = table_of("verdicts", "part", "what", "grader", "right>")
        for one in self.judged:
            table.add_row(one["part"], one["what"], one["whose"], f"{one['right']}/{one['of']}")
        return table

    def save(self, path: Path, settings: Mapping[str, Any]) -> None:
        """Write it all down as JSON."""
        figures = [asdict(one) | {"met": one.met} for one in self.figures]
        data = {
            "machine": machine(),
            **settings,
            "figures": figures,
            "verdicts": self.judged,
            "notes": self.notes,
        }
        path.write_text(json.dumps(data, indent=1) + "\n")


def table_of(title: str, *columns: str) -> Table:
    """An empty table; a column whose name ends in ``>`` is aligned to the right."""
    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name.rstrip(">"), justify="right" if name.endswith(">") else "left", no_wrap=True)
    return table


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpus": len(os.sched_getaffinity(0)),
        "load": os.getloadavg(),
    }


def median(rounds: Sequence[Mapping[str, Any]], name: str) -> float:
    """The median of one figure over several rounds."""
    return float(statistics.median(one[name] for one in rounds))


def mean(rounds: Sequence[Mapping[str, Any]], name: str) -> float:
    """The mean of one figure over several rounds."""
    return float(statistics.fmean(one[name] for one in rounds))

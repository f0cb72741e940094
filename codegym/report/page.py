"""The page around tables and charts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from codegym.errors import ConfigError
from codegym.report.charts import BarChart, LineChart

__all__ = ["Section", "Table", "write_report"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Args:
        columns: The titles of the columns.
        rows: The cells. Numbers are set to the right, and those with a fraction to three digits.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]

    def __post_init__(self) -> None:
        """Check the shape."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ConfigError(
                    f"a row of {len(row)} cells in a table of {len(self.columns)} columns: {row!r:.80}"
                )


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report under its own title; shows whichever of its parts are given, in this order.

    Args:
        title: The title.
        html: HTML, trusted as it is.
        chart: A chart.
        table: A table; its cells are text and are escaped.
    """

    title: str
    html: str | None = None
    chart: LineChart | BarChart | None = None
    table: Table | None = None


def write_report(path: str | Path, title: str, sections: Iterable[Section]) -> Path:
    """Write a report.

    Args:
        path: The HTML file; its folder is made if need be.
        title: The title of the page.
        sections: What is on it, in order.

    Returns:
        The path.
    """
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["cell"] = _cell
    environment.tests["numeric"] = _is_number
    source = resources.files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
    text = environment.from_string(source).render(title=title, sections=list(sections))
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    # what a program wrote may hold what UTF-8 cannot
    temporary.write_bytes(text.encode("utf-8", "backslashreplace"))
    os.replace(temporary, path)
    return path


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)

"""Charts as inline SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from codegym.errors import ConfigError

__all__ = ["BarChart", "LineChart"]

PALETTE: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Distinguishable with any colour vision (Okabe and Ito)."""
WIDTH: Final = 720
HEIGHT: Final = 320
MARGIN: Final = 56
"""Around the plot, in pixels: room for the labels of the axes."""
BAR: Final = 28
"""Pixels from one bar to the next."""


@dataclass(frozen=True, slots=True)
class LineChart:
    """Lines over a common axis, such as learning curves.

    Args:
        series: For each line, its name and its points. A point whose value is None or not finite leaves a
            gap.
        x: What the horizontal axis shows.
        y: What the vertical axis shows.
    """

    series: Mapping[str, Sequence[tuple[float, float | None]]]
    x: str = ""
    y: str = ""

    def svg(self) -> str:
        """Draw it."""
        points = [point for line in self.series.values() for point in line if _drawable(point)]
        if not points:
            return _svg(WIDTH, 40, _text(WIDTH / 2, 24, "no data"))
        across = _Axis.around([x for x, _ in points], MARGIN, WIDTH - MARGIN / 2)
        up = _Axis.around([y for _, y in points if y is not None], HEIGHT - MARGIN, MARGIN / 2)
        lines = "".join(
            _line(name, points, PALETTE[number % len(PALETTE)], across, up)
            for number, (name, points) in enumerate(self.series.items())
        )
        return _svg(
            WIDTH, HEIGHT + 24, _grid(across, up) + self._labels() + lines + _legend(list(self.series))
        )

    def _labels(self) -> str:
        middle = (HEIGHT - MARGIN) / 2
        turned = f'<g transform="rotate(-90 14 {middle})">{_text(14, middle, self.y)}</g>'
        return _text(WIDTH / 2, HEIGHT - 12, self.x) + turned


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars, in the order given.

    Args:
        bars: For each bar, its name and its length, which is not negative.
    """

    bars: Mapping[str, float]

    def __post_init__(self) -> None:
        """Check the lengths."""
        for name, value in self.bars.items():
            if not (math.isfinite(value) and value >= 0):
                raise ConfigError(f"a bar's length is finite and not negative, got {value!r} for {name!r}")

    def svg(self) -> str:
        """Draw it."""
        if not self.bars:
            return _svg(WIDTH, 40, _text(WIDTH / 2, 24, "no data"))
        left = min(260, 20 + 8 * max(map(len, self.bars)))
        room = (WIDTH - left - 80) / (max(self.bars.values()) or 1)
        rows = [
            _bar(number * BAR, name, value, left, room)
            for number, (name, value) in enumerate(self.bars.items())
        ]
        return _svg(WIDTH, BAR * len(rows) + 8, "".join(rows))


@dataclass(frozen=True, slots=True)
class _Axis:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float
    step: float

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float) -> _Axis:
        """An axis over these values that begins and ends at round numbers."""
        low, high = min(values), max(values)
        if high - low <= 1e-12 * max(abs(low), abs(high)):
            low, high = low - (abs(low) / 2 or 0.5), high + (abs(high) / 2 or 0.5)
        step = _round_step((high - low) / 5)
        return cls(math.floor(low / step) * step, math.ceil(high / step) * step, start, end, step)

    def place(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """The round numbers along it."""
        return [
            self.low + self.step * number for number in range(round((self.high - self.low) / self.step) + 1)
        ]


def _round_step(rough: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50 … and their fractions."""
    magnitude = 10.0 ** math.floor(math.log10(rough))
    return next(magnitude * nice for nice in (1, 2, 5, 10) if magnitude * nice >= rough * 0.999)


def _drawable(point: tuple[float, float | None]) -> bool:
    return point[1] is not None and math.isfinite(point[0]) and math.isfinite(point[1])


def _line(
    name: str, points: Sequence[tuple[float, float | None]], color: str, across: _Axis, up: _Axis
) -> str:
    """One line with its gaps; a point between two gaps is a dot."""
    pieces: list[list[str]] = [[]]
    for x, y in points:
        if y is None or not _drawable((x, y)):
            pieces.append([])
        else:
            pieces[-1].append(f"{across.place(x):.1f},{up.place(y):.1f}")
    drawn = (_piece(piece, color) for piece in pieces if piece)
    return f"<g><title>{html.escape(name)}</title>{''.join(drawn)}</g>"


def _piece(points: list[str], color: str) -> str:
    if len(points) == 1:
        x, y = points[0].split(",")
        return f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>'
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{color}" stroke-width="2"/>'


def _grid(across: _Axis, up: _Axis) -> str:
    rows = "".join(
        f'<line class="grid" x1="{across.start}" x2="{across.end}" y1="{y:.1f}" y2="{y:.1f}"/>'
        + _text(across.start - 6, y + 4, _number(tick), "end")
        for tick in up.ticks()
        for y in [up.place(tick)]
    )
    columns = "".join(_text(across.place(tick), up.start + 18, _number(tick)) for tick in across.ticks())
    return rows + columns


def _legend(names: Sequence[str]) -> str:
    parts = []
    x = float(MARGIN)
    for number, name in enumerate(names):
        color = PALETTE[number % len(PALETTE)]
        parts.append(f'<rect x="{x:.0f}" y="{HEIGHT + 6}" width="12" height="12" fill="{color}"/>')
        parts.append(_text(x + 18, HEIGHT + 16, name, "start"))
        x += 36 + 7.5 * len(name)
    return "".join(parts)


def _bar(top: float, name: str, value: float, left: float, room: float) -> str:
    return (
        _text(left - 8, top + 20, name, "end")
        + f'<rect x="{left}" y="{top + 6}" width="{value * room:.1f}" height="18" fill="{PALETTE[0]}"/>'
        + _text(left + value * room + 6, top + 20, _number(value), "start")
    )


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 or value != round(value) else f"{value:,.0f}"


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _svg(width: float, height: float, content: str) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )

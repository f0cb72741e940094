"""Running the audit: every program on a grader, and what is left behind."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

from codegym.audit.entry import Entry
from codegym.audit.leftovers import Holdings
from codegym.audit.programs import corpus
from codegym.audit.topics import topic_of
from codegym.audit.traps import set_traps, with_traps

__all__ = ["Audit", "Audited", "Cell", "Verdict", "audit"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a grader says of a program."""

    value: float | None
    """The fraction of tests that passed, or what comes closest to it. None: no verdict."""
    note: str = ""
    """Why, in one line; why there is no verdict."""
    spoke: bool = False
    """Whether the grader told the program an expected answer, in what it printed or in the note."""


class Audited(Protocol):
    """A grader under audit, ready to judge; safe to be called by several threads."""

    name: str
    parallel: int

    def __call__(self, entry: Entry) -> Verdict:
        """Judge a program, whose traps are filled in."""
        ...

    def skips(self, entry: Entry) -> str:
        """Why a program is not put to it; empty where it is."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One program on one grader."""

    entry: Entry
    topic: str
    verdict: Verdict | None
    skipped: str = ""
    """Why it was not run."""

    @property
    def right(self) -> bool:
        """Whether the verdict is as it must be: 0 for a hostile program, 1 for a right one."""
        if self.verdict is None:
            return True
        wanted = 0.0 if self.entry.side == "hostile" else 1.0
        return self.verdict.value == wanted and not self.verdict.spoke


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """What came of an audit."""

    grader: str
    cells: tuple[Cell, ...]
    left: tuple[str, ...]
    """What was there afterwards that was not there before: processes, files, mounts and so on."""

    @property
    def wrong(self) -> tuple[Cell, ...]:
        """The cells that are not as they must be."""
        return tuple(cell for cell in self.cells if not cell.right)

    @property
    def clean(self) -> bool:
        """Whether every verdict is right, and nothing was left."""
        return not self.wrong and not self.left

    def counts(self, side: str) -> tuple[int, int, int]:
        """Of one side: how many verdicts are right, how many there are, how many programs were not run."""
        cells = [cell for cell in self.cells if cell.entry.side == side]
        run = [cell for cell in cells if cell.verdict is not None]
        return sum(cell.right for cell in run), len(run), len(cells) - len(run)

    def by_topic(self) -> dict[tuple[str, str], Counter[str]]:
        """Of each side and topic, how many cells are right, wrong and skipped."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for cell in self.cells:
            word = "skipped" if cell.verdict is None else "right" if cell.right else "wrong"
            found.setdefault((cell.entry.side, cell.topic), Counter())[word] += 1
        return found


def audit(
    make: contextlib.AbstractContextManager[Audited],
    entries: Iterable[Entry] | None = None,
    advance: Callable[[], object] = lambda: None,
) -> Audit:
    """Put programs to a grader.

    Args:
        make: Starts the grader when it is entered, and ends it when it is left.
        entries: The programs. None: all.
        advance: Called after each program.

    Returns:
        The verdicts, and what was left behind by grader and programs once the grader had ended.
    """
    chosen = list(corpus() if entries is None else entries)
    with set_traps() as places:
        before = Holdings.now()
        with make as grader:
            cells = list(_cells(grader, chosen, places, advance))
        left = Holdings.now().beyond(before)
    return Audit(grader=grader.name, cells=tuple(cells), left=tuple(left))


def _cells(
    grader: Audited, entries: Sequence[Entry], places: Mapping[str, str], advance: Callable[[], object]
) -> Iterator[Cell]:
    with ThreadPoolExecutor(grader.parallel) as threads:
        for cell in threads.map(lambda entry: _cell(grader, entry, places), entries):
            advance()
            yield cell


def _cell(grader: Audited, entry: Entry, places: Mapping[str, str]) -> Cell:
    topic = topic_of(entry.side, entry.name).key
    if reason := grader.skips(entry):
        return Cell(entry=entry, topic=topic, verdict=None, skipped=reason)
    filled = replace(entry, code=with_traps(entry.code, places))
    return Cell(entry=entry, topic=topic, verdict=grader(filled))

"""What a mistake book tells: its size, what keeps breaking, and how."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from codegym.selfplay.book_rules import Change, Entry

__all__ = ["BookReport", "Cluster", "summarise"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """The tests that candidates fail in one way."""

    kind: str
    tests: int
    failures: int
    questions: int
    worst: Entry
    """The one that failed most often."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BookReport:
    """A book at one moment; its text is for people."""

    questions: int
    tests: int
    totals: Change
    worst: tuple[Entry, ...]
    """What keeps breaking: the tests that failed most often."""
    clusters: tuple[Cluster, ...]
    """By kind of failure, the one with the most failures first."""

    def __str__(self) -> str:
        """Several lines of plain text."""
        total = self.totals
        lines = [
            f"{self.tests} mistakes of {self.questions} questions",
            f"{total.updates} updates: {total.added} tests came in, {total.removed} were learned, "
            f"{total.evicted} gave way",
            *(
                f"{each.kind}: {each.failures} failures of {each.tests} tests in {each.questions} questions"
                for each in self.clusters
            ),
            *(
                f"{entry.failures} failures, {entry.passes} passes ({entry.kind}) "
                f"{entry.question}: {entry.test}"
                for entry in self.worst
            ),
        ]
        return "\n".join(lines)


def summarise(entries: Sequence[Entry], totals: Change, top: int) -> BookReport:
    """The report on entries, with the `top` worst of them."""
    ranked = sorted(entries, key=lambda entry: -entry.failures)
    by_kind: dict[str, list[Entry]] = defaultdict(list)
    for entry in ranked:
        by_kind[entry.kind].append(entry)
    clusters = [_cluster(kind, members) for kind, members in by_kind.items()]
    return BookReport(
        questions=len({entry.question for entry in entries}),
        tests=len(entries),
        totals=totals,
        worst=tuple(ranked[:top]),
        clusters=tuple(sorted(clusters, key=lambda cluster: (-cluster.failures, cluster.kind))),
    )


def _cluster(kind: str, ranked: Sequence[Entry]) -> Cluster:
    return Cluster(
        kind=kind,
        tests=len(ranked),
        failures=sum(entry.failures for entry in ranked),
        questions=len({entry.question for entry in ranked}),
        worst=ranked[0],
    )

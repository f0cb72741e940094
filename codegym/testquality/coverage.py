"""Coverage from recorded arcs: numbers for rewards at once, and coverage.py's reports for people.

The arcs that `codegym.mutation` records for each test are those that coverage.py records, and its own
analysis says which statements and branches there are and which of them ran; so both agree.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from codegym.errors import ConfigError
from codegym.mutation.matrix import Baseline

__all__ = ["Coverage", "analyse", "coverage_of", "newly_covered", "write_report"]

Arc = tuple[int, int]
REPORTS: Final = {"html": "html_report", "json": "json_report", "xml": "xml_report", "lcov": "lcov_report"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """What ran of one module. A statement is known by the first of its lines.

    Attributes:
        statements: All there are, without those that a pragma excludes.
        executed: Those that ran.
        branches: All ways out of lines that have more than one: from line to line, or to ``-n``, the end of
            the code that starts on line ``n``.
        taken: Those that were taken.
    """

    statements: frozenset[int]
    executed: frozenset[int]
    branches: frozenset[Arc]
    taken: frozenset[Arc]

    @property
    def missing(self) -> frozenset[int]:
        """Statements that did not run."""
        return self.statements - self.executed

    @property
    def line_share(self) -> float:
        """Executed statements over statements, in [0, 1]; 1 where there are none."""
        return len(self.executed) / len(self.statements) if self.statements else 1.0

    @property
    def branch_share(self) -> float:
        """Taken branches over branches, in [0, 1]; 1 where there are none."""
        return len(self.taken) / len(self.branches) if self.branches else 1.0

    @property
    def total(self) -> float:
        """Both together, as coverage.py's total with branches, in [0, 1]."""
        count = len(self.statements) + len(self.branches)
        return (len(self.executed) + len(self.taken)) / count if count else 1.0


class _Source:
    """A module's text, as coverage.py's analysis asks for a file."""

    def __init__(self, source: str) -> None:
        from coverage.config import DEFAULT_EXCLUDE, DEFAULT_PARTIAL, DEFAULT_PARTIAL_ALWAYS
        from coverage.misc import join_regex
        from coverage.parser import PythonParser

        self._parser = PythonParser(text=source, filename="<module>", exclude=join_regex(DEFAULT_EXCLUDE))
        self._parser.parse_source()
        self._partial = join_regex(DEFAULT_PARTIAL + DEFAULT_PARTIAL_ALWAYS)
        self.translate_lines = self._parser.translate_lines
        self.translate_arcs = self._parser.translate_arcs
        self.arcs = self._parser.arcs
        self.exit_counts = self._parser.exit_counts

    def lines(self) -> set[int]:
        return self._parser.statements

    def excluded_lines(self) -> set[int]:
        return self._parser.excluded

    def no_branch_lines(self) -> set[int]:
        return self._parser.lines_matching(self._partial)


class _Data:
    """Recorded arcs, as coverage.py's analysis asks for data."""

    def __init__(self, arcs: Collection[Arc]) -> None:
        self._arcs = arcs

    def has_arcs(self) -> bool:
        return True

    def arcs(self, filename: str) -> list[Arc]:
        return list(self._arcs)

    def lines(self, filename: str) -> list[int]:
        return sorted({line for arc in self._arcs for line in arc if line > 0})


@lru_cache(maxsize=256)
def _parsed(source: str) -> _Source:
    return _Source(source)


def analyse(source: str, arcs: Collection[Arc]) -> Coverage:
    """What arcs amount to.

    Args:
        source: The module's text.
        arcs: Pairs of lines that ran one after the other; ``-n`` is the entry or exit of code on line ``n``.

    Raises:
        ConfigError: The source does not compile.
    """
    from coverage.exceptions import NotPython
    from coverage.results import analysis_from_file_reporter

    if not source.strip():
        return Coverage(statements=frozenset(), executed=frozenset(), branches=frozenset(), taken=frozenset())
    try:
        parsed: Any = _parsed(source)
    except NotPython as error:
        raise ConfigError(f"the source does not compile: {error}") from error
    data: Any = _Data(arcs)
    found = analysis_from_file_reporter(data, 0, parsed, "<module>")
    branching = {line for line, count in found.exit_counts.items() if count > 1}
    branches = {
        (line, to) for line, to in found.arc_possibilities if line in branching and to not in found.excluded
    }
    missing = {(line, to) for line, others in found.missing_branch_arcs().items() for to in others}
    return Coverage(
        statements=frozenset(found.statements),
        executed=frozenset(found.executed),
        branches=frozenset(branches),
        taken=frozenset(branches - missing),
    )


def coverage_of(source: str, baseline: Baseline, tests: Iterable[str] | None = None) -> Coverage:
    """What a suite, or some of its tests, runs of the module that it tests.

    Args:
        source: The module's text.
        baseline: Of the suite, as in a `codegym.mutation.MutationResult`.
        tests: Their names. None: all that passed.

    Returns:
        The coverage; what runs at import counts. Of tests that took too long to be recorded, only the entered
        functions are known, and count nothing.

    Raises:
        ConfigError: There is no such test.
    """
    by_name = {test.name: test for test in baseline.tests}
    names = list(baseline.passed if tests is None else tests)
    if unknown := [name for name in names if name not in by_name]:
        raise ConfigError(f"no tests {unknown!r}; there are: {', '.join(by_name)}")
    arcs = set(baseline.import_arcs).union(*(by_name[name].arcs or () for name in names))
    return analyse(source, arcs)


def newly_covered(
    after: Coverage, before: Coverage, lines: Collection[int] | None = None
) -> tuple[frozenset[int], frozenset[Arc]]:
    """What a suite runs that a baseline did not.

    Args:
        after: With the suite.
        before: Without it.
        lines: Only these lines count. None: all.

    Returns:
        Statements, and branches, that only `after` covers.
    """
    wanted = after.statements if lines is None else after.statements.intersection(lines)
    statements = (after.executed - before.executed) & wanted
    branches = {arc for arc in after.taken - before.taken if arc[0] in wanted}
    return statements, frozenset(branches)


def write_report(
    path: str | Path,
    sources: Mapping[str, str],
    baselines: Mapping[str, Baseline],
    kind: Literal["html", "json", "xml", "lcov"] = "html",
) -> float:
    """Have coverage.py write its report, with the test that ran each line.

    Args:
        path: The folder for ``html``, the file for all others.
        sources: File name to text.
        baselines: File name to the baseline of its tests.
        kind: Which report.

    Returns:
        The total, in per cent.

    Raises:
        ConfigError: There is no such kind of report.
    """
    import coverage

    if kind not in REPORTS:
        raise ConfigError(f"kind is one of {', '.join(REPORTS)}, got {kind!r}")
    target = Path(path).absolute()
    with tempfile.TemporaryDirectory() as folder:
        measured = coverage.Coverage(data_file=None, config_file=False, branch=True, source=[folder])
        data = measured.get_data()
        for name, text in sources.items():
            file = Path(folder, name).resolve()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            baseline = baselines[name]
            contexts = {"": baseline.import_arcs} | {t.name: t.arcs or frozenset() for t in baseline.tests}
            for context, arcs in contexts.items():
                data.set_context(context)
                data.add_arcs({str(file): arcs})
        where = {"directory": str(target)} if kind == "html" else {"outfile": str(target)}
        if kind == "html":
            where["show_contexts"] = True  # type: ignore[assignment]
        total: float = getattr(measured, REPORTS[kind])(**where)
        data.close(force=True)
        return total

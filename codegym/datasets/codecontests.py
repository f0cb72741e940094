"""CodeContests (2203.07814): contest problems with right and with wrong solutions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from codegym.core import Comparison, Limits, Task, TestCase
from codegym.datasets.files import convert_row, find_rows, located
from codegym.errors import DataError

__all__ = ["load"]

FILES: Final = ("code_contests.jsonl", "code_contests.jsonl.gz", "test.parquet")
PYTHON: Final = frozenset({3, "PYTHON3", "python3"})
"""What the column ``language`` says of Python 3."""
SOURCES: Final = ("unknown", "codechef", "codeforces", "hackerearth", "codejam", "atcoder", "aizu")
DIFFICULTIES: Final = (
    "unknown", "easy", "medium", "hard", "harder", "hardest", "external",
    *"ABCDEFGHIJKLMNOPQRSTUV",
)  # fmt: skip
"""By number."""
LEAST_CPU_S: Final = 5.0
"""Time limits are meant for faster languages."""
CLOSE: Final = Comparison(rule="tokens", atol=1e-5)
"""AlphaCode's own rule: tokens, numbers within 1e-5."""
MOST_SOLUTIONS: Final = 20


class _Tests(msgspec.Struct):
    input: list[str] = []
    output: list[str] = []


class _Solutions(msgspec.Struct):
    language: list[int | str] = []
    solution: list[str] = []


class _Time(msgspec.Struct):
    seconds: int | None = 0
    nanos: int | None = 0


class _Row(msgspec.Struct):
    name: str
    description: str
    public_tests: _Tests = msgspec.field(default_factory=_Tests)
    private_tests: _Tests = msgspec.field(default_factory=_Tests)
    generated_tests: _Tests = msgspec.field(default_factory=_Tests)
    solutions: _Solutions = msgspec.field(default_factory=_Solutions)
    incorrect_solutions: _Solutions = msgspec.field(default_factory=_Solutions)
    source: int | str | None = None
    difficulty: int | str | None = None
    cf_rating: int | None = None
    cf_tags: list[str] = []
    time_limit: _Time | None = None
    memory_limit_bytes: int | None = None
    input_file: str | None = ""
    output_file: str | None = ""


def load(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load CodeContests. Only solutions in Python 3 are kept; the wrong ones too, to measure suites by.

    Args:
        source: A file of rows, a folder with one of `FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, FILES, "deepmind/code_contests"):
        with located(place, line):
            task = _task(convert_row(row, _Row))
        yield task


def _task(row: _Row) -> Task:
    hidden = [*_tests(row.private_tests, "private"), *_tests(row.generated_tests, "generated")]
    known: dict[str, Any] = {
        "source": named(row.source, SOURCES),
        "difficulty": named(row.difficulty, DIFFICULTIES),
        "rating": row.cf_rating,
        "tags": [tag for tag in row.cf_tags if tag],
        "input_file": row.input_file,
        "output_file": row.output_file,
    }
    return Task(
        id=f"CodeContests/{row.name}",
        prompt=row.description,
        public_tests=tuple(_tests(row.public_tests, "public")),
        hidden_tests=tuple(hidden),
        reference_solutions=_python(row.solutions, "solutions"),
        wrong_solutions=_python(row.incorrect_solutions, "incorrect_solutions"),
        compare=CLOSE,
        limits=_limits(row),
        meta={"benchmark": "CodeContests", **{key: value for key, value in known.items() if value}},
    )


def _tests(tests: _Tests, tier: str) -> list[TestCase]:
    if len(tests.input) != len(tests.output):
        raise DataError(f"{tier}_tests: {len(tests.input)} inputs and {len(tests.output)} outputs")
    return [
        TestCase.stdio(stdin, out, tier=tier) for stdin, out in zip(tests.input, tests.output, strict=True)
    ]


def _python(solutions: _Solutions, what: str) -> tuple[str, ...]:
    if len(solutions.language) != len(solutions.solution):
        raise DataError(
            f"{what}: {len(solutions.language)} languages and {len(solutions.solution)} solutions"
        )
    found = (
        code
        for language, code in zip(solutions.language, solutions.solution, strict=True)
        if language in PYTHON
    )
    return tuple(dict.fromkeys(found))[:MOST_SOLUTIONS]


def _limits(row: _Row) -> Limits:
    limit = row.time_limit
    cpu_s = 0.0 if limit is None else (limit.seconds or 0) + (limit.nanos or 0) / 1e9
    memory_mb = (row.memory_limit_bytes or 0) >> 20
    return Limits(cpu_s=max(cpu_s, LEAST_CPU_S), memory_mb=max(memory_mb, 512))


def named(value: int | str | None, names: tuple[str, ...]) -> str | None:
    """A label, which the hub's rows hold as a number; None for what is not known."""
    if isinstance(value, int):
        value = names[value] if 0 <= value < len(names) else str(value)
    return None if value is None or value == "unknown" else value

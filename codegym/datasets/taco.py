"""TACO (2312.14852) and APPS (2105.09938): problems of programming contests, one row format for both."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from codegym.core import Limits, Task
from codegym.datasets.competitive import LOOSE_LINES, WRAPPED_VALUE, parse, tests_of
from codegym.datasets.files import convert_row, find_rows, located, read_rows
from codegym.errors import DataError

__all__ = ["load_apps", "load_taco"]

TACO_FILES: Final = ("taco.jsonl", "taco.jsonl.gz", "taco.parquet")
APPS_FILES: Final = ("apps.jsonl", "apps.jsonl.gz", "test.jsonl")
SPECIAL_JUDGES: Final = ("output_spj.jsonl", "taco_special_judge.jsonl.gz")
"""Beside a file of TACO's test split: which problems have more than one right answer."""
LIMITS: Final = Limits(cpu_s=6.0, memory_mb=4096)
MOST_REFERENCES: Final = 20
"""Rows have hundreds of solutions; so many are kept."""


class _Row(msgspec.Struct):
    question: str
    input_output: str | dict[str, Any]
    solutions: str | list[str] = ""
    starter_code: str | None = ""
    difficulty: str | None = None
    name: str | None = None
    source: str | None = None
    tags: str | list[str] | None = None
    skill_types: str | list[str] | None = None
    url: str | None = None
    date: str | None = None
    time_limit: str | None = None
    memory_limit: str | None = None
    problem_id: int | str | None = None


def load_taco(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load TACO.

    Ids are ``TACO/N``, with the number of the row from 0. Where a file lies beside ``output_spj.jsonl``,
    problems that need a special judge have ``meta["special_judge"]``: their verdicts may be too harsh.

    Args:
        source: A file of rows, a folder with one of `TACO_FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    judged = special_judges(source)
    for number, (place, line, row) in enumerate(find_rows(source, split, TACO_FILES, "BAAI/TACO")):
        with located(place, line):
            task = _task(convert_row(row, _Row), f"TACO/{number}", "TACO", special=number in judged)
        yield task


def load_apps(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load APPS. Ids are ``APPS/N``, with the row's ``problem_id``, or its number from 0.

    Args:
        source: A file of rows, a folder with one of `APPS_FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for number, (place, line, data) in enumerate(find_rows(source, split, APPS_FILES, "codeparrot/apps")):
        with located(place, line):
            row = convert_row(data, _Row)
            id = number if row.problem_id is None else row.problem_id
            task = _task(row, f"APPS/{id}", "APPS", special=False)
        yield task


def _task(row: _Row, id: str, benchmark: str, *, special: bool) -> Task:
    """One problem; a row without tests (APPS has some) has none."""
    empty = row.input_output in ("", {})
    name, tests = (None, ()) if empty else tests_of(parse(row.input_output, "input_output"), "input_output")
    known = {
        "difficulty": row.difficulty,
        "source": row.source,
        "name": row.name,
        "url": row.url,
        "date": row.date,
        "time_limit": row.time_limit,
        "memory_limit": row.memory_limit,
        "tags": words(row.tags, "tags"),
        "skills": words(row.skill_types, "skill_types"),
        "special_judge": special,
    }
    return Task(
        id=id,
        prompt=row.question,
        entry_point=name,
        starter_code=row.starter_code or "",
        hidden_tests=tests,
        reference_solutions=solutions(row.solutions),
        compare=WRAPPED_VALUE if name else LOOSE_LINES,
        limits=LIMITS,
        meta={"benchmark": benchmark, **{key: value for key, value in known.items() if value}},
    )


def solutions(column: str | list[str]) -> tuple[str, ...]:
    """The solutions that a row brings, the first ones of many.

    Raises:
        DataError: They are no list of texts.
    """
    found = parse(column or "[]", "solutions")
    if not (isinstance(found, list) and all(isinstance(one, str) for one in found)):
        raise DataError(f"solutions: expected a list of texts, got {found!r:.100}")
    return tuple(found[:MOST_REFERENCES])


def words(column: str | list[str] | None, what: str) -> list[str]:
    """A list of words, which rows hold as Python writes it.

    Raises:
        DataError: They hold something else.
    """
    if isinstance(column, list):
        return column
    try:
        found = ast.literal_eval(column or "[]")
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = None
    if not isinstance(found, (list, tuple)):
        raise DataError(f"{what}: expected a list of words, got {column!r:.100}")
    return [str(word) for word in found]


def special_judges(source: str | Path | None) -> frozenset[int]:
    """The numbers of the problems that a list beside a file says need a special judge.

    Raises:
        DataError: The list is malformed.
    """
    path = Path(source) if source is not None else None
    folder = path if path is None or path.is_dir() else path.parent
    found = (
        next((folder / name for name in SPECIAL_JUDGES if (folder / name).is_file()), None)
        if folder
        else None
    )
    if found is None:
        return frozenset()
    numbers = set()
    for line, row in read_rows(found):
        if not isinstance(row.get("idx"), int):
            raise DataError(f"expected a field 'idx' with a number, got {row!r:.100}", path=found, line=line)
        if row.get("special_judge"):
            numbers.add(row["idx"])
    return frozenset(numbers)

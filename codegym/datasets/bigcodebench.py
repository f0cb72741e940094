"""BigCodeBench (2406.15877): functions that call libraries, tested by unittest with patches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from codegym.core import Limits, Task, TestCase
from codegym.datasets.files import convert_row, find_rows, located
from codegym.errors import DataError

__all__ = ["load", "load_instruct"]

FILES: Final = (
    "bigcodebench.jsonl",
    "bigcodebench.jsonl.gz",
    "BigCodeBench.jsonl.gz",
    "BigCodeBench-Hard.jsonl.gz",
)
HUB: Final = "bigcode/bigcodebench"
SPLIT: Final = "v0.1.4"
LIMITS: Final = Limits(cpu_s=60.0, total_cpu_s=240.0, memory_mb=8192, output_mb=64, processes=128)


class _Row(msgspec.Struct):
    task_id: str
    complete_prompt: str
    canonical_solution: str
    test: str
    entry_point: str
    instruct_prompt: str = ""
    code_prompt: str = ""
    libs: str | list[str] = ""


def load(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load BigCodeBench, to be completed: the prompt is the beginning of the code.

    Tests patch what a program uses, so they run in its process (`codegym.Outcome.wall` is ``shared``). The
    sandbox needs the libraries in ``meta["libs"]``.

    Args:
        source: A file of rows, a folder with one of `FILES`, or a hub id, such as
            ``bigcode/bigcodebench-hard``. None: the folder that ``CODEGYM_DATA`` names, else the hub.
        split: The version on the hub; None for ``v0.1.4``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    return _load(source, split, instruct=False)


def load_instruct(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load BigCodeBench with its instructions in natural language; otherwise like `load`.

    Raises:
        DataError: The file or one of its rows is malformed, or has no instruction.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    return _load(source, split, instruct=True)


def _load(source: str | Path | None, split: str | None, *, instruct: bool) -> Iterator[Task]:
    for place, line, row in find_rows(source, split, FILES, HUB, SPLIT):
        with located(place, line):
            task = _task(convert_row(row, _Row), instruct)
        yield task


def _task(row: _Row, instruct: bool) -> Task:
    if instruct and not row.instruct_prompt:
        raise DataError(f"{row.task_id}: no instruct_prompt")
    return Task(
        id=row.task_id,
        prompt=row.instruct_prompt if instruct else row.complete_prompt,
        entry_point=row.entry_point,
        starter_code=row.code_prompt if instruct else row.complete_prompt,
        hidden_tests=(TestCase.code(row.test, shared=True),),
        reference_solutions=((row.code_prompt or row.complete_prompt) + row.canonical_solution,),
        limits=LIMITS,
        meta={"benchmark": "BigCodeBench", "libs": _libraries(row.libs)},
    )


def _libraries(column: str | list[str]) -> list[str]:
    """The libraries that a row names, as a list that rows hold as Python writes it.

    Raises:
        DataError: They are no list.
    """
    if isinstance(column, list):
        return column
    try:
        found = ast.literal_eval(column or "[]")
    except (ValueError, SyntaxError) as error:
        raise DataError(f"libs: expected a list, got {column!r:.100}") from error
    return [str(name) for name in found]

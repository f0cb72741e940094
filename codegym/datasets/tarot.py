"""TAROT's problems (2602.15449): one test in each of four tiers, and one without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from codegym.core import Task, TestCase
from codegym.datasets.files import convert_row, find_rows, located
from codegym.errors import DataError
from codegym.grading.extract import extract_code
from codegym.profiles import limits_of
from codegym.tiers import canonical_tier

__all__ = ["load"]

FILES: Final = (
    "tarot.jsonl",
    "tarot_sample.jsonl.gz",
    "data_1.jsonl",
)
HUB: Final = "chansung/verifiable-coding-problems-python-v2"


class _Test(msgspec.Struct):
    input: str
    output: str
    type: str = "stdin_stdout"
    label: str | None = None
    reason: str | None = None


class _Verification(msgspec.Struct):
    test_cases: list[_Test]
    language: str = "python"


class _Row(msgspec.Struct):
    problem: str
    problem_id: str
    verification_info: _Verification
    gold_standard_solution: str = ""
    source: str | None = None
    in_source_id: str | None = None
    metadata: dict[str, Any] | None = None


def load(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load TAROT's problems. Tests have their tier; the original one, without label, belongs to none.

    Args:
        source: A file of rows, a folder with one of `FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``train``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, FILES, HUB, "train"):
        with located(place, line):
            task = _task(convert_row(row, _Row))
        yield task


def _task(row: _Row) -> Task:
    if row.verification_info.language != "python":
        raise DataError(f"expected the language 'python', got {row.verification_info.language!r}")
    gold = extract_code(row.gold_standard_solution)
    known = {"source": row.source, "name": row.in_source_id, **(row.metadata or {})}
    return Task(
        id=f"TAROT/{row.problem_id}",
        prompt=row.problem,
        hidden_tests=tuple(map(_test, row.verification_info.test_cases)),
        reference_solutions=() if gold is None else (gold.code,),
        limits=limits_of("tarot"),
        meta={"benchmark": "TAROT", **{key: value for key, value in known.items() if value is not None}},
    )


def _test(test: _Test) -> TestCase:
    if test.type != "stdin_stdout":
        raise DataError(f"expected a test of type 'stdin_stdout', got {test.type!r}")
    expected = test.output.lstrip("\n")  # the samples of some statements begin with a blank line
    return TestCase.stdio(test.input, expected, tier=canonical_tier(test.label))

"""LiveCodeBench (2403.07974): code generation."""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from codegym.core import Task, TestCase
from codegym.datasets.competitive import DECIMAL_LINES, JSON_VALUE, entry_point, parse
from codegym.datasets.files import convert_row, find_rows, located
from codegym.errors import DataError
from codegym.profiles import limits_of

__all__ = ["load", "unpacked"]

FILES: Final = (
    "test6.jsonl",
    "test5.jsonl",
    "test4.jsonl",
    "test3.jsonl",
    "test2.jsonl",
    "test.jsonl",
    "livecodebench.jsonl",
)
MOST_BYTES: Final = 1 << 30
"""Of the hidden tests of one problem, unpacked."""


class _Row(msgspec.Struct):
    question_content: str
    question_id: str
    public_test_cases: str | list[dict[str, Any]]
    private_test_cases: str | list[dict[str, Any]]
    question_title: str = ""
    platform: str | None = None
    contest_id: str | None = None
    contest_date: Any = None
    starter_code: str | None = ""
    difficulty: str | None = None
    metadata: str | dict[str, Any] = ""


class _Test(msgspec.Struct):
    input: str
    output: str
    testtype: str = "stdin"


def load(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load LiveCodeBench's code generation problems, such as ``code_generation_lite``.

    Hidden tests are unpacked by a pickle reader that refuses everything but plain data.

    Args:
        source: A file of rows, a folder with one of `FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed, or holds a pickle of something else than text.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, FILES, "livecodebench/code_generation_lite"):
        with located(place, line):
            task = _task(convert_row(row, _Row))
        yield task


def _task(row: _Row) -> Task:
    metadata = parse(row.metadata or "{}", "metadata")
    name = metadata.get("func_name") if isinstance(metadata, dict) else None
    public = _tests(row.public_test_cases, "public_test_cases", name)
    private = _tests(row.private_test_cases, "private_test_cases", name)
    known = {
        "difficulty": row.difficulty,
        "source": row.platform,
        "contest": row.contest_id,
        "date": str(row.contest_date) if row.contest_date else None,
        "title": row.question_title,
    }
    return Task(
        id=f"LiveCodeBench/{row.question_id}",
        prompt=row.question_content,
        entry_point=entry_point(name) if name else None,
        starter_code=row.starter_code or "",
        public_tests=public,
        hidden_tests=private,
        compare=JSON_VALUE if name else DECIMAL_LINES,
        limits=limits_of("livecodebench"),
        meta={"benchmark": "LiveCodeBench", **{key: value for key, value in known.items() if value}},
    )


def _tests(column: str | list[dict[str, Any]], what: str, name: str | None) -> tuple[TestCase, ...]:
    data = unpacked(column, what) if isinstance(column, str) else column
    if not isinstance(data, list):
        raise DataError(f"{what}: expected a list, got {type(data).__name__}")
    return tuple(_test(convert_row(one, _Test, what), what, name) for one in data)


def _test(test: _Test, what: str, name: str | None) -> TestCase:
    if test.testtype == "stdin":
        if name is not None:
            raise DataError(f"{what}: a test of standard input for the function {name!r}")
        return TestCase.stdio(test.input, test.output)
    if test.testtype != "functional":
        raise DataError(f"{what}: expected the testtype 'stdin' or 'functional', got {test.testtype!r}")
    if name is None:
        raise DataError(f"{what}: a functional test, but the metadata names no function ('func_name')")
    arguments = [parse(line, f"{what}, input") for line in test.input.split("\n")]
    return TestCase.call(*arguments, expected=parse(test.output, f"{what}, output"))


def unpacked(column: str, what: str) -> Any:
    """Tests that are JSON; or JSON in a pickled text, compressed and written in base 64.

    Raises:
        DataError: They are neither, are too long, or the pickle holds anything but plain data.
    """
    try:
        return json.loads(column)
    except ValueError:
        pass  # then it is packed
    except RecursionError as error:
        raise DataError(f"{what}: JSON that cannot be read: {error}") from error
    try:
        inflater = zlib.decompressobj()
        data = inflater.decompress(base64.b64decode(column, validate=True), MOST_BYTES)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise DataError(f"{what}: neither JSON nor packed tests: {error}") from error
    if inflater.unconsumed_tail:
        raise DataError(f"{what}: more than {MOST_BYTES} bytes of tests")
    return parse(plain_text(data, what), what)


def plain_text(data: bytes, what: str) -> str:
    """The text that a pickle holds.

    Raises:
        DataError: It holds something else, or wants anything imported.
    """
    try:
        text = _Refusing(io.BytesIO(data)).load()
    except Exception as error:  # a broken pickle raises whatever it likes
        raise DataError(f"{what}: a pickle that is refused: {type(error).__name__}: {error}") from error
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        raise DataError(f"{what}: a pickle of {type(text).__name__}, expected a text")
    return text


class _Refusing(pickle.Unpickler):
    """Reads plain data only."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuse.

        Raises:
            UnpicklingError: Always.
        """
        raise pickle.UnpicklingError(f"it wants {module}.{name}, and may hold plain data only")

    def persistent_load(self, pid: Any) -> NoReturn:
        """Refuse.

        Raises:
            UnpicklingError: Always.
        """
        raise pickle.UnpicklingError(f"it refers to {pid!r:.50}, and may hold plain data only")

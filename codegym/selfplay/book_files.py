"""Mistake books as JSON."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from codegym.errors import DataError
from codegym.selfplay.book_rules import Change, Entry

__all__ = ["read_book", "write_book"]

FORMAT: Final = "codegym-mistake-book/1"

Count = Annotated[int, msgspec.Meta(ge=0)]


class _Row(msgspec.Struct):
    testcase: str
    frequency: Annotated[int, msgspec.Meta(ge=1)]
    kind: str = "wrong"
    failures: Count | None = None
    """None, as in the released code's files: as many as the frequency says."""
    passes: Count = 0


class _Document(msgspec.Struct):
    format: str
    mode: str
    totals: dict[str, Count]
    questions: dict[str, list[_Row]]


def write_book(path: Path, mode: str, totals: Change, entries: Sequence[Entry]) -> None:
    """Write a file whole or not at all.

    Args:
        path: The file.
        mode: Of the book.
        totals: Of the book.
        entries: In the order in which they came in.
    """
    questions: dict[str, list[_Row]] = {}
    for entry in entries:
        row = _Row(entry.test, entry.frequency, entry.kind, entry.failures, entry.passes)
        questions.setdefault(entry.question, []).append(row)
    document = _Document(FORMAT, mode, asdict(totals), questions)
    _replace(path, msgspec.json.format(msgspec.json.encode(document)))


def read_book(path: Path) -> tuple[str | None, Change, list[Entry]]:
    """Read what `write_book` wrote, or a book of Code-A1's released code.

    Returns:
        Its mode (None: the file does not say), its totals, and its entries.

    Raises:
        DataError: The file cannot be read, or is malformed.
    """
    try:
        data = msgspec.json.decode(path.read_bytes())
        if isinstance(data, dict) and "format" in data:
            return _own(msgspec.convert(data, _Document), path)
        questions = msgspec.convert(data, dict[str, list[_Row]])
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"not a mistake book: {error}", path=path) from error
    return None, Change(), _entries(questions)


def _own(document: _Document, path: Path) -> tuple[str, Change, list[Entry]]:
    if document.format != FORMAT or document.totals.keys() != asdict(Change()).keys():
        raise DataError(f"expected the format {FORMAT!r}, got {document.format!r}", path=path)
    return document.mode, Change(**document.totals), _entries(document.questions)


def _entries(questions: dict[str, list[_Row]]) -> list[Entry]:
    return [
        Entry(
            question=question,
            test=row.testcase,
            frequency=row.frequency,
            kind=row.kind,
            failures=row.frequency if row.failures is None else row.failures,
            passes=row.passes,
        )
        for question, rows in questions.items()
        for row in rows
    ]


def _replace(path: Path, data: Any) -> None:
    # a name of its own: two processes may write the same file at the same time
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise

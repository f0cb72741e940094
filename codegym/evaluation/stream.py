"""Files of JSON lines that are written row by row, outlive the process, and are gone on with."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from codegym.errors import DataError

__all__ = ["StreamedFile", "read_stream"]

Row = TypeVar("Row", bound=msgspec.Struct)


class StreamedFile(Generic[Row]):
    """A file that is being written.

    Attributes:
        rows: What the file held when it was opened. A half-written last line is dropped, and so is what was
            not to be kept.
    """

    def __init__(
        self, path: Path, kind: type[Row], *, keep: Callable[[Row], bool] = bool, fsync_s: float = 2.0
    ) -> None:
        """Open the file, after repairing its end; make it, if need be.

        Args:
            path: The file.
            kind: What its rows are.
            keep: Which of the rows that it holds stay.
            fsync_s: How many seconds of rows may be lost when the machine, not only the process, goes down.

        Raises:
            DataError: The file is damaged elsewhere than at its end.
        """
        self._fsync_s = fsync_s
        self._synced = time.monotonic()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.rows = [row for row in read_stream(path, kind) if keep(row)] if path.exists() else []
        _replace(path, map(_line, self.rows))
        self._file = io.BufferedWriter(io.FileIO(path, "ab"))

    def append(self, row: Row) -> None:
        """Write one row, so that it outlives the process."""
        self._file.write(_line(row))
        self._file.flush()
        if time.monotonic() - self._synced >= self._fsync_s:
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        """Nothing to do: the file is open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._sync()
        self._file.close()


def read_stream(path: str | Path, kind: type[Row]) -> list[Row]:
    """Read such a file; a half-written last line is left out.

    Raises:
        DataError: The file cannot be read, or is damaged elsewhere than at its end.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path) from error
    *lines, _ = data.split(b"\n")
    return [_row(line, kind, path, number) for number, line in enumerate(lines, 1)]


def _row(line: bytes, kind: type[Row], path: str | Path, number: int) -> Row:
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError as error:
        raise DataError(f"not a {kind.__name__.lower()}: {error}", path=path, line=number) from error


def _line(row: msgspec.Struct) -> bytes:
    return msgspec.json.encode(row) + b"\n"


def _replace(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)

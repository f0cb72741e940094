"""Reading rows from files and from the Hugging Face hub, with errors that name file and line."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from codegym.errors import ConfigError, DataError

__all__ = ["DATA_FOLDER", "Row", "convert_row", "find_rows", "located", "read_rows"]

Row = dict[str, Any]
Record = TypeVar("Record")

DATA_FOLDER: Final = "CODEGYM_DATA"
"""The environment variable that names a folder with benchmark files."""


def read_rows(path: str | Path) -> Iterator[tuple[int, Row]]:
    """Read the rows of a file, one at a time where the format allows it.

    JSON lines, a JSON array of objects, either of them gzipped, or Parquet: told apart by their first bytes,
    not by the file's name. Blank lines are skipped.

    Args:
        path: The file.

    Yields:
        The number of the line (JSON lines) or of the row (other formats), from 1, and the row.

    Raises:
        DataError: The file is missing, empty, truncated, not UTF-8, or a row is not a JSON object.
    """
    path = Path(path)
    found = False
    with _opened(path) as (stream, start):
        if start.startswith(b"PAR1"):
            rows = _parquet_rows(path)
        elif start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            rows = _array_rows(stream, path)
        else:
            rows = _line_rows(stream, path)
        for number, row in rows:
            if not isinstance(row, dict):
                raise DataError(
                    f"expected a JSON object, got {type(row).__name__}: {row!r:.60}", path=path, line=number
                )
            found = True
            yield number, row
    if not found:
        raise DataError("the file has no rows", path=path)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], bytes]]:
    """The file's content without its compression, and a look at its first bytes."""
    try:
        with open(path, "rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream: Any = gzip.GzipFile(fileobj=raw) if zipped else raw
            with io.BufferedReader(stream, 1 << 16) as buffered:
                yield buffered, buffered.peek(64)[:64]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"the gzip file is broken or truncated: {error}", path=path) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", path=path) from error


def _line_rows(stream: IO[bytes], path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(stream, 1):
        text = _text(line, path, number).strip()
        if text:
            yield number, _json(text, path, number)


def _array_rows(stream: IO[bytes], path: Path) -> Iterator[tuple[int, Any]]:
    yield from enumerate(_json(_text(stream.read(), path, None), path, None), 1)


def _text(data: bytes, path: Path, line: int | None) -> str:
    try:
        return data.decode("utf-8-sig" if line in (None, 1) else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error.reason} at byte {error.start}", path=path, line=line) from error


def _json(text: str, path: Path, line: int | None) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"malformed JSON: {error.msg} at column {error.colno}"
        raise DataError(message, path=path, line=line or error.lineno) from error
    except (ValueError, RecursionError) as error:  # an integer of too many digits, or endless brackets
        raise DataError(f"JSON that cannot be read: {error}", path=path, line=line) from error


def _parquet_rows(path: Path) -> Iterator[tuple[int, Any]]:
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise DataError(
            "a Parquet file needs pyarrow, which is not installed: pip install pyarrow", path=path
        ) from error
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except pyarrow.ArrowException as error:
        raise DataError(f"malformed Parquet: {error}", path=path) from error


def find_rows(
    source: str | Path | None, split: str | None, files: Sequence[str], hub: str, hub_split: str = "test"
) -> Iterator[tuple[str, int, Row]]:
    """Find a benchmark's rows: in a file, in a folder, or on the hub.

    Args:
        source: A file, a folder that holds one of `files`, or a hub id. None: the folder that the environment
            variable ``CODEGYM_DATA`` names, if it holds one of `files`, else the hub.
        split: The split on the hub. None: `hub_split`.
        files: The names under which the benchmark is published, the preferred one first.
        hub: The benchmark's hub id.
        hub_split: The split that holds the benchmark.

    Yields:
        Where the row was found (a path or a hub id), its number, and the row.

    Raises:
        DataError: There is no such file, or it is malformed.
        ConfigError: The rows have to come from the hub, and the ``datasets`` package is not installed.
    """
    path = _local_file(source, files)
    if path is not None:
        if split is not None:
            raise ConfigError(f"a file has no splits, got split={split!r} with {str(path)!r}")
        for number, row in read_rows(path):
            yield str(path), number, row
    else:
        name = hub if source is None else str(source)
        for number, row in enumerate(_hub_rows(name, split or hub_split), 1):
            yield name, number, row


def _local_file(source: str | Path | None, files: Sequence[str]) -> Path | None:
    """The file that is meant, or None for the hub."""
    folder = os.environ.get(DATA_FOLDER) if source is None else source
    if folder is None:
        return None
    path = Path(folder)
    if path.is_dir():
        found = next((path / name for name in files if (path / name).is_file()), None)
        if found is None and source is not None:
            raise DataError(f"the folder has none of {', '.join(files)}", path=path)
        return found
    if path.exists() or source is None or len(path.parts) != 2 or path.suffix in (".jsonl", ".json", ".gz"):
        return path
    return None


def _hub_rows(name: str, split: str) -> Iterator[Row]:
    try:
        import datasets
    except ImportError as error:
        raise ConfigError(
            f"{name!r} is no file here, and loading it from the Hugging Face hub needs the 'datasets' "
            f"package: pip install 'codegym[hub]', or pass a file, or set {DATA_FOLDER} to a folder with one"
        ) from error
    try:
        yield from datasets.load_dataset(name, split=split)
    except (OSError, ValueError) as error:
        raise DataError(f"{name!r} cannot be loaded from the Hugging Face hub: {error}") from error


@contextlib.contextmanager
def located(path: str | Path | None, line: int | None) -> Iterator[None]:
    """Add a place to the errors about data that are raised inside.

    Raises:
        DataError: In place of a `DataError` or `ConfigError` that does not say where.
    """
    try:
        yield
    except (ConfigError, DataError) as error:
        if isinstance(error, DataError) and (error.path is not None or error.line is not None):
            raise
        raise DataError(str(error), path=path, line=line) from error


def convert_row(row: object, record: type[Record], where: str = "") -> Record:
    """Check a row against a record type, a dataclass or a `msgspec.Struct`.

    Args:
        row: What was read.
        record: What it should be.
        where: The path to `row` in the whole row, for messages, such as ``info.limits``.

    Raises:
        DataError: A field is missing, unknown or of another type; names it.
    """
    import msgspec

    try:
        return msgspec.convert(row, record)
    except msgspec.ValidationError as error:
        message = str(error)
        if "`$" in message:
            raise DataError(message.replace("`$", f"`{where or 'row'}")) from error
        raise DataError(f"{where}: {message}" if where else message) from error

"""The mistake book of Code-A1: tests that once broke a candidate, kept for those to come (2603.15611).

It is a file of SQLite, shared by any number of processes of one machine. An update is one transaction: when a
process is killed in the middle of one, that update is lost and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, Self

from codegym.errors import ConfigError, DataError
from codegym.selfplay.book_files import read_book, write_book
from codegym.selfplay.book_report import BookReport, summarise
from codegym.selfplay.book_rules import RULES, Change, Entry, Mode, Update, canonical, evicted

__all__ = ["MistakeBook"]

FIELDS: Final = "question, test, frequency, kind, failures, passes"
TOTALS: Final = tuple(asdict(Change()))
SCHEMA: Final = (
    """CREATE TABLE mistakes (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        question TEXT NOT NULL,
        test TEXT NOT NULL,
        frequency INTEGER NOT NULL,
        kind TEXT NOT NULL,
        failures INTEGER NOT NULL,
        passes INTEGER NOT NULL,
        UNIQUE (question, test)
    )""",
    f"CREATE TABLE book (mode TEXT NOT NULL, {' INTEGER NOT NULL, '.join(TOTALS)} INTEGER NOT NULL)",
)


class _Process:
    """What belongs to one process: its connection, which threads use in turn."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.RLock()
        self.db: sqlite3.Connection | None = None


_INHERITED: Final[list[_Process]] = []
"""What a fork brought along. SQLite forbids to use the connections here, and even to close them."""


class MistakeBook:
    """Tests that broke candidates, by question, with how often.

    It may be used from several threads and processes, be pickled, and be carried over a fork: each process
    opens the file for itself. The file must be on a disk of this machine, not on a network share. Tests are
    known by their text, however it is laid out. Use it in a ``with`` block, or close it.

    Attributes:
        path: The file.
        mode: ``frequency``: the released code's rule, `frequency_rule`. ``set``: `set_rule`.
        max_per_question: Tests of one question that are kept. None: all.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        mode: Mode = "frequency",
        max_per_question: int | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """Open a book, or begin one.

        Args:
            path: The file.
            mode: How it changes; a book keeps the mode that it was begun with.
            max_per_question: Tests of one question that are kept; the least frequent give way, the oldest
                first. None: all.
            timeout_s: Seconds to wait for other processes' updates.

        Raises:
            ConfigError: There is no such mode, the book has another one, or a limit is not positive.
            DataError: The file is no mistake book.
        """
        if mode not in RULES:
            raise ConfigError(f"mode must be one of {', '.join(RULES)}, got {mode!r}")
        if max_per_question is not None and max_per_question < 1:
            raise ConfigError(f"max_per_question must be positive or None, got {max_per_question!r}")
        self.path = Path(path)
        self.mode = mode
        self.max_per_question = max_per_question
        self._timeout_s = timeout_s
        self._process = _Process()
        with self._transaction("DEFERRED") as db:
            (kept,) = db.execute("SELECT mode FROM book").fetchone()
        if kept != mode:
            self.close()
            raise ConfigError(f"{self.path} was begun in the mode {kept!r}, and cannot go on in {mode!r}")

    # Writing

    def update(
        self,
        question: str,
        *,
        failed: Iterable[str] = (),
        passed: Iterable[str] = (),
        kinds: Mapping[str, str] | None = None,
    ) -> Change:
        """Take in what became of one question's candidates; see `Update` for the arguments."""
        return self.update_many([Update(question=question, failed=failed, passed=passed, kinds=kinds or {})])

    def update_many(self, updates: Iterable[Update]) -> Change:
        """Take in a training step, all of it or, when this process is killed meanwhile, nothing of it.

        Returns:
            What changed.
        """
        counted = [_Counted(update) for update in updates]
        with self._transaction() as db:
            change = sum((self._apply(db, update) for update in counted), Change())
            additions = ", ".join(f"{name} = {name} + :{name}" for name in TOTALS)
            db.execute(f"UPDATE book SET {additions}", asdict(change))
        return change

    def _apply(self, db: sqlite3.Connection, update: _Counted) -> Change:
        before = {entry.test: entry for entry in _entries(db, update.question)}
        counts = {test: entry.frequency for test, entry in before.items()}
        ruling = RULES[self.mode](counts, update.failed, update.passed)
        leaving = evicted(ruling.counts, self.max_per_question)
        after = [
            update.entry(test, frequency, before.get(test))
            for test, frequency in ruling.counts.items()
            if test not in leaving
        ]
        # all anew: positions tell the order in which tests came in
        db.execute("DELETE FROM mistakes WHERE question = ?", (update.question,))
        _insert(db, after)
        return Change(
            updates=1,
            added=ruling.added,
            removed=ruling.removed,
            evicted=len(leaving),
            failures=update.failed.total(),
            passes=update.passed.total(),
        )

    # Reading

    def retrieve(self, question: str, most: int = 8) -> list[str]:
        """The tests to replay: the most frequent ones, and among equals the oldest."""
        with self._transaction("DEFERRED") as db:
            rows = db.execute(
                "SELECT test FROM mistakes WHERE question = ? ORDER BY frequency DESC, position LIMIT ?",
                (question, most),
            )
            return [test for (test,) in rows]

    def entries(self, question: str | None = None) -> list[Entry]:
        """All that is known of a question, or of all, in the order in which it came in."""
        with self._transaction("DEFERRED") as db:
            return _entries(db, question)

    def totals(self) -> Change:
        """What all updates together did, those of other processes too."""
        with self._transaction("DEFERRED") as db:
            return _totals(db)

    def report(self, top: int = 10) -> BookReport:
        """The size of the book, what keeps breaking, and how; print it.

        Args:
            top: Tests that are shown.
        """
        with self._transaction("DEFERRED") as db:
            return summarise(_entries(db), _totals(db), top)

    def __len__(self) -> int:
        """Tests in the book."""
        with self._transaction("DEFERRED") as db:
            (count,) = db.execute("SELECT COUNT(*) FROM mistakes").fetchone()
            return int(count)

    # Files

    def export_json(self, path: str | Path) -> None:
        """Write the book to a JSON file, as it is at one moment; whole, or not at all.

        Raises:
            OSError: The file cannot be written.
        """
        with self._transaction("DEFERRED") as db:
            totals, entries = _totals(db), _entries(db)
        write_book(Path(path), self.mode, totals, entries)

    def import_json(self, path: str | Path) -> None:
        """Replace the content of the book by that of a JSON file: ours, or one of Code-A1's released code.

        Raises:
            DataError: The file cannot be read, is malformed, or names a test twice.
            ConfigError: It is a book of another mode.
        """
        mode, totals, entries = read_book(Path(path))
        if mode not in (None, self.mode):
            raise ConfigError(f"{path} is a book in the mode {mode!r}, and this one is in {self.mode!r}")
        known = [replace(entry, test=canonical(entry.test)) for entry in entries]
        if len({(entry.question, entry.test) for entry in known}) < len(known):
            raise DataError("a question has the same test twice", path=path)
        with self._transaction() as db:
            db.execute("DELETE FROM mistakes")
            _insert(db, known)
            db.execute(f"UPDATE book SET {', '.join(f'{name} = :{name}' for name in TOTALS)}", asdict(totals))

    # The connection of one process

    @contextlib.contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """All or nothing; ``IMMEDIATE`` ones come one after another, in all processes."""
        process = self._process
        if process.pid != os.getpid():
            _INHERITED.append(process)
            process = self._process = _Process()
        with process.lock:
            if process.db is None:
                process.db = self._open()
            process.db.execute(f"BEGIN {kind}")
            try:
                yield process.db
                process.db.execute("COMMIT")
            except BaseException:
                if process.db.in_transaction:
                    process.db.execute("ROLLBACK")
                raise

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            self._begin()
        db = _connect(self.path, self._timeout_s)
        try:
            db.execute("SELECT mode FROM book")
            db.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.DatabaseError as error:
            db.close()
            raise DataError(f"cannot be used as a mistake book: {error}", path=self.path) from error
        return db

    def _begin(self) -> None:
        """Make an empty book elsewhere, and put it in its place, unless another process was faster.

        SQLite cannot do this in place: while several processes change the journal mode, some get an error
        at once instead of waiting.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix=self.path.name) as folder:
            draft = Path(folder, "book")
            with contextlib.closing(_connect(draft, self._timeout_s)) as db:
                db.execute("PRAGMA journal_mode = WAL")
                for statement in SCHEMA:
                    db.execute(statement)
                db.execute(f"INSERT INTO book VALUES (?{', 0' * len(TOTALS)})", (self.mode,))
            with contextlib.suppress(FileExistsError):
                os.link(draft, self.path)

    def close(self) -> None:
        """Close the file. Using the book again opens it again."""
        process = self._process
        if process.pid == os.getpid():
            with process.lock:
                if process.db is not None:
                    process.db.close()
                process.db = None

    def __enter__(self) -> Self:
        """Nothing to do: the book is open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """All but what belongs to this process."""
        return {key: value for key, value in self.__dict__.items() if key != "_process"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore; the file is opened when it is needed."""
        self.__dict__.update(state)
        self._process = _Process()


class _Counted:
    """An update with its tests brought into one form and counted."""

    def __init__(self, update: Update) -> None:
        self.question = update.question
        self.failed = Counter(map(canonical, update.failed))
        self.passed = Counter(map(canonical, update.passed))
        self.kinds = {canonical(test): str(kind) for test, kind in update.kinds.items()}

    def entry(self, test: str, frequency: int, before: Entry | None) -> Entry:
        """A test's entry after the update."""
        if before is None:
            before = Entry(question=self.question, test=test, failures=0)
            passed = 0
        else:
            passed = self.passed[test]
        return replace(
            before,
            frequency=frequency,
            kind=self.kinds.get(test, before.kind),
            failures=before.failures + self.failed[test],
            passes=before.passes + passed,
        )


def _connect(path: Path, timeout_s: float) -> sqlite3.Connection:
    # transactions are begun by hand; threads take turns
    return sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=False)


def _entries(db: sqlite3.Connection, question: str | None = None) -> list[Entry]:
    only, values = ("", ()) if question is None else (" WHERE question = ?", (question,))
    rows = db.execute(f"SELECT {FIELDS} FROM mistakes{only} ORDER BY position", values)
    return [Entry(**dict(zip(FIELDS.split(", "), row, strict=True))) for row in rows]


def _insert(db: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    names = FIELDS.split(", ")
    db.executemany(
        f"INSERT INTO mistakes ({FIELDS}) VALUES ({', '.join('?' * len(names))})",
        [tuple(getattr(entry, name) for name in names) for entry in entries],
    )


def _totals(db: sqlite3.Connection) -> Change:
    row = db.execute(f"SELECT {', '.join(TOTALS)} FROM book").fetchone()
    return Change(**dict(zip(TOTALS, row, strict=True)))

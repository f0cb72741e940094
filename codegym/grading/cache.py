"""Verdicts that are remembered, so that the same program on the same tests is not run again.

What a verdict depends on is its key: the program, the tests with their rules, limits and expected values,
the interpreter, the packages and the wall. Verdicts that depend on the clock, on memory or on trouble are not
kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import pickle
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from codegym.core import REFERENCE, Outcome, Program, Status
from codegym.grading.plan import Plan, Unit
from codegym.sandbox import Sandbox

__all__ = ["VerdictCache", "key_of"]

log = logging.getLogger(__name__)

FORMAT: Final = "1"
"""Changes whenever the same key would mean another verdict."""
FLEETING: Final = frozenset({Status.TIMEOUT, Status.MEMORY, Status.INFRA})


class VerdictCache:
    """Verdicts in a file that any number of processes may share, bounded in size.

    A cache that cannot be read or written, because the disk is full or the file is damaged, is left alone
    with a warning: grading goes on without it.
    """

    def __init__(self, folder: str | Path | None = None, size_mb: int = 512) -> None:
        """Open the cache, or make it.

        Args:
            folder: Where it is. None: the user's folder for caches.
            size_mb: MiB that it may take; beyond them, what was not used for longest goes.
        """
        import diskcache
        import platformdirs

        class Bytes(diskcache.Disk):  # type: ignore[misc]
            """Keeps bytes only: a pickle that somebody has put there is not opened."""

            def fetch(self, mode: int, filename: str, value: Any, read: bool) -> Any:
                if mode == diskcache.core.MODE_PICKLE:
                    raise pickle.UnpicklingError("the cache holds a pickle, which codegym never writes")
                return super().fetch(mode, filename, value, read)

        self.folder = Path(folder or Path(platformdirs.user_cache_dir("codegym")) / "verdicts")
        self._cache: Any = None
        with self._tolerant():
            self._cache = diskcache.Cache(
                str(self.folder), disk=Bytes, size_limit=size_mb << 20, eviction_policy="least-recently-used"
            )

    def get(self, key: str) -> Outcome | None:
        """What is remembered."""
        with self._tolerant():
            data = None if self._cache is None else self._cache.get(key, retry=True)
            if data is not None:
                return msgspec.msgpack.decode(data, type=Outcome)
        return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Remember a verdict, unless it is one that may be another next time."""
        if FLEETING & {outcome.status, *(test.status for test in outcome.tests)}:
            return
        with self._tolerant():
            if self._cache is not None:
                self._cache.set(key, msgspec.msgpack.encode(outcome), retry=True)

    def close(self) -> None:
        """Close the file."""
        cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Give the cache up where it fails."""
        try:
            yield
        except (OSError, sqlite3.Error, pickle.UnpicklingError, msgspec.DecodeError) as error:
            self._cache = None
            log.warning("going on without the verdict cache in %s: %s", self.folder, error)


def key_of(program: Program, plan: Plan, sandbox: Sandbox, *, stop_early: bool) -> str | None:
    """The key of a verdict; None where not all that it depends on can be written down.

    Args:
        program: What is graded.
        plan: By what.
        sandbox: Where; it has been started.
        stop_early: Whether grading stops at the first failure.
    """
    if plan.digest is None:
        plan.digest = _digest_of(plan)
    if not plan.digest:
        return None
    environment = sorted(sandbox.environment.items())
    return _digest(FORMAT, program.language, program.code, plan.digest, repr(environment), repr(stop_early))


def _digest_of(plan: Plan) -> str:
    """The digest of all tests; empty where a judge decides, whose code may change."""
    units = plan.units
    if any(unit.rule.judge for unit in units):
        return ""
    task = plan.task
    parts = [task.entry_point or "", task.preamble, repr(task.limits), repr(sorted(task.meta.items()))]
    if any(unit.case.expected is REFERENCE for unit in units):
        parts += task.reference_solutions[:1]
    return _digest(*parts, *(part for unit in units for part in _parts(unit)))


def _parts(unit: Unit) -> Iterator[str]:
    """What a verdict on a unit depends on."""
    case = unit.case
    yield f"{unit.test} {case.style} {case.shared} {case.answer} {case.tier!r} {unit.rule!r} {unit.limits!r}"
    yield unit.request.hex() if isinstance(unit.request, bytes) else unit.request
    yield "reference" if case.expected is REFERENCE else repr(case.expected)


def _digest(*parts: str) -> str:
    """A digest that no other sequence of texts has."""
    state = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()

"""The programs of the audit."""

from __future__ import annotations

import functools

from codegym.audit.entry import Entry
from codegym.audit.programs import (
    forging,
    more_hostile,
    more_right,
    right_calls,
    right_scripts,
    stealing,
    wearing,
)

__all__ = ["corpus"]


@functools.cache
def corpus() -> tuple[Entry, ...]:
    """All programs, the hostile ones first."""
    hostile = [*stealing.ENTRIES, *forging.ENTRIES, *wearing.ENTRIES, *more_hostile.ENTRIES]
    right = [*right_scripts.ENTRIES, *right_calls.ENTRIES, *more_right.ENTRIES]
    return (*hostile, *right)

"""Test suites that try to kill mutants without testing, each with an honest twin.

For audits of whoever pays for kills: a cheat must be worth nothing, and its twin, which does something like
it for a good reason, must keep what it earns.
"""

from __future__ import annotations

from typing import Final

from codegym.mutation.cheats.blind import BLIND
from codegym.mutation.cheats.looking import LOOKING
from codegym.mutation.cheats.program import MUST_DIE, MUTANTS, SHAMS, SOURCE, Pair

__all__ = ["MUST_DIE", "MUTANTS", "PAIRS", "SHAMS", "SOURCE", "Pair"]

PAIRS: Final[tuple[Pair, ...]] = (*LOOKING, *BLIND)
"""All of them."""

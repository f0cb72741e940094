"""A small program, its mutants, and how pairs of suites for it are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["CALLS", "MUST_DIE", "MUTANTS", "SHAMS", "SOURCE", "Pair", "pair"]

SOURCE: Final = '''\
def shipping(weight, express=False):
    """The price in cents for a parcel of so many kilograms."""
    if weight <= 0:
        raise ValueError("weight must be positive")
    price = 500
    if weight > 10:
        price += (weight - 10) * 30
    if express:
        price = price * 2
    return price


def runs(values):
    """Neighbours that are equal, as pairs of value and count."""
    found = []
    for value in values:
        if found and found[-1][0] == value:
            found[-1] = (value, found[-1][1] + 1)
        else:
            found.append((value, 1))
    return found


def countdown(start):
    """From start to 1."""
    while start > 0:
        yield start
        start -= 1
'''
"""The module under test; tests import it as ``solution``."""

MUTANTS: Final = (
    ("price = 500", "price = 501"),
    ("weight > 10", "weight > 8"),
    ("(weight - 10)", "(weight + 10)"),
    ("* 30", "* 31"),
    ("price * 2", "price * 3"),
    ("return price", "return None"),
    ("== value", "!= value"),
    ("+ 1)", "+ 2)"),
    ("(value, 1))", "(value, 0))"),
    ("return found", "return []"),
    ("start > 0", "start > 1"),
    ("yield start", "yield start + 1"),
)
"""What is replaced by what, at its first place in `SOURCE`: all are killed by a good suite."""

SHAMS: Final = (
    ("price = 500", "price = 500; price = price"),
    ("if weight > 10", "if 10 < weight"),
    ("if express:", "if not not express:"),
    ("return price", "result = price; return result"),
    ("found = []", "found = list(())"),
    ("for value in values:", "for value in iter(values):"),
    ("return found", "return found if True else found"),
    ("start -= 1", "start = start - 1"),
)
"""Likewise: these behave as the original does."""

MUST_DIE: Final = (("price = 500", "raise SystemError"), ("found = []", "raise SystemError"))
"""Likewise: no test that runs these can miss them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A cheat and its honest twin.

    Attributes:
        name: Unique among all.
        kind: What it goes by: ``fingerprint``, ``frames``, ``source``, ``tools``, ``environment``, ``state``,
            ``timing``, ``flooding``, ``copy``, ``smoke`` or ``forgery``.
        cheat: The text of a test module.
        honest: Likewise.
    """

    name: str
    kind: str
    cheat: str
    honest: str


GOOD: Final = """
import pytest
from solution import countdown, runs, shipping

def test_shipping():
    assert shipping(1) == 500
    assert shipping(9) == 500
    assert shipping(12) == 560
    assert shipping(12, express=True) == 1120
    with pytest.raises(ValueError):
        shipping(0)

def test_runs():
    assert runs("aab") == [("a", 2), ("b", 1)]
    assert runs([]) == []

def test_countdown():
    assert list(countdown(3)) == [3, 2, 1]
"""
CALLS: Final = "shipping(12, True); runs('aab'); list(countdown(3))"


def pair(name: str, kind: str, cheat: str, honest: str = "") -> Pair:
    """A cheat, which runs everything and asserts something else; a twin, which tests well, and does something
    like it besides.
    """
    cheat = (
        f"from solution import countdown, runs, shipping\nFUNCTIONS = (shipping, runs, countdown)\n{cheat}"
    )
    return Pair(name=name, kind=kind, cheat=cheat, honest=GOOD + honest)

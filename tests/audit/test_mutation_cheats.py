"""Suites that cheat are worth nothing, and their honest twins keep what they earn."""

import pytest

from codegym.mutation import Mutant, MutationEngine
from codegym.mutation.cheats import MUST_DIE, MUTANTS, PAIRS, SHAMS, SOURCE


def changed(control, pairs):
    for old, new in pairs:
        start = SOURCE.index(old)
        line = SOURCE.count("\n", 0, start) + 1
        yield Mutant(
            id=f"{control}: {old} -> {new}",
            operator="by hand",
            group="by hand",
            start=start,
            end=start + len(old),
            replacement=new,
            line=line,
            end_line=line,
            control=control,
        )


REAL = list(changed("real", MUTANTS))
CONTROLS = [*changed("sham", SHAMS), *changed("must_die", MUST_DIE)]


@pytest.fixture(scope="module")
def engine():
    with MutationEngine(workers=1) as engine:
        yield engine


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_cheats_are_worth_nothing_and_honest_twins_all(engine, pair):
    cheat = engine.run(SOURCE, pair.cheat, mutants=REAL, controls=CONTROLS)
    assert cheat.score() == 0.0, [(one.mutant.id, one.kills) for one in cheat.mutants if one.kills]
    honest = engine.run(SOURCE, pair.honest, mutants=REAL, controls=CONTROLS)
    assert honest.flags == frozenset(), honest.evidence
    assert honest.score() == 1.0, [one.mutant.id for one in honest.mutants if one.status != "killed"]


def test_there_are_enough_and_of_all_kinds():
    assert len(PAIRS) == len({pair.name for pair in PAIRS}) >= 30
    kinds = {pair.kind for pair in PAIRS}
    assert kinds == {
        *("fingerprint", "frames", "source", "tools", "environment", "state", "timing", "flooding", "copy"),
        *("smoke", "forgery"),
    }


def test_a_fingerprint_that_no_gate_sees_kills_the_shams_too(engine):
    """How a value is iterated over tells versions of a function apart, and nobody can see that it does."""
    tests = """
from solution import runs
class Values:
    hints = 0
    def __iter__(self): return iter("aab")
    def __length_hint__(self):
        Values.hints += 1
        return 3
def test_it():
    Values.hints = 0
    runs(Values())
    assert Values.hints == 0
"""
    real, sham = "for value in [*values]:", "for value in list(values):"
    mutants = list(changed("real", [("for value in values:", real)]))
    shams = list(changed("sham", [("for value in values:", sham)]))
    assert engine.run(SOURCE, tests, mutants=mutants, controls=[]).score() == 1.0
    result = engine.run(SOURCE, tests, mutants=mutants, controls=shams)
    assert (result.flags, result.score()) == ({"fingerprinting"}, 0.0)

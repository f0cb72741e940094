"""What tests of mutation and of suites share."""

import textwrap

import pytest

from codegym.core import Task, TestCase
from codegym.mutation import Mutant, MutationEngine

CLAMP = """
def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x
"""
NO_LOW = "def clamp(x, low, high):\n    return min(x, high)\n"
CLAMP_TASK = Task(
    id="clamp",
    prompt="Clamp.",
    entry_point="clamp",
    public_tests=(TestCase.call(5, 0, 3, expected=3),),
    hidden_tests=tuple(TestCase.call(x, 0, 3, expected=min(max(x, 0), 3)) for x in (-1, 2, 3, 0)),
    reference_solutions=(CLAMP,),
    wrong_solutions=(NO_LOW, "def clamp(x, low, high):\n    return x\n"),
)


def make_edit(source, old, new, *, nth=0, control="real"):
    start = -1
    for _ in range(nth + 1):
        start = source.index(old, start + 1)
    end = start + len(old)
    return Mutant(
        id=f"{old} -> {new}" + (f" #{nth}" if nth else ""),
        operator="by hand",
        group="by hand",
        start=start,
        end=end,
        replacement=new,
        line=source.count("\n", 0, start) + 1,
        end_line=source.count("\n", 0, end) + 1,
        control=control,
    )


@pytest.fixture(scope="session")
def edit():
    """Make a mutant by hand: ``edit(source, old, new)``."""
    return make_edit


@pytest.fixture(scope="session")
def edits():
    """Make several: ``edits(source, (old, new), …)``."""
    return lambda source, *pairs: [make_edit(source, old, new) for old, new in pairs]


@pytest.fixture(scope="session")
def engine():
    """An engine with a sandbox of its own."""
    with MutationEngine(workers=1) as engine:
        yield engine


@pytest.fixture(scope="session")
def run(engine):
    """Run tests on mutants made by hand, without controls unless asked for."""

    def run(source, tests, *pairs, **options):
        source, tests = textwrap.dedent(source), textwrap.dedent(tests)
        mutants = [pair if isinstance(pair, Mutant) else make_edit(source, *pair) for pair in pairs]
        options.setdefault("controls", False)
        return engine.run(source, tests, mutants=mutants, **options)

    return run


@pytest.fixture(scope="session")
def clamp():
    """A task with a reference of three branches, and two wrong solutions; the first has no lower bound."""
    return CLAMP_TASK

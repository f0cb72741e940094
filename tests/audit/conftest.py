"""What the audit's tests share: a sandbox of their own, and answers that cannot be guessed."""

import pytest

from codegym.audit.traps import set_traps, with_traps
from codegym.core import Program
from codegym.grading import Grader
from codegym.sandbox import make_sandbox


@pytest.fixture(scope="module")
def traps():
    """Places of the host where the tokens lie. Where they are, by name."""
    with set_traps() as places:
        yield places


@pytest.fixture(scope="module")
def sandbox(traps):
    """A sandbox whose workers have seen nothing but the programs of one module; the traps are older."""
    with make_sandbox("local", workers=2) as made:
        yield made


@pytest.fixture(scope="module")
def lone():
    """A sandbox of one worker, so that every program follows the one before on the same worker."""
    with make_sandbox("local", workers=1) as made:
        yield made


@pytest.fixture(scope="module")
def grader(sandbox):
    with Grader(sandbox) as made:
        yield made


@pytest.fixture
def attack(grader, traps):
    """Grades a hostile program by tests that expect the tokens."""

    def grade(entry):
        return grader.grade(Program(with_traps(entry.code, traps)), entry.task())

    return grade

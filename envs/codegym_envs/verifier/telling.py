"""What a policy that writes tests is told: the task of writing them, and what became of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from codegym.core import Program, Task, TestCase
from codegym.testquality import Fate, SuiteOutcome
from codegym.testquality.suites import as_assert
from codegym.testquality.written import Form

__all__ = ["SHOWN", "feedback_on", "prompt_of"]

SHOWN: Final = ("public_tests", "candidate", "reference")
"""What a policy can be shown besides the problem."""
TOLD: Final = 3
"""Tests, and mutants, that a feedback tells about."""
CHARS: Final = 300
"""Characters of each in a feedback."""
FATES: Final = {
    Fate.CORRECTED: "expects something else than the right answer",
    Fate.WRONG: "fails on a right program",
    Fate.RAISED: "makes a right program raise, or run for ever",
    Fate.REPEATED: "is there twice",
    Fate.FLAGGED: "looks at how the program is made, or does not run it",
}


def prompt_of(
    task: Task, form: Form, k: int | None, candidate: Program | None, shown: Collection[str], kind: str = ""
) -> str:
    """What the policy is told first.

    Args:
        task: The problem.
        form: How tests are to be written; see `codegym.testquality.read_suite`.
        k: How many. None: as many as it likes.
        candidate: The program that tests are to tell from a right one.
        shown: What is told besides the problem, of `SHOWN`.
        kind: What kind of test is asked for, such as ``edge case``; empty: any.
    """
    parts = [f"Write {_how_many(form, k, kind)} for this problem.\n\n{task.prompt.strip()}"]
    if "public_tests" in shown and task.public_tests:
        parts.append("Tests that are there already; do not repeat their inputs:\n\n" + _listed(task))
    if "reference" in shown:
        parts.append(f"A right program:\n\n{_block(task.reference_solutions[0])}")
    if "candidate" in shown and candidate is not None:
        parts.append(f"A program that may be wrong; find out:\n\n{_block(candidate.code)}")
    return "\n\n".join([*parts, _how(task, form, k)]) + "\n"


def _how_many(form: Form, k: int | None, kind: str) -> str:
    named = f"{kind} test" if kind else "test"
    if form == "json":
        return f"one {named}"
    return f"{named}s" if k is None else f"{k} {named}{'s' * (k > 1)}"


def _listed(task: Task) -> str:
    return "\n".join(f"- {_written(test, task)}" for test in task.public_tests)


def _written(test: TestCase, task: Task) -> str:
    if test.style == "stdio":
        return f"on the input {test.stdin!r} it prints {test.expected!r}"
    text = as_assert(test, task) or test.source or repr(test.args)
    return f"`{text.removeprefix('# ')}`"


def _block(code: str) -> str:
    return f"```python\n{code.strip()}\n```"


def _how(task: Task, form: Form, k: int | None) -> str:
    """How tests are to be written."""
    if form == "module":
        return (
            "Answer with a module of pytest or unittest in one fenced Python block. Import the program from "
            "the module `solution`."
        )
    if form == "asserts":
        counted = "" if k is None else f" Only the first {k} count."
        return (
            "Answer with one fenced Python block of lines of the form "
            f"`assert {str(task.entry_point).rpartition('.')[2]}(...) == ...`.{counted}"
        )
    given = "what the program reads" if task.entry_point is None else "a list of the function's arguments"
    answer = "what it has to print" if task.entry_point is None else "what it has to return"
    return (
        f"Answer with one fenced JSON block: an object with `input`, {given}, and `output`, {answer}. "
        "Write no program."
    )


def feedback_on(suite: SuiteOutcome, task: Task, shown: Collection[str]) -> str:
    """What the policy is told after an attempt that left something to do.

    What tests expect is never put right here. Mutants are shown to those only who are shown the reference:
    their text would give it away.
    """
    if suite.infra:
        return "Your tests could not be judged; this is not their fault."
    if not suite.tests:
        return "There was no test in your answer that can be read."
    if suite.n_invalid:
        return "\n".join(["Not all of your tests are right:", *_faults(suite, task)])
    if suite.candidate is not None and suite.candidate.passed:
        return "Your tests are right, but the program passes all of them."
    left = suite.survivors
    if not left:
        return "Your tests are right, and miss nothing that is known."
    told = f"Your tests are right, but miss {len(left)} of {_killable(suite)} wrong programs"
    if "reference" not in shown:
        return f"{told}."
    diffs = [_cut(mutant.diff(task.reference_solutions[0])) for mutant in left[:TOLD]]
    return "\n\n".join([f"{told}, such as the right one with these changes:", *map(_fenced_diff, diffs)])


def _faults(suite: SuiteOutcome, task: Task) -> Iterator[str]:
    """What is wrong, in a few lines."""
    if suite.suite.unreadable:
        yield f"- {suite.suite.unreadable} cannot be read"
    faults = [(i, one) for i, one in enumerate(suite.tests, 1) if one.fate != Fate.KEPT]
    for i, one in faults[:TOLD]:
        written = suite.suite.tests[i - 1] if suite.suite.tests else one.test
        yield f"- number {i}, {_cut(_written(written, task))}, {FATES[one.fate]}"
    if len(faults) > TOLD:
        yield f"- and {len(faults) - TOLD} more"


def _killable(suite: SuiteOutcome) -> int:
    assert suite.mutation is not None
    return len(suite.mutation.mutants if suite.killable is None else suite.killable)


def _fenced_diff(diff: str) -> str:
    return f"```diff\n{diff}\n```"


def _cut(text: str) -> str:
    return text if len(text) <= CHARS else text[: CHARS - 3] + "..."

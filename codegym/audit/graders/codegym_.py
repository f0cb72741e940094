"""codegym's own grader."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from codegym.audit.entry import Entry
from codegym.audit.run import Verdict
from codegym.audit.tests import WANTED
from codegym.audit.topics import topic_of
from codegym.core import Program, Status
from codegym.grading import Grader
from codegym.sandbox import make_sandbox

__all__ = ["CodegymGrader", "make"]


class CodegymGrader:
    """Grades on a sandbox; leaves out what the sandbox does not claim to stop."""

    def __init__(self, grader: Grader, name: str) -> None:
        self.grader, self.name = grader, name
        self.parallel = 2 * grader.sandbox.workers

    def __call__(self, entry: Entry) -> Verdict:
        """Grade."""
        outcome = self.grader.grade(Program(entry.code), entry.task())
        said = outcome.message + outcome.stdout + outcome.stderr
        spoke = entry.side == "hostile" and any(token in said for token in WANTED.values())
        value = None if outcome.status == Status.INFRA else outcome.fraction_passed
        return Verdict(value=value, note=f"{outcome.status}: {outcome.message}", spoke=spoke)

    def skips(self, entry: Entry) -> str:
        """Name the layers that are missing, if any is."""
        missing = topic_of(entry.side, entry.name).needs - self.grader.sandbox.isolation.layers
        return f"the sandbox has no layer {', '.join(sorted(missing))}" if missing else ""


@contextlib.contextmanager
def make(sandbox: str, workers: int | None) -> Iterator[CodegymGrader]:
    """Start the sandbox and the grader."""
    with make_sandbox(sandbox, workers=workers) as box, Grader(box) as grader:
        yield CodegymGrader(grader, f"codegym, {sandbox}")

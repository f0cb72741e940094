"""evalplus: programs that are called."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import evalplus.eval

from codegym.audit.entry import Entry
from codegym.audit.graders.foreign import ForeignGrader, no_wall
from codegym.core import Raises

__all__ = ["judge", "make"]


def judge(code: str, inputs: list[list[Any]], name: str, expected: list[Any], atol: float) -> float:
    """Ask ``untrusted_check``."""
    status, details = evalplus.eval.untrusted_check(
        "humaneval", code, inputs, name, expected, atol, [0.1] * len(inputs), fast_check=False
    )
    return 1.0 if status == "pass" else sum(map(bool, details)) / len(inputs)


def arguments(entry: Entry) -> tuple[Any, ...] | str:
    """The arguments of `judge`."""
    task = entry.task()
    if entry.style != "call":
        return "it only calls functions"
    if task.entry_point != "f" or (task.compare and task.compare.rule not in ("exact", "float")):
        return "it has no such comparison"
    tests = task.tests
    if any(test.kwargs or test.answer != "return" or isinstance(test.expected, Raises) for test in tests):
        return "it has no such tests"
    atol = task.compare.atol if task.compare else 0.0
    return entry.code, [list(test.args) for test in tests], "f", [test.expected for test in tests], atol


def make(sandbox: str, workers: int | None) -> AbstractContextManager[ForeignGrader]:
    """The adapter."""
    del sandbox  # it has one of its own
    return no_wall(ForeignGrader("evalplus", judge, arguments, workers or 2))

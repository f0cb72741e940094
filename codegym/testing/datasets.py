"""The promises of a dataset; see `codegym.datasets`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from codegym.core import Program, Task
from codegym.datasets.row import task_from_row, task_to_row
from codegym.grading import Grader
from codegym.testing.checks import require

__all__ = ["DatasetSubject"]


class DatasetSubject:
    """A dataset under test.

    Args:
        load: Loads it anew.
        grader: Grades its reference solutions.
        limit: How many tasks are looked at. None: all.
    """

    def __init__(self, load: Callable[[], Iterable[Task]], grader: Grader, limit: int | None = None) -> None:
        """Load nothing yet."""
        self._load, self.grader, self._limit = load, grader, limit

    def tasks(self) -> Sequence[Task]:
        """The tasks."""
        return list(islice(self._load(), self._limit))


def check_it_has_tasks(subject: DatasetSubject) -> None:
    """A dataset is an iterable of tasks, and not empty."""
    tasks = subject.tasks()
    require(tasks, "there is none")
    require(all(isinstance(task, Task) for task in tasks), "not all of them are tasks")


def check_ids_are_unique(subject: DatasetSubject) -> None:
    """No two tasks have the same id."""
    ids = [task.id for task in subject.tasks()]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    require(not twice, f"{twice[:3]} occur more than once")


def check_loading_is_deterministic(subject: DatasetSubject) -> None:
    """Loading again gives the same tasks in the same order."""
    require([t.id for t in subject.tasks()] == [t.id for t in subject.tasks()], "the order changes")


def check_tasks_can_be_judged(subject: DatasetSubject) -> None:
    """Every task has tests and a prompt."""
    for task in subject.tasks():
        require(task.tests and task.prompt.strip(), f"task {task.id!r} has no tests, or no prompt")


def check_reference_solutions_pass(subject: DatasetSubject) -> None:
    """Every reference solution passes all tests of its task."""
    for task in subject.tasks():
        for number, code in enumerate(task.reference_solutions):
            outcome = subject.grader.grade(Program(code), task)
            require(outcome.passed, f"solution {number} of {task.id!r}: {outcome.status}: {outcome.message}")


def check_wrong_solutions_fail(subject: DatasetSubject) -> None:
    """No solution that is known to be wrong passes all tests."""
    for task in subject.tasks():
        for number, code in enumerate(task.wrong_solutions):
            outcome = subject.grader.grade(Program(code), task)
            require(not outcome.passed, f"wrong solution {number} of {task.id!r} passes")


def check_rows_are_lossless(subject: DatasetSubject) -> None:
    """A task written as a row of JSON, and read again, is the same task."""
    for task in subject.tasks():
        row = json.loads(json.dumps(task_to_row(task)))
        require(task_from_row(row) == task, f"task {task.id!r} changes")

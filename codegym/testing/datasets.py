"""The promises of a dataset; see `codegym.datasets`."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, Final, Literal

from codegym.core import Outcome, Program, Status, Task
from codegym.datasets.row import task_from_row, task_to_row
from codegym.errors import CodegymError, DataError
from codegym.grading import Grader
from codegym.plugins import registry
from codegym.sandbox import Sandbox, make_sandbox
from codegym.testing.checks import global_seeds, not_applicable, promised, require

__all__ = ["DatasetSubject"]

SHOWN: Final = 3
"""Tasks that a report names."""


class DatasetSubject:
    """A dataset under test.

    Args:
        dataset: A registered name, or a function that loads the tasks anew at each call.
        source: Where the rows of a dataset of that name are.
        split: Which part of it.
        limit: How many tasks are looked at. None: all.
        sandbox: Where its solutions are run.
    """

    def __init__(
        self,
        dataset: str | Callable[[], Iterable[Task]],
        *,
        source: Any = None,
        split: str | None = None,
        limit: int | None = None,
        sandbox: str | Sandbox = "local",
    ) -> None:
        """Load nothing yet."""
        self._dataset, self._limit, self._given_sandbox = dataset, limit, sandbox
        self._where = {"source": source, "split": split}
        self.name = dataset if isinstance(dataset, str) else getattr(dataset, "__name__", "dataset")
        self._grader: Grader | None = None

    def load(self) -> list[Any]:
        """Load it anew."""
        if isinstance(self._dataset, str):
            tasks = registry().resolve("dataset", self._dataset)(**self._where)
        else:
            tasks = self._dataset()
        return list(itertools.islice(tasks, self._limit))

    @cached_property
    def loaded(self) -> list[Any]:
        """What was loaded first."""
        return self.load()

    @property
    def tasks(self) -> list[Task]:
        """Its tasks, for the checks that need some; they are left out where there are none."""
        try:
            loaded = self.loaded
        except Exception as error:
            not_applicable(f"it does not load: {error}")
        if not loaded or not all(isinstance(task, Task) for task in loaded):
            not_applicable("it has no tasks")
        return loaded

    def judged(self, solutions: Literal["reference", "wrong"]) -> Iterator[tuple[str, Outcome | DataError]]:
        """Run the solutions that it brings: what each is called, and what became of it.

        Raises:
            InfraError: One could not be judged.
        """
        brought = {
            f"{solutions} solution {number} of {task.id!r}": (Program(code), task)
            for task in self.tasks
            for number, code in enumerate(getattr(task, f"{solutions}_solutions"))
        }
        futures = {name: self.grader.submit(*pair) for name, pair in brought.items()}
        for name, future in futures.items():
            error = future.exception()
            if error is not None and not isinstance(error, DataError):
                raise error
            yield name, future.result() if error is None else error

    @property
    def grader(self) -> Grader:
        """What judges its solutions."""
        if self._grader is None:
            self._grader = Grader(make_sandbox(self._given_sandbox))
        return self._grader

    def close(self) -> None:
        """Close the sandbox, unless it was given."""
        if self._grader is not None:
            self._grader.close()
            if not isinstance(self._given_sandbox, Sandbox):
                self._grader.sandbox.close()
            self._grader = None


@promised("codegym.hookspecs:codegym_register_tasks")
def check_it_has_tasks(subject: DatasetSubject) -> None:
    """A dataset takes `source` and `split`, and is an iterable of tasks, of which there are some."""
    loaded = subject.loaded
    require(loaded, "there is no task")
    others = [each for each in loaded if not isinstance(each, Task)]
    require(not others, f"{len(others)} are no tasks, such as {others[:1]!r:.200}")


@promised("codegym.core:Task")
def check_ids_are_unique(subject: DatasetSubject) -> None:
    """No two tasks have the same id."""
    ids = [task.id for task in subject.tasks]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    require(not twice, f"more than once: {', '.join(map(repr, twice[:SHOWN]))}")


@promised("codegym.datasets:load_tasks")
def check_loading_is_deterministic(subject: DatasetSubject) -> None:
    """Loading again gives the same tasks in the same order, whatever the seeds are."""
    tasks = subject.tasks
    with global_seeds(1):
        again = subject.load()
    require([task.id for task in again] == [task.id for task in tasks], "other tasks, or another order")
    changed = [task.id for task, before in zip(again, tasks, strict=True) if not alike(task, before)]
    require(not changed, f"changed: {', '.join(map(repr, changed[:SHOWN]))}")


@promised("codegym.core:Task")
def check_tasks_can_be_judged(subject: DatasetSubject) -> None:
    """Every task has a prompt and tests."""
    lacking = [task.id for task in subject.tasks if not task.tests or not task.prompt.strip()]
    require(not lacking, f"no prompt or no tests: {', '.join(map(repr, lacking[:SHOWN]))}")


@promised("codegym.core:Task")
def check_reference_solutions_pass(subject: DatasetSubject) -> None:
    """Every reference solution passes all tests of its task."""
    failing = {
        name: f"{found.status}: {found.message}" if isinstance(found, Outcome) else str(found)
        for name, found in subject.judged("reference")
        if not (isinstance(found, Outcome) and found.passed)
    }
    shown = list(itertools.islice(failing.items(), SHOWN))
    require(not failing, f"{len(failing)} fail; " + "; ".join(f"{name}: {why}" for name, why in shown))


@promised("codegym.core:Task")
def check_wrong_solutions_fail(subject: DatasetSubject) -> None:
    """Every solution that is known to be wrong is judged, and does not pass all tests."""
    settled = ((name, found) for name, found in subject.judged("wrong") if isinstance(found, Outcome))
    passing = [name for name, found in settled if found.status in (Status.PASSED, Status.INFRA)]
    require(not passing, f"{len(passing)} pass, or were not judged; {', '.join(passing[:SHOWN])}")


@promised("codegym.datasets.row:task_to_row")
def check_rows_are_lossless(subject: DatasetSubject) -> None:
    """A task written as a row of JSON, and read again, is the same task."""
    for task in subject.tasks:
        try:
            same = alike(task_from_row(json.loads(json.dumps(task_to_row(task)))), task)
        except CodegymError as error:
            require(False, f"task {task.id!r}: {error}")
        require(same, f"task {task.id!r} is another one after it")


def alike(one: Task, other: Task) -> bool:
    """Whether tasks are the same, also where they hold a value that is not equal to itself."""
    return one == other or repr(one) == repr(other)

"""Public benchmarks and files of tasks, as `codegym.Task`s.

    for task in load_tasks("humaneval+", source="HumanEvalPlus.jsonl.gz"):
        print(task.id, len(task.tests))

A dataset is a function ``load(*, source, split)`` that yields tasks, registered under a name (hook
``codegym_register_tasks``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from codegym.core import Task
from codegym.datasets.files import read_rows
from codegym.errors import ConfigError, DataError
from codegym.plugins import registry

__all__ = ["load_tasks", "read_rows"]


def load_tasks(
    name: str, source: str | Path | None = None, split: str | None = None, limit: int | None = None
) -> Iterator[Task]:
    """Load a dataset.

    Args:
        name: The registered name of a dataset, or ``"module:attr"``.
        source: Where its rows are: a file, a folder or a hub id. None: where the dataset is published.
        split: Which part of it. None: the dataset's default.
        limit: How many tasks, from the first. None: all.

    Returns:
        An iterator of tasks. Rows are read, and their errors raised, as it advances.

    Raises:
        NotFoundError: There is no such dataset.
        ConfigError: An argument makes no sense.
        DataError: A row is malformed, or the id of a task occurs twice.
    """
    if limit is not None and limit < 0:
        raise ConfigError(f"limit must not be negative, got {limit!r}")
    load = registry().resolve("dataset", name)
    return itertools.islice(_unique(load(source=source, split=split), name), limit)


def _unique(tasks: Iterable[Task], name: str) -> Iterator[Task]:
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise DataError(f"dataset {name!r}: the task id {task.id!r} occurs twice")
        seen.add(task.id)
        yield task

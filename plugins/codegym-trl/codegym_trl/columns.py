"""Between codegym's tasks and the columns of a TRL dataset."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from codegym.core import Task
from codegym.datasets.row import task_from_row, task_to_row
from codegym.errors import ConfigError, DataError

if TYPE_CHECKING:
    import datasets

__all__ = ["completion_text", "task_of_columns", "tasks_by_id", "tasks_of_batch", "to_dataset", "to_prompt"]


def to_prompt(task: Task, *, conversational: bool, system: str | None = None) -> str | list[dict[str, str]]:
    """What the policy is given.

    Args:
        task: The problem.
        conversational: Whether as messages, for models with a chat template, or as text.
        system: A system message, in front of everything else.
    """
    text = task.prompt
    if task.starter_code and task.starter_code not in text:
        text = f"{text.rstrip()}\n\n{task.starter_code}"
    if not conversational:
        return text if system is None else f"{system}\n\n{text}"
    messages = [{"role": "user", "content": text}]
    return messages if system is None else [{"role": "system", "content": system}, *messages]


def to_dataset(
    tasks: Iterable[Task], *, conversational: bool = False, system: str | None = None
) -> datasets.Dataset:
    """A dataset that TRL trains on, and `TRLReward` and `EnvironmentFactory` understand.

    Args:
        tasks: The problems.
        conversational: Whether prompts are messages, for models with a chat template, or text.
        system: A system message, in front of every prompt.

    Returns:
        One row for each task with the columns ``prompt``, ``task_id`` and ``task`` (the canonical row as
        JSON text: its values differ in type from task to task, which a table's columns cannot).

    Raises:
        ConfigError: There are no tasks.
    """
    import datasets

    rows = [
        {
            "prompt": to_prompt(task, conversational=conversational, system=system),
            "task_id": task.id,
            "task": json.dumps(task_to_row(task)),
        }
        for task in tasks
    ]
    if not rows:
        raise ConfigError("a dataset needs at least one task, got none")
    return datasets.Dataset.from_list(rows)


def tasks_by_id(tasks: Mapping[str, Task] | Iterable[Task] | None) -> Mapping[str, Task] | None:
    """The tasks by their ids, however they were given."""
    if tasks is None or isinstance(tasks, Mapping):
        return tasks
    return {task.id: task for task in tasks}


def tasks_of_batch(
    columns: Mapping[str, Any], count: int, known: Mapping[str, Task] | None = None
) -> list[Task]:
    """The task of each sample of a batch, from the dataset's columns.

    Args:
        columns: Each column's values, one for each sample; others are ignored.
        count: How many samples there are.
        known: The tasks by id. None: the columns hold them, and ``prompt`` is among them.

    Raises:
        DataError: The columns do not say which tasks they are.
    """
    names = ("task_id",) if known is not None else ("task", "task_id", "info", "answer", "prompt")
    batch = {name: columns[name] for name in names if isinstance(columns.get(name), Sequence)}
    return [
        task_of_columns({name: column[index] for name, column in batch.items()}, known)
        for index in range(count)
    ]


def task_of_columns(columns: Mapping[str, Any], known: Mapping[str, Task] | None = None) -> Task:
    """The task of one sample, from the dataset's columns.

    Args:
        columns: ``task`` (a canonical row, as JSON text or an object), or the columns of the canonical row
            themselves, or, where `known` is given, ``task_id``.
        known: The tasks by id.

    Raises:
        DataError: The columns do not say which task it is.
    """
    if known is not None:
        name = columns.get("task_id")
        if not isinstance(name, str) or name not in known:
            raise DataError(f"column 'task_id': no task is called {name!r}; {len(known)} are known")
        return known[name]
    row = columns.get("task")
    if isinstance(row, str):
        return _parsed(row)
    if row is None and {"task_id", "info", "prompt"} <= columns.keys():
        row = dict(columns)
    if row is None:
        raise DataError(
            "the dataset needs a column 'task' with canonical rows (codegym_trl.to_dataset makes one), or "
            f"the columns 'task_id' and 'info'; got {sorted(columns)}"
        )
    return task_from_row(row)


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Task:
    """Rows come again with each completion of a group and with each epoch."""
    try:
        row = json.loads(text)
    except ValueError as error:
        raise DataError(f"column 'task': malformed JSON text: {error}") from error
    return task_from_row(row)


def completion_text(completion: str | Sequence[Mapping[str, Any]]) -> str:
    """What the policy wrote, from either form that TRL has for it.

    Args:
        completion: Text, or messages; of those, the last one of the assistant counts.
    """
    if isinstance(completion, str):
        return completion
    for message in reversed(completion):
        if message.get("role") == "assistant":
            return _content_text(message.get("content"))
    return ""


def _content_text(content: Any) -> str:
    """The text of a message, whose content may be text, a list of typed parts, or None beside a tool call."""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if part.get("type") == "text")

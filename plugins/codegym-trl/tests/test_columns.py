from __future__ import annotations

import json

import pytest

from codegym.core import Task, TestCase
from codegym.datasets.row import task_to_row
from codegym.errors import ConfigError, DataError
from codegym_trl.columns import completion_text, task_of_columns, tasks_of_batch, to_dataset, to_prompt


def test_dataset_rows_hold_the_whole_task(tasks: list[Task]) -> None:
    dataset = to_dataset(tasks)
    assert dataset.column_names == ["prompt", "task_id", "task"]
    assert [task_of_columns(row) for row in dataset] == tasks
    assert dataset["prompt"][0] == tasks[0].prompt


def test_conversational_prompts_are_messages(tasks: list[Task]) -> None:
    [row] = to_dataset(tasks[:1], conversational=True, system="Answer with code.")
    assert row["prompt"] == [
        {"role": "system", "content": "Answer with code."},
        {"role": "user", "content": tasks[0].prompt},
    ]


def test_starter_code_is_part_of_the_prompt_once() -> None:
    task = Task(id="t", prompt="Add.", entry_point="add", starter_code="def add(a, b):\n")
    assert to_prompt(task, conversational=False) == "Add.\n\ndef add(a, b):\n"
    whole = Task(id="t", prompt="def add(a, b):\n    ...", entry_point="add", starter_code="def add(a, b):\n")
    assert to_prompt(whole, conversational=False) == whole.prompt


def test_values_that_tables_cannot_hold_survive() -> None:
    tests = (TestCase.call({1: (2, 3)}, expected={4, 5}), TestCase.call("x", expected=float("inf")))
    task = Task(id="t", prompt="p", entry_point="f", hidden_tests=tests)
    [row] = to_dataset([task])
    assert task_of_columns(row) == task


def test_a_dataset_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one task"):
        to_dataset([])


def test_tasks_come_from_the_task_column_or_canonical_columns_or_ids(tasks: list[Task]) -> None:
    pair = tasks[:2]
    rows = [task_to_row(task) for task in pair]
    assert tasks_of_batch({"task": [json.dumps(row) for row in rows], "other": [1, 2]}, 2) == pair
    assert tasks_of_batch({"task": rows}, 2) == pair
    canonical = {name: [row[name] for row in rows] for name in rows[0]}
    assert tasks_of_batch(canonical, 2) == pair
    assert tasks_of_batch({"task_id": [pair[1].id]}, 1, {task.id: task for task in pair}) == [pair[1]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": "x"}, r"needs a column 'task'.*got \['label'\]"),
        ({"task": "{"}, "malformed JSON"),
        ({"task": "[1]"}, "."),
    ],
)
def test_columns_that_say_nothing_are_reported(columns: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        task_of_columns(columns)


def test_an_unknown_id_is_reported(tasks: list[Task]) -> None:
    with pytest.raises(DataError, match="no task is called 'nope'; 1 are known"):
        task_of_columns({"task_id": "nope"}, {tasks[0].id: tasks[0]})


def test_completions_are_text_or_the_last_message_of_the_assistant() -> None:
    assert completion_text("x = 1") == "x = 1"
    messages = [
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "name": "submit", "content": "failed"},
        {"role": "assistant", "content": [{"type": "text", "text": "x = "}, {"type": "text", "text": "2"}]},
        {"role": "tool", "content": "late"},
    ]
    assert completion_text(messages) == "x = 2"
    assert completion_text(messages[:2]) == ""
    assert completion_text([]) == ""

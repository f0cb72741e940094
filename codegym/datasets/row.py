"""The canonical row: a task as one JSON object.

::

    {"task_id": "HumanEval/0",
     "prompt": [{"role": "user", "content": "..."}],
     "answer": "def f(x): ...",                      the first reference solution, or ""
     "info": {"entry_point": "f", "hidden_tests": [...], ...}}

The columns are those that trainers expect of a dataset; ``info`` holds everything else. Values that JSON
lacks (tuples, sets, bytes, infinities, large integers) are written as tagged objects, see `codegym.values`: a
row loses nothing.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from codegym.core import REFERENCE, Comparison, Limits, Task, TestCase
from codegym.datasets.files import convert_row, located, read_rows
from codegym.errors import ConfigError, DataError
from codegym.values import from_jsonable, to_jsonable

__all__ = ["load", "task_from_row", "task_to_row"]

Spec = TypeVar("Spec", Comparison, Limits)


class _Message(msgspec.Struct):
    role: Literal["system", "user"]
    content: str


class _Test(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    style: Literal["call", "stdio", "code"]
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    stdin: str = ""
    source: str = ""
    expected: Any = msgspec.UNSET
    answer: Literal["return", "argument"] = "return"
    shared: bool = False
    compare: dict[str, Any] | None = None
    tier: str | None = None
    limits: dict[str, Any] | None = None


class _Info(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    entry_point: str | None = None
    starter_code: str = ""
    preamble: str = ""
    public_tests: list[_Test] = []
    hidden_tests: list[_Test] = []
    reference_solutions: list[str] | None = None
    wrong_solutions: list[str] = []
    compare: dict[str, Any] | None = None
    limits: dict[str, Any] | None = None
    meta: Any = None


class _Row(msgspec.Struct):
    task_id: str
    prompt: str | list[_Message]
    answer: str = ""
    info: Any = None


def task_to_row(task: Task) -> dict[str, Any]:
    """Write a task as a row.

    Returns:
        What `json.dumps` takes, and `task_from_row` turns back into an equal task.

    Raises:
        DataError: The task holds values that are no plain data.
    """
    info = _Info(
        entry_point=task.entry_point,
        starter_code=task.starter_code,
        preamble=task.preamble,
        public_tests=[_write_test(test) for test in task.public_tests],
        hidden_tests=[_write_test(test) for test in task.hidden_tests],
        reference_solutions=list(task.reference_solutions),
        wrong_solutions=list(task.wrong_solutions),
        compare=_write_spec(task.compare),
        limits=_write_spec(task.limits) or None,
        meta=to_jsonable(dict(task.meta)) or None,
    )
    return {
        "task_id": task.id,
        "prompt": [{"role": "user", "content": task.prompt}],
        "answer": next(iter(task.reference_solutions), ""),
        "info": msgspec.to_builtins(info),
    }


def task_from_row(row: object) -> Task:
    """Read a task from a row.

    Rows may also be written by hand: ``prompt`` may be plain text, ``info`` JSON text, fields that are null
    count as left out, and without ``info.reference_solutions`` a non-empty ``answer`` is the reference
    solution.

    Args:
        row: What `task_to_row` returned, or the like. Columns that it does not know are ignored.

    Raises:
        DataError: The row is malformed; names the field.
    """
    outer = convert_row(_without_nulls(row), _Row)
    info = convert_row(_read_info(outer.info), _Info, "info")
    try:
        return Task(
            id=outer.task_id,
            prompt=_read_prompt(outer.prompt),
            entry_point=info.entry_point,
            starter_code=info.starter_code,
            preamble=info.preamble,
            public_tests=_read_tests(info.public_tests, "info.public_tests"),
            hidden_tests=_read_tests(info.hidden_tests, "info.hidden_tests"),
            reference_solutions=_read_solutions(outer.answer, info.reference_solutions),
            wrong_solutions=tuple(info.wrong_solutions),
            compare=_read_spec(info.compare, Comparison, "info.compare"),
            limits=_read_spec(info.limits, Limits, "info.limits") or Limits(),
            meta=_read_meta(info.meta),
        )
    except ConfigError as error:
        raise DataError(str(error)) from error


def load(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """The dataset ``jsonl``: tasks from a file of canonical rows.

    Args:
        source: The file; every format of `codegym.datasets.read_rows`.
        split: Must be None: a file has no splits.

    Raises:
        ConfigError: There is no source, or there is a split.
        DataError: The file or one of its rows is malformed.
    """
    if source is None:
        raise ConfigError("the dataset 'jsonl' needs a source: the path of a file with canonical rows")
    if split is not None:
        raise ConfigError(f"a file has no splits, got split={split!r}")
    for line, row in read_rows(source):
        with located(source, line):
            task = task_from_row(row)
        yield task


def _write_test(test: TestCase) -> _Test:
    return _Test(
        style=test.style,
        args=[to_jsonable(value) for value in test.args],
        kwargs={name: to_jsonable(value) for name, value in test.kwargs.items()},
        stdin=test.stdin,
        source=test.source,
        expected=msgspec.UNSET if test.expected is REFERENCE else to_jsonable(test.expected),
        answer=test.answer,
        shared=test.shared,
        compare=_write_spec(test.compare),
        tier=test.tier,
        limits=_write_spec(test.limits),
    )


def _write_spec(spec: Comparison | Limits | None) -> dict[str, Any] | None:
    """The fields of a specification that are not at their default."""
    if spec is None:
        return None
    return {
        field.name: value
        for field in dataclasses.fields(spec)
        if (value := getattr(spec, field.name)) != field.default
    }


def _read_prompt(prompt: str | list[_Message]) -> str:
    """What the user says; a system message is the trainer's, not the task's."""
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(message.content for message in prompt if message.role == "user")


def _read_info(info: object) -> dict[str, Any]:
    if isinstance(info, str):
        try:
            info = json.loads(info)
        except ValueError as error:
            raise DataError(f"info: malformed JSON text: {error}") from error
    if info is None:
        return {}
    if not isinstance(info, Mapping):
        raise DataError(f"info: expected an object, got {type(info).__name__}")
    found: dict[str, Any] = _without_nulls(info)
    for name in ("public_tests", "hidden_tests"):
        if isinstance(found.get(name), list):
            found[name] = [_without_nulls(test, keep="expected") for test in found[name]]
    return found


def _without_nulls(data: Any, keep: str | None = None) -> Any:
    """An object without the fields that are null, which tables write for fields that are left out."""
    if not isinstance(data, Mapping):
        return data
    return {name: value for name, value in data.items() if value is not None or name == keep}


def _read_tests(tests: Sequence[_Test], where: str) -> tuple[TestCase, ...]:
    return tuple(_read_test(test, f"{where}[{index}]") for index, test in enumerate(tests))


def _read_test(test: _Test, where: str) -> TestCase:
    return TestCase(
        style=test.style,
        args=tuple(_read_value(value, f"{where}.args[{index}]") for index, value in enumerate(test.args)),
        kwargs={name: _read_value(value, f"{where}.kwargs.{name}") for name, value in test.kwargs.items()},
        stdin=test.stdin,
        source=test.source,
        expected=(
            REFERENCE if test.expected is msgspec.UNSET else _read_value(test.expected, f"{where}.expected")
        ),
        answer=test.answer,
        shared=test.shared,
        compare=_read_spec(test.compare, Comparison, f"{where}.compare"),
        tier=test.tier,
        limits=_read_spec(test.limits, Limits, f"{where}.limits"),
    )


def _read_value(data: object, where: str) -> Any:
    try:
        return from_jsonable(data)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error


def _read_spec(data: dict[str, Any] | None, kind: type[Spec], where: str) -> Spec | None:
    if data is None:
        return None
    known = {field.name for field in dataclasses.fields(kind)}
    unknown = sorted(data.keys() - known)
    if unknown:
        raise DataError(f"{where}: unknown field {unknown[0]!r}; known: {', '.join(sorted(known))}")
    return convert_row(_without_nulls(data), kind, where)


def _read_solutions(answer: str, solutions: list[str] | None) -> tuple[str, ...]:
    if solutions is None:
        return (answer,) if answer else ()
    if answer != next(iter(solutions), ""):
        raise DataError("answer: is not the first of info.reference_solutions")
    return tuple(solutions)


def _read_meta(data: object) -> dict[str, Any]:
    if data is None:
        return {}
    meta = _read_value(data, "info.meta")
    if not isinstance(meta, dict):
        raise DataError(f"info.meta: expected an object, got {type(meta).__name__}")
    return meta

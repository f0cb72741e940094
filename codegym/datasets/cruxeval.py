"""CRUXEval (2401.03065): what a function answers, and what it was called with."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from codegym.core import Limits, Task, TestCase
from codegym.datasets.files import convert_row, find_rows, located
from codegym.errors import DataError

__all__ = ["load_input", "load_output"]

FILES: Final = ("cruxeval.jsonl", "cruxeval.jsonl.gz")
LIMITS: Final = Limits(cpu_s=3.0)
OUTPUT: Final = (
    "Here is a Python function.\n\n```python\n{code}\n```\n\nWhat does `f({input})` return? Put a function "
    "`answer()` that returns it, written as a literal, into one Markdown code block."
)
INPUT: Final = (
    "Here is a Python function.\n\n```python\n{code}\n```\n\nWith what can it be called so that it returns "
    "`{output}`? Put a function `answer()` that returns that call, `return f(…)` with literal arguments, "
    "into one Markdown code block."
)
RECORDER: Final = "def f(*args, **kwargs):\n    return [list(args), kwargs]\n\n\n"
"""What stands for the function in an answer: what it was called with."""
START: Final = "def answer():\n    return "


class _Row(msgspec.Struct):
    code: str
    input: str
    output: str
    id: str


def load_output(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load CRUXEval-O: tell what the function returns. A completion is the value, such as ``[1, 2]``.

    Args:
        source: A file of rows, a folder with one of `FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    return _load(source, split, _output_task)


def load_input(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load CRUXEval-I: find arguments for which the function returns a value. A completion is a call, such as
    ``f([1, 2])``; any that returns the value is right. Otherwise like `load_output`.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    return _load(source, split, _input_task)


def _load(source: str | Path | None, split: str | None, make: Callable[[_Row], Task]) -> Iterator[Task]:
    for place, line, row in find_rows(source, split, FILES, "cruxeval-org/cruxeval"):
        with located(place, line):
            task = make(convert_row(row, _Row))
        yield task


def _output_task(row: _Row) -> Task:
    _check(row)
    return Task(
        id=f"CRUXEval-O/{row.id}",
        prompt=OUTPUT.format(code=row.code, input=row.input),
        entry_point="answer",
        starter_code=START,
        hidden_tests=(TestCase.code(f"assert answer() == ({row.output})"),),
        reference_solutions=(f"{START}{row.output}\n",),
        limits=LIMITS,
        meta={"benchmark": "CRUXEval-O"},
    )


def _input_task(row: _Row) -> Task:
    """Where the known arguments are literals, the function runs apart from the answer; some few are functions
    themselves, or names of its module: there the answer is in one process with it.
    """
    _check(row)
    plain = _is_plain(row.input)
    start = ("" if plain else f"{row.code}\n\n\n") + RECORDER + START
    judged = f"assert f(*args, **kwargs) == ({row.output})"
    test = f"args, kwargs = answer()\n{judged}" if plain else f"args, kwargs = answer()\n{row.code}\n{judged}"
    return Task(
        id=f"CRUXEval-I/{row.id}",
        prompt=INPUT.format(code=row.code, output=row.output),
        entry_point="answer",
        starter_code=start,
        preamble=row.code if plain else "",
        hidden_tests=(TestCase.code(test, shared=not plain),),
        reference_solutions=(f"{start}f({row.input})\n",),
        limits=LIMITS,
        meta={"benchmark": "CRUXEval-I"},
    )


def _is_plain(arguments: str) -> bool:
    """Whether all arguments of a call are literals."""
    call = ast.parse(f"f({arguments})", mode="eval").body
    assert isinstance(call, ast.Call)
    try:
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            ast.literal_eval(value)
    except ValueError:
        return False
    return True


def _check(row: _Row) -> None:
    """Make sure that what becomes code is code.

    Raises:
        DataError: It is not.
    """
    for name, text in (("code", row.code), ("input", f"f({row.input})"), ("output", f"({row.output})")):
        try:
            ast.parse(text)
        except (SyntaxError, ValueError) as error:
            raise DataError(f"{name}: no Python: {error}") from error

"""Data sets of functions with their tests as code: MBPP, ULT, KodCode, AceCode."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from codegym.core import Limits, Task, TestCase
from codegym.datasets.files import Row, convert_row, find_rows, located
from codegym.errors import DataError

__all__ = ["load_acecode", "load_kodcode", "load_mbpp", "load_ult"]

MBPP_FILES: Final = ("mbpp.jsonl", "sanitized-mbpp.json")
ULT_FILES: Final = ("ULT.jsonl", "ULT_Lite.jsonl", "ULT_Lite.json.gz")
KODCODE_FILES: Final = ("kodcode.jsonl", "kodcode.jsonl.gz", "kodcode.parquet")
ACECODE_FILES: Final = ("acecode.jsonl", "acecode.jsonl.gz", "acecode.parquet")


class _Mbpp(msgspec.Struct):
    task_id: int | str
    code: str
    test_list: list[str]
    text: str | None = None
    prompt: str | None = None
    test_setup_code: str = ""
    test_imports: list[str] = []
    challenge_test_list: list[str] = []


class _Ult(msgspec.Struct):
    func_name: str
    code: str
    prompt: str
    task_id: str | int
    test_list: list[str]


class _Declaration(msgspec.Struct):
    function_name: str
    function_declaration: str = ""


class _KodCode(msgspec.Struct):
    question_id: str
    question: str
    solution: str
    test: str
    test_info: list[_Declaration] = []
    subset: str | None = None
    style: str | None = None
    gpt_difficulty: str | None = None
    gpt_pass_percentage: float | None = None


class _Inference(msgspec.Struct):
    completion: str
    pass_rate: float = 0.0


class _AceCode(msgspec.Struct):
    id: str
    question: str
    test_cases: list[str]
    source: str | None = None
    inferences: list[_Inference] = []


def load_mbpp(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load MBPP, whole or sanitized, with the asserts that it was published with.

    Args:
        source: A file of rows, a folder with one of `MBPP_FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, MBPP_FILES, "google-research-datasets/mbpp"):
        with located(place, line):
            task = _mbpp(convert_row(row, _Mbpp))
        yield task


def load_ult(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load UnLeakedTestBench (2508.00408), whole or lite: real functions, with tests for them.

    Args:
        source: A file of rows, a folder with one of `ULT_FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, ULT_FILES, "UnLeakedTestBench/ULT"):
        with located(place, line):
            task = _ult(convert_row(row, _Ult))
        yield task


def load_kodcode(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load KodCode (2503.02951): tests are one module of pytest, which imports from ``solution``.

    Args:
        source: A file of rows, a folder with one of `KODCODE_FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``train``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, KODCODE_FILES, "KodCode/KodCode-V1", "train"):
        with located(place, line):
            task = _kodcode(convert_row(row, _KodCode))
        yield task


def load_acecode(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load AceCode-87K (2502.01718): asserts that a model wrote. Completions of other models that pass none
    are known-wrong solutions; the best one that passes all is the reference.

    Args:
        source: A file of rows, a folder with one of `ACECODE_FILES`, or a hub id. None: the folder that
            ``CODEGYM_DATA`` names, else the hub.
        split: The split on the hub; None for ``train``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, ACECODE_FILES, "TIGER-Lab/AceCode-87K", "train"):
        with located(place, line):
            task = _acecode(convert_row(row, _AceCode))
        yield task


def _mbpp(row: _Mbpp) -> Task:
    question = row.text or row.prompt
    if question is None:
        raise DataError("expected a field 'text' or 'prompt'")
    setup = "\n".join([*row.test_imports, row.test_setup_code])
    shown = "\n".join(row.test_list)
    return Task(
        id=f"Mbpp/{row.task_id}",
        prompt=f"{question}\n\nYour code should pass these tests:\n\n{shown}",
        entry_point=entry_point_of(row.test_list),
        preamble=setup,
        public_tests=tuple(map(TestCase.code, row.test_list)),
        hidden_tests=tuple(map(TestCase.code, row.challenge_test_list)),
        reference_solutions=(row.code,),
        meta={"benchmark": "MBPP"},
    )


def _ult(row: _Ult) -> Task:
    return Task(
        id=f"ULT/{row.task_id}",
        prompt=row.prompt,
        entry_point=row.func_name,
        hidden_tests=tuple(map(TestCase.code, row.test_list)),
        reference_solutions=(with_imports(row.code),),
        meta={"benchmark": "ULT"},
    )


def _kodcode(row: _KodCode) -> Task:
    name = row.test_info[0].function_name if row.test_info else None
    known: Row = {"source": row.subset, "style": row.style, "difficulty": row.gpt_difficulty}
    known["pass_percentage"] = row.gpt_pass_percentage
    declaration = row.test_info[0].function_declaration if row.test_info else ""
    return Task(
        id=f"KodCode/{row.question_id}",
        prompt=row.question + (f"\n\nThe function to write: `{declaration}`" if declaration else ""),
        entry_point=name or last_definition(row.solution),
        # one module may import and use several names of the solution
        hidden_tests=(TestCase.code(row.test, shared=len(row.test_info) > 1),),
        reference_solutions=(row.solution,),
        limits=Limits(cpu_s=10.0),
        meta={"benchmark": "KodCode", **{key: value for key, value in known.items() if value is not None}},
    )


def _acecode(row: _AceCode) -> Task:
    ranked = sorted(row.inferences, key=lambda one: -one.pass_rate)
    return Task(
        id=f"AceCode/{row.id}",
        prompt=row.question,
        entry_point=entry_point_of(row.test_cases),
        hidden_tests=tuple(map(TestCase.code, row.test_cases)),
        reference_solutions=tuple(one.completion for one in ranked[:1] if one.pass_rate >= 1.0),
        wrong_solutions=tuple(one.completion for one in ranked if one.pass_rate <= 0.0),
        meta={"benchmark": "AceCode", **({"source": row.source} if row.source else {})},
    )


def entry_point_of(tests: list[str]) -> str:
    """The function that all asserts call.

    Raises:
        DataError: There is none.
    """
    names = [called_names(test) for test in tests]
    common = [name for name in (names[0] if names else ()) if all(name in others for others in names)]
    if not common:
        raise DataError("no function is called by all of the tests")
    return common[0]


def called_names(test: str) -> list[str]:
    """The names that a test calls, but for built-in ones, the outermost first.

    Raises:
        DataError: It is no Python.
    """
    try:
        nodes = ast.walk(ast.parse(test))
    except (SyntaxError, ValueError) as error:
        raise DataError(f"a test that is no Python: {error}: {test!r:.100}") from error
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    names = (function.id for function in calls if isinstance(function, ast.Name))
    return [name for name in names if not hasattr(builtins, name)]


def with_imports(code: str) -> str:
    """Code with imports of the standard library's modules that it uses without importing them: functions of
    ULT were cut out of their files.

    Raises:
        DataError: It is no Python.
    """
    try:
        names = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    except (SyntaxError, ValueError) as error:
        raise DataError(f"code: no Python: {error}") from error
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(ast.parse(code))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    used = {node.id for node in names} - stored - imported - parameters(code)
    missing = sorted(name for name in used if name in sys.stdlib_module_names)
    return "".join(f"import {name}\n" for name in missing) + code


def parameters(code: str) -> set[str]:
    """The names of all parameters of all functions."""
    return {node.arg for node in ast.walk(ast.parse(code)) if isinstance(node, ast.arg)}


def last_definition(code: str) -> str:
    """The last function or class that code defines at its top level.

    Raises:
        DataError: There is none.
    """
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError) as error:
        raise DataError(f"solution: no Python: {error}") from error
    names = [
        one.name for one in body if isinstance(one, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
    ]
    if not names:
        raise DataError("solution: defines nothing")
    return names[-1]

"""Tests as a policy writes them: one test in JSON, assert statements, or a module of pytest or unittest."""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from codegym.core import Task, TestCase
from codegym.errors import ConfigError
from codegym.grading.asserts import as_calls

__all__ = ["FORMS", "Form", "WrittenSuite", "extract_test", "read_suite"]

Form = Literal["json", "asserts", "module"]
FORMS: Final[tuple[Form, ...]] = get_args(Form)
_JSON_BLOCK: Final = re.compile(r"```json[ \t]*\n(.*?)```", re.DOTALL)
_CODE_BLOCK: Final = re.compile(r"```(?:python3?|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
MOST_INLINED: Final = 200
"""Nodes that an assert may have once names are replaced by what was assigned to them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenSuite:
    """What was found in a completion.

    Attributes:
        form: How it is written.
        tests: The tests that can be read, in order.
        unreadable: How many were meant to be tests, and are none that is understood.
        code: The code of the whole, for the form ``module``; empty for others.
    """

    form: Form
    tests: tuple[TestCase, ...] = ()
    unreadable: int = 0
    code: str = ""


def read_suite(completion: str, task: Task, form: Form, k: int | None = None) -> WrittenSuite:
    """Read the tests in a completion.

    Args:
        completion: What the policy wrote; thoughts before ``</think>`` do not count.
        task: What the tests are for.
        form: ``json``: an object with ``input`` and ``output``, in the last block that holds one (TCS,
            2609.03955). For a function, ``input`` is a list of arguments. ``asserts``: lines
            ``assert f(…) == …`` (Code-A1, 2603.15611). ``module``: a module of pytest or unittest.
        k: How many asserts are looked at; what is written beyond them does not count. None: all.

    Raises:
        ConfigError: There is no such form, or it does not fit the task.
    """
    if form not in FORMS:
        raise ConfigError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    if form != "json" and task.entry_point is None:
        raise ConfigError(f"task {task.id!r} is a program; its tests are written in the form 'json'")
    answer = _without_thoughts(completion)
    if answer is None:
        return WrittenSuite(form=form, unreadable=1)
    if form == "json":
        return _read_json(answer, task)
    code = _code_in(answer)
    if form == "module":
        return WrittenSuite(form=form, code=code, unreadable=int(not _parses(code)))
    return _read_asserts(code, str(task.entry_point), k)


def _without_thoughts(completion: str) -> str | None:
    """What follows the thoughts; None where they do not end."""
    thoughts, closed, answer = completion.partition("</think>")
    if closed:
        return answer
    return None if "<think>" in thoughts else completion


def _code_in(answer: str) -> str:
    """All code blocks, or the whole where there is none."""
    blocks = _CODE_BLOCK.findall(answer)
    return "\n".join(blocks) if blocks else answer


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return bool(code.strip())


# JSON


def extract_test(completion: str) -> tuple[str, str] | None:
    """The input and the output in a verifier's answer (TCS, 2609.03955).

    It is in the last fenced ``json`` block after the thoughts that parses: an object with the texts
    ``input`` and ``output``, or a list whose last element is one.

    Args:
        completion: What the policy wrote. Thoughts that do not end hide everything.

    Returns:
        None: there is no test, and no reward for it.
    """
    answer = _without_thoughts(completion)
    found = None if answer is None else _last_object(answer)
    if found is None or not (isinstance(found["input"], str) and isinstance(found["output"], str)):
        return None
    return found["input"], found["output"]


def _last_object(answer: str) -> Mapping[str, Any] | None:
    """The object of the last block that parses, if it has an input and an output."""
    parsed = [value for value in map(_parse_block, _JSON_BLOCK.findall(answer)) if value is not None]
    found = parsed[-1] if parsed else None
    if isinstance(found, list):
        found = found[-1] if found else None
    return found if isinstance(found, dict) and {"input", "output"} <= found.keys() else None


def _parse_block(block: str) -> Any:
    """The value of a block, or of the part up to its last bracket; None if neither parses."""
    for text in (block, block[: block.rfind("]") + 1]):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            continue
    return None


def _read_json(answer: str, task: Task) -> WrittenSuite:
    found = _last_object(answer)
    test = None if found is None else _test_of(found["input"], found["output"], task)
    if test is None:
        return WrittenSuite(form="json", unreadable=1)
    return WrittenSuite(form="json", tests=(test,))


def _test_of(given: Any, expected: Any, task: Task) -> TestCase | None:
    if task.entry_point is None:
        texts = isinstance(given, str) and isinstance(expected, str)
        return TestCase.stdio(given, expected) if texts else None
    return TestCase.call(*given, expected=expected) if isinstance(given, list) else None


# Asserts


def _read_asserts(code: str, entry_point: str, k: int | None) -> WrittenSuite:
    tests: list[TestCase] = []
    unreadable = count = 0
    known: dict[str, ast.expr] = {}
    for statement in _statements(code):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                _assign(known, name, value)
                continue
            case ast.Assert() | str():
                count += 1
            case _:
                continue
        if k is not None and count > k:
            break
        test = None if isinstance(statement, str) else _test_in(statement, entry_point, known)
        if test is None:
            unreadable += 1
        else:
            tests.append(test)
    return WrittenSuite(form="asserts", tests=tuple(tests), unreadable=unreadable)


def _assign(known: dict[str, ast.expr], name: str, value: ast.expr) -> None:
    """Remember what a name stands for, or forget the name where that has grown too large."""
    inlined = _inlined(value, known)
    if inlined is None:
        known.pop(name, None)
    else:
        known[name] = inlined


def _statements(code: str) -> Iterator[ast.stmt | str]:
    """The statements of code, those in test functions too; where it does not parse, its lines one by one, and
    as texts the assert statements among them that do not parse.
    """
    try:
        yield from _flattened(ast.parse(code).body)
        return
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass  # something of it may still be read
    for line in code.splitlines():
        stripped = line.strip()
        try:
            yield from _flattened(ast.parse(stripped).body)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            if stripped.startswith("assert"):
                yield stripped


def _flattened(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield from _flattened(statement.body)
        else:
            yield statement


def _test_in(statement: ast.stmt, entry_point: str, known: Mapping[str, ast.expr]) -> TestCase | None:
    """The test that an assert statement is; None for forms that are not understood."""
    match statement:
        case ast.Assert(test=ast.Compare(left=ast.Call() as call, ops=[ast.Eq()], comparators=[_])):
            pass
        case ast.Assert(
            test=ast.Compare(left=ast.Call() as call, ops=[ast.Is()], comparators=[ast.Constant() as value])
        ):
            if value.value is not None and type(value.value) is not bool:
                return None
        case _:
            return None
    name = entry_point.rpartition(".")[2]
    if not (isinstance(call.func, ast.Name) and call.func.id == name):
        return None
    assert isinstance(statement, ast.Assert)
    compared = _inlined(statement.test, known)
    if compared is None:
        return None
    source = f"assert {ast.unparse(compared)}"
    calls = as_calls(source, name)
    return calls[0] if calls is not None and len(calls) == 1 else TestCase.code(source)


class _Inliner(ast.NodeTransformer):
    """Puts what was assigned to names in their place."""

    def __init__(self, known: Mapping[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.known.get(node.id)
        return copy.deepcopy(value) if value is not None and isinstance(node.ctx, ast.Load) else node


def _inlined(expression: ast.expr, known: Mapping[str, ast.expr]) -> ast.expr | None:
    """The expression without the names that are known; None where it would grow too large."""
    if not known:
        return expression
    found = _Inliner(known).visit(copy.deepcopy(expression))
    assert isinstance(found, ast.expr)
    return found if sum(1 for _ in ast.walk(found)) <= MOST_INLINED else None

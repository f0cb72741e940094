"""Assert statements to call tests: what can be compared on the host should not need a second guest."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, Final

from codegym.core import Comparison, TestCase

__all__ = ["as_calls"]

EXACT: Final = Comparison(rule="exact")


class _Unclear(Exception):
    """The code is more than calls to compare."""


def as_calls(source: str, entry_point: str) -> list[TestCase] | None:
    """The calls that a piece of test code amounts to.

    Understood are ``assert f(…) == value`` (either way round) and ``assert f(…) is None`` (or True, or
    False), where all arguments and the value are literals; as statements of their own, or in a function
    ``check(f)``.

    Args:
        source: Test code.
        entry_point: The function under test; a plain name.

    Returns:
        One call test for each such assert statement, or None where the code is anything more.
    """
    try:
        statements, name = _asserts(ast.parse(source).body, entry_point)
        calls = [call for statement in statements for call in _calls(statement, name)]
    except (_Unclear, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return calls or None


def _asserts(body: Sequence[ast.stmt], entry_point: str) -> tuple[Sequence[ast.stmt], str]:
    """The statements that test, and the name that the function under test has there."""
    match [statement for statement in body if not _is_idle(statement)]:
        case [
            ast.FunctionDef(
                name="check", args=ast.arguments(args=[argument], defaults=[]), body=inner
            ) as check
        ]:
            if not check.decorator_list:
                return inner, argument.arg
    return body, entry_point


def _is_idle(statement: ast.stmt) -> bool:
    """Whether a statement has no effect on tests: a constant by itself, ``pass``, or metadata in literals."""
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Assert(test=ast.Constant(value=True)):
            return True
        case ast.Assign(targets=[ast.Name(id="METADATA")], value=value):
            ast.literal_eval(value)
            return True
    return False


def _calls(statement: ast.stmt, name: str) -> Iterator[TestCase]:
    """The call that a statement tests, if it does anything."""
    if _is_idle(statement):
        return
    match statement:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
            call, value = (left, right) if isinstance(left, ast.Call) else (right, left)
        case ast.Assert(test=ast.Compare(left=call, ops=[ast.Is()], comparators=[ast.Constant() as value])):
            if value.value is not None and type(value.value) is not bool:
                raise _Unclear
        case _:
            raise _Unclear
    yield _call(call, value, name)


def _call(call: ast.expr, value: ast.expr, name: str) -> TestCase:
    match call:
        case ast.Call(func=ast.Name(id=called), args=args, keywords=keywords) if called == name:
            named: dict[str, Any] = {}
            for keyword in keywords:
                if keyword.arg is None:
                    raise _Unclear
                named[keyword.arg] = ast.literal_eval(keyword.value)
            positional = tuple(ast.literal_eval(argument) for argument in args)
            expected = ast.literal_eval(value)
            return TestCase(style="call", args=positional, kwargs=named, expected=expected, compare=EXACT)
    raise _Unclear

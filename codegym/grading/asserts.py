"""Assert statements to call tests: what can be compared on the host should not need a second guest."""

from __future__ import annotations

import ast
from typing import Any

from codegym.core import Comparison, TestCase

__all__ = ["as_calls"]

EXACT = Comparison(rule="exact")


def as_calls(source: str, entry_point: str) -> list[TestCase] | None:
    """The calls that a piece of test code amounts to.

    Understood are ``assert f(…) == value`` (either way round) and ``assert f(…) is None`` (or True, or
    False), where all arguments and the value are literals, and nothing else stands in the code.

    Args:
        source: Test code.
        entry_point: The function under test; a plain name.

    Returns:
        One call test for each assert statement, or None where the code is anything more.
    """
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    tests = [_as_call(statement, entry_point) for statement in statements]
    found = [test for test in tests if test is not None]
    return found if found and len(found) == len(tests) else None


def _as_call(statement: ast.stmt, entry_point: str) -> TestCase | None:
    match statement:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
            return _call(left, right, entry_point) or _call(right, left, entry_point)
        case ast.Assert(
            test=ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=value) as right])
        ):
            return _call(left, right, entry_point) if value is None or type(value) is bool else None
    return None


def _call(call: ast.expr, value: ast.expr, entry_point: str) -> TestCase | None:
    match call:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name == entry_point:
            try:
                positional = tuple(ast.literal_eval(argument) for argument in args)
                named = {
                    str(keyword.arg): ast.literal_eval(keyword.value) for keyword in keywords if keyword.arg
                }
                expected: Any = ast.literal_eval(value)
            except (ValueError, TypeError, RecursionError, MemoryError):
                return None
            if len(named) == len(keywords):
                return TestCase(style="call", args=positional, kwargs=named, expected=expected, compare=EXACT)
    return None

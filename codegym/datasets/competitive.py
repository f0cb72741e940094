"""What the benchmarks of competitive programming share: tests in JSON, of programs and of functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from codegym.core import Comparison, TestCase
from codegym.errors import DataError

__all__ = [
    "DECIMAL_LINES",
    "JSON_VALUE",
    "LOOSE_LINES",
    "WRAPPED_VALUE",
    "entry_point",
    "judge",
    "parse",
    "text_of",
]

LONG_DIGITS: Final = 4000
"""Longer integers are more than `int` reads of a text."""


def judge(name: str) -> Comparison:
    """The rule that a judge of `codegym.datasets.judges` decides."""
    return Comparison(rule="judge", judge=f"codegym.datasets.judges:{name}")


DECIMAL_LINES, JSON_VALUE = judge("decimal_lines"), judge("json_value")
LOOSE_LINES, WRAPPED_VALUE = judge("loose_lines"), judge("wrapped_value")


def parse(text: str | Sequence[Any] | Mapping[str, Any], what: str) -> Any:
    """JSON that a column holds as text, with integers of any length; what is no text is as it should be.

    Raises:
        DataError: It is malformed.
    """
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{what}: malformed JSON: {error}") from error


def _integer(digits: str) -> int:
    return int(digits) if len(digits) < LONG_DIGITS else int(Decimal(digits))


def text_of(value: Any, what: str) -> str:
    """A test's text, that may be a list of its lines.

    Raises:
        DataError: It is neither.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, (str, int, float)) for line in value):
        return "\n".join(map(str, value))
    raise DataError(f"{what}: expected a text or a list of lines, got {value!r:.100}")


def entry_point(name: str) -> str:
    """The function to call: a method of ``Solution``, or a function where the program has no such class."""
    return name if "." in name else f"Solution.{name}"


def pairs(data: Any, what: str) -> list[tuple[Any, Any]]:
    """The pairs of ``inputs`` and ``outputs``.

    Raises:
        DataError: They are no lists of one length.
    """
    if not isinstance(data, dict):
        raise DataError(f"{what}: expected an object, got {type(data).__name__}")
    inputs, outputs = data.get("inputs"), data.get("outputs")
    if not (isinstance(inputs, list) and isinstance(outputs, list) and len(inputs) == len(outputs)):
        raise DataError(f"{what}: expected lists 'inputs' and 'outputs' of one length")
    return list(zip(inputs, outputs, strict=True))


def tests_of(data: Any, what: str) -> tuple[str | None, tuple[TestCase, ...]]:
    """The tests in TACO's and APPS's form: ``{"inputs": […], "outputs": […], "fn_name"?: …}``.

    Returns:
        The function to call, None where programs speak stdio, and the tests.

    Raises:
        DataError: The form is another.
    """
    found = pairs(data, what)
    name = data.get("fn_name")
    if name is None:
        tests = [
            TestCase.stdio(text_of(stdin, f"{what}, input {i}"), text_of(out, f"{what}, output {i}"))
            for i, (stdin, out) in enumerate(found)
        ]
        return None, tuple(tests)
    for i, (arguments, _) in enumerate(found):
        if not isinstance(arguments, list):
            raise DataError(f"{what}, input {i}: expected a list of arguments, got {arguments!r:.100}")
    return entry_point(str(name)), tuple(TestCase.call(*args, expected=out) for args, out in found)

"""Judges of benchmarks whose rules are their own. They run on the host, and see plain data."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from codegym.core import TestCase

__all__ = ["decimal_lines", "json_value", "loose_lines", "wrapped_value"]

RTOL, ATOL = 1e-5, 1e-8
"""Of numbers, as numpy's `allclose` has them."""
MOST_DIGITS: Final = 10_000
"""Longer numbers are compared as text."""


def json_value(test: TestCase, answer: Any, expected: Any) -> bool:
    """LiveCodeBench, functions: equal, a tuple for a list allowed."""
    del test
    return bool(listed(answer) == expected)


def wrapped_value(test: TestCase, answer: Any, expected: Any) -> bool:
    """TACO and APPS, functions: the expected value, or the only element of it, for many are wrapped once."""
    del test
    value = listed(answer)
    if value == expected:
        return True
    return isinstance(expected, list) and len(expected) > 0 and bool(value == expected[0])


def listed(value: Any) -> Any:
    """A value with lists for its tuples: JSON knows no others."""
    if isinstance(value, (list, tuple)):
        return [listed(element) for element in value]
    if isinstance(value, dict):
        return {key: listed(element) for key, element in value.items()}
    return value


def decimal_lines(test: TestCase, answer: Any, expected: Any) -> bool:
    """LiveCodeBench, programs: as many lines, each the same when stripped, or the same numbers exactly."""
    del test
    answers, wanted = (text.strip().split("\n") for text in (answer, expected))
    if len(answers) != len(wanted):
        return False
    return all(same_line(one.strip(), other.strip()) for one, other in zip(answers, wanted, strict=True))


def same_line(answer: str, expected: str) -> bool:
    """Whether two lines are the same text, or lists of the same decimal numbers."""
    if answer == expected:
        return True
    wanted = decimals(expected)
    return wanted is not None and decimals(answer) == wanted


def decimals(line: str) -> list[Decimal] | None:
    """The numbers that a line consists of; None where it has anything else."""
    try:
        return [Decimal(token) for token in line.split()]
    except InvalidOperation:
        return None


def loose_lines(test: TestCase, answer: Any, expected: Any) -> bool:
    """TACO and APPS, programs: the same lines, blank ones left out, token by token; numbers may differ a
    little.

    The released harness goes further, and takes lines and tokens in any order.
    """
    del test
    answers, wanted = (
        [line.split() for line in text.splitlines() if line.strip()] for text in (answer, expected)
    )
    return len(answers) == len(wanted) and all(map(same_tokens, answers, wanted))


def same_tokens(answer: list[str], expected: list[str]) -> bool:
    """Whether two lines have the same tokens, or numbers close to each other."""
    return len(answer) == len(expected) and all(map(same_token, answer, expected))


def same_token(answer: str, expected: str) -> bool:
    """Whether two tokens are the same, or numbers close to each other."""
    if answer == expected:
        return True
    if max(len(answer), len(expected)) > MOST_DIGITS:
        return False
    try:
        one, other = float(answer), float(expected)
    except ValueError:
        return False
    return math.isfinite(one) and abs(one - other) <= ATOL + RTOL * abs(other)

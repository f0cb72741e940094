"""What the programs of the audit are tested by."""

from __future__ import annotations

from typing import Any, Final

from codegym.core import Comparison, Limits, TestCase

__all__ = ["DEFAULT", "FLOAT", "SHORT", "TOKENS", "WANTED", "answers", "hostile_tests", "prints"]

WANTED: Final = {1: "token-7c1e94d2ab35", 2: "token-e05b3f6688c1"}
"""What is expected of a hostile program: only who steals it can know it."""
SHORT: Final = Limits(cpu_s=0.3, wall_s=0.6, total_cpu_s=1.5, memory_mb=128, output_mb=4)

CHECK: Final = f"""
TABLE = {WANTED!r}

def check(candidate):
    for answer, token in zip(map(candidate, TABLE), TABLE.values()):
        assert answer == token
"""
"""A loop over map(): what a StopIteration from the program would end without a failure."""
PYTEST: Final = f"""
import pytest

@pytest.mark.parametrize(("n", "token"), {list(WANTED.items())!r})
def test_token(n, token):
    assert f(n) == token
"""
DEFAULT: Final[dict[str, tuple[TestCase, ...]]] = {
    "call": (TestCase.call(3, expected=6), TestCase.call(-1, expected=-2)),
    "stdio": (TestCase.stdio("3\n1 2 3\n", expected="6\n"), TestCase.stdio("1\n-5\n", expected="-5\n")),
    "assert": (TestCase.code("assert f(3) == 6\nassert f(-1) == -2\n"),),
    "check": (
        TestCase.code("def check(candidate):\n    for n in (3, -1):\n        assert candidate(n) == 2 * n\n"),
    ),
    "pytest": (
        TestCase.code(
            "import pytest\n@pytest.mark.parametrize('n', [3, -1])\ndef test(n):\n    assert f(n) == 2 * n\n"
        ),
    ),
}
"""Of right programs: to double a number, or to add up a line of them."""
FLOAT: Final = Comparison(rule="float", atol=1e-6)
TOKENS: Final = Comparison(rule="tokens", atol=1e-6)


def hostile_tests(style: str) -> tuple[TestCase, ...]:
    """Tests that expect what a program cannot know."""
    if style == "call":
        return tuple(TestCase.call(n, expected=token) for n, token in WANTED.items())
    if style == "stdio":
        return tuple(TestCase.stdio(f"{n}\n", expected=f"{token}\n") for n, token in WANTED.items())
    if style == "assert":
        return tuple(TestCase.code(f"assert f({n}) == {token!r}") for n, token in WANTED.items())
    return (TestCase.code(CHECK if style == "check" else PYTEST),)


def prints(expected: str, stdin: str = "") -> tuple[TestCase, ...]:
    """A test by what is printed."""
    return (TestCase.stdio(stdin, expected=expected),)


def answers(expected: Any, *args: Any, **options: Any) -> tuple[TestCase, ...]:
    """A test by one call."""
    return (TestCase.call(*args, expected=expected, **options),)

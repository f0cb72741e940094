"""Limits by name."""

import pytest

from codegym.core import Limits, Program, Status, Task, TestCase
from codegym.errors import ConfigError
from codegym.grading import Grader
from codegym.profiles import PROFILES, limits_of


@pytest.mark.parametrize(("name", "cpu_s", "memory_mb"), [
    ("code_a1_article", 5, 100), ("code_a1", 10, 4096), ("tarot", 5, 512), ("tcs", 6, 4096), ("livecodebench", 6, 4096),
])  # fmt: skip
def test_the_numbers_of_the_sources(name, cpu_s, memory_mb):
    limits = limits_of(name)
    assert (limits.cpu_s, limits.memory_mb) == (cpu_s, memory_mb)


def test_the_default_is_the_default():
    assert limits_of("default") == Limits()
    assert all(isinstance(limits, Limits) for limits in PROFILES.values())


def test_an_unknown_one():
    with pytest.raises(ConfigError, match="code_a1_article"):
        limits_of("code-a1")


def test_a_hundred_megabytes_are_enough_for_one_and_not_for_the_other(local):
    test = (TestCase.call(1, expected=1),)
    task = Task(id="t", prompt="", entry_point="f", hidden_tests=test, limits=limits_of("code_a1_article"))
    grader = Grader(local)
    assert grader.grade(Program("def f(x):\n    held = bytearray(50 << 20)\n    return x\n"), task).passed
    greedy = grader.grade(
        Program("def f(x):\n    held = [bytearray(b'x' * (20 << 20)) for _ in range(80)]\n    return x\n"),
        task,
    )
    assert greedy.status == Status.MEMORY, greedy

"""Test code that defines tests: they are run, and a failure of any is the verdict."""

import pytest

from codegym.core import Program, Status, Task, TestCase
from codegym.grading import Grader

RIGHT = "def double(x):\n    if x is None: raise ValueError('nothing')\n    return 2 * x\n"
WRONG = RIGHT.replace("2 * x", "2 * x if x != 3 else 7")

SUITES = {
    "function": "def test_a():\n    assert double(1) == 2\ndef test_b():\n    assert double(3) == 6\n",
    "imported": "from solution import double as d\ndef test_a():\n    assert d(3) == 6\n",
    "default_argument": "def test_a(x=3):\n    assert double(x) == 6\n",
    "unittest": """
import unittest
class Doubling(unittest.TestCase):
    def setUp(self):
        self.three = 3
    def test_one(self):
        self.assertEqual(double(1), 2)
    def test_three(self):
        self.assertEqual(double(self.three), 6)
    @unittest.skip("not now")
    def test_skipped(self):
        self.fail()
if __name__ == "__main__":
    unittest.main()
""",
    "subtests": """
import unittest
class Doubling(unittest.TestCase):
    def test_all(self):
        for x in range(5):
            with self.subTest(x=x):
                self.assertEqual(double(x), 2 * x)
""",
    "unexpected_success": """
import unittest
class Doubling(unittest.TestCase):
    @unittest.expectedFailure
    def test_three(self):
        self.assertNotEqual(double(3), 6)
""",
    "parameters": """
import pytest
@pytest.mark.parametrize("x", [1, 2, 3])
def test_a(x):
    assert double(x) == 2 * x
""",
    "fixtures": """
import pytest
@pytest.fixture
def three():
    return 3
def test_a(three):
    assert double(three) == 6
""",
    "class": "class TestDoubling:\n    def test_three(self):\n        assert double(3) == 6\n",
    "raises": """
import pytest
def test_a():
    with pytest.raises(ValueError, match="nothing"):
        double(None)
    assert double(3) == 6
""",
}


def grade(local, code, suite, **task):
    tests = (TestCase.code(suite),)
    posed = Task(id="double", prompt="", entry_point="double", hidden_tests=tests, **task)
    return Grader(local).grade(Program(code), posed)


@pytest.mark.parametrize("name", SUITES)
def test_a_right_program_passes_and_a_wrong_one_does_not(local, name):
    assert grade(local, RIGHT, SUITES[name]).passed
    outcome = grade(local, WRONG, SUITES[name])
    assert outcome.status == Status.WRONG, outcome


def test_tests_may_use_the_preamble(local):
    suite = "import pytest\n@pytest.mark.parametrize('x', [3])\ndef test_a(x):\n    assert double(x) == triple(x) - x\n"
    preamble = "def triple(x):\n    return 3 * x\n"
    assert grade(local, RIGHT, suite, preamble=preamble).passed
    assert not grade(local, WRONG, suite, preamble=preamble).passed


def test_a_suite_in_which_pytest_finds_nothing_is_no_pass(local):
    outcome = grade(local, RIGHT, "class TestNothing:\n    pass\n")
    assert not outcome.passed
    assert "NO_TESTS_COLLECTED" in outcome.message


def test_two_suites_do_not_see_each_other(local):
    first = "class TestA:\n    def test_a(self):\n        assert double(3) == 6\ntriple = 1\n"
    second = "class TestB:\n    def test_b(self):\n        assert 'triple' not in dir(__import__('builtins'))\n        assert double(1) == 2\n"
    posed = Task(
        id="double",
        prompt="",
        entry_point="double",
        hidden_tests=(TestCase.code(first), TestCase.code(second)),
    )
    outcome = Grader(local).grade(Program(WRONG), posed)
    assert [test.status for test in outcome.tests] == [Status.WRONG, Status.PASSED]


def test_what_a_failing_test_expects_is_not_told(local):
    suite = "import pytest\n@pytest.mark.parametrize('x', [3])\ndef test_a(x):\n    assert double(x) == 6, 'should be six'\n"
    outcome = grade(local, WRONG, suite)
    assert "six" not in str(outcome)


def test_what_tests_print_is_not_told_but_what_the_program_prints_is(local):
    suite = "print('six')\ndef test_a():\n    print('six')\n    assert double(3) == 6\n"
    outcome = grade(local, WRONG + "print('loading')\n", suite)
    assert "six" not in str(outcome)
    assert outcome.stdout == "loading\n"

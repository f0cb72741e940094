"""Right programs of more kinds: classes, helper types, several right answers, and tests that pytest runs."""

from __future__ import annotations

from codegym.audit.entry import Entry, right
from codegym.audit.tests import TOKENS, answers, prints
from codegym.core import Comparison, TestCase

__all__ = ["ENTRIES", "any_divisor"]

CLASS_TESTS = (TestCase.call([1, 2, 3], expected=6), TestCase.call([], expected=0))


def any_divisor(test: TestCase, answer: object, expected: object) -> bool:
    """A judge: any divisor of the argument but 1 and itself is right."""
    number = test.args[0]
    return type(answer) is int and 1 < answer < number and number % answer == 0


INPUT: list[Entry] = [
    right(
        "readline",
        "stdio",
        "from sys import stdin\nstdin.readline()\nprint(sum(map(int, stdin.readline().split())))\n",
        "standard input line by line",
    ),
    right(
        "readlines",
        "stdio",
        "import sys\nlines = sys.stdin.readlines()\nprint(sum(map(int, lines[1].split())))\n",
        "all lines at once",
    ),
    right(
        "buffer_readline",
        "stdio",
        "import sys\ninput = sys.stdin.buffer.readline\ninput()\nprint(sum(map(int, input().split())))\n",
        "bytes line by line",
    ),
    right(
        "text_wrapper",
        "stdio",
        "import io, os, sys\nsys.stdin = io.StringIO(os.read(0, 10**6).decode())\ninput()\nprint(sum(map(int, input().split())))\n",
        "standard input read ahead and rebound",
    ),
    right(
        "dev_stdin",
        "stdio",
        "with open(0, 'rb', buffering=0, closefd=False) as raw:\n    data = raw.readall().split()\nprint(sum(map(int, data[1:])))\n",
        "standard input without a buffer",
    ),
    right(
        "eof_error",
        "stdio",
        "total = 0\ntry:\n    input()\n    while True: total += sum(map(int, input().split()))\nexcept EOFError:\n    print(total)\n",
        "the end of input by its exception",
    ),
    right(
        "tabs_and_blank_lines",
        "stdio",
        "import sys\nprint(sum(map(int, sys.stdin.read().split()[1:])))\n",
        "white space of all kinds",
        (TestCase.stdio("2\n\n 1\t2 \n\n", expected="3\n"),),
    ),
]
OUTPUT: list[Entry] = [
    right("print_end", "stdio", "print(1, end='')\nprint(2, end='\\n')\n", "an end of its own", prints("12")),
    right("print_separator", "stdio", "print(1, 2, sep=', ', flush=True)\n", "a separator", prints("1, 2")),
    right(
        "buffered_then_raw",
        "stdio",
        "import os, sys\nprint('a')\nsys.stdout.flush()\nos.write(1, b'b\\n')\nprint('c')\n",
        "buffered and raw output in order",
        prints("a\nb\nc"),
    ),
    right(
        "write_list",
        "stdio",
        "import sys\nsys.stdout.write('\\n'.join(map(str, range(3))))\n",
        "one write without a last newline",
        prints("0\n1\n2\n"),
    ),
    right(
        "exponent",
        "stdio",
        "print(1e-7, 1e22, -0.0)\n",
        "floats in exponent form",
        prints("0.0000001 10000000000000000000000 0"),
        {"compare": TOKENS},
    ),
    right(
        "warning_on_stderr",
        "stdio",
        "import warnings\nwarnings.warn('deprecated')\nprint(1)\n",
        "a warning beside the output",
        prints("1"),
    ),
    right(
        "sys_exit_message",
        "stdio",
        "import sys\nprint(1)\nsys.exit(None)\n",
        "an exit without a status",
        prints("1"),
    ),
]
CALLS: list[Entry] = [
    right(
        "solution_class",
        "call",
        "from typing import *\nclass Solution:\n    def total(self, nums: List[int]) -> int:\n        return sum(nums)\n",
        "a method of class Solution, with hints",
        CLASS_TESTS,
        {"entry_point": "Solution.total"},
    ),
    right(
        "solution_class_with_state",
        "call",
        "class Solution:\n    def __init__(self): self.seen = []\n    def total(self, nums):\n        self.seen += nums\n        return sum(self.seen)\n",
        "a class whose state must not last",
        (TestCase.call([1, 2], expected=3), TestCase.call([1, 2], expected=3)),
        {"entry_point": "Solution.total"},
    ),
    right(
        "list_node",
        "call",
        "class ListNode:\n    def __init__(self, val=0, next=None): self.val, self.next = val, next\n"
        "def f(values):\n    head = None\n    for v in reversed(values): head = ListNode(v, head)\n    out = []\n    while head: out.append(head.val); head = head.next\n    return out\n",
        "a helper class",
        answers([1, 2, 3], [1, 2, 3]),
    ),
    right(
        "tree_node",
        "call",
        "class TreeNode:\n    def __init__(self, v, l=None, r=None): self.v, self.l, self.r = v, l, r\n"
        "def f(values):\n    def insert(t, v):\n        if t is None: return TreeNode(v)\n        if v < t.v: t.l = insert(t.l, v)\n        else: t.r = insert(t.r, v)\n        return t\n"
        "    root = None\n    for v in values: root = insert(root, v)\n    walk = lambda t: walk(t.l) + [t.v] + walk(t.r) if t else []\n    return walk(root)\n",
        "a recursive helper class",
        answers([1, 2, 3], [2, 3, 1]),
    ),
    right(
        "any_right_answer",
        "call",
        "def f(n):\n    return next(d for d in range(2, n) if n % d == 0)\n",
        "one of several right answers",
        (TestCase.call(12, expected=4), TestCase.call(35, expected=7)),
        {"compare": Comparison(rule="judge", judge="codegym.audit.programs.more_right:any_divisor")},
    ),
    right(
        "iterator_in_a_check",
        "check",
        "def f(n):\n    return map(lambda x: x * 2, range(n))\n",
        "an iterator that the test consumes",
        (
            TestCase.code(
                "def check(candidate):\n    assert list(candidate(3)) == [0, 2, 4]\n    assert sum(candidate(4)) == 12\n"
            ),
        ),
    ),
    right(
        "keyword_arguments",
        "call",
        "def f(a, *, scale=1, **rest):\n    return a * scale + sum(rest.values())\n",
        "arguments by name",
        (TestCase.call(2, kwargs={"scale": 3, "b": 4}, expected=10),),
    ),
    right(
        "get_type_hints",
        "call",
        "from __future__ import annotations\nimport typing\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: 'list[P]'\n"
        "def f(n): return sorted(typing.get_type_hints(P)) + [n]\n",
        "annotations that are texts",
        answers(["x", "y", 3], 3),
    ),
    right(
        "named_file_and_module",
        "call",
        "def f(n):\n    return [isinstance(__file__, str), isinstance(__name__, str), __doc__]\n",
        "__file__, __name__ and __doc__",
        answers([True, True, None], 1),
    ),
    right(
        "unicode_identifiers",
        "call",
        "def f(größe):\n    π = größe\n    return π * 2\n",
        "names beyond ASCII",
    ),
    right(
        "walrus_and_match",
        "call",
        "def f(n):\n    match n:\n        case int() if (d := n * 2) is not None: return d\n",
        "newer syntax",
    ),
    right(
        "deep_recursion_in_a_call",
        "call",
        "import sys\nsys.setrecursionlimit(10**6)\ndef f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\n",
        "recursion to twenty thousand",
        answers(20_000, 20_000),
    ),
    right(
        "slow_import",
        "call",
        "import numpy\nimport decimal, fractions, statistics, json, datetime\ndef f(n): return n * 2\n",
        "imports that take longer than a test",
    ),
    right(
        "big_integers",
        "call",
        "def f(n): return int('9' * n)\n",
        "text of five thousand digits to a number",
        answers(10**5000 - 1, 5000),
    ),
    right(
        "frozen_answers",
        "call",
        "from collections import OrderedDict, defaultdict, namedtuple\nP = namedtuple('P', 'x y')\n"
        "def f(n): return [P(1, 2), OrderedDict(a=1), defaultdict(int, {'b': 2}), frozenset({n})]\n",
        "named tuples and dictionaries of other kinds",
        answers([(1, 2), {"a": 1}, {"b": 2}, frozenset({3})], 3),
    ),
    right(
        "exception_group_inside",
        "call",
        "def f(n):\n    try:\n        raise ExceptionGroup('g', [ValueError(n), KeyError(n)])\n    except* ValueError:\n        pass\n    except* KeyError:\n        pass\n    return n * 2\n",
        "exceptions of its own, caught",
    ),
    right(
        "nested_event_loop",
        "call",
        "import asyncio\nasync def double(n):\n    await asyncio.sleep(0)\n    return n * 2\ndef f(n): return asyncio.run(double(n))\n",
        "an event loop of its own",
    ),
    right(
        "context_and_generator",
        "call",
        "import contextlib\n@contextlib.contextmanager\ndef scope(n):\n    yield n * 2\ndef f(n):\n    with scope(n) as doubled:\n        return doubled\n",
        "a context manager",
    ),
]
TESTS: list[Entry] = [
    right("pytest_parameters", "pytest", "def f(n): return n * 2\n", "tests with parameters"),
    right(
        "pytest_raises",
        "pytest",
        "def f(n):\n    if n < 0: raise ValueError('negative: %d' % n)\n    return n\n",
        "an exception that a test expects",
        (
            TestCase.code(
                "import pytest\ndef test_raises():\n    with pytest.raises(ValueError, match='negative: -3'):\n        f(-3)\n    assert f(2) == 2\n"
            ),
        ),
    ),
    right(
        "pytest_fixture_and_class",
        "pytest",
        "def f(n): return n * 2\n",
        "fixtures and classes of tests",
        (
            TestCase.code(
                "import pytest\n@pytest.fixture\ndef three(): return 3\nclass TestF:\n    def test_it(self, three): assert f(three) == 6\n"
            ),
        ),
    ),
    right(
        "pytest_approx",
        "pytest",
        "def f(n): return 0.1 + 0.2\n",
        "a comparison within a tolerance",
        (
            TestCase.code(
                "import pytest\n@pytest.mark.parametrize('n', [1])\ndef test(n):\n    assert f(n) == pytest.approx(0.3)\n"
            ),
        ),
    ),
    right(
        "unittest_case",
        "pytest",
        "def f(n): return sorted(n)\n",
        "a case of unittest",
        (
            TestCase.code(
                "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f([2, 1]), [1, 2])\n        self.assertRaises(TypeError, f, [1, 'a'])\n"
            ),
        ),
    ),
    right(
        "imports_the_solution",
        "pytest",
        "def f(n): return n * 2\n",
        "tests that import the program",
        (TestCase.code("from solution import f as double\ndef test():\n    assert double(2) == 4\n"),),
    ),
    right(
        "in_place_in_pytest",
        "pytest",
        "def f(xs):\n    xs.sort()\n",
        "an argument that is changed",
        (
            TestCase.code(
                "def test():\n    xs = [3, 1, 2]\n    assert f(xs) is None\n    assert xs == [1, 2, 3]\n"
            ),
        ),
    ),
]
ENTRIES: list[Entry] = [*INPUT, *OUTPUT, *CALLS, *TESTS]

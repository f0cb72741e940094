"""Right programs whose answers, or whose ways to them, are unusual."""

from __future__ import annotations

from codegym.audit.entry import Entry, right
from codegym.audit.tests import FLOAT, answers, prints
from codegym.core import Comparison, Raises, TestCase

__all__ = ["ENTRIES"]

ENTRIES: list[Entry] = [
    right("plain", "call", "def f(n): return 2 * n\n", "nothing"),
    right("assignment", "call", "f = lambda n: 2 * n\n", "an entry point by assignment"),
    right(
        "partial",
        "call",
        "import functools, operator\nf = functools.partial(operator.mul, 2)\n",
        "an entry point that is a partial",
    ),
    right(
        "callable_object",
        "call",
        "class F:\n    def __call__(self, n): return 2 * n\nf = F()\n",
        "an entry point that is an object",
    ),
    right(
        "decorated",
        "call",
        "import functools\ndef twice(g):\n    @functools.wraps(g)\n    def h(n): return 2 * g(n)\n    return h\n@twice\ndef f(n): return n\n",
        "a decorator",
    ),
    right(
        "cached_recursion",
        "call",
        "import functools, sys\nsys.setrecursionlimit(10**6)\n@functools.lru_cache(None)\ndef g(n): return 0 if n == 0 else 1 + g(n - 1)\ndef f(n): return g(20_000) // 10_000 * n\n",
        "a cache on deep recursion",
    ),
    right(
        "async",
        "call",
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return 2 * n\n",
        "async",
    ),
    right(
        "future_annotations",
        "call",
        "from __future__ import annotations\nfrom typing import *\ndef f(n: List[int]) -> Optional[int]: return 2 * n\n",
        "from __future__, and annotations",
    ),
    right(
        "starred_preamble",
        "call",
        "from typing import *\nfrom collections import *\nfrom math import *\nfrom itertools import *\nfrom heapq import *\nimport re, string, bisect\ndef f(n): return 2 * n\n",
        "a preamble of imports",
    ),
    right("prints_debug", "call", "def f(n):\n    print('debug', n)\n    return 2 * n\n", "output besides"),
    right(
        "reads_at_import",
        "call",
        "import sys\nsys.stdin.read()\ndef f(n): return 2 * n\n",
        "standard input where there is none",
    ),
    right(
        "asserts",
        "call",
        "def f(n):\n    assert isinstance(n, int), 'no number'\n    return 2 * n\n",
        "assert statements of its own",
    ),
    right(
        "backslashes",
        "call",
        'def f(n):\n    """Doubles \\\\alpha.\n\n    >>> f("""1""")\n    \\d \'quotes\'\n    """\n    return 2 * n\n'.replace(
            '"""1"""', "'''1'''"
        ),
        "a docstring with quotes and backslashes",
    ),
    right(
        "dataclasses",
        "call",
        "from __future__ import annotations\nimport dataclasses, typing\n@dataclasses.dataclass\nclass P:\n    x: int = 2\n    q: P | None = None\nassert typing.get_type_hints(P)\ndef f(n): return P().x * n\n",
        "annotations that name the module's own classes",
    ),
    right("seeds", "call", "import random\ndef f(n):\n    random.seed(0)\n    return 2 * n\n", "random.seed"),
    right(
        "global_state",
        "call",
        "calls = []\ndef f(n):\n    calls.append(n)\n    return 2 * n\n",
        "global state that does not matter",
    ),
    right(
        "main_guard",
        "call",
        "def f(n): return 2 * n\nif __name__ == '__main__':\n    print(f(int(input())))\n",
        "a main program that must not run",
    ),
    right(
        "time_and_pid",
        "call",
        "import os, time\nstart = time.time(), os.getpid()\ndef f(n): return 2 * n\n",
        "clocks",
    ),
    right(
        "threads",
        "call",
        "from concurrent.futures import ThreadPoolExecutor\ndef f(n):\n    with ThreadPoolExecutor(4) as pool: return sum(pool.map(lambda _: n, range(2)))\n",
        "threads",
    ),
    right(
        "processes",
        "call",
        "import multiprocessing\ndef double(n): return 2 * n\ndef f(n):\n    with multiprocessing.get_context('fork').Pool(2) as pool: return pool.map(double, [n])[0]\n",
        "processes",
    ),
    right(
        "numpy_scalar",
        "call",
        "import numpy as np\ndef f(n): return np.int64(2 * n)\n",
        "a scalar of numpy where a number is compared",
    ),
    right(
        "method",
        "call",
        "class Solution:\n    def double(self, n: int) -> int: return 2 * n\n",
        "a method of class Solution",
        None,
        {"entry_point": "Solution.double"},
    ),
    right(
        "shadows_a_builtin",
        "call",
        "def sum(n): return 2 * n\n",
        "an entry point named like a built-in",
        None,
        {"entry_point": "sum"},
    ),
    right("assert_style", "assert", "def f(n): return n + n\n", "plain assert statements"),
    right(
        "assert_tuple_list",
        "assert",
        "def f(n): return [(n, str(n)), {'k': {n}}]\n",
        "nested answers in assert statements",
        (TestCase.code("assert f(3) == [(3, '3'), {'k': {3}}]"),),
    ),
    right("check_style", "check", "def f(n): return n + n\n", "a check function"),
    right(
        "check_raises",
        "check",
        "def f(n):\n    if n < 0: raise ValueError('negative')\n    return n\n",
        "an exception that the test expects",
        (
            TestCase.code(
                "def check(candidate):\n    try:\n        candidate(-1)\n    except ValueError as error:\n        assert 'negative' in str(error)\n    else:\n        assert False\n"
            ),
        ),
    ),
    right(
        "check_in_place",
        "check",
        "def f(values): values.sort()\n",
        "an argument that changes",
        (
            TestCase.code(
                "def check(candidate):\n    values = [3, 1, 2]\n    assert candidate(values) is None\n    assert values == [1, 2, 3]\n"
            ),
        ),
    ),
    right(
        "in_place",
        "call",
        "def f(values): values.reverse()\n",
        "an answer in the argument",
        (TestCase.call([1, 2, 3], expected=[3, 2, 1], answer="argument"),),
    ),
    right(
        "raises",
        "call",
        "class TooSmall(ValueError): pass\ndef f(n): raise TooSmall(n)\n",
        "an exception that is expected",
        answers(Raises("ValueError"), 1),
    ),
    right(
        "huge_integer", "call", "def f(n): return 7 ** n\n", "more than 4,300 digits", answers(7**9000, 9000)
    ),
    right(
        "huge_integer",
        "stdio",
        "import sys\nif hasattr(sys, 'set_int_max_str_digits'): sys.set_int_max_str_digits(0)\nprint(len(str(7 ** int(input()))))\n",
        "more than 4,300 digits",
        prints("7606", "9000\n"),
    ),
    right(
        "seven_digits",
        "call",
        "def f(): return 0.3333333\n",
        "a float of 7 digits",
        answers(1 / 3),
        {"compare": FLOAT},
    ),
    right(
        "numpy_array",
        "call",
        "import numpy as np\ndef f(): return np.array([1.0, 2.0])\n",
        "an array where numbers are compared",
        answers([1.0, 2.0]),
        {"compare": FLOAT},
    ),
    right(
        "nan",
        "call",
        "def f(): return [float('nan'), float('inf')]\n",
        "nan",
        answers([float("nan"), float("inf")]),
    ),
    right("minus_zero", "call", "def f(): return -0.0\n", "minus zero", answers(0.0)),
    right(
        "any_order",
        "call",
        "def f(): return {3, 1, 2}\n",
        "any order, and a set for a list",
        answers([1, 2, 3]),
        {"compare": Comparison(rule="unordered")},
    ),
    right(
        "dictionary_order",
        "call",
        "def f(): return {'b': {2}, 'a': [1]}\n",
        "another order of keys",
        answers({"a": [1], "b": {2}}),
    ),
    right(
        "subclasses",
        "call",
        "from collections import *\nimport enum\nE = enum.IntEnum('E', 'A')\nP = namedtuple('P', 'x y')\ndef f(): return [Counter('a'), OrderedDict(b=1), defaultdict(int, c=1), E.A, P(1, 2), True]\n",
        "subclasses of built-in types",
        answers([{"a": 1}, {"b": 1}, {"c": 1}, 1, (1, 2), True]),
    ),
    right(
        "surrogates_and_bytes",
        "call",
        "def f(s, b): return [s[::-1], b[::-1], s * 2]\n",
        "texts that are not UTF-8, and bytes",
        answers(["b\ud800", b"\x00\xff", "\ud800b\ud800b"], "\ud800b", b"\xff\x00"),
    ),
    right(
        "long_answer",
        "call",
        "def f(n): return list(range(n))\n",
        "an answer longer than what is sent in full",
        answers(list(range(100_000)), 100_000),
    ),
    right(
        "long_float_answer",
        "call",
        "def f(n): return [i + 1e-9 for i in range(n)]\n",
        "a long answer within the tolerance",
        answers([float(i) for i in range(5000)], 5000),
        {"compare": FLOAT},
    ),
]

"""Right programs that naive graders fail: all must pass."""

from typing import Any, NamedTuple

import pytest

from codegym.core import Comparison, Limits, Program, Raises, Task, TestCase

CALL = (TestCase.call(3, expected=6), TestCase.call(-1, expected=-2))
LINES = (TestCase.stdio("3\n1 2 3\n", expected="6\n"), TestCase.stdio("1\n-5\n", expected="-5\n"))
ASSERT = (TestCase.code("assert f(3) == 6\nassert f(-1) == -2\n"),)
CHECK = (
    TestCase.code("def check(candidate):\n    for n in (3, -1):\n        assert candidate(n) == 2 * n\n"),
)
FLOAT = Comparison(rule="float", atol=1e-6)
TOKENS = Comparison(rule="tokens", atol=1e-6)


class Right(NamedTuple):
    """One program.

    Attributes:
        name: Unique within its style.
        style: Of the tests.
        code: The program.
        reason: What trips a naive grader.
        tests: In place of those of the style: doubling a number, or adding up a line of them.
        options: Of the task.
    """

    name: str
    style: str
    code: str
    reason: str
    tests: tuple[TestCase, ...] | None = None
    options: dict[str, Any] = {}


def prints(expected, stdin=""):
    return (TestCase.stdio(stdin, expected=expected),)


def answers(expected, *args, **options):
    return (TestCase.call(*args, expected=expected, **options),)


INPUT = [
    Right(
        "stdin_buffer",
        "stdio",
        "import sys\ndata = sys.stdin.buffer.read().split()\nprint(sum(map(int, data[1:])))\n",
        "standard input in bytes",
    ),
    Right(
        "open_0",
        "stdio",
        "data = open(0).read().split()\nprint(sum(map(int, data[1:])))\n",
        "standard input by its descriptor",
    ),
    Right(
        "os_read",
        "stdio",
        "import os\ndata = os.read(0, 10**6).split()\nprint(sum(map(int, data[1:])))\n",
        "standard input by system calls",
    ),
    Right(
        "os_fstat",
        "stdio",
        "import os\ndata = os.read(0, os.fstat(0).st_size).split()\nprint(sum(map(int, data[1:])))\n",
        "the size of standard input",
    ),
    Right(
        "mmap",
        "stdio",
        "import mmap\ndata = mmap.mmap(0, 0, access=mmap.ACCESS_READ)[:].split()\nprint(sum(map(int, data[1:])))\n",
        "standard input mapped into memory",
    ),
    Right(
        "mixed",
        "stdio",
        "import sys\nn = int(input())\nrest = sys.stdin.readline()\nprint(sum(map(int, rest.split())))\n",
        "input() and readline by turns",
    ),
    Right(
        "for_line",
        "stdio",
        "import sys\nlines = [line for line in sys.stdin]\nprint(sum(map(int, lines[1].split())))\n",
        "standard input as an iterator",
    ),
    Right(
        "fileinput",
        "stdio",
        "import fileinput\nlines = list(fileinput.input())\nprint(sum(map(int, lines[1].split())))\n",
        "fileinput, which looks at argv",
    ),
    Right(
        "input_until_eof",
        "stdio",
        "values = []\nwhile True:\n    try: values.append(input())\n    except EOFError: break\nprint(sum(map(int, values[1].split())))\n",
        "the end of input as an exception",
    ),
    Right(
        "rebound_input",
        "stdio",
        "import sys, io\ninput = io.BytesIO(sys.stdin.buffer.read()).readline\ninput()\nprint(sum(map(int, input().split())))\n",
        "fast input as in contests",
    ),
    Right(
        "crlf",
        "stdio",
        "input()\nprint(sum(map(int, input().split())))\n",
        "lines that end in CRLF",
        (TestCase.stdio("2\r\n1 2\r\n", expected="3\r\n"),),
    ),
    Right("no_input", "stdio", "print('hello')\n", "no input at all", prints("hello")),
]
OUTPUT = [
    Right(
        "stdout_buffer",
        "stdio",
        "import sys\ninput()\nsys.stdout.buffer.write(str(sum(map(int, input().split()))).encode())\n",
        "standard output in bytes",
    ),
    Right(
        "os_write",
        "stdio",
        "import os\ninput()\nos.write(1, b'%d\\n' % sum(map(int, input().split())))\n",
        "standard output by system calls",
    ),
    Right(
        "open_1",
        "stdio",
        "input()\nwith open(1, 'w') as out: print(sum(map(int, input().split())), file=out)\n",
        "standard output by its descriptor, and closed",
    ),
    Right(
        "no_newline",
        "stdio",
        "input()\nprint(sum(map(int, input().split())), end='')\n",
        "no newline at the end",
    ),
    Right(
        "trailing_space",
        "stdio",
        "input()\nprint(sum(map(int, input().split())), '  ')\nprint()\n",
        "white space at the end of lines and of the output",
    ),
    Right(
        "crlf_output",
        "stdio",
        "input()\nprint(sum(map(int, input().split())), end='\\r\\n')\n",
        "lines that end in CRLF",
    ),
    Right("bom", "stdio", "print('\\ufeff5')\n", "a byte order mark", prints("5")),
    Right(
        "unicode",
        "stdio",
        "größe = input()\nprint(größe[::-1], '→ 日本 \\U0001f40d')\n",
        "identifiers and output beyond ASCII",
        prints("äöü → 日本 \U0001f40d", "üöä\n"),
    ),
    Right(
        "seven_digits",
        "stdio",
        "print(f'{1 / 3:.7f}')\n",
        "a float of 7 digits, within the tolerance",
        prints("0.333333333333"),
        {"compare": TOKENS},
    ),
    Right(
        "float_forms",
        "stdio",
        "print('1e-7', -0.0, 1e3, 'YES')\n",
        "floats in other forms",
        prints("0.0000001 0 1000 YES"),
        {"compare": TOKENS},
    ),
    Right(
        "stderr",
        "stdio",
        "import sys, warnings\nwarnings.warn('slow')\nprint('debug', file=sys.stderr)\nprint(1)\n",
        "warnings on standard error",
        prints("1"),
    ),
    Right(
        "long_output",
        "stdio",
        "print('\\n'.join(map(str, range(200_000))))\n",
        "more than a pipe holds",
        prints("\n".join(map(str, range(200_000)))),
    ),
    Right(
        "child_prints",
        "stdio",
        "import os\nif os.fork() == 0:\n    print(1, flush=True)\n    os._exit(0)\nos.wait()\nprint(2)\n",
        "output of a child",
        prints("1\n2"),
    ),
]
ENDING = [
    Right("sys_exit", "stdio", "import sys\nprint(1)\nsys.exit()\n", "sys.exit() after output", prints("1")),
    Right("exit_0", "stdio", "print(1)\nexit(0)\n", "exit(0) after output", prints("1")),
    Right("quit", "stdio", "print(1)\nquit()\n", "quit() after output", prints("1")),
    Right("system_exit", "stdio", "print(1)\nraise SystemExit\n", "SystemExit after output", prints("1")),
    Right(
        "os_exit",
        "stdio",
        "import os, sys\nprint(1)\nsys.stdout.flush()\nos._exit(0)\n",
        "os._exit(0) after output",
        prints("1"),
    ),
    Right(
        "main_guard",
        "stdio",
        "def main():\n    print(1)\n\nif __name__ == '__main__':\n    main()\n",
        "the name of the module",
        prints("1"),
    ),
    Right(
        "atexit", "stdio", "import atexit\natexit.register(print, 1)\n", "output while it ends", prints("1")
    ),
    Right(
        "thread_recursion",
        "stdio",
        """
import sys, threading
sys.setrecursionlimit(10**6)
threading.stack_size(1 << 27)

def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)

def main():
    print(depth(100_000))

thread = threading.Thread(target=main)
thread.start()
thread.join()
""",
        "deep recursion in a thread with a large stack",
        prints("100000"),
    ),
    Right(
        "thread_left_running",
        "stdio",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print(1))).start()\n",
        "a thread that ends after the main program",
        prints("1"),
    ),
    Right(
        "argv_and_file",
        "stdio",
        "import sys, os\nprint(len(sys.argv), os.path.basename(__file__) == os.path.basename(sys.argv[0]), __name__)\n",
        "__file__ and argv",
        prints("1 True __main__"),
    ),
    Right(
        "pickles_its_own_class",
        "stdio",
        "import pickle\nclass P:\n    def __init__(self): self.x = 5\nprint(pickle.loads(pickle.dumps(P())).x)\n",
        "pickling a class of __main__",
        prints("5"),
    ),
    Right(
        "getsource",
        "stdio",
        "import inspect\ndef f():\n    return 1  # one\nprint('# one' in inspect.getsource(f))\n",
        "its own source",
        prints("True"),
    ),
    Right(
        "files",
        "stdio",
        "import tempfile, os\nwith open('note.txt', 'w') as file: file.write('hi')\nwith tempfile.NamedTemporaryFile('w+') as t: t.write('x')\nprint(open('note.txt').read())\n",
        "files of its own",
        prints("hi"),
    ),
]
CALLS = [
    Right("plain", "call", "def f(n): return 2 * n\n", "nothing"),
    Right("assignment", "call", "f = lambda n: 2 * n\n", "an entry point by assignment"),
    Right(
        "partial",
        "call",
        "import functools, operator\nf = functools.partial(operator.mul, 2)\n",
        "an entry point that is a partial",
    ),
    Right(
        "callable_object",
        "call",
        "class F:\n    def __call__(self, n): return 2 * n\nf = F()\n",
        "an entry point that is an object",
    ),
    Right(
        "decorated",
        "call",
        "import functools\ndef twice(g):\n    @functools.wraps(g)\n    def h(n): return 2 * g(n)\n    return h\n@twice\ndef f(n): return n\n",
        "a decorator",
    ),
    Right(
        "cached_recursion",
        "call",
        "import functools, sys\nsys.setrecursionlimit(10**6)\n@functools.lru_cache(None)\ndef g(n): return 0 if n == 0 else 1 + g(n - 1)\ndef f(n): return g(20_000) // 10_000 * n\n",
        "a cache on deep recursion",
    ),
    Right(
        "async",
        "call",
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return 2 * n\n",
        "async",
    ),
    Right(
        "future_annotations",
        "call",
        "from __future__ import annotations\nfrom typing import *\ndef f(n: List[int]) -> Optional[int]: return 2 * n\n",
        "from __future__, and annotations",
    ),
    Right(
        "starred_preamble",
        "call",
        "from typing import *\nfrom collections import *\nfrom math import *\nfrom itertools import *\nfrom heapq import *\nimport re, string, bisect\ndef f(n): return 2 * n\n",
        "a preamble of imports",
    ),
    Right("prints_debug", "call", "def f(n):\n    print('debug', n)\n    return 2 * n\n", "output besides"),
    Right(
        "reads_at_import",
        "call",
        "import sys\nsys.stdin.read()\ndef f(n): return 2 * n\n",
        "standard input where there is none",
    ),
    Right(
        "asserts",
        "call",
        "def f(n):\n    assert isinstance(n, int), 'no number'\n    return 2 * n\n",
        "assert statements of its own",
    ),
    Right(
        "backslashes",
        "call",
        'def f(n):\n    """Doubles \\\\alpha.\n\n    >>> f("""1""")\n    \\d \'quotes\'\n    """\n    return 2 * n\n'.replace(
            '"""1"""', "'''1'''"
        ),
        "a docstring with quotes and backslashes",
    ),
    Right(
        "dataclasses",
        "call",
        "from __future__ import annotations\nimport dataclasses, typing\n@dataclasses.dataclass\nclass P:\n    x: int = 2\n    q: P | None = None\nassert typing.get_type_hints(P)\ndef f(n): return P().x * n\n",
        "annotations that name the module's own classes",
    ),
    Right("seeds", "call", "import random\ndef f(n):\n    random.seed(0)\n    return 2 * n\n", "random.seed"),
    Right(
        "global_state",
        "call",
        "calls = []\ndef f(n):\n    calls.append(n)\n    return 2 * n\n",
        "global state that does not matter",
    ),
    Right(
        "main_guard",
        "call",
        "def f(n): return 2 * n\nif __name__ == '__main__':\n    print(f(int(input())))\n",
        "a main program that must not run",
    ),
    Right(
        "time_and_pid",
        "call",
        "import os, time\nstart = time.time(), os.getpid()\ndef f(n): return 2 * n\n",
        "clocks",
    ),
    Right(
        "threads",
        "call",
        "from concurrent.futures import ThreadPoolExecutor\ndef f(n):\n    with ThreadPoolExecutor(4) as pool: return sum(pool.map(lambda _: n, range(2)))\n",
        "threads",
    ),
    Right(
        "processes",
        "call",
        "import multiprocessing\ndef double(n): return 2 * n\ndef f(n):\n    with multiprocessing.get_context('fork').Pool(2) as pool: return pool.map(double, [n])[0]\n",
        "processes",
    ),
    Right(
        "numpy_scalar",
        "call",
        "import numpy as np\ndef f(n): return np.int64(2 * n)\n",
        "a scalar of numpy where a number is compared",
    ),
    Right(
        "method",
        "call",
        "class Solution:\n    def double(self, n: int) -> int: return 2 * n\n",
        "a method of class Solution",
        None,
        {"entry_point": "Solution.double"},
    ),
    Right(
        "shadows_a_builtin",
        "call",
        "def sum(n): return 2 * n\n",
        "an entry point named like a built-in",
        None,
        {"entry_point": "sum"},
    ),
    Right("assert_style", "assert", "def f(n): return n + n\n", "plain assert statements"),
    Right(
        "assert_tuple_list",
        "assert",
        "def f(n): return [(n, str(n)), {'k': {n}}]\n",
        "nested answers in assert statements",
        (TestCase.code("assert f(3) == [(3, '3'), {'k': {3}}]"),),
    ),
    Right("check_style", "check", "def f(n): return n + n\n", "a check function"),
    Right(
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
    Right(
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
    Right(
        "in_place",
        "call",
        "def f(values): values.reverse()\n",
        "an answer in the argument",
        (TestCase.call([1, 2, 3], expected=[3, 2, 1], answer="argument"),),
    ),
    Right(
        "raises",
        "call",
        "class TooSmall(ValueError): pass\ndef f(n): raise TooSmall(n)\n",
        "an exception that is expected",
        answers(Raises("ValueError"), 1),
    ),
    Right(
        "huge_integer", "call", "def f(n): return 7 ** n\n", "more than 4,300 digits", answers(7**9000, 9000)
    ),
    Right(
        "huge_integer",
        "stdio",
        "import sys\nif hasattr(sys, 'set_int_max_str_digits'): sys.set_int_max_str_digits(0)\nprint(len(str(7 ** int(input()))))\n",
        "more than 4,300 digits",
        prints("7606", "9000\n"),
    ),
    Right(
        "seven_digits",
        "call",
        "def f(): return 0.3333333\n",
        "a float of 7 digits",
        answers(1 / 3),
        {"compare": FLOAT},
    ),
    Right(
        "numpy_array",
        "call",
        "import numpy as np\ndef f(): return np.array([1.0, 2.0])\n",
        "an array where numbers are compared",
        answers([1.0, 2.0]),
        {"compare": FLOAT},
    ),
    Right(
        "nan",
        "call",
        "def f(): return [float('nan'), float('inf')]\n",
        "nan",
        answers([float("nan"), float("inf")]),
    ),
    Right("minus_zero", "call", "def f(): return -0.0\n", "minus zero", answers(0.0)),
    Right(
        "any_order",
        "call",
        "def f(): return {3, 1, 2}\n",
        "any order, and a set for a list",
        answers([1, 2, 3]),
        {"compare": Comparison(rule="unordered")},
    ),
    Right(
        "dictionary_order",
        "call",
        "def f(): return {'b': {2}, 'a': [1]}\n",
        "another order of keys",
        answers({"a": [1], "b": {2}}),
    ),
    Right(
        "subclasses",
        "call",
        "from collections import *\nimport enum\nE = enum.IntEnum('E', 'A')\nP = namedtuple('P', 'x y')\ndef f(): return [Counter('a'), OrderedDict(b=1), defaultdict(int, c=1), E.A, P(1, 2), True]\n",
        "subclasses of built-in types",
        answers([{"a": 1}, {"b": 1}, {"c": 1}, 1, (1, 2), True]),
    ),
    Right(
        "surrogates_and_bytes",
        "call",
        "def f(s, b): return [s[::-1], b[::-1], s * 2]\n",
        "texts that are not UTF-8, and bytes",
        answers(["b\ud800", b"\x00\xff", "\ud800b\ud800b"], "\ud800b", b"\xff\x00"),
    ),
    Right(
        "long_answer",
        "call",
        "def f(n): return list(range(n))\n",
        "an answer longer than what is sent in full",
        answers(list(range(100_000)), 100_000),
    ),
    Right(
        "long_float_answer",
        "call",
        "def f(n): return [i + 1e-9 for i in range(n)]\n",
        "a long answer within the tolerance",
        answers([float(i) for i in range(5000)], 5000),
        {"compare": FLOAT},
    ),
]
RIGHT = [*INPUT, *OUTPUT, *ENDING, *CALLS]
DEFAULT = {"call": CALL, "stdio": LINES, "assert": ASSERT, "check": CHECK}


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: f"{case.style}-{case.name}")
def test_it_passes(grader, case):
    options = {"entry_point": None if case.style == "stdio" else "f", **case.options}
    task = Task(
        id="audit/right",
        prompt="",
        hidden_tests=case.tests or DEFAULT[case.style],
        limits=Limits(cpu_s=5, wall_s=30),
        **options,
    )
    outcome = grader.grade(Program(case.code), task)
    assert outcome.passed, (outcome.message, outcome.stderr)


def test_names_are_unique():
    names = [(case.style, case.name) for case in RIGHT]
    assert len(set(names)) == len(names)
    assert all(case.reason for case in RIGHT)

"""What other tools were reported to get wrong, where it concerns running: number and place are in each id."""

import pytest

from codegym.mutation import MutationEngine
from codegym.mutation.matrix import Flag, MutantStatus

GENERATORS = """\
    import asyncio

    def counted(n):
        try:
            got = yield n
            yield got
        finally:
            LOG.append("closed")
        return n + 1

    LOG = []

    def delegated(n):
        result = yield from counted(n)
        yield result

    async def answered(n):
        await asyncio.sleep(0)
        return n + 1

    async def streamed(n):
        try:
            for i in range(n):
                yield i + 1
        finally:
            LOG.append("aclosed")
    """


def case(number, place, source, tests, *mutants, cold=None):
    return pytest.param(source, tests, mutants, cold, id=f"{number}: {place}")


CASES = [
    case(
        1,
        "boxed/mutmut#328, a decorator that acts at import",
        """
        from dataclasses import dataclass

        @dataclass
        class Point:
            x: int

        ORIGIN = Point(0)
        """,
        "from solution import *\ndef test_it(): assert Point(1) == Point(1)",
        ("@dataclass\n", "", "killed_by_error"),
        cold=True,
    ),
    case(
        2,
        "boxed/mutmut#480, methods of decorated classes",
        """
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Point:
            x: int

            def moved(self, by):
                return Point(self.x + by)
        """,
        "from solution import *\ndef test_it(): assert Point(1).moved(2) == Point(3)",
        ("self.x + by", "self.x - by", "killed"),
        ("self.x + by", "by + self.x", "survived"),
        cold=False,
    ),
    case(
        3,
        "boxed/mutmut#454, coroutines",
        GENERATORS,
        """
        import asyncio, inspect
        from solution import *
        def test_it():
            assert inspect.iscoroutinefunction(answered)
            assert asyncio.run(answered(1)) == 2
        """,
        ("await asyncio.sleep(0)", "n -= 1", "killed"),
        cold=False,
    ),
    case(
        4,
        "boxed/mutmut#406, asynchronous generators",
        GENERATORS,
        """
        import inspect
        from solution import *
        def test_kind(): assert inspect.isasyncgenfunction(streamed)
        async def test_it(): assert [i async for i in streamed(2)] == [1, 2]
        """,
        ("i + 1", "i + 2", "killed"),
        ("i + 1", "1 + i", "survived"),
        cold=False,
    ),
    case(
        5,
        "boxed/mutmut#525, aclose()",
        GENERATORS,
        """
        import solution
        async def test_it():
            solution.LOG.clear()
            stream = solution.streamed(3)
            assert await anext(stream) == 1
            await stream.aclose()
            assert solution.LOG == ["aclosed"]
        """,
        ('"aclosed"', '"lost"', "killed"),
        ("range(n)", "range(n + 1)", "survived"),
        cold=False,
    ),
    case(
        6,
        "boxed/mutmut#540, what a generator returns",
        GENERATORS,
        """
        from solution import *
        def test_it():
            generator = delegated(1)
            assert next(generator) == 1
            assert generator.send("x") == "x"
            assert next(generator) == 2
        """,
        ("return n + 1", "return n + 2", "killed"),
        ("yield got", "yield n", "killed"),
        cold=False,
    ),
    case(
        7,
        "boxed/mutmut#511, os.environ cleared",
        "def f(x):\n    return x + 1\n",
        """
        import os
        from unittest.mock import patch
        from solution import f
        def test_it():
            with patch.dict(os.environ, clear=True):
                assert f(1) == 2
        """,
        ("x + 1", "x - 1", "killed"),
    ),
    case(
        8,
        "boxed/mutmut#337, os.environ mocked",
        "def f(x):\n    return x + 1\n",
        """
        import os
        from unittest.mock import MagicMock, patch
        from solution import f
        def test_it():
            with patch("os.environ", MagicMock()):
                assert f(1) == 2
        """,
        ("x + 1", "x - 1", "killed"),
    ),
    case(
        9,
        "boxed/mutmut#477, default arguments",
        """
        def f(x, by=1, *, times=2):
            return (x + by) * times
        """,
        "from solution import f\ndef test_it(): assert f(1) == 4",
        ("by=1", "by=2", "killed"),
        ("times=2", "times=3", "killed"),
        ("by=1", "by=True", "survived"),
        cold=True,
    ),
    case(
        10,
        "boxed/mutmut#303, markers of parameters",
        "def f(x, /, y, *, z):\n    return x + y + z\n",
        "from solution import f\ndef test_it(): assert f(1, 2, z=3) == 6",
        (" /,", " *,", "invalid"),
        ("x + y", "x - y", "killed"),
    ),
    case(
        11,
        "boxed/mutmut#128, chained assignment",
        "def f():\n    a = b = 2\n    return a + b\n",
        "from solution import f\ndef test_it(): assert f() == 4",
        ("b = 2", "None = 2", "invalid"),
        ("= 2", "= 3", "killed"),
    ),
    case(
        13,
        "boxed/mutmut#435, nothing changed",
        "def f(x):\n    return x + 1\n",
        "from solution import f\ndef test_it(): assert f(1) == 2",
        ("x + 1", "(x + 1)", "survived"),
    ),
    case(
        "16, 10, 15",
        "sixty-north/cosmic-ray#310, incompetent mutants",
        "def f(*args):\n    return sum(args)\n",
        "from solution import f\ndef test_it(): assert f(1, 2) == 3",
        ("(*args)", "(/args)", "invalid"),
        ("sum(args)", "max(args)", "killed"),
    ),
    case(
        "17, 18",
        "infinite loops",
        """
        def f(n):
            while n > 0:
                n -= 1
            return [i for i in iter(lambda: n, 0)] + [n]

        def g(n):
            return 0 if n == 0 else g(n - 1)
        """,
        """
        from solution import *
        def test_loop(): assert f(3) == [0]
        def test_recursion(): assert g(3) == 0
        """,
        ("n -= 1", "n -= 0", "timeout"),
        ("n > 0", "True", "timeout"),
        ("lambda: n, 0", "lambda: n, 1", "timeout"),
        ("g(n - 1)", "g(n - 0)", "killed_by_error"),
    ),
    case(
        "17: C",
        "infinite loops that no Python code is run in",
        "import itertools\ndef f(n):\n    return sum(itertools.islice(itertools.count(), n))\n",
        "from solution import f\ndef test_it(): assert f(3) == 3",
        ("n))", "10**18))", "timeout"),
    ),
    case(
        "17: stubborn",
        "infinite loops that catch everything",
        """
        def f(n):
            while n > 0:
                try:
                    n -= 1
                except BaseException:
                    pass
            return n
        """,
        "from solution import f\ndef test_it(): assert f(3) == 0",
        ("n -= 1", "n -= 0", "timeout"),
    ),
    case(
        19,
        "boxed/mutmut#369, frames that use up the stack",
        """
        def depth(n):
            return 0 if n == 0 else 1 + depth(n - 1)
        """,
        """
        import sys
        from solution import depth
        def test_it():
            frame, used = sys.exc_info, 0
            assert depth(sys.getrecursionlimit() - 250) > 0
        """,
        ("1 + depth", "0 + depth", "killed"),
        ("1 + depth", "2 + depth", "survived"),
    ),
    case(
        20,
        "boxed/mutmut#362, metaclasses",
        """
        class Meta(type):
            def __new__(cls, name, bases, namespace):
                namespace["tag"] = name.lower()
                return super().__new__(cls, name, bases, namespace)

            def __call__(cls, *args):
                made = super().__call__(*args)
                made.count = len(args)
                return made

        class Thing(metaclass=Meta):
            def __init__(self, *args):
                self.args = args
        """,
        """
        from solution import Thing
        def test_tag(): assert Thing.tag == "thing"
        def test_count(): assert Thing(1, 2).count == 2
        """,
        ("name.lower()", "name.upper()", "killed"),
        ("len(args)", "len(args) + 1", "killed"),
    ),
    case(
        21,
        "boxed/mutmut#366, __init_subclass__",
        """
        class Base:
            known = []

            def __init_subclass__(cls, **options):
                super().__init_subclass__(**options)
                Base.known.append(cls.__name__)

        class One(Base):
            pass
        """,
        "from solution import Base\ndef test_it(): assert Base.known == ['One']",
        ("cls.__name__", "cls.__name__.lower()", "killed"),
        cold=True,
    ),
    case(
        22,
        "boxed/mutmut#498, private names of private classes",
        """
        class _Secret:
            def __init__(self):
                self.__value = 1

            def __twice(self):
                return self.__value * 2

            def get(self):
                return self.__twice() + self.__value
        """,
        "from solution import _Secret\ndef test_it(): assert _Secret().get() == 3",
        ("self.__value * 2", "self.__value * 3", "killed"),
        ("self.__value = 1", "self.__value = 2", "killed"),
        ("self.__value = 1", "self._Secret__value = 1", "survived"),
    ),
    case(
        23,
        "boxed/mutmut#463, annotations that nobody evaluates",
        """
        from __future__ import annotations
        import inspect

        def f(x: Missing = 1) -> AlsoMissing:
            return x + 1
        """,
        """
        import inspect
        from solution import f
        def test_it():
            assert str(inspect.signature(f)) == "(x: 'Missing' = 1) -> 'AlsoMissing'"
            assert f() == 2
        """,
        ("x + 1", "x + 2", "killed"),
        cold=False,
    ),
    case(
        24,
        "boxed/mutmut#200, enums",
        """
        import enum

        class Colour(enum.Enum):
            RED = 1
            BLUE = 2

            def other(self):
                return Colour.BLUE if self is Colour.RED else Colour.RED
        """,
        """
        from solution import Colour
        def test_other(): assert Colour.RED.other() is Colour.BLUE
        def test_value(): assert Colour(1) is Colour.RED
        """,
        ("self is Colour.RED", "self is Colour.BLUE", "killed"),
        ("RED = 1", "RED = 3", "killed_by_error"),
    ),
    case(
        25,
        "boxed/mutmut#446, crashes",
        "import os\ndef f(x):\n    return x + 1\n",
        "from solution import f\ndef test_it(): assert f(1) == 2",
        ("return x + 1", "os.kill(os.getpid(), 11)", "crash"),
        ("return x + 1", "os._exit(0)", "crash"),
        ("x + 1", "x + 2", "killed"),
    ),
    case(
        28,
        "boxed/mutmut#336, code that looks at frames",
        """
        import sys

        def where():
            frame = sys._getframe(1)
            return frame.f_code.co_name, frame.f_lineno

        def outer():
            x = 1
            return where()
        """,
        "from solution import outer\ndef test_it(): assert outer() == ('outer', 10)",
        ("x = 1", "x = 2", "survived"),
        ("_getframe(1)", "_getframe(0)", "killed"),
    ),
    case(
        29,
        "boxed/mutmut#535, a table that is built at import",
        """
        def square(x):
            return x * x

        TABLE = {n: square(n) for n in range(4)}
        """,
        """
        from solution import TABLE
        def test_first(): assert TABLE[0] == 0
        def test_second(): assert TABLE[3] == 9
        """,
        ("x * x", "x + x", "killed"),
        ("range(4)", "range(5)", "survived"),
        cold=True,
    ),
    case(
        30,
        "boxed/mutmut#570, code without a file",
        """
        from collections import namedtuple
        from dataclasses import dataclass

        @dataclass
        class P:
            x: int

        Q = namedtuple("Q", "x")

        def f(x):
            scope = {}
            exec("def inner(y): return y + 1", scope)
            return P(x).x + Q(x).x + scope["inner"](x)
        """,
        "from solution import f\ndef test_it(): assert f(1) == 4",
        ("P(x).x +", "P(x).x -", "killed"),
        cold=False,
    ),
    case(
        34,
        "boxed/mutmut#42, constants of a module",
        "LIMIT = 3\nUNUSED = 1\ndef f(x):\n    return min(x, LIMIT)\n",
        "from solution import f\ndef test_it(): assert f(9) == 3",
        ("LIMIT = 3", "LIMIT = 4", "killed"),
        ("UNUSED = 1", "UNUSED = 2", "survived"),
        cold=True,
    ),
    case(
        37,
        "mikelane/pytest-gremlins#91, defaults of dataclass fields",
        """
        from dataclasses import dataclass

        @dataclass
        class Options:
            retries: int = 3
        """,
        "from solution import Options\ndef test_it(): assert Options().retries == 3",
        ("= 3", "= 4", "killed"),
        cold=True,
    ),
    case(
        38,
        "mikelane/pytest-gremlins#492, an error of the tests is no kill",
        "def f(x):\n    return x + 1\n",
        "from solution import f\nimport missing_module\ndef test_it(): assert f(1) == 2",
        ("x + 1", "x + 2", "not_covered"),
    ),
    case(
        40,
        "mikelane/pytest-gremlins#416, a function that something else holds",
        """
        import functools
        from dataclasses import dataclass, field

        def _now():
            return 7

        def _twice(x):
            return x * 2

        @dataclass
        class Event:
            at: int = field(default_factory=_now)

        TABLE = {"twice": _twice}
        bound = functools.partial(_twice, 4)

        class Lazy:
            value = property(lambda self: 5)

            @staticmethod
            def three():
                return 3

            @functools.cached_property
            def six(self):
                return 6
        """,
        """
        from solution import *
        def test_factory(): assert Event().at == 7
        def test_table(): assert TABLE["twice"](2) == 4
        def test_partial(): assert bound() == 8
        def test_property(): assert Lazy().value == 5
        def test_static(): assert Lazy.three() == 3
        def test_cached(): assert Lazy().six == 6
        """,
        ("return 7", "return 8", "killed"),
        ("x * 2", "x * 3", "killed"),
        ("self: 5", "self: 6", "killed"),
        ("return 3", "return 4", "killed"),
        ("return 6", "return 7", "killed"),
        cold=False,
    ),
    case(
        "40: closures",
        "functions inside of functions",
        """
        import functools

        def doubled(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args) * 2
            return wrapper

        @doubled
        def f(x):
            return x + 1

        def make(n):
            def inner(x):
                return x + n
            return inner

        add_two = make(2)
        """,
        """
        from solution import *
        def test_f(): assert f(1) == 4
        def test_made_before(): assert add_two(1) == 3
        def test_made_now(): assert make(5)(1) == 6
        """,
        ("* 2", "* 3", "killed"),
        ("x + 1", "x - 1", "killed"),
        ("x + n", "x - n", "killed"),
        cold=False,
    ),
    case(
        "40: caches",
        "functions that remember",
        """
        import functools

        @functools.lru_cache
        def warm(x):
            return x + 1

        @functools.cache
        def cold(x):
            return x + 2

        warm(1)
        """,
        """
        from solution import warm, cold
        def test_warm(): assert warm(1) == 2
        def test_cold(): assert cold(1) == 3
        """,
        ("x + 1", "x - 1", "killed"),
        ("x + 2", "x - 2", "killed"),
        ("x + 2", "2 + x", "survived"),
    ),
    case(
        "40: generators",
        "a generator that waits since import",
        """
        def numbers():
            yield 1
            yield 2

        WAITING = numbers()
        """,
        "from solution import WAITING\ndef test_it(): assert next(WAITING) == 1",
        ("yield 1", "yield 3", "killed"),
        cold=True,
    ),
    case(
        44,
        "sonichi/sutando#3780, bytecode of another mutant",
        "def f(x):\n    return x + 1\n",
        "from solution import f\ndef test_it(): assert f(3) == 4",
        *[("x + 1", f"x + {n}", "killed") for n in range(2, 9)],
        ("x + 1", "1 + x", "survived"),
    ),
]


@pytest.mark.parametrize(("source", "tests", "mutants", "cold"), CASES)
def test_right_where_others_were_not(run, source, tests, mutants, cold):
    result = run(source, tests, *[mutant[:2] for mutant in mutants])
    assert [str(one.status) for one in result.mutants] == [mutant[2] for mutant in mutants]
    assert not result.flags, result.evidence
    if cold is not None:
        assert {one.cold for one in result.mutants if one.status != MutantStatus.INVALID} == {cold}


@pytest.mark.parametrize("wall", ["shared", "split"])
def test_36_mutants_that_no_test_can_miss_are_controls(run, edit, wall):
    """mikelane/pytest-gremlins#36: every verdict was on the original."""
    source = "def f(x):\n    return x + 1\n"
    doomed = edit(source, "return x + 1", "raise RuntimeError", control="must_die")
    options = {"controls": [doomed], "wall": wall, "entry_point": "f"}
    honest = run(source, "assert f(1) == 2", ("x + 1", "x + 2"), **options)
    assert (honest.flags, honest.score()) == (frozenset(), 1.0)
    swallowing = "try:\n    assert f(1) == 2\nexcept Exception:\n    pass\n"
    result = run(source, swallowing, ("x + 1", "x + 2"), **options)
    assert (result.flags, result.score()) == ({Flag.NOT_INSTALLED}, 0.0)


def test_38_shams_that_die_are_noticed(run, edit):
    source = "def f(x):\n    return x + 1\n"
    sham = edit(source, "return x + 1", "return x + 1 if 1 else 2", control="sham")
    tests = "from solution import f\nCALLS = []\ndef test_it():\n    CALLS.append(f(1))\n    assert CALLS == [2]\n"
    honest = run(source, "assert f(1) == 2", ("x + 1", "x + 2"), controls=[sham])
    assert (honest.flags, honest.score()) == (frozenset(), 1.0)
    counting = run(source, tests, ("x + 1", "1 + x"), controls=[sham])
    assert counting.baseline.stateful
    assert (counting.flags, counting.score()) == (frozenset(), 0.0)


def test_27_a_child_that_hangs_does_not_hang_us(run):
    source = "import time\ndef f(x):\n    return x + 1\n"
    result = run(source, "assert f(1) == 2", ("return x + 1", "time.sleep(3600)"), ("x + 1", "x + 2"))
    assert [str(one.status) for one in result.mutants] == ["timeout", "killed"]


@pytest.mark.parametrize("n", [1, 2])
def test_26_no_state_of_multiprocessing_is_ours(run, n):
    """boxed/mutmut#466: tests may set the start method, each time anew."""
    tests = """
        import multiprocessing
        from solution import f
        def test_it():
            multiprocessing.set_start_method("fork", force=True)
            with multiprocessing.get_context("fork").Pool(1) as pool:
                assert pool.map(f, [1, 2]) == [2, 3]
        """
    result = run("def f(x):\n    return x + 1\n", tests, ("x + 1", f"x - {n}"))
    assert [str(one.status) for one in result.mutants] == ["killed"]


def test_32_random_examples_are_the_same_each_time(edits):
    source = "def f(x):\n    return x * 2\n"
    tests = """
from hypothesis import given, strategies as st
from solution import f
SEEN = []
@given(st.integers())
def test_it(x):
    SEEN.append(x)
    assert f(x) == x + x
def test_seen():
    test_it()
    assert SEEN[: len(SEEN) // 2] == SEEN[len(SEEN) // 2 :]
"""
    with MutationEngine(packages=["hypothesis"], workers=1) as engine:
        mutants = edits(source, ("x * 2", "x * 3"), ("x * 2", "2 * x"))
        result = engine.run(source, tests, mutants=mutants, controls=False)
    assert len(result.baseline.passed) == 2
    assert [str(one.status) for one in result.mutants] == ["killed", "survived"]


def test_32_output_of_any_kind_is_dropped(run):
    tests = """
        import sys
        from solution import f
        def test_it():
            sys.stdout.buffer.write(b"\\xff\\xfe" * 1_000_000)
            print("\\ud800".encode("utf-8", "surrogatepass"), file=sys.stderr)
            assert f(1) == 2
        """
    result = run("def f(x):\n    return x + 1\n", tests, ("x + 1", "x - 1"), ("x + 1", "1 + x"))
    assert [str(one.status) for one in result.mutants] == ["killed", "survived"]

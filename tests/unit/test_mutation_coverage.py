"""Recorded arcs, and what they amount to, against coverage.py itself."""

import itertools
import sys
import textwrap

import coverage
import pytest

from codegym.errors import ConfigError
from codegym.mutation.driver_compile import SourceMap, Steps, family
from codegym.mutation.driver_trace import LocalEvents, TraceFunction, make_collector
from codegym.mutation.matrix import Baseline, BaselineTest
from codegym.testquality.coverage import Coverage, analyse, coverage_of, newly_covered, write_report

TRICKY = {
    "branches": """
        def f(x):
            if x > 1:
                y = 1
            elif x:
                y = 2
            else:
                y = 3
            return y
        f(0); f(2)
        """,
    "loops": """
        def f(n):
            for i in range(n):
                if i == 2:
                    continue
                if i == 4:
                    break
            else:
                return "all"
            while n:
                n -= 1
            return n
        f(3); f(6)
        """,
    "loop with a block first": """
        def f(xs):
            total = 0
            for x in xs:
                for y in x:
                    if y:
                        total += y
            while total > 3:
                try:
                    total -= 2
                finally:
                    total -= 1
            return total
        f([[1, 2], [0, 3]])
        """,
    "no code first": '''
        counter = 0
        def f(xs):
            """A docstring."""
            global counter
            for x in xs:
                "no docstring"
                y: int
                counter += x
            def g():
                nonlocal xs
                xs = []
            g()
            return xs
        f([1])
        def h():
            """Nothing else."""
        def k(): ...
        h(); k()
        ''',
    "exceptions": """
        def f(x):
            try:
                if x == 1:
                    raise ValueError("one")
                y = 1 / x
            except ValueError:
                return "value"
            except ZeroDivisionError as error:
                y = str(error)
            else:
                y += 1
            finally:
                x += 1
            return y
        f(0); f(1); f(2)
        """,
    "with": """
        import contextlib
        def f(x):
            with contextlib.suppress(KeyError):
                if x:
                    raise KeyError(x)
                y = 2
            with contextlib.nullcontext() as a, contextlib.nullcontext() as b:
                y = 3
            return y
        f(0); f(1)
        """,
    "generators": """
        def f(n):
            while n:
                n -= 1
                got = yield n
                if got:
                    return got
            yield from (i for i in range(2))
        list(f(2))
        g = f(3); next(g)
        try:
            g.send("x")
        except StopIteration:
            pass
        """,
    "async": """
        import asyncio
        class C:
            async def __aenter__(self): return self
            async def __aexit__(self, *_): return False
            async def __aiter__(self):
                for i in range(2):
                    yield i
        async def f():
            async with C() as c:
                async for i in c:
                    if i:
                        await asyncio.sleep(0)
            return [i async for i in c]
        asyncio.run(f())
        """,
    "match": """
        def f(x):
            match x:
                case 1 | 2:
                    return "low"
                case [a, *rest] if rest:
                    return a
                case {"k": v}:
                    return v
                case _:
                    return None
        f(1); f([1, 2]); f([1]); f({"k": 3})
        """,
    "long statements": """
        def f(
            a,
            b=(1,
               2),
        ):
            return (
                a
                if a else
                b
            )
        x = f(
            1
        ) and \\
            f(0)
        assert (x and
                True), \\
            "no"
        """,
    "comprehensions": """
        def f(xs):
            a = [x
                 for x in xs
                 if x]
            b = {x: y for x in xs for y in range(x)}
            c = sum(x for x in a if x > 1)
            g = lambda x: x if x else 1
            return a, b, c, g(0), (lambda: 1)()
        f([0, 1, 2])
        """,
    "decorators": """
        import functools
        def deco(f):
            @functools.wraps(f)
            def wrapper(*args):
                if args:
                    return f(*args)
                return None
            return wrapper
        @deco
        @functools.cache
        def f(x):
            @deco
            def inner(y): return y
            return inner(x)
        class K:
            x = [i for i in range(3)]
            @property
            def p(self):
                return self.x
            @staticmethod
            def s(): return 1
        f(1); f(); K().p; K.s()
        """,
    "pragmas": """
        def f(x):
            if x:  # pragma: no cover
                return 1
            while True:
                x += 1
                if x > 3:  # pragma: no branch
                    break
            return x
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import nothing
        f(0)
        """,
    "recursion": """
        def f(n):
            if n <= 1:
                return 1
            return f(n - 1) * n
        def g(n):
            for i in range(n):
                if g(n - 1) and i:
                    return 0
            return 1
        f(4); g(2)
        """,
    "one line": """
        def f(x):
            if x: return 1
            for i in range(3): x += i
            while x > 3: x -= 1
            return x if x else 2
        f(0)
        """,
    "inner loops left by return": """
        def f(xs):
            for x in xs:
                while x:
                    if x > 2:
                        return x
                    x -= 1
        f([1, 2]); f([5])
        """,
}


def theirs(text, path):
    path.write_text(text)
    measured = coverage.Coverage(data_file=None, branch=True, include=[str(path)], config_file=False)
    code = compile(text, str(path), "exec")
    measured.start()
    try:
        exec(code, {"__name__": "tricky"})
    finally:
        measured.stop()
    found = measured._analyze(str(path))
    measured.get_data().close(force=True)
    return found


def ours(text, path, make):
    steps = Steps()
    program = SourceMap(text, str(path))
    collector = make(str(path), program)
    steps.grant(10**6)
    collector.start()
    try:
        exec(program.code, {"__name__": "tricky"})
    finally:
        collector.stop()
    return analyse(text, collector.take())


COLLECTORS = {"trace function": lambda path, program: TraceFunction(path)}
if hasattr(sys, "monitoring"):
    COLLECTORS["local events"] = lambda path, program: LocalEvents(family(program.code))


@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.parametrize("name", TRICKY)
def test_statements_and_branches_are_those_of_coverage_py(name, collector, tmp_path):
    text = textwrap.dedent(TRICKY[name]).strip() + "\n"
    expected = theirs(text, tmp_path / "tricky.py")
    found = ours(text, tmp_path / "tricky.py", COLLECTORS[collector])
    assert found.statements == expected.statements
    assert found.executed == expected.executed
    numbers = expected.numbers
    assert len(found.branches) == numbers.n_branches
    assert len(found.branches - found.taken) == numbers.n_missing_branches
    missing = {(line, to) for line, others in expected.missing_branch_arcs().items() for to in others}
    assert found.branches - found.taken == missing


def test_the_collector_fits_the_version_of_python():
    collector = make_collector("x.py", [])
    assert isinstance(collector, LocalEvents if hasattr(sys, "monitoring") else TraceFunction)


SOURCE = "def f(x):\n    if x:\n        return 1\n    return 2\n"
CALLED_WITH_1 = frozenset({(-1, 2), (2, 3), (3, -1)})
CALLED_WITH_0 = frozenset({(-1, 2), (2, 4), (4, -1)})
BASELINE = Baseline(
    tests=(
        BaselineTest(name="one", status="passed", lines=frozenset({2, 3}), arcs=CALLED_WITH_1),
        BaselineTest(name="zero", status="passed", lines=frozenset({2, 4}), arcs=CALLED_WITH_0),
        BaselineTest(name="broken", status="error", lines=frozenset({2, 4}), arcs=CALLED_WITH_0),
    ),
    import_arcs=frozenset({(-1, 1), (1, -1)}),
)


def test_worked_numbers():
    found = coverage_of(SOURCE, BASELINE, ["one"])
    assert found.statements == {1, 2, 3, 4}
    assert found.missing == {4}
    assert (found.line_share, found.branch_share, found.total) == (3 / 4, 1 / 2, 4 / 6)


def test_only_tests_that_passed_count_unless_named():
    assert coverage_of(SOURCE, BASELINE).line_share == 1.0
    without = Baseline(tests=BASELINE.tests[2:], import_arcs=BASELINE.import_arcs)
    assert coverage_of(SOURCE, without).executed == {1}
    with pytest.raises(ConfigError, match="no tests"):
        coverage_of(SOURCE, BASELINE, ["two"])


def test_what_is_new_over_a_baseline():
    before, after = coverage_of(SOURCE, BASELINE, ["one"]), coverage_of(SOURCE, BASELINE)
    assert newly_covered(after, before) == ({4}, {(2, 4)})
    assert newly_covered(after, before, lines=[3]) == (frozenset(), frozenset())
    assert newly_covered(before, before) == (frozenset(), frozenset())


def test_nothing_to_cover_is_covered():
    assert analyse("", []) == Coverage(
        statements=frozenset(), executed=frozenset(), branches=frozenset(), taken=frozenset()
    )
    assert analyse("# only this\n", []).line_share == 1.0
    with pytest.raises(ConfigError, match="does not compile"):
        analyse("def f(:\n", [])


@pytest.mark.parametrize("kind", ["html", "json", "xml", "lcov"])
def test_reports_for_people_are_coverage_py_s(kind, tmp_path):
    target = tmp_path / ("report" if kind == "html" else f"report.{kind}")
    total = write_report(target, {"sub/mod.py": SOURCE}, {"sub/mod.py": BASELINE}, kind)
    assert target.exists()
    pages = [page.read_text() for page in (target.rglob("*mod_py.html") if kind == "html" else [target])]
    assert any("mod.py" in page for page in pages)
    if kind != "lcov":
        assert total == pytest.approx(100.0)
    if kind == "html":
        assert any("zero" in page for page in pages), "contexts tell which test ran a line"


def test_an_unknown_kind_of_report_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="kind is one of html, json, xml, lcov"):
        write_report(tmp_path, {}, {}, "pdf")


def test_a_collector_can_be_stopped_and_started(tmp_path):
    Steps().grant(1000)
    program = SourceMap(SOURCE, "/program/mod.py")
    names = {}
    exec(program.code, names)
    collector = make_collector("/program/mod.py", list(family(program.code)))
    taken = []
    for argument in (1, 0):
        collector.start()
        names["f"](argument)
        collector.stop()
        taken.append(collector.take())
    names["f"](1)
    taken.append(collector.take())
    assert taken == [CALLED_WITH_1, CALLED_WITH_0, set()]
    assert list(itertools.chain(taken[2])) == []

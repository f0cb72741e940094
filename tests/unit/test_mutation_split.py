"""Mutants in one guest and tests in another; and tests of all styles as files and as texts."""

import pytest

from codegym.errors import ConfigError
from codegym.mutation.engine_suites import as_sources, as_suite, style_of

SOURCE = """\
def total(xs):
    result = 0
    for x in xs:
        result += x
    while result > 100:
        result -= 10
    return result
"""
MUTANTS = [
    ("result = 0", "result = 1", "killed"),
    ("result += x", "result += y", "killed_by_error"),
    ("result -= 10", "result -= 0", "timeout"),
    ("return result", "import os; os._exit(1)", "crash"),
    ("> 100", ">= 100", "survived"),
    ("return result", "return (", "invalid"),
    ("return result", "assert False", "killed_by_error"),
]
STYLES = {
    "asserts": "assert total([]) == 0\nx = total([1, 2])\nassert x == 3\nassert total([105]) == 95",
    "check": """
def check(f):
    assert f([]) == 0
    x = f([1, 2])
    assert x == 3
    assert f([105]) == 95
""",
}


@pytest.mark.parametrize("mode", ["score", "matrix"])
@pytest.mark.parametrize("style", STYLES)
def test_statuses_are_those_of_the_shared_wall_too(run, style, mode):
    pairs = [mutant[:2] for mutant in MUTANTS]
    options = {"entry_point": "total", "mode": mode}
    split = run(SOURCE, STYLES[style], *pairs, wall="split", **options)
    assert (split.wall, split.baseline.passed) == ("split", ("test_0", "test_1", "test_2"))
    found = [str(one.status) for one in split.mutants]
    assert found[:-1] == [mutant[2] for mutant in MUTANTS][:-1]
    shared = run(SOURCE, STYLES[style], *pairs, **options)
    assert shared.wall == "shared"
    assert [str(one.status) for one in shared.mutants] == [mutant[2] for mutant in MUTANTS]


def test_a_tester_sees_nothing_of_the_program(run):
    tests = """
import sys
def check(f):
    frames = []
    frame = sys._getframe()
    while frame is not None:
        frames.append(repr(frame.f_code) + repr(frame.f_locals)[:10_000])
        frame = frame.f_back
    assert not any("result -= 10" in text for text in frames)
    assert f.__call__.__code__.co_name == "__call__"
    assert f([1]) == 1
"""
    result = run(SOURCE, tests, ("result = 0", "result = 1"), wall="split", entry_point="total")
    assert result.baseline.passed
    assert [str(one.status) for one in result.mutants] == ["killed"]


def test_a_program_that_takes_many_steps_has_many(run):
    source = "def f(n):\n    while n:\n        n -= 1\n    return n\n"
    pairs = [("n -= 1", "n -= 0"), ("return n", "return 1")]
    result = run(source, "assert f(200_000) == 0", *pairs, wall="split", entry_point="f")
    assert result.baseline.passed
    assert [str(one.status) for one in result.mutants] == ["timeout", "killed"]


def test_a_program_that_does_not_load(run):
    result = run(
        "import missing_module\ndef f(): return 1\n", "assert f() == 1", wall="split", entry_point="f"
    )
    assert result.baseline.passed == ()
    assert {test.status for test in result.baseline.tests} == {"error"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wall": "split"}, "entry_point"),
        ({"style": "check"}, "need an entry_point"),
        ({"target": "shop"}, None),
    ],
)
def test_what_does_not_fit_is_refused(run, options, message):
    if message is None:
        assert run(SOURCE, "assert total([]) == 0", **options).baseline.passed
        return
    with pytest.raises(ConfigError, match=message):
        run(SOURCE, "assert total([]) == 0", **options)


@pytest.mark.parametrize("wall", ["shared", "split"])
@pytest.mark.parametrize(
    ("tests", "style"),
    [
        ("assert total(", "asserts"),
        ("def check(:", "check"),
        ("assert 1", "check"),
        ("assert total(", "auto"),
    ],
)
def test_tests_that_are_none_are_worth_nothing(run, wall, tests, style):
    result = run(SOURCE, tests, ("= 0", "= 1"), wall=wall, style=style, entry_point="total")
    assert result.baseline.passed == ()
    assert [str(one.status) for one in result.mutants] == ["not_covered"]
    assert result.score() == 0.0


def test_a_suite_of_pytest_does_not_run_behind_a_split_wall(run):
    result = run(SOURCE, "def test_it(): pass", ("= 0", "= 1"), wall="split", entry_point="total")
    assert "styles 'asserts' or 'check', not 'pytest'" in result.baseline.errors[0]


def test_sources_that_are_none_are_refused(run, engine):
    with pytest.raises(ConfigError, match="does not compile"):
        run("def f(:\n", "assert f() == 1")
    with pytest.raises(ConfigError, match="not among the modules: shop"):
        engine.run({"shop.py": SOURCE}, "assert 1", mutants=[], controls=False)
    with pytest.raises(ConfigError, match="relative path"):
        engine.run({"/shop.py": SOURCE}, "assert 1", mutants=[], controls=False, target="shop")


@pytest.mark.parametrize(
    ("tests", "style"),
    [
        ("def test_a(): pass", "pytest"),
        ("class TestA: pass", "pytest"),
        ("class ATestCase(x): pass", "pytest"),
        ("def check(f): assert f()", "check"),
        ("assert f() == 1", "asserts"),
        ("for x in y:\n    assert x", "asserts"),
        ("def helper(): assert 1", "pytest"),
        ("def broken(:", "pytest"),
    ],
)
def test_styles_are_told_apart(tests, style):
    assert style_of(tests) == style


def test_each_text_is_a_test_that_needs_no_other():
    first, second = as_sources("import math\nx = f(1)\nassert x\ny = x\nassert y == math.pi\n", "auto", "f")
    assert first == "import math\nx = f(1)\nassert x"
    assert second == "import math\nx = f(1)\ny = x\nassert y == math.pi"


def test_names_of_the_module_are_there_and_those_of_tests_stay():
    suite = as_suite(
        "import math\nLIMIT = 3\nx: int\ny: int = 1\ndef f(): pass\nclass C: pass\n", "assert f()"
    )
    assert suite.files["test_suite.py"] == (
        "from solution import math, LIMIT, y, f, C\n\ndef test_0():\n    assert f()"
    )
    assert suite.tests == ["test_suite.py"]


def test_only_test_files_are_collected():
    files = {
        "test_a.py": "",
        "b_test.py": "",
        "conftest.py": "",
        "helpers.py": "",
        "sub/test_c.py": "",
        "d.txt": "",
    }
    assert as_suite("x = 1", files).tests == ["b_test.py", "sub/test_c.py", "test_a.py"]

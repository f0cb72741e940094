"""The engine from end to end: statuses, styles of tests, controls, what mutants leave behind."""

import asyncio

import pytest

from codegym.errors import ConfigError
from codegym.mutation.matrix import ASSERTED, DETECTED, Flag, How, MutantStatus


def statuses(result):
    return [str(one.status) for one in result.mutants]


CLAMP = '''\
TABLE = {1: "one"}


def clamp(x, low, high):
    """Nothing below, nothing above."""
    if x < low:
        return low
    if x > high:
        return high
    return x


def total(xs):
    result = 0
    for x in xs:
        if x % 3 == 0:
            result += x * 2
        else:
            result -= 1
    count = 0
    while count < 3:
        count += 1
    return result + count


def name(key, table=TABLE):
    return table.get(key, "?")


def never(x):
    return x + 1
'''
CLAMP_TESTS = """
import pytest
from solution import clamp, name, total

def test_low():
    assert clamp(-1, 0, 5) == 0

def test_high():
    assert clamp(9, 0, 5) == 5

@pytest.mark.parametrize("x", [1, 2])
def test_between(x):
    assert clamp(x, 0, 5) == x

def test_total():
    assert total([1, 2, 3]) == 7

def test_name():
    assert name(1) == "one"
"""
CLAMP_MUTANTS = [
    ("x < low", "x > low", "killed"),
    ("x < low", "x <= low", "survived"),
    ("x * 2", "x * 3", "killed"),
    ("x * 2", "x * missing", "killed_by_error"),
    ("x % 3", "x % 0", "killed_by_error"),
    ("count += 1", "count -= 1", "timeout"),
    ("count < 3", "True", "timeout"),
    ("return high", "import os; os._exit(3)", "crash"),
    ("return high", "import os; os.kill(os.getpid(), 11)", "crash"),
    ("return high", "return (", "invalid"),
    ("x + 1", "x + 2", "not_covered"),
    ('"one"', '"two"', "killed"),
    ("table=TABLE", "table={}", "killed"),
    ('"?"', '"!"', "survived"),
]


@pytest.fixture(scope="module")
def clamped(engine, edit):
    mutants = [edit(CLAMP, old, new) for old, new, _ in CLAMP_MUTANTS]
    return engine.run(CLAMP, CLAMP_TESTS, mutants=mutants, mode="matrix", controls=False)


@pytest.mark.parametrize(
    ("number", "expected"),
    [pytest.param(n, m[2], id=f"{m[0]} -> {m[1]}") for n, m in enumerate(CLAMP_MUTANTS)],
)
def test_statuses(clamped, number, expected):
    """21: a known kill and a known survivor are not the other way round."""
    assert str(clamped.mutants[number].status) == expected


def test_the_matrix_holds_every_test_that_fails(clamped):
    sets = clamped.kill_sets()
    names = {f"test_suite.py::test_{name}" for name in ("low", "high", "between[1]", "between[2]")}
    assert sets["x < low -> x > low"] == names
    assert sets["count < 3 -> True"] == {"test_suite.py::test_total"}
    matrix = clamped.matrix()
    assert matrix.shape == (6, len(CLAMP_MUTANTS))
    assert matrix.any(axis=0).sum() == len(sets)
    assert clamped.mutants[5].kills[0].how == How.TIMEOUT


def test_what_acts_at_import_is_run_cold(clamped):
    cold = {one.mutant.id for one in clamped.mutants if one.cold}
    assert cold == {'"one" -> "two"', "table=TABLE -> table={}"}


def test_the_baseline_tells_tests_lines_and_steps(clamped):
    tests = {test.name.partition("::")[2]: test for test in clamped.baseline.tests}
    assert {test.status for test in tests.values()} == {"passed"}
    assert tests["test_low"].lines == {6, 7}
    assert tests["test_high"].lines == {6, 8, 9}
    assert (6, 8) in tests["test_high"].arcs
    assert clamped.cpu_s > 0.01
    assert tests["test_total"].steps == 1 + 3 + 3  # an entry, turns of the first loop, and of the second
    assert {1, 4, 13, 26, 30} <= {line for arc in clamped.baseline.import_arcs for line in arc}


def test_scores_of_the_same_result(clamped):
    killed, detected = 4, 10
    compiled = len(CLAMP_MUTANTS) - 1
    assert clamped.score() == killed / compiled
    assert clamped.score(credit=DETECTED) == pytest.approx((detected - 0) / compiled)
    assert clamped.score(clamped.killable()) == 1.0
    assert clamped.score(clamped.killable(DETECTED), credit=ASSERTED) == killed / detected
    assert clamped.score([]) == 0.0


def test_the_score_stops_at_the_first_kill(run):
    result = run(CLAMP, CLAMP_TESTS, ("x < low", "x > low"))
    assert [kill.test for kill in result.mutants[0].kills] == ["test_suite.py::test_low"]
    with pytest.raises(ConfigError, match="mode='matrix'"):
        result.matrix()


def test_the_same_again_whatever_the_order(run):
    pairs = [(old, new) for old, new, _ in CLAMP_MUTANTS]
    results = [run(CLAMP, CLAMP_TESTS, *pairs, mode="matrix", seed=seed) for seed in (1, 2)]
    first, second = ([(one.status, one.kills) for one in result.mutants] for result in results)
    assert first == second


def test_several_at_once_and_in_order(engine, edits):
    mutants = edits(CLAMP, ("x < low", "x > low"), ("x < low", "x <= low"))
    jobs = [
        {"source": CLAMP, "tests": CLAMP_TESTS, "mutants": [mutant], "controls": False} for mutant in mutants
    ]
    assert [statuses(result) for result in engine.run_many(jobs)] == [["killed"], ["survived"]]


def test_without_blocking_an_event_loop(run, engine, edits):
    result = asyncio.run(
        engine.arun(CLAMP, CLAMP_TESTS, mutants=edits(CLAMP, ("x < low", "x > low")), controls=False)
    )
    assert statuses(result) == ["killed"]


# Kinds of tests ---------------------------------------------------------------------------------------------

ADD = """\
def add(a, b):
    return a + b
"""
STYLES = {
    "pytest function": "from solution import add\ndef test_it(): assert add(1, 2) == 3",
    "pytest class": """
        from solution import add
        class TestAdd:
            def setup_method(self): self.one = 1
            def test_it(self): assert add(self.one, 2) == 3
        """,
    "unittest": """
        import unittest
        from solution import add
        class AddTests(unittest.TestCase):
            def setUp(self): self.one = 1
            def test_it(self): self.assertEqual(add(self.one, 2), 3)
        """,
    "unittest class fixtures": """
        import unittest
        from solution import add
        class AddTests(unittest.TestCase):
            @classmethod
            def setUpClass(cls): cls.three = add(1, 2)
            def test_it(self): self.assertEqual(self.three, 3)
        """,
    "unittest subtests": """
        import unittest
        from solution import add
        class AddTests(unittest.TestCase):
            def test_it(self):
                for a, b, c in [(0, 0, 0), (1, 2, 3)]:
                    with self.subTest(a=a):
                        self.assertEqual(add(a, b), c)
        """,
    "unittest async": """
        import unittest
        from solution import add
        class AddTests(unittest.IsolatedAsyncioTestCase):
            async def test_it(self): self.assertEqual(add(1, 2), 3)
        """,
    "39: async": "from solution import add\nasync def test_it(): assert add(1, 2) == 3",
    "39: fixture": """
        import pytest
        from solution import add
        @pytest.fixture
        def three():
            yield add(1, 2)
        def test_it(three): assert three == 3
        """,
    "39: fixture of the module": """
        import pytest
        from solution import add
        @pytest.fixture(scope="module")
        def three(): return add(1, 2)
        def test_it(three): assert three == 3
        def test_again(three): assert three == 3
        """,
    "39: parameters": """
        import pytest
        from solution import add
        @pytest.mark.parametrize(("a", "b", "c"), [(0, 0, 0), (1, 2, 3)], ids=["zero", "three"])
        def test_it(a, b, c): assert add(a, b) == c
        """,
    "built-in fixtures": """
        import logging, os
        from solution import add
        def test_it(tmp_path, capsys, monkeypatch, caplog):
            monkeypatch.setenv("X", "3")
            (tmp_path / "x").write_text(str(add(1, 2)))
            print(add(1, 2))
            logging.getLogger().warning("%d", add(1, 2))
            assert (tmp_path / "x").read_text() == os.environ["X"]
            assert capsys.readouterr().out == "3\\n"
            assert [record.getMessage() for record in caplog.records] == ["3"]
        """,
    "pytest.fail": """
        import pytest
        from solution import add
        def test_it():
            if add(1, 2) != 3:
                pytest.fail("no")
        """,
    "statements": "x = add(1, 2)\nassert add(0, 0) == 0\nassert x == 3",
    "check": "def check(candidate):\n    assert candidate(0, 0) == 0\n    assert candidate(1, 2) == 3",
    "check that loops": """
        CASES = [(0, 0, 0), (1, 2, 3)]
        def check(candidate):
            for a, b, c in CASES:
                assert candidate(a, b) == c
        """,
    "check in helpers": """
        def same(a, b): assert a == b
        def check(f):
            same(f(1, 2), 3)
        """,
}


@pytest.mark.parametrize("style", STYLES)
def test_styles(run, style):
    result = run(ADD, STYLES[style], ("a + b", "a - b"), ("a + b", "b + a"), entry_point="add")
    assert {test.status for test in result.baseline.tests} == {"passed"}
    assert statuses(result) == ["killed", "survived"]
    assert result.flags == frozenset()


def test_each_assertion_is_a_test_of_its_own(run):
    tests = "import math\nx = add(1, 1)\nassert x == 2\ny = x + 1\nassert add(y, 0) == 3\n"
    result = run(ADD, tests, ("a + b", "a * 2 + b * 0"), mode="matrix")
    assert len(result.baseline.passed) == 2
    assert [kill.test for kill in result.mutants[0].kills] == ["test_suite.py::test_1"]


def test_a_package_with_a_conftest(engine, edits):
    source = {
        "shop/__init__.py": "from shop.prices import gross\n",
        "shop/prices.py": "from shop import rates\ndef gross(net):\n    return net + net * rates.RATE\n",
        "shop/rates.py": "RATE = 0.5\n",
    }
    tests = {
        "tests/conftest.py": "import pytest\n@pytest.fixture\ndef net(): return 10\n",
        "tests/helpers.py": "EXPECTED = 15\n",
        "tests/test_prices.py": (
            "import shop\nfrom helpers import EXPECTED\n"
            "def test_gross(net): assert shop.gross(net) == EXPECTED\n"
        ),
    }
    text = source["shop/prices.py"]
    mutants = edits(
        text, ("net + net", "net - net"), ("net * rates", "rates.RATE * net * 1 if net else rates")
    )
    result = engine.run(source, tests, target="shop.prices", mutants=mutants, controls=False)
    assert statuses(result) == ["killed", "survived"]
    assert result.baseline.passed == ("tests/test_prices.py::test_gross",)
    rates = edits(source["shop/rates.py"], ("0.5", "0.25"))
    assert statuses(engine.run(source, tests, target="shop.rates", mutants=rates, controls=False)) == [
        "killed"
    ]


def test_tests_that_do_not_pass_on_the_original_are_not_run(run):
    tests = """
        import pytest
        from solution import add
        def test_wrong(): assert add(1, 2) == 4
        def test_raises(): raise ValueError
        @pytest.mark.skip
        def test_skipped(): assert add(1, 2) == 4
        @pytest.mark.xfail
        def test_expected(): assert add(1, 2) == 4
        def test_skips(): pytest.skip("not now")
        def test_dies(): import os; os._exit(1)
        def test_right(): assert add(1, 2) == 3
        """
    result = run(ADD, tests, ("a + b", "a + b + 1"), mode="matrix")
    found = {test.name.partition("::test_")[2]: test.status for test in result.baseline.tests}
    assert found == {
        "wrong": "assertion",
        "raises": "error",
        "skipped": "not run",
        "expected": "not run",
        "skips": "skipped",
        "dies": "crash",
        "right": "passed",
    }
    assert [kill.test for kill in result.mutants[0].kills] == ["test_suite.py::test_right"]


def test_a_suite_that_cannot_be_imported(run):
    result = run(ADD, "import nothing_of_this_name\ndef test_it(): pass", ("a + b", "a - b"))
    assert result.baseline.tests == ()
    assert "nothing_of_this_name" in result.baseline.errors[0]
    assert statuses(result) == ["not_covered"]
    assert result.score() == 0.0


@pytest.mark.parametrize("last_word", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.abort()"])
def test_a_suite_that_ends_the_process_while_imported(run, last_word):
    result = run(ADD, f"import os\n{last_word}\ndef test_it(): pass", ("a + b", "a - b"))
    assert "ended the process" in result.baseline.errors[0]
    assert result.score() == 0.0


def test_random_numbers_are_the_same_each_time(run):
    tests = """
        import random
        from solution import add
        FIRST = []
        def test_it():
            x = random.random()
            FIRST.append(x)
            assert x == FIRST[0] and add(1, 2) == 3
        """
    assert statuses(run(ADD, tests, ("a + b", "a - b"), ("a + b", "b + a"))) == ["killed", "survived"]


# How tests fail ---------------------------------------------------------------------------------------------


def test_an_assertion_of_the_program_is_an_error(run):
    source = "def f(x):\n    assert x > 0, x\n    return x\n"
    tests = "from solution import f\ndef test_it():\n    f(1)"
    assert statuses(run(source, tests, ("x > 0", "x > 1"))) == ["killed_by_error"]


def test_a_suite_without_assertions_kills_nothing_by_assertion(run):
    tests = CLAMP_TESTS.replace("assert ", "")
    result = run(CLAMP, tests, *[(old, new) for old, new, _ in CLAMP_MUTANTS])
    assert result.count(MutantStatus.KILLED) == 0
    assert result.count(MutantStatus.KILLED_BY_ERROR) == 2
    assert result.score() == 0.0


RAISES = """\
def parse(text):
    if not text:
        raise ValueError("empty")
    return int(text)
"""


@pytest.mark.parametrize(
    "test",
    [
        "import pytest\ndef test_it():\n    with pytest.raises(ValueError): parse('')",
        "import pytest\ndef test_it(): pytest.raises(ValueError, parse, '')",
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n"
        "        with self.assertRaises(ValueError): parse('')",
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n"
        "        self.assertRaises(ValueError, parse, '')",
    ],
    ids=["pytest", "pytest call", "unittest", "unittest call"],
)
def test_an_unexpected_exception_where_one_is_expected_is_a_failed_assertion(run, test):
    mutants = [
        ("ValueError(", "KeyError("),
        ('raise ValueError("empty")', "return 0"),
        ("int(text)", "len(text)"),
    ]
    result = run(RAISES, f"from solution import parse\n{test}", *mutants)
    assert statuses(result) == ["killed", "killed", "not_covered"]


# Mutants and controls as codegym makes them -----------------------------------------------------------------


def test_generated_mutants_and_their_controls(engine):
    result = engine.run(CLAMP, CLAMP_TESTS)
    assert result.flags == frozenset(), result.evidence
    assert len(result.mutants) > 30
    assert 0.6 < result.score(credit=DETECTED) < 1.0
    shams = [one for one in result.controls if one.mutant.control == "sham"]
    doomed = [one for one in result.controls if one.mutant.control == "must_die"]
    assert shams
    assert doomed
    assert {one.status for one in shams} <= {MutantStatus.SURVIVED, MutantStatus.NOT_COVERED}
    assert {one.mutant.function for one in doomed if not one.kills} == {"never"}


def test_generated_controls_tell_a_fingerprint(engine):
    tests = (
        CLAMP_TESTS
        + "\nTAKEN = clamp.__code__\ndef test_print(): assert clamp(1, 0, 5) == 1 and clamp.__code__ is TAKEN\n"
    )
    result = engine.run(CLAMP, tests)
    assert result.flags == {Flag.INTROSPECTION, Flag.FINGERPRINTING}
    assert result.score() == 0.0

"""From programs to outcomes."""

import asyncio

import pytest

from codegym.core import Comparison, Limits, Outcome, Program, Raises, Status, Task, TestCase
from codegym.errors import ConfigError, DataError, InfraError
from codegym.grading import Grader
from codegym.grading.asserts import as_calls
from codegym.sandbox import make_sandbox

SHORT = Limits(cpu_s=0.3, wall_s=1.0)


@pytest.fixture(scope="module")
def grader(local):
    with Grader(local) as made:
        yield made


def task(*tests, reference=(), **options):
    options.setdefault("entry_point", "f")
    options.setdefault("limits", SHORT)
    return Task(id="t", prompt="", hidden_tests=tests, reference_solutions=reference, **options)


def statuses(outcome):
    return [str(test.status) for test in outcome.tests]


SQUARE = task(
    *(TestCase.call(x, expected=x * x, tier=tier) for x, tier in ((1, "base"), (2, "base"), (3, "plus")))
)


# Calls


def test_a_right_program_passes(grader):
    outcome = grader.grade(Program("def f(x):\n    return x * x"), SQUARE)
    assert outcome.passed
    assert outcome.fraction_passed == 1.0
    assert outcome.wall == "split"
    assert {"net", "root", "seccomp"} <= set(outcome.isolation)
    assert outcome.cpu_s > 0


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(x):\n    return 1", ["passed", "wrong", "wrong"]),
        ("def f(x):\n    return x * x if x < 3 else 1 / 0", ["passed", "passed", "error"]),
        (
            "def f(x):\n    if x == 2:\n        import os; os._exit(0)\n    return x * x",
            ["passed", "error", "passed"],
        ),
        ("def f(x):\n    while x == 2: pass\n    return x * x", ["passed", "timeout", "passed"]),
        ("def f(x):\n    return bytearray(10**10) if x == 2 else x * x", ["passed", "memory", "passed"]),
        ("def f(x) return", ["invalid"] * 3),
        ("def g(x): return x", ["error"] * 3),
        ("import os\nos._exit(0)", ["error"] * 3),
        ("while True: pass", ["timeout"] * 3),
        ("def f(x):\n    while True: pass", ["timeout"] * 3),
        ("x = bytearray(10**10)", ["memory"] * 3),
        ("import sys\nsys.exit(0)", ["error"] * 3),
    ],
)
def test_every_test_gets_its_own_status(grader, code, expected):
    outcome = grader.grade(Program(code), SQUARE)
    assert statuses(outcome) == expected
    assert not outcome.passed
    assert outcome.message


def test_after_several_deaths_the_rest_is_not_run(grader):
    many = task(*(TestCase.call(x, expected=x) for x in range(6)))
    outcome = grader.grade(Program("import os\ndef f(x):\n    os._exit(0)"), many)
    assert statuses(outcome) == ["error"] * 3 + ["skipped"] * 3


def test_stopping_early(local):
    with Grader(local, stop_early=True) as grader:
        outcome = grader.grade(Program("def f(x):\n    return 1"), SQUARE)
    assert outcome.status == Status.WRONG
    assert statuses(outcome)[:2] == ["passed", "wrong"]


def test_tiers_are_reported_apart(grader):
    outcome = grader.grade(Program("def f(x):\n    return x * x if x < 3 else 0"), SQUARE)
    assert outcome.only("base").passed
    assert not outcome.only("plus").passed
    assert outcome.only("plus").status == Status.WRONG


def test_a_choice_of_tests(grader):
    outcome = grader.grade(Program("def f(x):\n    return 1"), SQUARE, SQUARE.hidden_tests[:1])
    assert outcome.passed
    assert len(outcome.tests) == 1


def test_messages_do_not_tell_what_is_expected(grader):
    secret = task(TestCase.call(1, expected="the secret"), TestCase.code("assert f(2, f(1)) == 'the secret'"))
    outcome = grader.grade(Program("def f(x, y=0):\n    return 'guess'"), secret)
    assert "secret" not in repr(outcome)
    assert "guess" in outcome.message


@pytest.mark.parametrize(
    ("test", "code", "passes"),
    [
        (TestCase.call(0, expected=Raises("ValueError")), "def f(x): raise ValueError", True),
        (TestCase.call(0, expected=Raises("ArithmeticError")), "def f(x): return 1 / x", True),
        (TestCase.call(0, expected=Raises("ValueError")), "def f(x): raise KeyError", False),
        (TestCase.call(0, expected=Raises("ValueError")), "def f(x): return ValueError()", False),
        (TestCase.call([2, 1], expected=[1, 2], answer="argument"), "def f(x): x.sort()", True),
        (TestCase.call([2, 1], expected=[1, 2], answer="argument"), "def f(x): return sorted(x)", False),
        (TestCase.call(1, kwargs={"y": 2}, expected=3), "def f(x, *, y): return x + y", True),
        (TestCase.call(0, expected=(1, 2)), "def f(x): return [1, 2]", False),
        (TestCase.call(0, expected={1, 2}), "def f(x): return {2, 1}", True),
        (TestCase.call(0, expected={"a": 1, "b": 2}), "def f(x): return {'b': 2, 'a': 1}", True),
        (TestCase.call(0, expected=1), "def f(x): return True", True),
        (TestCase.call(0, expected=0.1), "def f(x): return 0.1000001", False),
    ],
)
def test_what_counts_as_the_expected_answer(grader, test, code, passes):
    assert grader.grade(Program(code), task(test)).passed == passes


def test_the_rule_of_the_task_and_of_the_test(grader):
    close = Comparison(rule="float", atol=1e-6)
    program = Program("def f(x): return 0.1000001")
    test = TestCase.call(0, expected=0.1)
    assert grader.grade(program, task(test, compare=close)).passed
    strict = TestCase.call(0, expected=0.1, compare=Comparison(rule="exact"))
    assert not grader.grade(program, task(strict, compare=close)).passed


# Long answers


LONG = "def f(n):\n    return {}"


@pytest.mark.parametrize(
    ("answer", "passes"),
    [
        ("set(map(str, range(n)))", True),
        ("set(map(str, reversed(range(n))))", True),
        ("frozenset(map(str, range(n)))", True),
        ("set(map(str, range(n - 1)))", False),
        ("set(map(str, range(100 * n)))", False),
        ("list(map(str, range(n)))", False),
    ],
)
@pytest.mark.parametrize("stated", [True, False])
def test_long_answers_are_compared_by_value_where_bytes_differ(grader, answer, passes, stated):
    expected = {"expected": set(map(str, range(3000)))} if stated else {}
    reference = LONG.format("set(map(str, range(n)))")
    long = task(
        TestCase.call(3000, **expected),
        TestCase.call(3000, **expected),
        reference=(reference,),
        limits=Limits(),
    )
    outcome = grader.grade(Program(LONG.format(answer)), long)
    assert statuses(outcome) == ["passed" if passes else "wrong"] * 2


def test_a_program_that_changes_its_answer_when_asked_again(grader):
    reference = LONG.format("[float(i) for i in range(n)]")
    other = "import time\ndef f(n):\n    return [int(i) + time.time() for i in range(n)]"
    outcome = grader.grade(Program(other), task(TestCase.call(3000), reference=(reference,)))
    assert statuses(outcome) == ["wrong"]


# References


def test_expected_values_come_from_the_reference(grader):
    found = task(TestCase.call(2), TestCase.call(3), reference=("def f(x):\n    return x ** 3",))
    assert grader.grade(Program("def f(x):\n    return x * x * x"), found).passed
    assert statuses(grader.grade(Program("def f(x):\n    return 8"), found)) == ["passed", "wrong"]


def test_expected_text_comes_from_the_reference(grader):
    echo = task(TestCase.stdio("5\n"), reference=("print(int(input()) * 2)",), entry_point=None)
    assert grader.grade(Program("print(10)"), echo).passed
    assert not grader.grade(Program("print(11)"), echo).passed


@pytest.mark.parametrize(
    "reference", ["def f(x):\n    return 1 / 0", "def f(x) return", "import os; os._exit(0)"]
)
def test_a_reference_that_fails_is_the_task_s_fault(grader, reference):
    broken = task(TestCase.call(1), reference=(reference,))
    with pytest.raises(DataError, match="task 't': the reference solution fails test 0"):
        grader.grade(Program("def f(x):\n    return 1"), broken)


def test_time_limits_follow_the_reference(grader):
    slow = "import time\ndef f(x):\n    end = time.process_time() + {}\n    while time.process_time() < end: pass"
    timed = task(
        TestCase.call(1),
        reference=(slow.format(0.5),),
        meta={"time_factor": 4.0, "min_time_s": 0.1},
        limits=Limits(cpu_s=0.1),
    )
    assert grader.grade(Program(slow.format(0.6)), timed).passed
    assert grader.grade(Program(slow.format(3.0)), timed).status == Status.TIMEOUT


# Scripts


ECHO = task(
    TestCase.stdio("3\n", "1 2\n3\n"),
    TestCase.stdio("4\n", "1 2\n4\n"),
    entry_point=None,
    limits=Limits(cpu_s=0.5),
)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print(1, 2)\nprint(input())", ["passed", "passed"]),
        ("print(1, 2, '')\nprint(input(), end='')", ["passed", "passed"]),
        ("import sys\nsys.stdout.buffer.write(b'1 2\\r\\n' + sys.stdin.buffer.read())", ["passed", "passed"]),
        ("print(1, 2)\nprint(3)\nexit()", ["passed", "wrong"]),
        ("print(1, 2)", ["wrong", "wrong"]),
        ("print(1, 2)\nprint(input())\nraise SystemExit(1)", ["error", "error"]),
        ("print(1, 2)\nprint(input())\n1 / 0", ["error", "error"]),
        ("import sys\nsys.stdout.buffer.write(b'\\xff\\xfe')", ["wrong", "wrong"]),
        ("print(", ["invalid", "invalid"]),
        ("while True: pass", ["timeout", "timeout"]),
    ],
)
def test_scripts_are_judged_by_what_they_print(grader, code, expected):
    assert statuses(grader.grade(Program(code), ECHO)) == expected


def test_a_script_that_raises_where_nothing_is_expected_does_not_pass(grader):
    assert not grader.grade(Program("1 / 0"), task(TestCase.stdio("", ""), entry_point=None)).passed


# Test code


@pytest.mark.parametrize(
    ("source", "passes"),
    [
        ("assert f(2) == 4\nassert f(3) == 9", True),
        ("assert f(2) == 4\nassert f(3) == 8", False),
        ("def check(candidate):\n    assert candidate(2) == 4", True),
        ("def check(candidate):\n    assert candidate(2) == 5", False),
        ("def check(candidate):\n    for x in range(3):\n        assert candidate(x) == x * x", True),
        ("def check(candidate):\n    for x in range(3):\n        assert candidate(x) == x", False),
        ("assert abs(f(2) - 4.1) < 0.2", True),
        ("assert f(2) == HELP", True),
        ("assert f(2) == nothing", False),
        ("def test(", False),
    ],
)
def test_test_code(grader, source, passes):
    asked = task(TestCase.code(source), preamble="HELP = 4")
    assert grader.grade(Program("def f(x):\n    return x * x"), asked).passed == passes


@pytest.mark.parametrize(
    "code", ["def f(x) return", "import nothing_here", "while True: pass", "import os; os._exit(0)"]
)
def test_programs_that_fail_test_code(grader, code):
    hard = task(TestCase.code("assert abs(f(2)) == 4"), TestCase.code("assert abs(f(3)) == 9"))
    expected = {"def": "invalid", "imp": "error", "whi": "timeout"}[code[:3]]
    assert statuses(grader.grade(Program(code), hard)) == [expected] * 2


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("assert f(1) == 2", 1),
        ("assert 2 == f(1)", 1),
        ("assert f(1) is None\nassert f([1], k=(2,)) == {3}, 'message'", 2),
        (
            "METADATA = {'a': 1}\ndef check(g):\n    'doc'\n    assert True, 'x'\n    assert g(-1) == -2.5\n    pass",
            1,
        ),
        ("assert f(1) == f(2)", None),
        ("assert f(x) == 1", None),
        ("assert f(*[1]) == 1", None),
        ("assert f(**{}) == 1", None),
        ("assert f(1) is 2", None),
        ("assert f(1) != 2", None),
        ("assert f(1) < 2 < 3", None),
        ("assert not f(1)", None),
        ("x = 1\nassert f(1) == 1", None),
        ("def check(g):\n    assert f(1) == 1", None),
        ("@other\ndef check(g):\n    assert g(1) == 1", None),
        ("def check(g, h=1):\n    assert g(1) == 1", None),
        ("assert True", None),
        ("assert", None),
        ("", None),
    ],
)
def test_asserts_become_calls_only_where_that_is_the_same(source, count):
    found = as_calls(source, "f")
    assert (found and len(found)) == count


# Around it


def test_many_at_a_time_in_order(grader):
    pairs = [(Program(f"def f(x):\n    return x * x + {i % 2}"), SQUARE) for i in range(40)]
    assert [outcome.passed for outcome in grader.grade_many(pairs)] == [i % 2 == 0 for i in range(40)]
    assert asyncio.run(grader.agrade(*pairs[0])).passed


def test_infrastructure_trouble_is_an_outcome_of_its_own(monkeypatch):
    with make_sandbox("subprocess", workers=1) as sandbox, Grader(sandbox) as grader:

        def fail(request, on_answer=None):
            raise InfraError("the machine is on fire")

        monkeypatch.setattr(sandbox, "execute", fail)
        outcome = grader.grade(Program("def f(x): return 1"), SQUARE)
    assert outcome.status == Status.INFRA
    assert outcome.message == "the machine is on fire"
    assert statuses(outcome) == ["infra"] * 3


def test_arguments_that_are_not_plain_data_are_refused(grader):
    with pytest.raises(ConfigError, match="arguments must be plain data"):
        grader.grade(Program("def f(x): return 1"), task(TestCase.call(object(), expected=1)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Task(id="", prompt=""), "non-empty id"),
        (lambda: task(TestCase.call(1, expected=1), entry_point=None), "no entry point"),
        (lambda: task(TestCase.call(1)), "no reference solution"),
        (lambda: Limits(cpu_s=0), "cpu_s must be a positive number"),
        (lambda: Limits(memory_mb=-1), "memory_mb"),
        (lambda: Limits(wall_s=0), "wall_s"),
        (lambda: Comparison(rule="judge"), "judge"),
        (lambda: Comparison(rule="exact", judge="a:b"), "judge"),
        (lambda: Comparison(rule="float", atol=float("nan")), "tolerances"),
    ],
)
def test_data_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_the_status_of_an_outcome_is_that_of_its_first_failure():
    assert Outcome.of([]).passed
    assert Outcome.unrunnable("no", SQUARE.tests).fraction_passed == 0.0
    assert Outcome.infrastructure("no").status == Status.INFRA

"""Suites on trial: on the reference, on programs, on mutants."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from codegym.core import Comparison, Program, Status, Task, TestCase
from codegym.errors import ConfigError, InfraError, SandboxUnavailableError
from codegym.mutation import make_test_sandbox
from codegym.sandbox import Sandbox
from codegym.testquality import Fate, SuiteJudge
from codegym.testquality.suites import as_assert

PROGRAM = Task(
    id="double",
    prompt="Double.",
    hidden_tests=(TestCase.stdio("2\n", "4\n"),),
    reference_solutions=("print(2 * int(input()))",),
    wrong_solutions=("print(2 + int(input()))",),
)
ODD = Task(
    id="odd",
    prompt="Odd.",
    entry_point="odd",
    reference_solutions=(
        "import math, os\nclass Own: pass\ndef odd(what):\n"
        "    return {'nan': math.nan, 'set': {1, 2}, 'own': Own()}[what] if what != 'exit' else os._exit(3)",
    ),
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with make_test_sandbox(2) as sandbox:
        try:
            sandbox.start()
        except SandboxUnavailableError as error:
            pytest.skip(str(error))
        yield sandbox


@pytest.fixture
def judge(sandbox: Sandbox, clamp: Task) -> Any:
    def judge(completion: str, task: Task = clamp, candidate: str | None = None, **options: Any) -> Any:
        options.setdefault("measures", ())
        with SuiteJudge(sandbox, **options) as made:
            return made.judge(completion, task, None if candidate is None else Program(candidate))

    return judge


def fates(outcome: Any) -> str:
    return " ".join(one.fate for one in outcome.tests)


# On the reference


@pytest.mark.parametrize(
    ("code", "expected", "valid", "invalid"),
    [
        ("assert clamp(1, 0, 3) == 1\nassert clamp(9, 0, 3) == 3", "kept kept", 2, 0),
        ("assert clamp(9, 0, 3) == 9", "corrected", 1, 1),
        ("assert clamp(9, 0, 3) == 9\nassert clamp(9, 0, 3) == 3", "corrected repeated", 1, 2),
        ("assert clamp(9, 0, 3) == 3\nassert clamp(9,0,3)==3", "kept repeated", 1, 1),
        ("assert clamp(9, 0) == 3\nassert clamp(9, 0, 3) == 3", "raised kept", 1, 1),
        ("assert clamp(9, 0) == 3\nassert clamp(9, 0) == 3", "raised raised", 0, 2),
        ("assert clamp(9, 0, 3) != 1\nassert clamp(9, 0, 3) == 3", "kept", 1, 1),
        ("nothing", "", 0, 0),
    ],
)
def test_fates_as_code_a1_has_them(judge: Any, code: str, expected: str, valid: int, invalid: int) -> None:
    outcome = judge(code)
    assert (fates(outcome), outcome.n_valid, outcome.n_invalid) == (expected, valid, invalid)
    assert outcome.sound == (invalid == 0 and valid > 0)


def test_a_corrected_test_expects_what_the_reference_answers(judge: Any) -> None:
    (test,) = judge("assert clamp(9, 0, 3) == 9").valid
    assert (test.args, test.expected) == ((9, 0, 3), 3)


def test_nothing_is_corrected_unless_asked_for(judge: Any) -> None:
    assert fates(judge("assert clamp(9, 0, 3) == 9", correct=False)) == "wrong"
    wrong = "```json\n" + json.dumps({"input": [9, 0, 3], "output": 9}) + "\n```"
    assert fates(judge(wrong, form="json")) == "wrong"


def test_answers_that_cannot_be_written_down_are_not_replayed(judge: Any) -> None:
    outcome = judge("assert odd('set') == {2, 1}\nassert odd('nan') == 1\nassert odd('own') == 1", ODD)
    assert [(one.fate, one.replayable) for one in outcome.tests] == [
        (Fate.KEPT, True),
        (Fate.CORRECTED, False),
        (Fate.RAISED, False),
    ]
    assert math.isnan(outcome.valid[1].expected)


def test_a_call_that_ends_the_reference_spoils_no_other(judge: Any) -> None:
    outcome = judge("assert odd('exit') == 1\nassert odd('set') == {1, 2}\nassert odd('exit') == 2", ODD)
    assert fates(outcome) == "raised kept raised"


def test_scripts(judge: Any) -> None:
    def written(given: str, expected: str) -> str:
        return "```json\n" + json.dumps({"input": given, "output": expected}) + "\n```"

    right = judge(
        written("5", "10"), PROGRAM, "print(2 + int(input()))", form="json", measures=("candidate", "known")
    )
    assert (fates(right), right.sound, right.copied) == ("kept", True, False)
    assert right.candidate.status == Status.WRONG
    assert [one.passed for one in (*right.right, *right.wrong)] == [True, False]
    assert fates(judge(written("5", "11"), PROGRAM, form="json")) == "wrong"
    assert fates(judge(written("x", "11"), PROGRAM, form="json")) == "raised"


@pytest.mark.parametrize(("given", "copied"), [([5, 0, 3], True), ([5, 0, 4], False)])
def test_copies_of_public_tests_are_noticed(judge: Any, given: list[int], copied: bool) -> None:
    assert judge(f"assert clamp(*{given}) == 1").copied is False  # not a call that can be read
    assert judge(f"assert clamp({', '.join(map(str, given))}) == 3").copied is copied


def test_a_task_without_a_reference(judge: Any) -> None:
    with pytest.raises(ConfigError, match="'none' has no reference solution"):
        judge("", Task(id="none", prompt="", entry_point="f"))


# On programs and mutants


def test_programs_are_judged_by_the_valid_tests_only(judge: Any, clamp: Task) -> None:
    code = "assert clamp(-1, 0) == 0\nassert clamp(2, 0, 3) == 2"
    outcome = judge(code, candidate=clamp.wrong_solutions[0], measures=("candidate", "known"))
    assert outcome.candidate.passed
    assert [len(one.tests) for one in outcome.wrong] == [1, 1]


@pytest.mark.parametrize(
    ("code", "score"),
    [
        ("assert clamp(-1, 0, 3) == 0", 1 / 3),
        ("assert clamp(-1, 0, 3) == 0\nassert clamp(9, 0, 3) == 3", 7 / 9),
        ("\n".join(f"assert clamp({x}, 0, 3) == {min(max(x, 0), 3)}" for x in range(-2, 6)), 1.0),
    ],
)
def test_mutants(judge: Any, code: str, score: float) -> None:
    outcome = judge(code, measures=["mutation"])
    assert outcome.mutation.score(outcome.killable) == pytest.approx(score)
    assert outcome.killable <= {one.mutant.id for one in outcome.mutation.mutants}


def module(*bodies: str) -> str:
    tests = "\n".join(f"def test_{i}():\n    {body}\n" for i, body in enumerate(bodies))
    return f"```python\nimport solution\nfrom solution import clamp\n\n{tests}```"


def test_a_module(judge: Any, clamp: Task) -> None:
    code = module("assert clamp(-1, 0, 3) == 0", "assert clamp(9, 0, 3) == 3")
    outcome = judge(
        code, candidate=clamp.wrong_solutions[0], form="module", measures=("candidate", "known", "mutation")
    )
    assert (fates(outcome), outcome.sound) == ("kept kept", True)
    assert not outcome.candidate.passed
    assert [one.passed for one in (*outcome.right, *outcome.wrong)] == [True, False, False]
    assert outcome.mutation.score(outcome.killable) == pytest.approx(7 / 9)
    assert len(outcome.coverage.missing) < len(outcome.before.missing)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (module("assert clamp(-1, 0, 3) == 1", "assert clamp(9, 0, 3) == 3"), "wrong kept"),
        (module("assert clamp.__code__.co_code"), "flagged"),
        (module("import inspect; assert 'low' in inspect.getsource(clamp)"), "wrong"),
        ("def test_0(:", ""),
        ("import nothing_like_it\ndef test_0(): pass", ""),
        ("raise SystemExit(0)", ""),
        ("x = 1", ""),
    ],
)
def test_modules_that_are_not_sound(judge: Any, clamp: Task, code: str, expected: str) -> None:
    outcome = judge(
        code, candidate=clamp.wrong_solutions[0], form="module", measures=("candidate", "known", "mutation")
    )
    assert fates(outcome) == expected
    assert not outcome.sound
    assert outcome.candidate is None
    assert outcome.wrong == ()


def test_a_suite_that_never_ends_is_cut_off(judge: Any) -> None:
    outcome = judge(module("while True: pass"), form="module", suite_cpu_s=0.5)
    assert not outcome.sound
    assert outcome.infra == ""


# The judge


def test_infrastructure_trouble_is_told(
    monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox, clamp: Task
) -> None:
    def fail(request: Any) -> Any:
        raise InfraError("the disk is full")

    with SuiteJudge(sandbox) as judge:
        monkeypatch.setattr(sandbox, "execute", fail)
        outcome = judge.judge("assert clamp(1, 0, 3) == 1", clamp)
    assert outcome.infra == "the disk is full"


def test_many_at_a_time(sandbox: Sandbox, clamp: Task) -> None:
    with SuiteJudge(sandbox, measures=("known",)) as judge:
        futures = [judge.submit(f"assert clamp({i}, 0, 3) == {min(i, 3)}", clamp) for i in range(12)]
        outcomes = [future.result() for future in futures]
    assert [outcome.valid[0].args[0] for outcome in outcomes] == list(range(12))
    assert all(outcome.sound for outcome in outcomes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": ["mutants"]}, "expected candidate, known, mutation, got 'mutants'"),
        ({"mutants": 0}, "at least 1"),
        ({"k": 0}, "at least 1"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SuiteJudge(**options)


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (
            TestCase.call(1, [2], kwargs={"k": "x"}, expected={"a": 1}),
            "assert clamp(1, [2], k='x') == {'a': 1}",
        ),
        (TestCase.code("assert clamp(1) < 2"), "assert clamp(1) < 2"),
        (TestCase.call(1, expected=math.nan), None),
        (TestCase.stdio("1", "2"), None),
    ],
)
def test_tests_as_asserts(clamp: Task, test: TestCase, text: str | None) -> None:
    assert as_assert(test, clamp) == text


def test_floats_keep_their_tolerance_as_asserts(clamp: Task) -> None:
    test = TestCase.call(1, expected=0.5, compare=Comparison(rule="float", rtol=1e-6, atol=1e-6))
    text = as_assert(test, clamp)
    names = {"clamp": lambda x: 0.5 + 1e-9}
    exec(str(text), names)
    with pytest.raises(AssertionError):
        exec(str(text), {"clamp": lambda x: 0.6})

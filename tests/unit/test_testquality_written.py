"""Tests in completions: what is read, and what is not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.core import Comparison, Task, TestCase
from codegym.errors import ConfigError
from codegym.testquality import extract_test, read_suite

FUNCTION = Task(id="f", prompt="Write f.", entry_point="f", hidden_tests=(TestCase.call(1, expected=2),))
PROGRAM = Task(id="p", prompt="Add.", hidden_tests=(TestCase.stdio("1 2", "3"),))


def block(value: object) -> str:
    return f"```json\n{json.dumps(value)}\n```"


# JSON (TCS)


@pytest.mark.parametrize(
    "completion",
    [
        block({"input": "1 2\n", "output": "3\n"}),
        "<think>" + block({"input": "9", "output": "9"}) + "</think>" + block({"input": "1 2\n", "output": "3\n"}),
        block({"input": "9", "output": "9"}) + "\nBetter:\n" + block({"input": "1 2\n", "output": "3\n"}),
        block([{"input": "9", "output": "9"}, {"input": "1 2\n", "output": "3\n"}]),
        '```json\n[{"input": "1 2\\n", "output": "3\\n"}] as asked\n```',
        block({"input": "1 2\n", "output": "3\n"}) + "\n```json\nnot json\n```",
    ],
)  # fmt: skip
def test_the_last_block_that_parses_counts(completion: str) -> None:
    assert extract_test(completion) == ("1 2\n", "3\n")
    assert read_suite(completion, PROGRAM, "json").tests == (TestCase.stdio("1 2\n", "3\n"),)


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "no test",
        block({"input": "1"}),
        block({"input": 1, "output": "2"}),
        block([]),
        block("input output"),
        "<think>" + block({"input": "1", "output": "2"}),
        '{"input": "1", "output": "2"}',
    ],
)
def test_what_is_no_json_test(completion: str) -> None:
    assert extract_test(completion) is None
    suite = read_suite(completion, PROGRAM, "json")
    assert (suite.tests, suite.unreadable) == ((), 1)


def test_json_for_a_function_is_a_list_of_arguments() -> None:
    suite = read_suite(block({"input": [1, [2]], "output": {"a": None}}), FUNCTION, "json")
    assert suite.tests == (TestCase.call(1, [2], expected={"a": None}),)
    assert read_suite(block({"input": 1, "output": 2}), FUNCTION, "json").unreadable == 1


# Asserts (Code-A1)


def equality(*args: object, expected: object, **kwargs: object) -> TestCase:
    return TestCase.call(*args, kwargs=kwargs, expected=expected, compare=Comparison(rule="exact"))


@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("assert f(1) == 2", [equality(1, expected=2)]),
        ("assert f(1, k=[2]) == (3,)", [equality(1, expected=(3,), k=[2])]),
        ("assert f(1) == 2, 'message'", [equality(1, expected=2)]),
        ("xs = [3, 1]\nassert f(xs) == [1, 3]", [equality([3, 1], expected=[1, 3])]),
        ("a = 1\nb = [a, 2]\nassert f(b) == b", [equality([1, 2], expected=[1, 2])]),
        ("def test_f():\n    assert f(1) == 2", [equality(1, expected=2)]),
        ("class TestF:\n    def test_f(self):\n        assert f(1) == 2", [equality(1, expected=2)]),
        ("assert f(-1) == -2", [equality(-1, expected=-2)]),
    ],
)
def test_asserts_that_are_read(code: str, tests: list[TestCase]) -> None:
    for completion in (code, f"Here:\n```python\n{code}\n```", f"```\n{code}\n```"):
        suite = read_suite(completion, FUNCTION, "asserts")
        assert (list(suite.tests), suite.unreadable) == (tests, 0)


@pytest.mark.parametrize("value", ["True", "False", "None"])
def test_is_with_a_singleton(value: str) -> None:
    suite = read_suite(f"assert f(1) is {value}", FUNCTION, "asserts")
    assert (len(suite.tests), suite.unreadable) == (1, 0)


@pytest.mark.parametrize(
    "code",
    [
        "assert f(1) != 2",
        "assert f(1) < 2",
        "assert f(1) in [2]",
        "assert 2 == f(1)",
        "assert f(1) is 2",
        "assert f(1) == 2 == 2",
        "assert g(1) == 2",
        "assert f(1)",
        "assert not f(1)",
        "assert f(1) == 2 and f(2) == 3",
        "assert m.f(1) == 2",
        "assert f(1 == ",
        "assert",
    ],
)
def test_asserts_that_are_not_equalities_of_a_call(code: str) -> None:
    suite = read_suite(code, FUNCTION, "asserts")
    assert (suite.tests, suite.unreadable) == ((), 1)


def test_what_parses_is_read_although_a_line_does_not() -> None:
    suite = read_suite("assert f(1) == 2\nassert f(2 ==\nassert f(3) == 4\nprose", FUNCTION, "asserts")
    assert [test.args for test in suite.tests] == [(1,), (3,)]
    assert suite.unreadable == 1


def test_no_more_than_the_first_k_asserts_count() -> None:
    code = "\n".join(["assert f(0) == 0", "assert f(9) < 1", *(f"assert f({i}) == {i}" for i in range(50))])
    suite = read_suite(code, FUNCTION, "asserts", k=5)
    assert [test.args for test in suite.tests] == [(0,), (0,), (1,), (2,)]
    assert suite.unreadable == 1


def test_names_that_would_grow_without_end_are_not_followed() -> None:
    doubling = "a0 = [1]\n" + "\n".join(f"a{i + 1} = a{i} + a{i}" for i in range(40))
    suite = read_suite(f"{doubling}\nassert f(a40) == 1\nassert f(1) == 2", FUNCTION, "asserts")
    assert equality(1, expected=2) in suite.tests


# Modules


def test_a_module_is_all_its_blocks() -> None:
    suite = read_suite("```python\nimport x\n```\nand\n```py\ndef test_f(): pass\n```", FUNCTION, "module")
    assert suite.code == "import x\n\ndef test_f(): pass\n"
    assert suite.unreadable == 0


@pytest.mark.parametrize("code", ["", "   ", "def test_f(:", "<think>def test_f(): pass"])
def test_a_module_that_does_not_parse(code: str) -> None:
    assert read_suite(code, FUNCTION, "module").unreadable == 1


# All


def test_forms_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match="one of json, asserts, module, got 'yaml'"):
        read_suite("", FUNCTION, "yaml")  # type: ignore[arg-type]
    for form in ("asserts", "module"):
        with pytest.raises(ConfigError, match="written in the form 'json'"):
            read_suite("", PROGRAM, form)  # type: ignore[arg-type]


@given(st.text(max_size=200), st.sampled_from(["json", "asserts", "module"]))
def test_any_completion_is_read(text: str, form: str) -> None:
    suite = read_suite(text, FUNCTION, form)  # type: ignore[arg-type]
    assert suite.form == form
    assert suite.unreadable >= 0


@given(
    st.lists(st.one_of(st.integers(), st.text(), st.lists(st.booleans(), max_size=3)), min_size=1, max_size=5)
)
def test_what_is_written_is_what_is_read(values: list[object]) -> None:
    code = "\n".join(f"assert f({value!r}) == [{value!r}]" for value in values)
    suite = read_suite(code, FUNCTION, "asserts")
    assert suite.tests == tuple(equality(value, expected=[value]) for value in values)

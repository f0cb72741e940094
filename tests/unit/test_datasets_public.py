"""Loaders of public benchmarks, on rows of their shapes that were made up."""

import base64
import json
import pickle
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.core import Program, TestCase
from codegym.datasets import judges, load_tasks
from codegym.datasets.functions import called_names, with_imports
from codegym.datasets.livecodebench import unpacked
from codegym.datasets.row import task_from_row, task_to_row
from codegym.errors import DataError
from codegym.grading import Grader
from codegym.sandbox import make_sandbox

ROWS = Path(__file__).parents[1] / "rows"
NAMES = sorted(path.stem for path in ROWS.glob("*.jsonl"))
ANY = TestCase.stdio("")


@pytest.fixture(scope="module")
def grader():
    with make_sandbox("local", workers=1) as sandbox, Grader(sandbox) as grader:
        yield grader


def tasks(name):
    return list(load_tasks(name, source=ROWS / f"{name}.jsonl"))


def statuses(grader, code, task):
    return [result.status for result in grader.grade(Program(code), task).tests]


@pytest.mark.parametrize("name", NAMES)
def test_known_solutions_are_judged_as_what_they_are(grader, name):
    for task in tasks(name):
        for code in task.reference_solutions:
            outcome = grader.grade(Program(code), task)
            assert outcome.passed, outcome.message
        for code in task.wrong_solutions:
            assert not grader.grade(Program(code), task).passed


@pytest.mark.parametrize("name", NAMES)
def test_a_row_of_ours_holds_all_of_a_task(name):
    for task in tasks(name):
        assert task_from_row(json.loads(json.dumps(task_to_row(task)))) == task


@pytest.mark.parametrize("name", NAMES)
def test_a_row_that_lacks_something_is_named(tmp_path, name):
    rows = [json.loads(line) for line in (ROWS / f"{name}.jsonl").read_text().splitlines()]
    broken = {
        key: value
        for key, value in rows[0].items()
        if key not in ("question", "problem", "code", "task_id", "id")
    }
    broken = {
        key: value
        for key, value in broken.items()
        if key not in ("name", "question_content", "complete_prompt")
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(rows[0]) + "\n\n" + json.dumps(broken) + "\n")
    with pytest.raises(DataError, match=r"rows\.jsonl:3: .*missing required field"):
        list(load_tasks(name, source=path))


MALFORMED = {
    "taco": [
        ({"input_output": "{"}, "input_output: malformed JSON"),
        ({"input_output": "[]"}, "input_output: expected an object"),
        ({"input_output": '{"inputs": ["1"], "outputs": []}'}, "of one length"),
        ({"input_output": '{"inputs": [{}], "outputs": ["1"]}'}, "input 0: expected a text or a list of lines"),
        ({"input_output": '{"inputs": ["1"], "outputs": [1], "fn_name": "f"}'}, "input 0: expected a list of arguments"),
        ({"solutions": '"x"'}, "solutions: expected a list of texts"),
        ({"tags": "x["}, "tags: expected a list of words"),
    ],
    "livecodebench": [
        ({"public_test_cases": "{}"}, "public_test_cases: expected a list"),
        ({"private_test_cases": "@@"}, "private_test_cases: neither JSON nor packed tests"),
        ({"metadata": "{"}, "metadata: malformed JSON"),
        ({"public_test_cases": '[{"input": "", "output": "", "testtype": "magic"}]'}, "got 'magic'"),
        ({"public_test_cases": '[{"input": "1", "output": "1", "testtype": "functional"}]'}, "names no function"),
        ({"metadata": '{"func_name": "f"}'}, "a test of standard input for the function 'f'"),
        ({"public_test_cases": '[{"output": ""}]'}, "public_test_cases.*missing required field `input`"),
    ],
    "codecontests": [
        ({"public_tests": {"input": ["1"], "output": []}}, "public_tests: 1 inputs and 0 outputs"),
        ({"solutions": {"language": [3], "solution": []}}, "solutions: 1 languages and 0 solutions"),
    ],
    "tarot": [
        ({"verification_info": {"language": "rust", "test_cases": []}}, "got 'rust'"),
        ({"verification_info": {"test_cases": [{"input": "", "output": "", "label": "hardest"}]}}, "no tier is called 'hardest'"),
        ({"verification_info": {"test_cases": [{"input": "", "output": "", "type": "call"}]}}, "got 'call'"),
    ],
    "cruxeval-o": [({"output": "[1"}, "output: no Python"), ({"code": "def"}, "code: no Python")],
    "cruxeval-i": [({"input": "1, ("}, "input: no Python")],
    "mbpp": [({"test_list": ["assert 1"]}, "no function is called by all"), ({"test_list": ["assert ("]}, "a test that is no Python"), ({"text": None}, "expected a field 'text' or 'prompt'")],
    "acecode": [({"test_cases": []}, "no function is called by all")],
    "kodcode": [({"solution": "x = 1", "test_info": []}, "defines nothing"), ({"solution": "(", "test_info": []}, "no Python")],
    "ult": [({"code": "def f("}, "no Python")],
    "bigcodebench": [({"libs": "x["}, "libs: expected a list")],
    "bigcodebench-instruct": [({"instruct_prompt": ""}, "no instruct_prompt")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "said"), [(name, *case) for name, cases in MALFORMED.items() for case in cases]
)
def test_a_malformed_row_is_named(tmp_path, name, change, said):
    row = json.loads((ROWS / f"{name}.jsonl").read_text().splitlines()[0])
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row | change))
    with pytest.raises(DataError, match=rf"rows\.jsonl:1: .*{said}"):
        list(load_tasks(name, source=path))


def test_what_is_known_of_a_problem_is_kept():
    program, function = tasks("taco")
    assert (program.id, program.entry_point, function.id) == ("TACO/0", None, "TACO/1")
    assert program.meta["tags"] == ["Mathematics"]
    assert program.meta["difficulty"] == "EASY"
    assert [task.id for task in tasks("apps")] == ["APPS/10", "APPS/11"]
    (contest,) = tasks("codecontests")
    assert contest.meta["difficulty"] == "A"
    assert (contest.meta["source"], contest.meta["rating"], contest.meta["tags"]) == (
        "codeforces",
        800,
        ["math"],
    )
    assert (contest.limits.cpu_s, contest.limits.memory_mb) == (5.0, 512)
    assert [test.tier for test in contest.tests] == ["public", "private", "generated"]
    (tiered,) = tasks("tarot")
    assert [test.tier for test in tiered.tests] == [None, "basic", "intermediate", "complex", "edge"]


def test_problems_that_need_a_special_judge_are_marked(tmp_path):
    (tmp_path / "taco.jsonl").write_text((ROWS / "taco.jsonl").read_text())
    (tmp_path / "output_spj.jsonl").write_text(
        '{"idx": 0, "special_judge": false}\n{"idx": 1, "special_judge": true}\n'
    )
    assert ["special_judge" in task.meta for task in load_tasks("taco", source=tmp_path)] == [False, True]
    (tmp_path / "output_spj.jsonl").write_text('{"special_judge": true}\n')
    with pytest.raises(DataError, match=r"output_spj\.jsonl:1: expected a field 'idx'"):
        list(load_tasks("taco", source=tmp_path))


def test_a_function_will_do_where_a_method_was_asked_for(grader):
    _, task = tasks("taco")
    assert task.entry_point == "Solution.total"
    assert statuses(grader, "total = sum", task) == ["passed", "passed"]
    assert statuses(grader, "class Solution:\n    def other(self): pass\ntotal = sum", task) == [
        "error",
        "error",
    ]


def test_integers_of_any_length(tmp_path):
    row = json.loads((ROWS / "taco.jsonl").read_text().splitlines()[1])
    row["input_output"] = (
        '{"fn_name": "total", "inputs": [[[' + "9" * 5000 + ']]], "outputs": [' + "9" * 5000 + "]}"
    )
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    (task,) = load_tasks("taco", source=path)
    assert task.tests[0].expected == 10**5000 - 1


# LiveCodeBench's hidden tests


class Evil:
    def __reduce__(self):
        return print, ("run",)


def packed(value):
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


@pytest.mark.parametrize(
    ("value", "said"),
    [(Evil(), "it wants builtins.print, and may hold plain data only"), ({"a": 1}, "a pickle of dict, expected a text"), ("[1", "malformed JSON")],
)  # fmt: skip
def test_a_pickle_may_hold_a_text_only(capsys, value, said):
    with pytest.raises(DataError, match=said):
        unpacked(packed(value), "tests")
    assert capsys.readouterr().out == ""


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=5))
def test_packed_tests_are_unpacked(value):
    assert unpacked(packed(json.dumps(value)), "tests") == unpacked(json.dumps(value), "tests") == value


@given(st.binary(max_size=60))
def test_garbage_is_refused_and_nothing_else_happens(data):
    with pytest.raises(DataError):
        unpacked(base64.b64encode(zlib.compress(b"\x80\x04" + data + b"c")).decode(), "tests")


# Rules of their own


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("1 2\n", "1 2", True), ("1  2", "1.0 2.00", True), ("a b", "a  b", False), ("1\n2", "1 2", False), ("1", "1\n\n1", False),
        ("1.0000001", "1.0", False), (" x \n y", "x\ny", True), ("1e3", "1000", True), ("", "", True), ("nan", "1", False),
    ],
)  # fmt: skip
def test_decimal_lines(answer, expected, right):
    assert judges.decimal_lines(ANY, answer, expected) is right


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("1\n\n2\n", "1\n2", True), ("1 2", "1\n2", False), ("0.333333", "0.3333331", True), ("0.33", "0.34", False),
        ("yes", "YES", False), ("inf", "1", False), ("1" * 20000, "1" * 20001, False), ("1 2", "2 1", False),
    ],
)  # fmt: skip
def test_loose_lines(answer, expected, right):
    assert judges.loose_lines(ANY, answer, expected) is right


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [(3, [3], True), (3, 3, True), ([3], [3], True), ((1, (2,)), [1, [2]], True), (3, [4], False), (3, [], False), ({"a": (1,)}, {"a": [1]}, True), ([], [[]], True)],
)  # fmt: skip
def test_wrapped_values(answer, expected, right):
    assert judges.wrapped_value(ANY, answer, expected) is right
    assert judges.json_value(ANY, (1, 2), [1, 2])
    assert not judges.json_value(ANY, 3, [3])


# CRUXEval


def test_an_answer_is_a_value_or_a_call_that_returns_it(grader):
    output, call = tasks("cruxeval-o")[0], tasks("cruxeval-i")[0]
    assert statuses(grader, output.starter_code + "[1, 3]", output) == ["passed"]
    assert statuses(grader, output.starter_code + "(1, 3)", output) == ["wrong"]
    assert statuses(grader, call.starter_code + "f([1, 3])", call) == ["passed"], (
        "another input with the same output"
    )
    assert statuses(grader, call.starter_code + "f([2, 3])", call) == ["wrong"]
    assert statuses(grader, "def answer(): return [1, 3]", call) != ["passed"], "the value itself is no call"


# Functions


def test_names_that_tests_call():
    assert called_names("assert sorted(f(g(1))) == len([2])") == ["f", "g"]


@pytest.mark.parametrize(
    ("code", "imports"),
    [
        ("def f(x):\n    return re.sub('a', math.pi, x)", ["math", "re"]),
        ("import re\ndef f(x):\n    return re.sub('a', '', x)", []),
        ("def f(time):\n    string = 1\n    return time + string", []),
    ],
)
def test_imports_that_functions_lack(code, imports):
    assert with_imports(code) == "".join(f"import {name}\n" for name in imports) + code


def test_outcomes_say_that_tests_shared_the_process(grader):
    (task,) = tasks("bigcodebench")
    outcome = grader.grade(Program("def task_func(numbers): return numbers"), task)
    assert (outcome.status, outcome.wall) == ("wrong", "shared")
    assert grader.grade(Program("def f(: pass"), task).status == "invalid"
    assert grader.grade(Program("import os\nos._exit(0)"), task).status == "error"
    assert grader.grade(Program("def other(): pass"), task).status == "error"

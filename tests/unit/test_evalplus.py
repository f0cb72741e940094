from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from codegym.core import REFERENCE, Task, TestCase
from codegym.datasets import evalplus
from codegym.errors import DataError
from codegym.plugins import load_target


def release(
    task_id: str, entry_point: str, base: list[Any], plus: Any = (), atol: float = 0
) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "prompt": "PROMPT\n",
        "entry_point": entry_point,
        "canonical_solution": "SOLUTION\n",
        "base_input": base,
        "plus_input": plus,
        "atol": atol,
        "contract": "",
    }


def load(tmp_path: Path, row: dict[str, Any]) -> Task:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    mbpp = str(row["task_id"]).startswith("Mbpp") or isinstance(row["task_id"], int)
    loader = evalplus.load_mbpp_plus if mbpp else evalplus.load_humaneval_plus
    (task,) = loader(source=path)
    return task


def test_base_and_plus_are_tiers_and_the_reference_says_what_is_expected(tmp_path: Path) -> None:
    task = load(tmp_path, release("HumanEval/1", "f", [[1, [2]]], [[3, [4]], [5, []]]))
    assert [(test.tier, test.args) for test in task.tests] == [
        ("base", (1, [2])),
        ("plus", (3, [4])),
        ("plus", (5, [])),
    ]
    assert {test.expected for test in task.tests} == {REFERENCE}
    assert task.public_tests == ()
    assert task.reference_solutions == ("PROMPT\nSOLUTION\n",)
    assert task.starter_code == task.preamble == "PROMPT\n"
    assert (task.meta["time_factor"], task.meta["min_time_s"]) == (4.0, 1.0)


VALUES = [
    # answer, expected, verdict without a tolerance, verdict with one of 1e-4
    (3, 3, True, True),
    (3.0, 3, True, True),
    (True, 1, True, True),
    ("3", 3, False, False),
    (None, 3, False, False),
    (0.1 + 0.2, 0.3, True, True),
    (0.30001, 0.3, False, True),
    (0.31, 0.3, False, False),
    (3, 3.0000001, False, False),
    (1e9 + 1, 1e9, True, True),
    (1e9 + 1000, 1e9, False, False),
    ([10**400], [0.5], False, False),
    (10**9 + 1, 10**9, False, True),
    (10**400, 0.5, False, False),
    (math.inf, math.inf, True, True),
    (math.nan, 1.0, False, False),
    ([1, 0.1 + 0.2], [1.0, 0.3], True, True),
    ([1, 0.1 + 0.2], [1, 0.3], False, True),
    ((0.1 + 0.2,), [0.3], False, False),
    ([0.1 + 0.2, 1.0], [0.3], False, False),
    ([], [0.3], False, False),
    ([[0.1 + 0.2]], [[0.3]], False, False),
    ([10**9 + 1, 1.0], [10**9, 1.0], False, True),
    ({"a": 0.1 + 0.2}, {"a": 0.3}, False, False),
    ("ab", "ac", False, False),
]


@pytest.mark.parametrize(("answer", "expected", "plain", "tolerant"), VALUES)
def test_values(tmp_path: Path, answer: Any, expected: Any, plain: bool, tolerant: bool) -> None:
    for atol, verdict in ((0, plain), (1e-4, tolerant)):
        task = load(tmp_path, release("HumanEval/1", "f", [[1]], atol=atol))
        assert task.compare is not None
        assert load_target(str(task.compare.judge))(task.tests[0], answer, expected) is verdict


def test_mbpp_prompts_are_no_code_to_start_from(tmp_path: Path) -> None:
    task = load(tmp_path, release("Mbpp/3", "f", [[1]], {}))
    assert task.starter_code == ""
    assert len(task.tests) == 1


@pytest.mark.parametrize(
    ("number", "inputs", "restored"),
    [
        (3, [[1], [2]], ([1], [2])),
        (2, [[1, 2], [3]], ((1, 2), (3,))),
        (63, [[[1, 2], [3, 4]]], ([(1, 2), (3, 4)],)),
        (259, [[[1], [2]], [[3]]], (((1,), (2,)), ((3,),))),
        (580, [[[1, [2]], "ab"]], ((((1, (2,)), "ab")),)),
        (413, [[["a", 1]], 1], ([("a", 1)], 1)),
        (405, [["a"], "a"], (("a",), "a")),
        (307, [[[1]], 0, 5], (([1],), 0, 5)),
        (106, [[1], [2]], ([1], (2,))),
        (115, [[[1, 1], [], {}]], ([{1}, {}, {}],)),
        (124, ["1", "2j"], (1.0, 2j)),
        (252, ["1+1j"], (1 + 1j,)),
        (278, [[1, [2]]], ((1, (2,)),)),
        (722, [{"a": [1, 2]}, 3], ({"a": (1, 2)}, 3)),
    ],
)
def test_inputs_of_mbpp_are_restored(tmp_path: Path, number: int, inputs: Any, restored: Any) -> None:
    (test,) = load(tmp_path, release(f"Mbpp/{number}", "f", [inputs])).tests
    assert repr(test.args) == repr(restored)


NAN = math.nan
CASES = [
    # entry point, arguments, answer, expected, verdict
    ("similar_elements", (), [2, 1, 1], (1, 2), True),
    ("similar_elements", (), (1,), (1, 2), False),
    ("similar_elements", (), 3, (1, 2), False),
    ("similar_elements", (), [[1]], (1, 2), False),
    ("similar_elements", (), None, (1, 2), False),
    ("Diff", (), [0.1 + 0.2], [0.3], True),
    ("Diff", (), (0.1 + 0.2,), [0.3], False),
    ("Diff", (), [10**7 + 1], [10**7], False),
    ("Diff", (), [10**400], [0.5], False),
    ("check_str", (), "a match", "another", True),
    ("check_str", (), True, "a match", True),
    ("check_str", (), False, None, True),
    ("check_str", (), None, None, True),
    ("check_str", (), None, "a match", False),
    ("check_str", (), False, "a match", False),
    ("check_str", (), 0, "a match", True),
    ("are_equivalent", (), "anything", True, True),
    ("sum_div", (), 0, 1, True),
    ("sum_div", (), 2, 1, False),
    ("surface_Area", (3, 4), 33, 33, True),
    ("surface_Area", (3, 4), 35, 33, True),
    ("surface_Area", (3, 4), 34, 33, False),
    ("surface_Area", (3, 4), "35", 33, False),
    ("digit_distance_nums", (23, 5600), 5, 5, True),
    ("digit_distance_nums", (1, 100), 2, 0, True),
    ("digit_distance_nums", (1, 100), 3, 0, False),
    ("digit_distance_nums", (-1, 100), 3, 0, False),
]


@pytest.mark.parametrize(("entry_point", "args", "answer", "expected", "verdict"), CASES)
def test_judges(
    tmp_path: Path, entry_point: str, args: tuple[Any, ...], answer: Any, expected: Any, verdict: bool
) -> None:
    compare = load(tmp_path, release("Mbpp/3", entry_point, [[1]])).compare
    assert compare is not None
    assert compare.judge is not None
    judge = load_target(compare.judge)
    assert judge(TestCase.call(*args), answer, expected) is verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (-0.5, True),
        (-0.50003, True),
        (-0.6, False),
        (None, False),
        ("x", False),
        (NAN, False),
        (1e200, False),
    ],
)
def test_roots_are_judged_by_their_residue(tmp_path: Path, answer: Any, verdict: bool) -> None:
    compare = load(tmp_path, release("HumanEval/32", "find_zero", [[[1, 2]]], atol=1e-4)).compare
    assert compare is not None
    judge = load_target(str(compare.judge))
    assert judge(TestCase.call([1, 2]), answer, 123.0) is verdict
    assert judge(TestCase.call([0, 0, 1]), 1e200, 0.0) is False


def test_the_judges_are_humanevals_or_mbpps_not_both(tmp_path: Path) -> None:
    compare = load(tmp_path, release("HumanEval/1", "sum_div", [[1]])).compare
    assert compare is not None
    assert compare.judge == "codegym.datasets.evalplus:same_value"


def test_rows_of_the_hub(tmp_path: Path) -> None:
    task = load(
        tmp_path,
        {
            "task_id": "HumanEval/0",
            "prompt": "def f(x):\n",
            "entry_point": "f",
            "canonical_solution": "    return x\n",
            "test": "def check(candidate): assert candidate(1) == 1",
        },
    )
    assert task.tests == (TestCase.code("def check(candidate): assert candidate(1) == 1", tier="plus"),)
    row = {
        "task_id": 7,
        "prompt": "Write f.",
        "code": "def g():\n  pass\ndef f(x):\n  return x\n",
        "test_imports": ["import math"],
        "test_list": ["assert f(1) == 1", "assert f(2) == 2"],
        "test": "assert f(3) == 3",
    }
    task = load(tmp_path, row)
    assert (task.id, task.entry_point) == ("Mbpp/7", "f")
    assert [(test.tier, test.source) for test in task.tests] == [
        ("base", "import math\nassert f(1) == 1"),
        ("base", "import math\nassert f(2) == 2"),
        ("plus", "import math\nassert f(3) == 3"),
    ]
    with pytest.raises(DataError, match="calls none of the functions of code: f, g"):
        load(tmp_path, row | {"test_list": ["assert h(1)"]})
    with pytest.raises(DataError, match="do not parse"):
        load(tmp_path, row | {"test_list": ["assert ("]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task_id": "Mbpp/x"}, "expected a number after the slash, got 'Mbpp/x'"),
        ({"task_id": "Mbpp/124", "base_input": [["a", "b"]]}, "not the inputs of Mbpp/124"),
        ({"task_id": "Mbpp/722", "base_input": [[1]]}, "not the inputs of Mbpp/722"),
        ({"base_input": [1]}, r"rows\.jsonl:1: Expected `array`, got `int` - at `row\.base_input"),
        ({"atol": "1"}, "Expected `float`, got `str`"),
    ],
)
def test_malformed_rows_are_data_errors(tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(tmp_path, release("Mbpp/2", "f", [[[1]]]) | change)

"""HumanEval+ and MBPP+ against evalplus itself, and against what their canonical solutions must score."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from codegym.core import Program, Status, Task, TestCase
from codegym.datasets import evalplus, humaneval, read_rows
from codegym.datasets.row import task_from_row, task_to_row
from codegym.grading import Grader, compare
from codegym.plugins import load_target
from codegym.sandbox import make_sandbox


@pytest.fixture(scope="module")
def humaneval_plus(data: Path) -> list[Task]:
    return list(evalplus.load_humaneval_plus(source=data / "HumanEvalPlus.jsonl.gz"))


@pytest.fixture(scope="module")
def mbpp_plus(data: Path) -> list[Task]:
    return list(evalplus.load_mbpp_plus(source=data / "MbppPlus.jsonl.gz"))


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with make_sandbox("local") as sandbox:
        yield Grader(sandbox)


def test_every_input_is_loaded(humaneval_plus: list[Task], mbpp_plus: list[Task]) -> None:
    assert (len(humaneval_plus), sum(len(task.tests) for task in humaneval_plus)) == (164, 124_253)
    assert (len(mbpp_plus), sum(len(task.tests) for task in mbpp_plus)) == (378, 41_015)


def test_rows_lose_nothing(data: Path, mbpp_plus: list[Task]) -> None:
    mini = list(evalplus.load_humaneval_plus(source=data / "HumanEvalPlus-Mini.jsonl.gz"))
    for task in [*mini, *mbpp_plus[::10], *humaneval.load(source=data / "HumanEval.jsonl.gz")]:
        assert task_from_row(json.loads(json.dumps(task_to_row(task), allow_nan=False))) == task


def test_inputs_of_mbpp_are_those_of_evalplus(data: Path, mbpp_plus: list[Task]) -> None:
    theirs = _evalplus("evalplus.data.mbpp:mbpp_deserialize_inputs")
    for task, (_, row) in zip(mbpp_plus, read_rows(data / "MbppPlus.jsonl.gz"), strict=True):
        for tier in ("base", "plus"):
            ours = [list(test.args) for test in task.tests if test.tier == tier]
            assert repr(ours) == repr([list(args) for args in theirs(task.id, row[f"{tier}_input"])]), task.id


def _evalplus(target: str) -> Any:
    pytest.importorskip("evalplus")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_target(target)


ANSWERS = [
    # dataset, entry point, declared tolerance, arguments, answer, expected
    ("humaneval", "f", 0, (), 1, 1),
    ("humaneval", "f", 0, (), True, 1),
    ("humaneval", "f", 0, (), 10**9 + 1, 10**9),
    ("humaneval", "f", 0, (), 0.1 + 0.2, 0.3),
    ("humaneval", "f", 0, (), 0.30001, 0.3),
    ("humaneval", "f", 0, (), 3, 3.0),
    ("humaneval", "f", 0, (), 3, 3.0000001),
    ("humaneval", "f", 0, (), 1e9 + 1, 1e9),
    ("humaneval", "f", 0, (), math.inf, math.inf),
    ("humaneval", "f", 0, (), [0.1 + 0.2, 1.0], [0.3, 1.0]),
    ("humaneval", "f", 0, (), [0.1 + 0.2, 1], [0.3, 1.0]),
    ("humaneval", "f", 0, (), [0.1 + 0.2, 1], [0.3, 1]),
    ("humaneval", "f", 0, (), [0.1 + 0.2, "a"], [0.3, "a"]),
    ("humaneval", "f", 0, (), (0.1 + 0.2,), [0.3]),
    ("humaneval", "f", 0, (), [0.1 + 0.2, 2.0], [0.3]),
    ("humaneval", "f", 0, (), [[0.1 + 0.2]], [[0.3]]),
    ("humaneval", "f", 0, (), {"a": 0.1 + 0.2}, {"a": 0.3}),
    ("humaneval", "f", 0, (), [1, 2], (1, 2)),
    ("humaneval", "f", 0, (), "ab", "ac"),
    ("humaneval", "f", 0, (), None, []),
    ("humaneval", "f", 1e-4, (), 0.30001, 0.3),
    ("humaneval", "f", 1e-4, (), 0.31, 0.3),
    ("humaneval", "f", 1e-4, (), 10**9 + 1, 10**9),
    ("humaneval", "f", 1e-4, (), "0.3", 0.3),
    ("humaneval", "find_zero", 1e-4, ([1, 2],), -0.5001, 0.0),
    ("humaneval", "find_zero", 1e-4, ([1, 2],), "x", 0.0),
    ("mbpp", "similar_elements", 0, (), [2, 1, 1], (1, 2)),
    ("mbpp", "similar_elements", 0, (), (1,), (1, 2)),
    ("mbpp", "similar_elements", 0, (), 3, (1, 2)),
    ("mbpp", "Diff", 0, (), [[1]], [1]),
    ("mbpp", "Diff", 0, (), [0.1 + 0.2], [0.3]),
    ("mbpp", "check_str", 0, (), "found", True),
    ("mbpp", "check_str", 0, (), True, True),
    ("mbpp", "check_str", 0, (), 0, True),
    ("mbpp", "check_str", 0, (), None, True),
    ("mbpp", "check_str", 0, (), False, False),
    ("mbpp", "check_str", 0, (), None, False),
    ("mbpp", "are_equivalent", 0, (), "anything", True),
    ("mbpp", "sum_div", 0, (), 0, 1),
    ("mbpp", "sum_div", 0, (), 2, 1),
    ("mbpp", "surface_Area", 0, (3, 4), 35, 33),
    ("mbpp", "surface_Area", 0, (3, 4), 34, 33),
    ("mbpp", "surface_Area", 0, (3, 4), "35", 33),
    ("mbpp", "digit_distance_nums", 0, (1, 100), 2, 0),
    ("mbpp", "digit_distance_nums", 0, (1, 100), 3, 0),
    ("mbpp", "digit_distance_nums", 0, (-1, 100), 3, 0),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("dataset", "entry_point", "atol", "args", "answer", "expected"), ANSWERS)
def test_answers_are_judged_as_evalplus_judges_them(
    tmp_path: Path, dataset: str, entry_point: str, atol: float, args: Any, answer: Any, expected: Any
) -> None:
    untrusted_check = _evalplus("evalplus.eval:untrusted_check")
    code = f"from math import inf\ndef {entry_point}(*args): return {answer!r}"
    status, _ = untrusted_check(dataset, code, [args], entry_point, [expected], atol, [1.0])

    loader = evalplus.load_mbpp_plus if dataset == "mbpp" else evalplus.load_humaneval_plus
    path = tmp_path / "rows.jsonl"
    name = "Mbpp/3" if dataset == "mbpp" else "HumanEval/1"
    row = {"task_id": name, "prompt": "", "entry_point": entry_point, "canonical_solution": ""}
    path.write_text(json.dumps(row | {"base_input": [[]], "plus_input": [], "atol": atol}))
    (task,) = loader(source=path)
    rule, (test,) = task.compare, task.tests
    assert rule is not None
    # evalplus turns the expected value of the not-None tasks into a boolean beforehand
    reference = (True if expected else None) if entry_point == "check_str" else expected
    ours = compare(rule, TestCase.call(*args, compare=test.compare), answer, reference)
    assert ours is (status == "pass")


def test_roots_are_right_where_evalplus_forgets_to_count_them(data: Path, humaneval_plus: list[Task]) -> None:
    # evalplus 0.3.1 leaves its loop before it notes the verdict, and then fails the program for want of
    # verdicts
    untrusted_check = _evalplus("evalplus.eval:untrusted_check")
    task = next(task for task in humaneval_plus if task.entry_point == "find_zero")
    inputs = [test.args for test in task.tests[:2]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        status, details = untrusted_check(
            "humaneval", task.reference_solutions[0], inputs, "find_zero", [0.0, 0.0], 1e-4, [1.0, 1.0]
        )
    assert (status, len(details)) == ("fail", 0)
    assert task.compare is not None
    assert compare(task.compare, TestCase.call([1, 2]), -0.50003, 0.0)


def _part(tasks: Sequence[Task], full: bool, step: int) -> Sequence[Task]:
    return tasks if full else tasks[::step]


def _statuses(grader: Grader, pairs: list[tuple[Program, Task]]) -> dict[str, tuple[Status, str]]:
    """What did not pass, by task."""
    outcomes = grader.grade_many(pairs)
    return {
        task.id: (outcome.status, outcome.message)
        for (_, task), outcome in zip(pairs, outcomes, strict=True)
        if not outcome.passed
    }


def _canonical(tasks: Sequence[Task]) -> list[tuple[Program, Task]]:
    return [(Program(task.reference_solutions[0]), task) for task in tasks]


def _passing(tasks: Sequence[Task]) -> list[tuple[Program, Task]]:
    return [(Program(f"def {task.entry_point}(*args):\n    pass\n"), task) for task in tasks]


def test_canonical_solutions_of_humaneval(data: Path, grader: Grader) -> None:
    tasks = list(humaneval.load(source=data / "HumanEval.jsonl.gz"))
    assert _statuses(grader, _canonical(tasks)) == {}
    assert len(_statuses(grader, _passing(tasks))) == 164


def test_canonical_solutions_of_humaneval_plus(data: Path, grader: Grader, full: bool) -> None:
    name = "HumanEvalPlus.jsonl.gz" if full else "HumanEvalPlus-Mini.jsonl.gz"
    tasks = list(evalplus.load_humaneval_plus(source=data / name))
    assert _statuses(grader, _canonical(tasks)) == {}
    assert len(_statuses(grader, _passing(tasks))) == len(tasks) == 164


def test_canonical_solutions_of_mbpp_plus(mbpp_plus: list[Task], grader: Grader, full: bool) -> None:
    tasks = _part(mbpp_plus, full, 9)
    assert _statuses(grader, _canonical(tasks)) == {}
    assert len(_statuses(grader, _passing(tasks))) == len(tasks)

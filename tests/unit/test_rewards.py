"""Rewards, their composition and the scorer, with a grader that runs nothing."""

from __future__ import annotations

import asyncio
import math
import os
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from codegym import plugins
from codegym.core import Outcome, Program, Status, Task, TestCase, TestResult
from codegym.errors import ConfigError, NotFoundError, PluginError, RewardError
from codegym.hookspecs import hookimpl
from codegym.plugins import PluginRegistry
from codegym.rewards import (
    Format,
    Length,
    Scorer,
    all_passed,
    fraction_passed,
    parses,
    resolve_rewards,
    scorer,
)

TASK = Task(
    id="t/0",
    prompt="Write f.",
    entry_point="f",
    public_tests=(TestCase.call(1, expected=2),),
    hidden_tests=(TestCase.call(2, expected=3),),
)
GOOD = "```python\ndef f(x):\n    return x + 1\n```"
HALF = "```python\ndef f(x):\n    return 2  # half\n```"


def outcome_of(*statuses: Status) -> Outcome:
    return Outcome.of([TestResult(index=i, status=status) for i, status in enumerate(statuses)])


class FakeSandbox:
    """Counts what is made and closed."""

    def __init__(self, log: list[str], workers: int | None = None, **options: Any) -> None:
        self.log = log
        log.append(f"make workers={workers} {options}")

    def close(self) -> None:
        self.log.append("close")


class FakeGrader:
    """Judges by what the code says."""

    def __init__(self, sandbox: FakeSandbox, *, stop_early: bool = False, cache: object = None) -> None:
        self.sandbox, self.cache = sandbox, cache

    def submit(
        self, program: Program, task: Task, tests: Sequence[TestCase] | None = None
    ) -> Future[Outcome]:
        self.sandbox.log.append("submit")
        future: Future[Outcome] = Future()
        if "infra" in program.code:
            future.set_result(Outcome.infrastructure("no memory", task.tests))
        elif "half" in program.code:
            future.set_result(outcome_of(Status.PASSED, Status.WRONG))
        else:
            future.set_result(outcome_of(Status.PASSED, Status.PASSED))
        return future

    def close(self) -> None:
        self.sandbox.log.append("wait")


class Builtin:
    @hookimpl
    def codegym_register_rewards(self, register: Callable[..., None]) -> None:
        register("all_passed", "codegym.rewards:all_passed", range=(0.0, 1.0))
        register("fraction_passed", "codegym.rewards:fraction_passed", range=(0.0, 1.0))
        register("format", "codegym.rewards:Format", weight=0.1, range=(0.0, 1.0))
        register("unknown_argument", f"{__name__}:wants_tests")


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> PluginRegistry:
    monkeypatch.setattr(plugins, "FIRST_PARTY", {})
    registry = PluginRegistry()
    registry._discovered = True
    registry.add(Builtin(), "builtin")
    monkeypatch.setattr("codegym.rewards.composition.registry", lambda: registry)
    return registry


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    log: list[str] = []
    monkeypatch.setattr(scorer, "make_sandbox", lambda spec, **options: FakeSandbox(log, **options))
    monkeypatch.setattr(scorer, "Grader", FakeGrader)
    yield log
    log.clear()


# Components


def test_components_of_an_outcome() -> None:
    half = outcome_of(Status.PASSED, Status.WRONG)
    assert (all_passed(half), fraction_passed(half)) == (0.0, 0.5)
    whole = outcome_of(Status.PASSED, Status.PASSED)
    assert (all_passed(whole), fraction_passed(whole)) == (1.0, 1.0)


def test_parses() -> None:
    assert parses(Program("x = 1")) == 1.0
    assert parses(Program("x =")) == 0.0
    assert parses(Program("\0")) == 0.0
    assert parses(None) == 0.0


@pytest.mark.parametrize(
    ("completion", "right"),
    [
        ("```python\nx = 1\n```", True),
        ("\n```py\nx = 1\n```\n", True),
        ("```Python3\nx = 1\n```", True),
        ("```\nx = 1\n```", False),
        ("```python\n```", False),
        ("Text\n```python\nx = 1\n```", False),
        ("```python\nx = 1\n```\nText", False),
        ("```python\nx = 1\n```\n```python\ny = 1\n```", False),
        ("```python\nx = 1", False),
        ("x = 1", False),
        ("", False),
    ],
)
def test_format_of_a_block(completion: str, right: bool) -> None:
    assert Format()(completion) == float(right)


ANSWER = "<think>\nHm.\n</think>\n<answer>\nSo:\n```python\nx = 1\n```\n</answer>"


@pytest.mark.parametrize(
    ("completion", "right"),
    [
        (ANSWER, True),
        (ANSWER + "\nmore", True),  # the rule of TAROT has it so
        (ANSWER + " more", False),
        ("x" + ANSWER, False),
        (ANSWER.replace("</think>\n", "</think>"), False),
        (ANSWER.replace("```python", "```"), False),
        (ANSWER.replace("\n```\n<", "\n<"), False),
        (ANSWER.replace("</answer>", ""), False),
        (ANSWER.replace("Hm.", "</think>\n<answer>\n"), True),
        ("<think>\n" * 100_000, False),
    ],
)
def test_format_of_thoughts_and_answer(completion: str, right: bool) -> None:
    assert Format("think_answer")(completion) == float(right)
    other = completion.replace("think>", "reasoning>").replace("answer>", "solution>")
    assert Format("reasoning_solution")(other) == float(right)
    assert Format("think_answer")(other) == 0.0


def test_format_checks_its_style() -> None:
    with pytest.raises(ConfigError, match=r"style must be one of block, .*, got 'json'"):
        Format("json")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("length", "penalty"),
    [(0, 0.0), (16384, 0.0), (18432, -0.5), (20480, -1.0), (20481, -1.0), (99999, -1.0)],
)
def test_length(length: int, penalty: float) -> None:
    assert Length(limit=20480, margin=4096)("x" * length) == penalty


def test_length_of_tokens() -> None:
    assert Length(limit=4, margin=4, measure=lambda text: len(text.split()))("a b") == -0.5


@pytest.mark.parametrize(("limit", "margin"), [(1, 0), (1, 2), (0, 0)])
def test_length_checks_its_bounds(limit: int, margin: int) -> None:
    with pytest.raises(ConfigError, match=f"got margin={margin}, limit={limit}"):
        Length(limit=limit, margin=margin)


# Composition


def constant(task: Task, *, scale: float = 1.0) -> float:
    return scale


def wants_tests(tests: Any) -> float:
    return 1.0


async def asynchronous(task: Task) -> float:
    return 1.0


def positional(task: Task, /) -> float:
    return 1.0


def everything(**evidence: Any) -> float:
    return float(len(evidence))


class Bounded:
    name = "bounded"
    weight = 2.0
    range = (0.0, 5.0)

    def __call__(self, completion: str) -> float:
        return float(len(completion))


def test_names_take_what_was_registered() -> None:
    first, second = resolve_rewards(["all_passed", "format"])
    assert (first.name, first.weight, first.range, first.arguments) == (
        "all_passed",
        1.0,
        (0.0, 1.0),
        ("outcome",),
    )
    assert (second.name, second.weight, second.plugin, second.arguments) == (
        "format",
        0.1,
        "builtin",
        ("completion",),
    )


def test_weights() -> None:
    rewards = resolve_rewards({"all_passed": 2, constant: 0.5, f"{__name__}:everything": -1})
    assert [(reward.name, reward.weight) for reward in rewards] == [
        ("all_passed", 2.0),
        ("constant", 0.5),
        ("everything", -1.0),
    ]


@pytest.mark.parametrize("what", [Bounded, Bounded(), f"{__name__}:Bounded"])
def test_classes_and_instances(what: Any) -> None:
    (reward,) = resolve_rewards(what)
    assert (reward.weight, reward.range, reward.arguments) == (2.0, (0.0, 5.0), ("completion",))
    assert reward.name.lower() == "bounded"


@pytest.mark.parametrize(
    ("rewards", "error", "message"),
    [
        ([], ConfigError, "there must be a reward"),
        ([constant, constant], ConfigError, r"different names, got \['constant'\] twice"),
        ("all_pased", NotFoundError, "No reward is called 'all_pased'. Did you mean 'all_passed'"),
        ("os:no_such", PluginError, "no_such"),
        ("os:sep", ConfigError, "reward 'sep' must be a function, got '/'"),
        ([3], ConfigError, "reward 'int' must be a function, got 3"),
        (
            wants_tests,
            ConfigError,
            "'wants_tests' wants 'tests', but .* from task, completion, program, outcome",
        ),
        ("unknown_argument", ConfigError, "'unknown_argument' wants 'tests'"),
        (positional, ConfigError, "'positional' wants 'task'"),
        (asynchronous, ConfigError, "must be a plain function"),
        ({constant: math.nan}, ConfigError, "Reward 'constant': the weight must be a finite number, got nan"),
    ],
)
def test_rewards_that_are_none(rewards: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        resolve_rewards(rewards)


def returning(value: Any) -> Callable[..., Any]:
    def reward(task: Task) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    return reward


@pytest.mark.parametrize("value", [1, 0.5, True, np.float32(0.5), np.int64(1), None])
def test_values(value: Any) -> None:
    (reward,) = resolve_rewards(returning(value))
    found = reward({"task": TASK})
    assert found == value
    assert found is None or type(found) is float


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1", "Reward 'reward' must return a finite number or None, got '1'"),
        (math.nan, "got nan"),
        (math.inf, "got inf"),
        (1j, "got 1j"),
        ([1.0], r"got \[1.0\]"),
        (ValueError("oh"), "Reward 'reward' raised ValueError: oh"),
    ],
)
def test_values_that_are_none(value: Any, message: str) -> None:
    (reward,) = resolve_rewards(returning(value))
    with pytest.raises(RewardError, match=message) as caught:
        reward({"task": TASK})
    assert caught.value.__cause__ is (value if isinstance(value, Exception) else None)


def test_range_is_kept() -> None:
    (reward,) = resolve_rewards(Bounded)
    with pytest.raises(RewardError, match=r"Reward 'bounded' must return a number from 0.0 to 5.0, got 6.0"):
        reward({"completion": "longer"})


# Scorer


def test_score(log: list[str]) -> None:
    with Scorer({"all_passed": 1.0, "fraction_passed": 0.5, "format": 0.1}, workers=3) as scorer:
        good, half, none = scorer.score([GOOD, "So: " + HALF, "no"], [TASK] * 3)
    assert good.value == pytest.approx(1.6)
    assert good.components == {"all_passed": 1.0, "fraction_passed": 1.0, "format": 1.0}
    assert good.outcome is not None
    assert good.outcome.passed
    assert half.value == pytest.approx(0.25)
    assert half.components == {"all_passed": 0.0, "fraction_passed": 0.5, "format": 0.0}
    assert none.value == 0.0
    assert none.outcome is not None
    assert none.outcome.status == Status.INVALID
    assert [test.status for test in none.outcome.tests] == [Status.INVALID] * 2
    assert log == ["make workers=3 {}", "submit", "submit", "wait", "close"]


def test_infrastructure_trouble_is_no_reward(log: list[str]) -> None:
    (score,) = Scorer(["all_passed", "format"]).score([GOOD.replace("x + 1", "infra")], [TASK])
    assert score.value is None
    assert score.components == {"all_passed": None, "format": 1.0}
    assert score.outcome is not None
    assert score.outcome.status == Status.INFRA


def test_no_reward_where_none_applies(log: list[str]) -> None:
    (score,) = Scorer(returning(None)).score([GOOD], [TASK])
    assert (score.value, score.components, score.outcome) == (None, {"reward": None}, None)


def test_nothing_runs_where_no_reward_asks_for_the_outcome(log: list[str]) -> None:
    (score,) = Scorer("format").score([GOOD], [TASK])
    assert (score.value, log) == (0.1, [])


def test_equal_programs_run_once(log: list[str]) -> None:
    other = Task(id="t/1", prompt="", entry_point="f")
    scores = Scorer().score([GOOD, "Again:\n" + GOOD, GOOD], [TASK, TASK, other])
    assert [score.value for score in scores] == [1.0, 1.0, 1.0]
    assert log.count("submit") == 2


def test_lengths_must_agree(log: list[str]) -> None:
    with pytest.raises(ConfigError, match="got 2 and 1"):
        Scorer().score([GOOD, GOOD], [TASK])


def test_ascore(log: list[str]) -> None:
    async def both() -> list[Any]:
        scorer = Scorer()
        return await asyncio.gather(scorer.ascore([GOOD, HALF], [TASK] * 2), scorer.ascore([HALF], [TASK]))

    assert [[score.value for score in scores] for scores in asyncio.run(both())] == [[1.0, 0.0], [0.0]]
    assert log.count("make workers=None {}") == 1


def test_a_pickled_scorer_starts_anew(log: list[str]) -> None:
    original = Scorer({"all_passed": 1.0, Length(): 0.5}, workers=2, policy="first")
    original.score([GOOD], [TASK])
    copy = pickle.loads(pickle.dumps(original))
    assert copy.score([GOOD + "\n" + HALF], [TASK])[0].value == 1.0
    assert log.count("make workers=2 {}") == 2


def test_a_scorer_with_a_sandbox_of_the_caller(log: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "Sandbox", FakeSandbox)
    mine: Any = FakeSandbox(log)
    monkeypatch.setattr(scorer, "make_sandbox", lambda spec, **options: spec)
    with Scorer(sandbox=mine) as borrowing:
        borrowing.score([GOOD], [TASK])
        with pytest.raises(pickle.PicklingError, match="give it the name of a sandbox"):
            pickle.dumps(borrowing)
    assert "close" not in log


def test_a_forked_scorer_starts_anew(log: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    scoring = Scorer()
    scoring.score([GOOD], [TASK])
    parent = os.getpid()
    monkeypatch.setattr(scorer.os, "getpid", lambda: parent + 1)
    scoring.score([GOOD], [TASK])
    assert sum(entry.startswith("make") for entry in log) == 2


def test_threads_share_one_sandbox(log: list[str]) -> None:
    scoring = Scorer()
    values: list[float | None] = []
    threads = [
        threading.Thread(target=lambda: values.append(scoring.score([GOOD], [TASK])[0].value))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [1.0] * 8
    assert sum(entry.startswith("make") for entry in log) == 1


def test_close_twice_and_use_again(log: list[str]) -> None:
    scoring = Scorer()
    scoring.close()
    scoring.score([GOOD], [TASK])
    scoring.close()
    scoring.close()
    scoring.score([GOOD], [TASK])
    assert (log.count("close"), sum(entry.startswith("make") for entry in log)) == (1, 2)

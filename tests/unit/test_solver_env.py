"""The solver environment, with a scorer that runs nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from codegym.core import Outcome, Program, Status, Task, TestCase, TestResult
from codegym.envs_registration import register_environments
from codegym.errors import ConfigError, NotFoundError, PluginError
from codegym.hookspecs import hookimpl
from codegym.plugins import PluginRegistry
from codegym.rewards import Scorer, all_passed, fraction_passed
from codegym_envs.solver.env import SolverEnv, SolverVectorEnv

register_environments()

SECRET = 987654321
TASKS = tuple(
    Task(
        id=f"t/{i}",
        prompt=f"Write f for {i}.",
        entry_point="f",
        public_tests=(TestCase.call(1, expected=2), TestCase.call(5, kwargs={"key": "k"}, expected=[6])),
        hidden_tests=(TestCase.call(2, expected=SECRET),),
    )
    for i in range(5)
)


def program(*statuses: str) -> str:
    return "```python\ndef f(x):\n    return '" + " ".join(statuses) + "'\n```"


GOOD = program("passed", "passed", "passed")
BAD = program("wrong", "passed", "error")
HIDDEN = program("passed", "passed", "timeout")
INFRA = program("infra", "infra", "infra")


class FakeScorer(Scorer):
    """The program itself says what becomes of it."""

    def submit(self, program: Program | None, task: Task) -> Future[Outcome]:
        if program is None:
            return super().submit(program, task)
        said = re.findall(r"'(.*)'", program.code)
        done: Future[Outcome] = Future()
        if not said:
            done.set_result(Outcome.unrunnable("SyntaxError: oh", task.tests))
        elif "infra" in said[0]:
            done.set_result(Outcome.infrastructure("no memory left", task.tests))
        else:
            results = [
                TestResult(index=i, status=Status(status), message=f"m{i} {SECRET if i > 1 else ''}")
                for i, status in enumerate(said[0].split())
            ]
            done.set_result(Outcome.of(results))
        return done


def scorer() -> FakeScorer:
    return FakeScorer([all_passed, fraction_passed])


def make(max_turns: int = 1, **options: Any) -> SolverEnv:
    return SolverEnv(TASKS, scorer=scorer(), max_turns=max_turns, **options)


# Episodes


def test_solved() -> None:
    env = make(max_turns=3)
    prompt, info = env.reset(options={"task_id": "t/3"})
    assert (prompt, info) == ("Write f for 3.", {"task_id": "t/3", "index": 3})
    observation, reward, terminated, truncated, info = env.step(GOOD)
    assert (observation, reward, terminated, truncated) == (
        "Your program passes all tests.",
        2.0,
        True,
        False,
    )
    assert info["components"] == {"all_passed": 1.0, "fraction_passed": 1.0}
    assert (info["task_id"], info["index"], info["turn"], info["reward_missing"]) == ("t/3", 3, 1, False)
    assert info["outcome"].passed
    assert info["score"].value == 2.0
    with pytest.raises(ResetNeeded):
        env.step(GOOD)


def test_the_reward_comes_at_the_end_and_is_that_of_the_last_attempt() -> None:
    env = make(max_turns=2)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(HIDDEN)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["components"]["fraction_passed"] == pytest.approx(2 / 3)
    _, reward, terminated, truncated, info = env.step(BAD)
    assert (terminated, truncated, info["turn"]) == (True, False, 2)
    assert reward == pytest.approx(1 / 3)


def test_infrastructure_trouble_is_a_truncation_without_reward() -> None:
    env = make(max_turns=3)
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(INFRA)
    assert math.isnan(reward)
    assert (terminated, truncated, info["reward_missing"]) == (False, True, True)
    assert math.isnan(info["components"]["all_passed"])
    assert "could not be judged" in observation
    assert "memory" not in observation
    with pytest.raises(ResetNeeded):
        env.step(GOOD)


def test_step_needs_an_episode() -> None:
    env = make()
    with pytest.raises(ResetNeeded):
        env.step(GOOD)


def feedback(action: str, tasks: tuple[Task, ...] = TASKS) -> str:
    env = SolverEnv(tasks, scorer=scorer(), max_turns=2)
    env.reset(seed=0)
    return env.step(action)[0]


def test_feedback_tells_public_failures() -> None:
    assert feedback(BAD) == ("Your program fails 1 of 2 public tests:\n- `f(1)`, expected 2: wrong: m0 ")
    assert feedback(program("error", "wrong", "wrong")) == (
        "Your program fails 2 of 2 public tests:\n"
        "- `f(1)`, expected 2: error: m0 \n"
        "- `f(5, key='k')`, expected [6]: wrong: m1 "
    )


def test_feedback_tells_nothing_of_hidden_tests_but_the_kind() -> None:
    assert feedback(HIDDEN) == "Your program passes the public tests, but fails a hidden test (timeout)."
    hidden_only = (Task(id="h", prompt="", entry_point="f", hidden_tests=TASKS[0].hidden_tests * 3),)
    assert feedback(HIDDEN, hidden_only) == "Your program fails a hidden test (timeout)."
    for action in (GOOD, BAD, HIDDEN, INFRA, program("passed", "passed", "wrong"), "no"):
        assert str(SECRET) not in feedback(action)


def test_feedback_of_other_styles() -> None:
    tests = (TestCase.stdio("1\n" * 500, "2"), TestCase.code("assert f(1) == 2"))
    task = Task(id="s", prompt="", entry_point="f", public_tests=tests, reference_solutions=("",))
    told = feedback(program("wrong", "wrong"), (task,))
    assert "- on the input '1\\n1\\n" in told
    assert "..., expected '2': wrong" in told
    assert "- `assert f(1) == 2`: wrong: m1 " in told


def test_feedback_without_a_program() -> None:
    assert feedback("I give up.") == (
        "There was no program in your answer. Answer with one fenced Python block."
    )
    assert feedback("```python\ndef f(:\n```") == "Your program is not valid Python: line 1: invalid syntax."
    assert feedback("```python\nreturn 1\n```") == "Your program is not valid Python."


def test_starter_code_is_told_once() -> None:
    code = "def f(x: int) -> int:\n    "
    with_code = Task(id="a", prompt="Write f.", entry_point="f", starter_code=code)
    inside = Task(id="b", prompt=code, entry_point="f", starter_code=code)
    env = SolverEnv([with_code, inside], scorer=scorer())
    prompt, _ = env.reset(options={"task_id": "a"})
    assert prompt == "Write f.\n\nStart from this code:\n\n```python\ndef f(x: int) -> int:\n```\n"
    assert env.reset(options={"index": 1})[0] == code


def test_render() -> None:
    env = make(max_turns=2, render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.render()
    env.reset(options={"index": 0})
    env.step("no")
    assert str(env.render()).splitlines() == [
        "--- environment ---",
        "Write f for 0.",
        "",
        "--- policy ---",
        "no",
        "",
        "--- environment ---",
        "There was no program in your answer. Answer with one fenced Python block.",
    ]
    assert make().render() is None


# Which task


def order(env: SolverEnv, count: int, seed: int | None) -> list[int]:
    return [env.reset(seed=seed if i == 0 else None)[1]["index"] for i in range(count)]


def test_tasks_are_a_function_of_seed_and_episode() -> None:
    env = make()
    first = order(env, 12, seed=7)
    assert first == order(env, 12, seed=7) == order(make(), 12, seed=7)
    assert first != order(env, 12, seed=8)
    assert sorted(first[:5]) == sorted(first[5:10]) == [0, 1, 2, 3, 4]
    assert first[:5] != first[5:10]


def test_a_chosen_task_takes_the_place_of_one_in_the_order() -> None:
    env = make()
    planned = order(env, 4, seed=7)
    env.reset(seed=7)
    env.reset(options={"index": 0})
    assert env.reset()[1]["index"] == planned[2]


def test_without_a_seed() -> None:
    env = make()
    assert sorted(order(env, 5, seed=None)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"task_id": "t/9"}, NotFoundError, "No task is called 't/9'. Did you mean 't/"),
        ({"index": 5}, ConfigError, "index must be from 0 to 4, got 5"),
        ({"index": -1}, ConfigError, "got -1"),
        ({"index": 1, "task_id": "t/1"}, ConfigError, "not both"),
        ({"tusk_id": "t/1"}, ConfigError, r"options may be task_id or index, got \['tusk_id'\]"),
    ],
)
def test_options_are_checked(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make().reset(options=options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": []}, "got 0 with 0 ids"),
        ({"tasks": TASKS + TASKS[:1]}, "got 6 with 5 ids"),
        ({"max_turns": 0}, "max_turns must be at least 1, got 0"),
        ({"render_mode": "human"}, "got 'human'"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SolverEnv(**{"tasks": TASKS, "scorer": scorer(), **options})


def test_tasks_by_the_name_of_a_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegym_envs.text.load_tasks", lambda name: iter(TASKS[: len(name)]))
    assert SolverEnv("abc", scorer=scorer()).tasks == TASKS[:3]


def test_tasks_from_a_generator() -> None:
    assert SolverEnv((task for task in TASKS), scorer=scorer()).tasks == TASKS


class Closing(FakeScorer):
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_scorer_of_the_caller_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Closing(all_passed)
    SolverEnv(TASKS, scorer=mine).close()
    SolverVectorEnv(TASKS, scorer=mine).close()
    assert mine.closed == 0
    monkeypatch.setattr("codegym_envs.solver.env.Scorer", Closing)
    for kind in (SolverEnv, SolverVectorEnv):
        env = kind(TASKS, all_passed)
        env.close()
        assert env.scorer.closed == 1  # type: ignore[attr-defined]


# Gymnasium


@pytest.mark.parametrize("max_turns", [1, 3])
def test_check_env(max_turns: int) -> None:
    env = gymnasium.make("codegym/Solver-v0", tasks=TASKS, scorer=scorer(), max_turns=max_turns)
    check_env(env.unwrapped)


def test_check_env_renders() -> None:
    env = gymnasium.make("codegym/Solver-v0", tasks=TASKS, rewards=all_passed, render_mode="ansi")
    check_env(env.unwrapped)


def test_make() -> None:
    env = gymnasium.make("codegym/Solver-v0", tasks=TASKS, scorer=scorer())
    env.reset(seed=1)
    assert env.step(GOOD)[1:4] == (2.0, True, False)


def test_sync_vector_env() -> None:
    envs = SyncVectorEnv([make, make])
    prompts, _ = envs.reset(seed=3)
    assert prompts in envs.observation_space
    _, rewards, terminated, _, _ = envs.step((GOOD, HIDDEN))
    assert rewards.tolist() == [2.0, pytest.approx(2 / 3)]
    assert terminated.all()


# Vector environments


def vector(num_envs: int = 3, **options: Any) -> SolverVectorEnv:
    return SolverVectorEnv(TASKS, scorer=scorer(), num_envs=num_envs, **options)


def test_make_vec() -> None:
    envs = gymnasium.make_vec("codegym/Solver-v0", num_envs=3, tasks=TASKS, scorer=scorer())
    assert isinstance(envs, SolverVectorEnv)
    prompts, infos = envs.reset(seed=1)
    assert prompts in envs.observation_space
    assert prompts[0] in envs.single_observation_space
    assert infos["task_id"].tolist() == [f"t/{index}" for index in infos["index"]]
    assert envs.action_space.sample() in envs.action_space
    envs.close()


def test_vector_step_matches_single_environments() -> None:
    envs = vector(max_turns=2)
    singles = [make(max_turns=2) for _ in range(3)]
    prompts, infos = envs.reset(seed=5)
    for i, env in enumerate(singles):
        prompt, info = env.reset(seed=5 + i)
        assert (prompt, info["index"]) == (prompts[i], infos["index"][i])
    observations, rewards, terminated, truncated, infos = envs.step((GOOD, HIDDEN, INFRA))
    for i, (env, action) in enumerate(zip(singles, (GOOD, HIDDEN, INFRA), strict=True)):
        observation, reward, ended, cut, info = env.step(action)
        assert observation == observations[i]
        np.testing.assert_equal(rewards[i], reward)
        assert (terminated[i], truncated[i]) == (ended, cut)
        assert infos["reward_missing"][i] == info["reward_missing"]
        assert infos["score"][i] == info["score"]
        np.testing.assert_equal(infos["components"]["all_passed"][i], info["components"]["all_passed"])


def test_all_programs_are_submitted_before_any_verdict_is_awaited() -> None:
    log: list[str] = []

    class Logging(FakeScorer):
        def submit(self, program: Program | None, task: Task) -> Future[Outcome]:
            log.append("submit")
            return super().submit(program, task)

        def judge(self, *evidence: Any) -> Any:
            log.append("judge")
            return super().judge(*evidence)

    envs = SolverVectorEnv(TASKS, scorer=Logging(all_passed), num_envs=2)
    envs.reset(seed=0)
    envs.step((GOOD, BAD))
    assert log == ["submit", "submit", "judge", "judge"]


def test_autoreset_in_the_next_step() -> None:
    envs = vector(2, max_turns=2)
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    envs.reset(seed=0)
    _, rewards, terminated, _, _ = envs.step((GOOD, HIDDEN))
    assert terminated.tolist() == [True, False]
    prompts, rewards, terminated, _, infos = envs.step((GOOD, GOOD))
    assert prompts[0].startswith("Write f for ")
    assert rewards.tolist() == [0.0, 2.0]
    assert terminated.tolist() == [False, True]
    assert infos["_turn"].tolist() == [False, True]
    _, rewards, _, _, _ = envs.step((GOOD, GOOD))
    assert rewards.tolist() == [2.0, 0.0]


def test_autoreset_in_the_same_step() -> None:
    envs = vector(2, max_turns=2, autoreset_mode="SameStep")
    envs.reset(seed=0)
    observations, rewards, terminated, _, infos = envs.step((GOOD, HIDDEN))
    assert observations[0].startswith("Write f for ")
    assert (rewards.tolist(), terminated.tolist()) == ([2.0, 0.0], [True, False])
    assert infos["final_obs"].tolist() == ["Your program passes all tests.", None]
    assert infos["final_info"]["turn"].tolist() == [1, 0]
    assert infos["_final_info"].tolist() == [True, False]
    _, rewards, _, _, _ = envs.step((GOOD, GOOD))
    assert rewards.tolist() == [2.0, 2.0]


def test_no_autoreset() -> None:
    envs = vector(2, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=0)
    envs.step((GOOD, GOOD))
    prompts, infos = envs.reset(options={"reset_mask": np.array([True, False])})
    assert prompts[1] == "Your program passes all tests."
    assert infos["_task_id"].tolist() == [True, False]
    with pytest.raises(ResetNeeded):
        envs.step((GOOD, GOOD))


def test_vector_options() -> None:
    envs = vector(3, render_mode="ansi")
    _, infos = envs.reset(seed=[1, None, 2], options={"index": [4, 4, 0]})
    assert infos["index"].tolist() == [4, 4, 0]
    _, infos = envs.reset(options={"task_id": "t/2"})
    assert infos["index"].tolist() == [2, 2, 2]
    assert envs.render() == ("--- environment ---\nWrite f for 2.\n",) * 3
    assert vector().render() is None
    with pytest.raises(ConfigError, match="seed must have 3 values, got 2"):
        envs.reset(seed=[1, 2])
    with pytest.raises(ConfigError, match="reset_mask must mark some of 3"):
        envs.reset(options={"reset_mask": np.zeros(3, dtype=np.bool_)})
    with pytest.raises(ConfigError, match="there must be 3 actions, got 1"):
        envs.step((GOOD,))
    with pytest.raises(ConfigError, match="num_envs must be at least 1, got 0"):
        vector(0)


# Hooks


class Watcher:
    """Answers for the policy, and writes down what it is told."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []

    @hookimpl
    def codegym_episode_started(self, task: Task, seed: int | None) -> None:
        self.log.append(("started", task.id, seed))

    @hookimpl
    def codegym_extract(self, completion: str, task: Task) -> Any:
        return {"mine": Program("def f(x):\n    return 'passed'\n"), "broken": "text"}.get(completion)

    @hookimpl
    def codegym_execute(self, task: Task, program: Program) -> Any:
        if "known" in program.code:
            return Outcome(status=Status.PASSED)
        if "raises" in program.code:
            raise ValueError("oh")
        return None

    @hookimpl
    def codegym_episode_finished(self, task: Task, outcome: Outcome, reward: float | None) -> None:
        self.log.append(("finished", task.id, str(outcome.status), reward))


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch) -> Watcher:
    registry = PluginRegistry()
    registry._discovered = True
    registry.add(watcher := Watcher(), "watcher")
    registry.add(Watcher(), "other")
    monkeypatch.setattr("codegym.plugins.registry", lambda: registry)
    return watcher


def test_hooks_of_named_plugins_only(watcher: Watcher) -> None:
    env = make(plugins=["watcher"])
    env.reset(seed=4, options={"index": 1})
    env.step("mine")
    env.reset(options={"index": 2})
    env.step(INFRA)
    assert watcher.log == [
        ("started", "t/1", 4),
        ("finished", "t/1", "passed", 2.0),
        ("started", "t/2", None),
        ("finished", "t/2", "infra", None),
    ]
    unwatched = make()
    unwatched.reset(seed=0)
    unwatched.step("mine")
    assert len(watcher.log) == 4


def test_execute_hook_judges(watcher: Watcher) -> None:
    env = make(plugins="watcher")
    env.reset(seed=0)
    assert env.step("```python\ndef f(x):\n    known\n```")[1] == 2.0


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            "broken",
            "Hook 'codegym_extract' of one of the plugins 'watcher' must return a Program or None",
        ),
        ("```python\ndef f(x):\n    raises\n```", "Hook 'codegym_execute' .* raised ValueError: oh"),
    ],
)
def test_a_broken_hook_is_named(watcher: Watcher, action: str, message: str) -> None:
    env = make(plugins=["watcher"])
    env.reset(seed=0)
    with pytest.raises(PluginError, match=message):
        env.step(action)


def test_unknown_plugin(watcher: Watcher) -> None:
    with pytest.raises(NotFoundError, match=r"No plugin is called .wotcher.\. Did you mean .watcher."):
        make(plugins=["wotcher"])


def test_extraction_is_used_where_no_hook_answers(watcher: Watcher) -> None:
    reference: Callable[[], SolverEnv] = make
    env, plain = make(plugins=["watcher"]), reference()
    for each in (env, plain):
        each.reset(seed=0)
    assert env.step(HIDDEN)[1] == plain.step(HIDDEN)[1]

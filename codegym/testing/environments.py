"""The promises of an environment; see `codegym_envs`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, Final

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from gymnasium.vector import VectorEnv

from codegym.envs_registration import register_environments
from codegym.testing.checks import global_seeds, not_applicable, promised, require
from codegym.testing.faults import FailingSandbox

__all__ = ["EnvironmentSubject"]

ACTIONS: Final = (
    "no program at all",
    "```python\ndef solve(x):\n    return x\n```",
    "```python\nassert solve([1]) == [1]\n```",
    "",
)
"""Programs, tests and nothing."""
TURNS: Final = 50
"""An episode that goes on for longer does not end."""
EPISODES: Final = 3

Env = gymnasium.Env[str, str]
Turn = tuple[Any, ...]


class EnvironmentSubject:
    """A kind of environment under test.

    Args:
        env: A registered id, or a function that makes a new one at each call.
        make_failing: Makes one whose sandbox fails. None: an id is made with a `FailingSandbox`.
        make_vector: Makes so many of them as a vector environment. None: an id is made by
            `gymnasium.make_vec`.
        options: What an environment of that id takes.
    """

    def __init__(
        self,
        env: str | Callable[[], Env],
        *,
        make_failing: Callable[[], Env] | None = None,
        make_vector: Callable[[int], VectorEnv[Any, Any, Any]] | None = None,
        **options: Any,
    ) -> None:
        """Make nothing yet."""
        self._failing, self._vector = make_failing, make_vector
        if not isinstance(env, str):
            self.make, self.name = env, getattr(env, "__name__", "environment")
            return
        register_environments(installed=True)

        def make(**options: Any) -> Env:  # it has to keep its promises without gymnasium's wrappers
            return gymnasium.make(env, disable_env_checker=True, **options).unwrapped

        self.name, self.make = env, partial(make, **options)
        self._failing = make_failing or partial(make, **{**options, "sandbox": FailingSandbox()})
        self._vector = make_vector or (lambda count: gymnasium.make_vec(env, num_envs=count, **options))

    def failing(self) -> Env:
        """One whose sandbox fails; a check is left out where nobody knows how to make one."""
        if self._failing is None:
            not_applicable("nobody told how to make one whose sandbox fails: pass make_failing=…")
        return self._failing()

    def vector(self, count: int) -> VectorEnv[Any, Any, Any]:
        """Several as one; a check is left out where nobody knows how to make them."""
        if self._vector is None:
            not_applicable("nobody told how to make several at a time: pass make_vector=…")
        return self._vector(count)

    def close(self) -> None:
        """Nothing to end."""


def play(env: Env, observation: Any) -> Iterator[Turn]:
    """The turns of an episode that has begun, with the same actions each time; but for infos, which tell
    timings.
    """
    yield (observation,)
    for turn in range(TURNS):
        observation, reward, terminated, truncated, _ = env.step(ACTIONS[turn % len(ACTIONS)])
        yield observation, reward, terminated, truncated
        if terminated or truncated:
            return


def episodes(env: Env, seed: int, count: int = EPISODES) -> list[list[Turn]]:
    """Several episodes, of which a seed decides the first, and with it those that follow."""
    return [list(play(env, env.reset(seed=None if n else seed)[0])) for n in range(count)]


@promised("gymnasium.utils.env_checker:check_env")
def check_gymnasium_is_content(subject: EnvironmentSubject) -> None:
    """The checker of gymnasium itself passes, without a warning."""
    with closing(subject.make()) as env, warnings.catch_warnings():
        warnings.simplefilter("error")
        gymnasium_check_env(env.unwrapped, skip_render_check=True, skip_close_check=True)


@promised("codegym.spaces:Str")
def check_observations_are_texts(subject: EnvironmentSubject) -> None:
    """Every observation is a text of the observation space."""
    with closing(subject.make()) as env:
        for observation, *_ in episodes(env, 0, 1)[0]:
            fits = isinstance(observation, str) and env.observation_space.contains(observation)
            require(fits, f"observed {observation!r:.200}")


@promised("codegym.spaces:Str")
def check_any_text_is_an_action(subject: EnvironmentSubject) -> None:
    """Whatever a policy writes is in the action space."""
    with closing(subject.make()) as env:
        for text in (*ACTIONS, "\x00 ü \U0001f40d\n" * 10, "x" * 100_000):
            require(env.action_space.contains(text), f"{text!r:.100} is no action")


@promised("codegym_envs.solver.env:SolverEnv.reset")
def check_a_seed_decides_the_episodes(subject: EnvironmentSubject) -> None:
    """The same seed and actions give the same episodes, one after the other, in every environment."""
    with closing(subject.make()) as one, closing(subject.make()) as other:
        with global_seeds(1):
            first = episodes(one, 7)
        require(episodes(one, 7) == first, "the second time, the same environment went another way")
        with global_seeds(2):
            require(episodes(other, 7) == first, "another environment went another way")


@promised("codegym_envs.solver.env:SolverEnv.reset")
def check_options_choose_the_task(subject: EnvironmentSubject) -> None:
    """The ``task_id`` that `reset` tells is an option that brings that task back, whatever the seed."""
    with closing(subject.make()) as env:
        prompt, info = env.reset(seed=1)
        require("task_id" in info, f"reset tells no task_id, but {', '.join(info) or 'nothing'}")
        for seed in (None, 2, 3, 4):
            found, told = env.reset(seed=seed, options={"task_id": info["task_id"]})
            same = (found, told.get("task_id")) == (prompt, info["task_id"])
            require(same, f"asked for {info['task_id']!r}, with the seed {seed}: {told.get('task_id')!r}")


@promised("codegym_envs.solver.env:SolverEnv")
def check_an_episode_ends_one_way(subject: EnvironmentSubject) -> None:
    """Every episode ends, either terminated or truncated, and says so with booleans."""
    with closing(subject.make()) as env:
        turns = episodes(env, 0, 1)[0][1:]
    for _, _, terminated, truncated in turns:
        require({type(terminated), type(truncated)} == {bool}, f"{terminated!r} and {truncated!r}")
        require(not (terminated and truncated), "it is terminated and truncated at the same time")
    require(any(turns[-1][2:]), f"it did not end within {TURNS} turns")


@promised("codegym_envs.solver.env:SolverEnv.step")
def check_a_step_needs_an_episode(subject: EnvironmentSubject) -> None:
    """A step before the first `reset`, or after the end of an episode, raises ResetNeeded."""
    with closing(subject.make()) as env:
        require(refuses(env), "a step before the first reset was answered")
        env.reset(seed=0)
        for turn in range(TURNS):
            _, _, terminated, truncated, _ = env.step(ACTIONS[turn % len(ACTIONS)])
            if terminated or truncated:
                require(refuses(env), "a step after the end was answered")
                return


@promised("codegym_envs.solver.env:SolverEnv")
def check_rewards_are_numbers(subject: EnvironmentSubject) -> None:
    """A reward is a finite float, every turn."""
    with closing(subject.make()) as env:
        for _, reward, *_ in episodes(env, 3, 1)[0][1:]:
            require(isinstance(reward, float) and math.isfinite(reward), f"the reward is {reward!r}")


@promised("codegym_envs.solver.env:SolverEnv")
def check_trouble_is_no_reward(subject: EnvironmentSubject) -> None:
    """An attempt that cannot be judged is truncated, with the reward nan and ``info["reward_missing"]``."""
    with closing(subject.failing()) as env:
        met = False
        for action in ACTIONS:
            env.reset(seed=0)
            _, reward, terminated, truncated, info = env.step(action)
            if not math.isnan(reward) and not info.get("reward_missing"):
                continue  # it needed no sandbox to be judged
            met = True
            require(truncated and not terminated, f"terminated {terminated}, truncated {truncated}")
            missing = math.isnan(reward) and info.get("reward_missing") is True
            require(missing, f"the reward is {reward}, reward_missing {info.get('reward_missing')}")
        require(met, "every attempt had a reward, though the sandbox fails")


@promised("codegym_envs.solver.env:SolverVectorEnv")
def check_many_agree_with_one(subject: EnvironmentSubject) -> None:
    """A vector environment does what single ones do that are given the same seeds, in the same turns."""
    count = 3
    with closing(subject.vector(count)) as many, closing(subject.make()) as one:
        alone = [episodes(one, 7 + i, 1)[0] for i in range(count)]
        observations, _ = many.reset(seed=7)
        together: list[list[Turn]] = [[(observation,)] for observation in observations]
        for turn in range(max(map(len, alone)) - 1):
            observations, rewards, terminated, truncated, _ = many.step(
                [ACTIONS[turn % len(ACTIONS)]] * count
            )
            for i, seen in enumerate(together):
                seen.append((observations[i], float(rewards[i]), bool(terminated[i]), bool(truncated[i])))
    for i, (expected, seen) in enumerate(zip(alone, together, strict=True)):
        require(seen[: len(expected)] == expected, f"number {i}: {seen[: len(expected)]}, alone {expected}")


@promised("gymnasium:Env.close")
def check_close_is_idempotent(subject: EnvironmentSubject) -> None:
    """An environment can be closed twice."""
    env = subject.make()
    env.reset(seed=0)
    env.close()
    env.close()


def refuses(env: Env) -> bool:
    """Whether a step is refused."""
    try:
        env.step(ACTIONS[0])
    except ResetNeeded:
        return True
    return False

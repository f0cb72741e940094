"""The promises of an environment; see `codegym_envs`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.utils.env_checker import check_env as gymnasium_check_env

from codegym.testing.checks import require

__all__ = ["EnvironmentSubject"]

ACTIONS = ("", "no program at all", "```python\ndef f(x): return x\n```")


class EnvironmentSubject:
    """A kind of environment under test.

    Args:
        make: Makes a new one.
    """

    def __init__(self, make: Callable[[], gymnasium.Env[str, str]]) -> None:
        """Make nothing yet."""
        self.make = make

    def episode(self, env: gymnasium.Env[str, str], seed: int) -> list[tuple[Any, ...]]:
        """One episode with the same actions each time: all that can be seen of it, but for timings."""
        observation, _ = env.reset(seed=seed)
        seen: list[tuple[Any, ...]] = [(observation,)]
        for turn in range(50):
            observation, reward, terminated, truncated, _ = env.step(ACTIONS[turn % len(ACTIONS)])
            seen.append((observation, reward, terminated, truncated))
            if terminated or truncated:
                return seen
        return seen


def check_gymnasium_is_content(subject: EnvironmentSubject) -> None:
    """The checker of gymnasium itself passes, without a warning."""
    env = subject.make()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gymnasium_check_env(env.unwrapped, skip_render_check=True)
    finally:
        env.close()


def check_a_seed_decides_the_episode(subject: EnvironmentSubject) -> None:
    """The same seed and actions give the same episode, in the same environment and in another."""
    one, other = subject.make(), subject.make()
    try:
        first = subject.episode(one, 7)
        require(subject.episode(one, 7) == first, "another episode in the same environment")
        require(subject.episode(other, 7) == first, "another episode in another environment")
    finally:
        one.close()
        other.close()


def check_an_episode_ends(subject: EnvironmentSubject) -> None:
    """Every episode terminates or is truncated, and a step after that is refused."""
    env = subject.make()
    try:
        *_, terminated, truncated = subject.episode(env, 0)[-1]
        require(terminated or truncated, "it did not end within 50 turns")
        try:
            env.step("")
        except Exception:
            return
        require(False, "a step after the end was answered")
    finally:
        env.close()


def check_observations_and_actions_are_text(subject: EnvironmentSubject) -> None:
    """Observations are in the observation space, and any text is an action."""
    env = subject.make()
    try:
        observation, info = env.reset(seed=0)
        fits = isinstance(observation, str) and env.observation_space.contains(observation)
        require(fits, f"observed {observation!r}")
        require(isinstance(info, dict), f"info is {info!r}")
        for text in (*ACTIONS, "\x00 ü \U0001f40d\n" * 10):
            require(env.action_space.contains(text), f"{text!r} is no action")
    finally:
        env.close()


def check_rewards_are_numbers(subject: EnvironmentSubject) -> None:
    """A reward is a float, every turn."""
    env = subject.make()
    try:
        for _, reward, *_ in subject.episode(env, 3)[1:]:
            require(isinstance(reward, float), f"the reward is {reward!r}")
    finally:
        env.close()


def check_close_is_idempotent(subject: EnvironmentSubject) -> None:
    """An environment can be closed twice."""
    env = subject.make()
    env.reset(seed=0)
    env.close()
    env.close()

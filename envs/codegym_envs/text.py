"""What environments have in common whose observations and actions are texts about a task.

This file reads from top to bottom: what an episode is, one environment, many environments that judge
together.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import Env
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from codegym.core import Program, Score, Task
from codegym.datasets import load_tasks
from codegym.errors import ConfigError, NotFoundError
from codegym.spaces import Str
from codegym_envs.hooks import EpisodeHooks

__all__ = ["Closing", "Episode", "Step", "TextEnv", "TextVectorEnv", "deck_of", "reward_of"]

Attempt = TypeVar("Attempt")
Step = tuple[str, float, bool, bool, dict[str, Any]]
"""Observation, reward, terminated, truncated, info."""


# An episode


@dataclass(slots=True)
class Episode:
    """One problem, and the turns that were taken on it."""

    task: Task
    index: int
    """Position of the task among the environment's tasks."""
    rng: np.random.Generator
    """For what is drawn in this episode: a function of the seed and of the number of episodes since."""
    candidate: Program | None = None
    """The program that is to be told from a right one; None where there is none."""
    transcript: list[tuple[str, str]] = field(default_factory=list)
    """Who said what, in order: ``policy`` or ``environment``."""
    turns: int = 0
    over: bool = False


class Closing(Protocol):
    """What judges the attempts."""

    def close(self) -> None:
        """End it."""


def deck_of(tasks: str | Iterable[Task]) -> tuple[Task, ...]:
    """Tasks, or those of the dataset of a name."""
    return tuple(load_tasks(tasks) if isinstance(tasks, str) else tasks)


def reward_of(score: Score) -> float:
    """A score as Gymnasium wants it: nan where there is none."""
    return math.nan if score.value is None else score.value


# One environment


class TextEnv(Env[str, str], Generic[Attempt]):
    """An environment whose observations and actions are texts, with a task for each episode.

    Which task an episode is about is a function of the seed and of the number of episodes since: every task
    comes up once before any comes up again. ``reset(options={"task_id": ...})`` or ``{"index": ...}``
    choose one.

    A subclass says what is told first (`opening`), how an attempt begins to be judged (`submit`) and what
    follows from the verdict (`settle`).

    Attributes:
        tasks: The tasks.
        episode: The current episode; None before the first `reset`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}
    OPTIONS: tuple[str, ...] = ("task_id", "index")
    """What `reset` takes."""
    scorer: Closing

    def __init__(
        self,
        tasks: str | Iterable[Task],
        max_turns: int,
        plugins: Sequence[str],
        render_mode: str | None,
        owns_scorer: bool,
    ) -> None:
        """Check what all have in common."""
        self.tasks = deck_of(tasks)
        self._by_id = {task.id: i for i, task in enumerate(self.tasks)}
        if not self.tasks or len(self._by_id) < len(self.tasks):
            raise ConfigError(
                f"tasks must be some, with different ids, got {len(self.tasks)} with {len(self._by_id)} ids"
            )
        if max_turns < 1:
            raise ConfigError(f"max_turns must be at least 1, got {max_turns!r}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(f"render_mode must be None or 'ansi', got {render_mode!r}")
        self.max_turns = max_turns
        self.render_mode = render_mode
        self.hooks = EpisodeHooks(plugins)
        self.observation_space = Str()
        self.action_space = Str()
        self.episode: Episode | None = None
        self._owns_scorer = owns_scorer
        self._seed: int | None = None
        self._episodes = 0

    @abstractmethod
    def opening(self, episode: Episode, options: dict[str, Any]) -> str:
        """What the policy is told first."""

    @abstractmethod
    def submit(self, action: str) -> Attempt:
        """The first half of `step`: begin to judge a completion."""

    @abstractmethod
    def settle(self, attempt: Attempt) -> Step:
        """The second half of `step`: wait for the verdict, and say what follows from it."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Decides the tasks of this and the following episodes. None: they go on as they were to.
            options: ``task_id`` or ``index`` choose this episode's task.

        Returns:
            The prompt, and an info with ``task_id`` and ``index``.

        Raises:
            NotFoundError: There is no task with that id.
            ConfigError: The index is out of range, or there are other options.
        """
        super().reset(seed=seed)
        if seed is not None or self._seed is None:
            self._seed = int(self.np_random.integers(2**63)) if seed is None else seed
            self._episodes = 0
        given = options or {}
        chosen = self._chosen(given)
        index = self._scheduled(self._episodes) if chosen is None else chosen
        rng = np.random.default_rng([self._seed, self._episodes, 1])
        self._episodes += 1
        episode = Episode(self.tasks[index], index, rng)
        text = self.opening(episode, given)
        self.episode = episode
        self.hooks.started(episode.task, seed)
        return self._tell(text), {"task_id": episode.task.id, "index": index}

    def step(self, action: str) -> Step:
        """Judge an attempt.

        Args:
            action: The policy's completion.

        Returns:
            The feedback, the reward, whether the episode terminated or was truncated, and the info; see the
            class.

        Raises:
            gymnasium.error.ResetNeeded: There is no episode, or it is over.
            SandboxError: The sandbox cannot start.
            RewardError: A reward is broken.
        """
        return self.settle(self.submit(action))

    def render(self) -> str | None:
        """The transcript of the episode, in the mode ``ansi``; None in none."""
        if self.render_mode is None:
            return None
        if self.episode is None:
            raise ResetNeeded("there is no episode: call reset() first")
        return "\n".join(f"--- {who} ---\n{text.rstrip()}\n" for who, text in self.episode.transcript)

    def close(self) -> None:
        """End the sandbox, unless it was passed in."""
        if self._owns_scorer:
            self.scorer.close()

    def running(self) -> Episode:
        """The episode.

        Raises:
            gymnasium.error.ResetNeeded: There is none, or it is over.
        """
        if self.episode is None or self.episode.over:
            raise ResetNeeded("there is no episode, or it is over: call reset() first")
        return self.episode

    def _scheduled(self, episode: int) -> int:
        """The index of an episode's task: a position in the deck, which is shuffled anew for each round."""
        round_, position = divmod(episode, len(self.tasks))
        return int(np.random.default_rng([self._seed or 0, round_]).permutation(len(self.tasks))[position])

    def _chosen(self, options: dict[str, Any]) -> int | None:
        """The index of the task that options ask for."""
        if unknown := options.keys() - set(self.OPTIONS):
            raise ConfigError(f"options may be {' or '.join(self.OPTIONS)}, got {sorted(unknown)}")
        if options.keys() >= {"task_id", "index"}:
            raise ConfigError(f"give task_id or index, not both: {options!r}")
        if "task_id" in options:
            if options["task_id"] not in self._by_id:
                raise NotFoundError("task", str(options["task_id"]), self._by_id)
            return self._by_id[options["task_id"]]
        index = options.get("index")
        if index is not None and not 0 <= index < len(self.tasks):
            raise ConfigError(f"index must be from 0 to {len(self.tasks) - 1}, got {index!r}")
        return None if index is None else int(index)

    def _tell(self, text: str) -> str:
        if self.episode is not None:
            self.episode.transcript.append(("environment", text))
        return text

    def _info(self, episode: Episode, score: Score, **more: Any) -> dict[str, Any]:
        return {
            "task_id": episode.task.id,
            "index": episode.index,
            "turn": episode.turns,
            "outcome": score.outcome,
            **more,
            "score": score,
            "components": {
                name: math.nan if value is None else value for name, value in score.components.items()
            },
            "reward_missing": score.value is None,
        }


# Many environments


class TextVectorEnv(VectorEnv[tuple[str, ...], tuple[str, ...], npt.NDArray[Any]], Generic[Attempt]):
    """Many environments that share a scorer, so that a batch is judged in parallel.

    Attributes:
        envs: The environments.
        scorer: Judges and scores the attempts of all.
    """

    def __init__(
        self,
        envs: Sequence[TextEnv[Attempt]],
        scorer: Closing,
        owns_scorer: bool,
        autoreset_mode: AutoresetMode | str,
    ) -> None:
        """Put environments together."""
        if not envs:
            raise ConfigError(f"num_envs must be at least 1, got {len(envs)}")
        self.envs = list(envs)
        self.scorer = scorer
        self._owns_scorer = owns_scorer
        self.num_envs = num_envs = len(self.envs)
        self.render_mode = self.envs[0].render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.envs[0].metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._observations = [""] * num_envs
        self._over = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Begin an episode in all environments, or in those that ``options["reset_mask"]`` marks.

        Args:
            seed: One for each environment; a number stands for itself and those that follow.
            options: As for an environment's own `reset`; a sequence has one value for each environment.

        Returns:
            The prompts, and an info with an array for each key.

        Raises:
            ConfigError: There are not as many seeds or options as environments, or the like.
        """
        each = dict(options or {})
        mask = np.asarray(each.pop("reset_mask", np.ones(self.num_envs, dtype=np.bool_)))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ConfigError(f"reset_mask must mark some of {self.num_envs} environments, got {mask!r}")
        seeds = (
            [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else self._spread("seed", seed)
        )
        spread = {name: self._spread(name, value) for name, value in each.items()}
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(mask).tolist():
            own = {name: values[i] for name, values in spread.items()}
            self._observations[i], info = self.envs[i].reset(seed=seeds[i], options=own)
            infos = self._add_info(infos, info, i)
        self._over[mask] = False
        return tuple(self._observations), infos

    def step(
        self, actions: Sequence[str]
    ) -> tuple[tuple[str, ...], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Grade an attempt in each environment, all at the same time.

        Args:
            actions: A completion for each environment. Where the last step ended the episode, the mode
                ``NEXT_STEP`` ignores it and begins the next episode.

        Returns:
            Observations, rewards, terminated, truncated, and an info with an array for each key. In the
            mode ``SAME_STEP``, ``final_obs`` and ``final_info`` tell how an episode ended whose successor
            has begun.

        Raises:
            ConfigError: There are not as many actions as environments.
            gymnasium.error.ResetNeeded: An episode is over, and the mode is ``DISABLED``.
        """
        if len(actions) != self.num_envs:
            raise ConfigError(f"there must be {self.num_envs} actions, got {len(actions)}")
        fresh = self._over & (self.autoreset_mode == AutoresetMode.NEXT_STEP)
        attempts = [
            None if fresh[i] else env.submit(action)
            for i, (env, action) in enumerate(zip(self.envs, actions, strict=True))
        ]
        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminated = np.zeros(self.num_envs, dtype=np.bool_)
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        infos: dict[str, Any] = {}
        for i, (env, attempt) in enumerate(zip(self.envs, attempts, strict=True)):
            if attempt is None:
                self._observations[i], info = env.reset()
            else:
                self._observations[i], rewards[i], terminated[i], truncated[i], info = env.settle(attempt)
            if (terminated[i] or truncated[i]) and self.autoreset_mode == AutoresetMode.SAME_STEP:
                ended = {"final_obs": self._observations[i], "final_info": info}
                infos = self._add_info(infos, ended, i)
                self._observations[i], info = env.reset()
            infos = self._add_info(infos, info, i)
        self._over = terminated | truncated
        return tuple(self._observations), rewards, terminated, truncated, infos

    def render(self) -> tuple[str, ...] | None:
        """The transcript of each episode, in the mode ``ansi``; None in none."""
        return None if self.render_mode is None else tuple(str(env.render()) for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """End the sandbox, unless it was passed in."""
        if self._owns_scorer:
            self.scorer.close()

    def _spread(self, name: str, value: Any) -> list[Any]:
        """A value for each environment."""
        if not isinstance(value, (list, tuple, np.ndarray)):
            return [value] * self.num_envs
        if len(value) != self.num_envs:
            raise ConfigError(f"{name} must have {self.num_envs} values, got {len(value)}")
        return list(value)

"""Writing code: the policy is shown a problem, answers with a completion, and may try again after feedback.

This file reads from top to bottom: what an episode is, one environment, many environments that grade
together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium import Env
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from codegym.core import REFERENCE, Outcome, Program, Score, Status, Task, TestCase, TestResult
from codegym.datasets import load_tasks
from codegym.errors import ConfigError, NotFoundError
from codegym.grading import source
from codegym.rewards import Scorer
from codegym.rewards.composition import RewardsLike
from codegym.sandbox import Sandbox
from codegym.spaces import Str
from codegym_envs.hooks import EpisodeHooks

__all__ = ["SolverEnv", "SolverVectorEnv"]

SHOWN_FAILURES: Final = 3
"""Public tests that a feedback tells about."""
SHOWN_CHARS: Final = 300
"""Characters of each value in a feedback."""


# An episode


@dataclass(slots=True)
class Episode:
    """One problem, and the turns that were taken on it."""

    task: Task
    index: int
    """Position of the task among the environment's tasks."""
    transcript: list[tuple[str, str]] = field(default_factory=list)
    """Who said what, in order: ``policy`` or ``environment``."""
    turns: int = 0
    over: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """A completion whose program is being graded."""

    completion: str
    program: Program | None
    outcome: Future[Outcome]


Step = tuple[str, float, bool, bool, dict[str, Any]]
"""Observation, reward, terminated, truncated, info."""


def prompt_of(task: Task) -> str:
    """What the policy is told first: the prompt, and the starter code unless that is part of it."""
    if not task.starter_code.strip() or task.starter_code.strip() in task.prompt:
        return task.prompt
    return (
        f"{task.prompt.rstrip()}\n\nStart from this code:\n\n```python\n{task.starter_code.rstrip()}\n```\n"
    )


def feedback_on(task: Task, program: Program | None, outcome: Outcome) -> str:
    """What the policy is told after an attempt that failed.

    Public tests are told with what went wrong. Of hidden ones nothing is told but that there was a failure,
    and of which kind: a program could put what it is asked into its messages.
    """
    if program is None:
        return "There was no program in your answer. Answer with one fenced Python block."
    if outcome.status == Status.INVALID:
        return f"Your program is {_why_invalid(program)}."
    failures = [test for test in outcome.tests if test.status not in (Status.PASSED, Status.SKIPPED)]
    public = [test for test in failures if test.index < len(task.public_tests)]
    if public:
        lines = [_told(task.public_tests[test.index], test, task) for test in public[:SHOWN_FAILURES]]
        return "\n".join(
            [f"Your program fails {len(public)} of {len(task.public_tests)} public tests:", *lines]
        )
    kinds = ", ".join(dict.fromkeys(str(test.status) for test in failures)) or str(outcome.status)
    passed = "passes the public tests, but " if task.public_tests else ""
    return f"Your program {passed}fails a hidden test ({kinds})."


def _told(test: TestCase, result: TestResult, task: Task) -> str:
    """One failure of a public test, in a line or two."""
    asked, wanted = f"`{_shortened(test.source.strip())}`", ""
    if test.style == "stdio":
        asked = f"on the input {_shortened(repr(test.stdin))}"
    elif test.style == "call":
        arguments = [*map(repr, test.args), *(f"{name}={value!r}" for name, value in test.kwargs.items())]
        asked = f"`{_shortened(str(task.entry_point) + '(' + ', '.join(arguments) + ')')}`"
    if test.style != "code" and test.expected is not REFERENCE:
        wanted = f", expected {_shortened(repr(test.expected))}"
    why = f": {_shortened(result.message)}" if result.message else ""
    return f"- {asked}{wanted}: {result.status}{why}"


def _why_invalid(program: Program) -> str:
    try:
        source.parse(program.code)
    except SyntaxError as error:
        return f"not valid Python: line {error.lineno}: {error.msg}"
    return "not valid Python"


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 3] + "..."


# One environment


class SolverEnv(Env[str, str]):
    """Solve a problem with a Python program.

    - **Observation**: a text, first the prompt, then feedback on the last attempt.
    - **Action**: a text, the policy's completion; `codegym.grading.extract_code` finds the program in it.
    - **Reward**: 0 as long as the episode goes on, and at its end the score of the last attempt. nan when the
      attempt could not be judged through no fault of the policy: there is no reward then, and
      ``info["reward_missing"]`` says so. Leave such an episode out of the batch.
    - **Terminated**: all tests passed, or the turns are used up.
    - **Truncated**: the attempt could not be judged.
    - **Info**, after `reset`: ``task_id``, ``index`` (of the task). After `step` also ``turn`` (1 for the
      first), ``outcome``, ``score``, ``components`` (each reward's own value, nan where it did not apply) and
      ``reward_missing``.

    Which task an episode is about is a function of the seed and of the number of episodes since: every task
    comes up once before any comes up again. ``reset(options={"task_id": ...})`` or ``{"index": ...}``
    choose one.

    Attributes:
        tasks: The tasks.
        scorer: Grades and scores the attempts.
        episode: The current episode; None before the first `reset`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        tasks: str | Iterable[Task],
        rewards: RewardsLike = "all_passed",
        sandbox: str | Sandbox = "local",
        *,
        workers: int | None = None,
        max_turns: int = 1,
        plugins: Sequence[str] = (),
        scorer: Scorer | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environment; the sandbox starts when the first program is graded.

        Args:
            tasks: Tasks, or the name of a dataset.
            rewards: What an attempt is worth; see `codegym.rewards`.
            sandbox: Where programs run: a registered name, or a sandbox, which stays the caller's to close.
            workers: Programs that run at one time, where several environments share a scorer.
            max_turns: Attempts in an episode.
            plugins: The plugins whose episode hooks are called, by name.
            scorer: Used in place of one made from `rewards`, `sandbox` and `workers`; stays the caller's to
                close.
            render_mode: ``ansi``: `render` returns the transcript of the episode.

        Raises:
            ConfigError: There is no task, two have one id, or another argument makes no sense.
            NotFoundError: There is no dataset, reward, sandbox or plugin of a name.
        """
        self.tasks = tuple(load_tasks(tasks) if isinstance(tasks, str) else tasks)
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
        self.scorer = Scorer(rewards, sandbox, workers) if scorer is None else scorer
        self._owns_scorer = scorer is None
        self.hooks = EpisodeHooks(plugins)
        self.observation_space = Str()
        self.action_space = Str()
        self.episode: Episode | None = None
        self._seed: int | None = None
        self._episodes = 0

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
        chosen = self._chosen(options or {})
        index = self._scheduled(self._episodes) if chosen is None else chosen
        self._episodes += 1
        self.episode = Episode(self.tasks[index], index)
        self.hooks.started(self.episode.task, seed)
        return self._tell(prompt_of(self.episode.task)), {"task_id": self.episode.task.id, "index": index}

    def step(self, action: str) -> Step:
        """Grade an attempt.

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

    def submit(self, action: str) -> Attempt:
        """The first half of `step`: find the program, and begin to grade it."""
        if self.episode is None or self.episode.over:
            raise ResetNeeded("there is no episode, or it is over: call reset() first")
        task = self.episode.task
        program = self.hooks.extract(action, task) or self.scorer.extract(action, task)
        verdict = None if program is None else self.hooks.execute(task, program)
        if verdict is None:
            return Attempt(action, program, self.scorer.submit(program, task))
        known: Future[Outcome] = Future()
        known.set_result(verdict)
        return Attempt(action, program, known)

    def settle(self, attempt: Attempt) -> Step:
        """The second half of `step`: wait for the verdict, and say what follows from it."""
        if self.episode is None:
            raise ResetNeeded("there is no episode: call reset() first")
        episode, outcome = self.episode, attempt.outcome.result()
        score = self.scorer.judge(attempt.completion, episode.task, attempt.program, outcome)
        episode.transcript.append(("policy", attempt.completion))
        episode.turns += 1
        truncated = outcome.status == Status.INFRA
        terminated = not truncated and (outcome.passed or episode.turns >= self.max_turns)
        episode.over = terminated or truncated
        if truncated:
            text = "Your program could not be judged; this is not its fault."
        elif outcome.passed:
            text = "Your program passes all tests."
        else:
            text = feedback_on(episode.task, attempt.program, outcome)
        reward = _reward(score) if episode.over else 0.0
        if episode.over:
            self.hooks.finished(episode.task, outcome, score.value)
        return self._tell(text), reward, terminated, truncated, self._info(episode, score)

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

    def _scheduled(self, episode: int) -> int:
        """The index of an episode's task: a position in the deck, which is shuffled anew for each round."""
        round_, position = divmod(episode, len(self.tasks))
        return int(np.random.default_rng([self._seed or 0, round_]).permutation(len(self.tasks))[position])

    def _chosen(self, options: dict[str, Any]) -> int | None:
        """The index of the task that options ask for."""
        if unknown := options.keys() - {"task_id", "index"}:
            raise ConfigError(f"options may be task_id or index, got {sorted(unknown)}")
        if len(options) > 1:
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

    def _info(self, episode: Episode, score: Score) -> dict[str, Any]:
        return {
            "task_id": episode.task.id,
            "index": episode.index,
            "turn": episode.turns,
            "outcome": score.outcome,
            "score": score,
            "components": {
                name: math.nan if value is None else value for name, value in score.components.items()
            },
            "reward_missing": score.value is None,
        }


def _reward(score: Score) -> float:
    return math.nan if score.value is None else score.value


# Many environments


class SolverVectorEnv(VectorEnv[tuple[str, ...], tuple[str, ...], npt.NDArray[Any]]):
    """Many solver environments that share a scorer, so that a batch is graded in parallel.

    Attributes:
        envs: The environments.
        scorer: Grades and scores the attempts of all.
    """

    def __init__(
        self,
        tasks: str | Iterable[Task],
        rewards: RewardsLike = "all_passed",
        sandbox: str | Sandbox = "local",
        *,
        num_envs: int = 1,
        workers: int | None = None,
        max_turns: int = 1,
        plugins: Sequence[str] = (),
        scorer: Scorer | None = None,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        """Make the environments.

        Args:
            tasks: As for `SolverEnv`, and so are the arguments not named here.
            rewards: What an attempt is worth.
            sandbox: Where programs run.
            num_envs: How many environments there are.
            workers: Programs that run at one time.
            max_turns: Attempts in an episode.
            plugins: The plugins whose episode hooks are called.
            scorer: Used in place of one made from `rewards`, `sandbox` and `workers`.
            render_mode: ``ansi`` or None.
            autoreset_mode: When an environment whose episode is over begins the next one.

        Raises:
            ConfigError: An argument makes no sense.
            NotFoundError: There is no dataset, reward, sandbox or plugin of a name.
        """
        if num_envs < 1:
            raise ConfigError(f"num_envs must be at least 1, got {num_envs!r}")
        self.scorer = Scorer(rewards, sandbox, workers) if scorer is None else scorer
        self._owns_scorer = scorer is None
        deck = tuple(load_tasks(tasks) if isinstance(tasks, str) else tasks)
        self.envs = [
            SolverEnv(deck, scorer=self.scorer, max_turns=max_turns, plugins=plugins, render_mode=render_mode)
            for _ in range(num_envs)
        ]
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**SolverEnv.metadata, "autoreset_mode": self.autoreset_mode}
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
            options: As for `SolverEnv.reset`; a sequence has one value for each environment.

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

"""Writing tests: the policy is shown a problem, answers with tests, and may try again after feedback.

This file reads from top to bottom: where candidates come from, one environment, many environments that judge
together. What is told is in `codegym_envs.verifier.telling`; what environments share in `codegym_envs.text`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from codegym.core import Program, Task
from codegym.errors import ConfigError
from codegym.rewards import SuiteScorer
from codegym.rewards.composition import RewardsLike
from codegym.sandbox import Sandbox
from codegym.testquality import SuiteOutcome
from codegym.testquality.written import FORMS, Form
from codegym_envs.text import Episode, Step, TextEnv, TextVectorEnv, deck_of, reward_of
from codegym_envs.verifier.telling import SHOWN, feedback_on, prompt_of

__all__ = ["VerifierEnv", "VerifierVectorEnv"]

TEST_KINDS: Final = ("basic", "edge case", "corner case", "performance")
"""The kinds of tests that TCS asks for, one drawn for each episode (2609.03955)."""


# Where candidates come from

Candidates = Literal["wrong", "none"] | Callable[[Task, np.random.Generator], Program | None]
"""``wrong``: one of the task's known wrong solutions, where it has any. ``none``: there is none. A function
draws one: from a buffer, say, or from a policy.
"""


def drawn(candidates: Candidates, episode: Episode) -> Program | None:
    """The candidate of an episode."""
    if callable(candidates):
        return candidates(episode.task, episode.rng)
    known = episode.task.wrong_solutions if candidates == "wrong" else ()
    return Program(known[int(episode.rng.integers(len(known)))]) if known else None


@dataclass(frozen=True, slots=True)
class Attempt:
    """A completion whose suite is being judged."""

    completion: str
    suite: Future[SuiteOutcome]


def is_done(suite: SuiteOutcome) -> bool:
    """Whether a suite leaves nothing to do that is known."""
    fooled = suite.candidate is not None and suite.candidate.passed
    return suite.sound and not fooled and not suite.survivors


# One environment


class VerifierEnv(TextEnv[Attempt]):
    """Write tests for a problem.

    - **Observation**: a text, first the problem and how tests are to be written, then feedback on the last
      attempt.
    - **Action**: a text, the policy's completion; `codegym.testquality.read_suite` finds the tests in it.
    - **Reward**: 0 as long as the episode goes on, and at its end the score of the last attempt. nan when
      there is no reward, which ``info["reward_missing"]`` says; leave such an episode out of the batch.
    - **Terminated**: the tests are right, the candidate fails one, and they miss no mutant that can be
      killed; or the turns are used up.
    - **Truncated**: the attempt could not be judged, through no fault of the policy.
    - **Info**, after `reset`: ``task_id``, ``index`` (of the task). After `step` also ``turn`` (1 for the
      first), ``suite`` (the `codegym.testquality.SuiteOutcome`), ``outcome`` (what became of its tests on the
      reference), ``score``, ``components`` and ``reward_missing``.

    ``reset(options={"candidate": …})`` puts a program, or its code, in the place of one that is drawn; tasks
    are chosen as in every `codegym_envs.text.TextEnv`.

    Attributes:
        tasks: The tasks; each has a reference solution.
        scorer: Judges and scores the attempts.
        episode: The current episode; None before the first `reset`.
    """

    OPTIONS = ("task_id", "index", "candidate")
    scorer: SuiteScorer

    def __init__(
        self,
        tasks: str | Iterable[Task],
        rewards: RewardsLike = "validity",
        sandbox: str | Sandbox = "local",
        *,
        form: Form = "asserts",
        k: int | None = None,
        candidates: Candidates = "wrong",
        show: Collection[str] = ("public_tests",),
        kinds: Sequence[str] = (),
        workers: int | None = None,
        max_turns: int = 1,
        plugins: Sequence[str] = (),
        scorer: SuiteScorer | None = None,
        render_mode: str | None = None,
        **judging: Any,
    ) -> None:
        """Make the environment; the sandbox starts when the first suite is judged.

        Args:
            tasks: Tasks, or the name of a dataset.
            rewards: What an attempt is worth; see `codegym.rewards`.
            sandbox: Where programs and tests run: a registered name, or a sandbox with pytest inside, which
                stays the caller's to close.
            form: How tests are written: ``json``, ``asserts`` or ``module``; see
                `codegym.testquality.read_suite`.
            k: How many tests are asked for. None: any number.
            candidates: The program that tests are to tell from a right one: ``wrong``, ``none``, or a
                function of a task and a generator of random numbers.
            show: What the policy sees besides the problem: ``public_tests``, ``candidate`` (white box),
                ``reference`` (the source under test).
            kinds: Of which one is asked for in each episode, such as `TEST_KINDS`. Empty: any.
            workers: Suites that are judged at one time, where several environments share a scorer.
            max_turns: Attempts in an episode; each is a whole suite, and the last one counts.
            plugins: The plugins whose episode hooks are called, by name.
            scorer: Used in place of one made from `rewards`, `sandbox`, `form`, `k` and `workers`; stays the
                caller's to close.
            render_mode: ``ansi``: `render` returns the transcript of the episode.
            **judging: What `codegym.testquality.SuiteJudge` takes besides: ``measures``, ``mutants``, and so
                on.

        Raises:
            ConfigError: A task has no reference solution or does not fit the form, or another argument makes
                no sense.
            NotFoundError: There is no dataset, reward, sandbox or plugin of a name.
        """
        super().__init__(tasks, max_turns, plugins, render_mode, owns_scorer=scorer is None)
        self.form, self.k = form, k
        if scorer is not None:
            self.form, self.k = scorer.judge.form, scorer.judge.k
        self.candidates, self.show, self.kinds = candidates, frozenset(show), tuple(kinds)
        self._check()
        if scorer is None:
            scorer = SuiteScorer(rewards, sandbox, form=form, k=k, workers=workers, **judging)
        self.scorer = scorer

    def _check(self) -> None:
        """Say which argument makes no sense."""
        if self.form not in FORMS:
            raise ConfigError(f"form must be one of {', '.join(FORMS)}, got {self.form!r}")
        if unknown := sorted(self.show - set(SHOWN)):
            raise ConfigError(f"show may name {', '.join(SHOWN)}, got {unknown[0]!r}")
        if not (callable(self.candidates) or self.candidates in ("wrong", "none")):
            raise ConfigError(f"candidates must be 'wrong', 'none' or a function, got {self.candidates!r}")
        for task in self.tasks:
            if not task.reference_solutions:
                raise ConfigError(
                    f"task {task.id!r} has no reference solution, so no test can be judged by it"
                )
            if task.entry_point is None and self.form != "json":
                raise ConfigError(f"task {task.id!r} is a program; its tests are written in the form 'json'")

    def opening(self, episode: Episode, options: dict[str, Any]) -> str:
        """The problem, and how tests are to be written."""
        given = options.get("candidate")
        if not (given is None or isinstance(given, (str, Program))):
            raise ConfigError(f"candidate must be a Program or its code, got {given!r:.200}")
        kind = self.kinds[int(episode.rng.integers(len(self.kinds)))] if self.kinds else ""
        if given is None:
            episode.candidate = drawn(self.candidates, episode)
        else:
            episode.candidate = Program(given) if isinstance(given, str) else given
        return prompt_of(episode.task, self.form, self.k, episode.candidate, self.show, kind)

    def submit(self, action: str) -> Attempt:
        """The first half of `step`: begin to judge the suite."""
        episode = self.running()
        return Attempt(action, self.scorer.submit(action, episode.task, episode.candidate))

    def settle(self, attempt: Attempt) -> Step:
        """The second half of `step`: wait for the verdict, and say what follows from it."""
        if self.episode is None:
            raise ResetNeeded("there is no episode: call reset() first")
        episode, suite = self.episode, attempt.suite.result()
        score = self.scorer.worth(attempt.completion, episode.task, suite)
        episode.transcript.append(("policy", attempt.completion))
        episode.turns += 1
        truncated = bool(suite.infra)
        terminated = not truncated and (is_done(suite) or episode.turns >= self.max_turns)
        episode.over = terminated or truncated
        if episode.over:
            self.hooks.finished(episode.task, suite.verdict, score.value)
        info = self._info(episode, score) | {"outcome": suite.verdict, "suite": suite}
        text = self._tell(feedback_on(suite, episode.task, self.show))
        return text, reward_of(score) if episode.over else 0.0, terminated, truncated, info


# Many environments


class VerifierVectorEnv(TextVectorEnv[Attempt]):
    """Many verifier environments that share a scorer, so that a batch is judged in parallel.

    Attributes:
        envs: The environments.
        scorer: Judges and scores the attempts of all.
    """

    def __init__(
        self,
        tasks: str | Iterable[Task],
        rewards: RewardsLike = "validity",
        sandbox: str | Sandbox = "local",
        *,
        num_envs: int = 1,
        form: Form = "asserts",
        k: int | None = None,
        workers: int | None = None,
        scorer: SuiteScorer | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        candidates: Candidates = "wrong",
        show: Collection[str] = ("public_tests",),
        kinds: Sequence[str] = (),
        max_turns: int = 1,
        plugins: Sequence[str] = (),
        render_mode: str | None = None,
        **judging: Any,
    ) -> None:
        """Make the environments.

        Args:
            tasks: As for `VerifierEnv`, and so are the arguments not named here.
            rewards: What an attempt is worth.
            sandbox: Where programs and tests run.
            num_envs: How many environments there are.
            form: How tests are written.
            k: How many tests are asked for.
            workers: Suites that are judged at one time.
            scorer: Used in place of one made from these.
            autoreset_mode: When an environment whose episode is over begins the next one.
            candidates: The program that tests are to tell from a right one.
            show: What the policy sees besides the problem.
            kinds: Of which one is asked for in each episode.
            max_turns: Attempts in an episode.
            plugins: The plugins whose episode hooks are called.
            render_mode: ``ansi`` or None.
            **judging: What a `codegym.testquality.SuiteJudge` takes besides.

        Raises:
            ConfigError: An argument makes no sense.
            NotFoundError: There is no dataset, reward, sandbox or plugin of a name.
        """
        deck, owns_scorer = deck_of(tasks), scorer is None
        if scorer is None:
            scorer = SuiteScorer(rewards, sandbox, form=form, k=k, workers=workers, **judging)
        envs = [
            VerifierEnv(
                deck,
                scorer=scorer,
                candidates=candidates,
                show=show,
                kinds=kinds,
                max_turns=max_turns,
                plugins=plugins,
                render_mode=render_mode,
            )
            for _ in range(num_envs)
        ]
        super().__init__(envs, scorer, owns_scorer, autoreset_mode)

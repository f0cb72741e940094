"""Writing code: the policy is shown a problem, answers with a completion, and may try again after feedback.

This file reads from top to bottom: what is told, one environment, many environments that grade together.
What they share with others is in `codegym_envs.text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from codegym.core import REFERENCE, Outcome, Program, Status, Task, TestCase, TestResult
from codegym.grading import source
from codegym.rewards import Scorer
from codegym.rewards.composition import RewardsLike
from codegym.sandbox import Sandbox
from codegym_envs.text import Episode, Step, TextEnv, TextVectorEnv, deck_of, reward_of

__all__ = ["SolverEnv", "SolverVectorEnv"]

SHOWN_FAILURES: Final = 3
"""Public tests that a feedback tells about."""
SHOWN_CHARS: Final = 300
"""Characters of each value in a feedback."""


# What is told


@dataclass(frozen=True, slots=True)
class Attempt:
    """A completion whose program is being graded."""

    completion: str
    program: Program | None
    outcome: Future[Outcome]


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


class SolverEnv(TextEnv[Attempt]):
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

    scorer: Scorer

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
        super().__init__(tasks, max_turns, plugins, render_mode, owns_scorer=scorer is None)
        self.scorer = Scorer(rewards, sandbox, workers) if scorer is None else scorer

    def opening(self, episode: Episode, options: dict[str, Any]) -> str:
        """The prompt."""
        return prompt_of(episode.task)

    def submit(self, action: str) -> Attempt:
        """The first half of `step`: find the program, and begin to grade it."""
        task = self.running().task
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
        reward = reward_of(score) if episode.over else 0.0
        if episode.over:
            self.hooks.finished(episode.task, outcome, score.value)
        return self._tell(text), reward, terminated, truncated, self._info(episode, score)


# Many environments


class SolverVectorEnv(TextVectorEnv[Attempt]):
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
        deck, owns_scorer = deck_of(tasks), scorer is None
        scorer = Scorer(rewards, sandbox, workers) if scorer is None else scorer
        envs = [
            SolverEnv(deck, scorer=scorer, max_turns=max_turns, plugins=plugins, render_mode=render_mode)
            for _ in range(num_envs)
        ]
        super().__init__(envs, scorer, owns_scorer, autoreset_mode)

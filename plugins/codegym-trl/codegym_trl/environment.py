"""A multi-turn environment for TRL's ``environment_factory``.

The policy submits code, reads what failed, and submits again.

TRL makes a tool of every public method that an environment has, so this is a facade with one:
`CodeEnvironment.submit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from codegym.core import Score, Status, Task, TestCase, TestResult
from codegym.errors import ConfigError
from codegym.rewards import Scorer
from codegym_trl.columns import task_of_columns, tasks_by_id

__all__ = ["CodeEnvironment", "EnvironmentFactory"]


class EnvironmentFactory:
    """Makes environments for TRL: ``GRPOTrainer(environment_factory=EnvironmentFactory(...), ...)``.

    Picklable. All environments of a process share one sandbox.
    """

    def __init__(
        self,
        rewards: Any = "all_passed",
        *,
        submissions: int = 3,
        tasks: Mapping[str, Task] | Iterable[Task] | None = None,
        sandbox: Any = "local",
        workers: int | None = None,
    ) -> None:
        """Say what counts.

        Args:
            rewards: A reward's name, several, or a mapping from name to weight; see `codegym.rewards.Scorer`.
            submissions: How many the policy has; the last one counts.
            tasks: What the column ``task_id`` refers to. None: the dataset's column ``task`` holds the tasks
                themselves.
            sandbox: Where programs run.
            workers: How many at a time. None: as the sandbox sees fit.

        Raises:
            ConfigError: There are no submissions.
            NotFoundError: A reward or sandbox of that name does not exist.
        """
        if submissions < 1:
            raise ConfigError(f"an episode needs at least one submission, got {submissions!r}")
        self.scorer = Scorer(rewards, sandbox=sandbox, workers=workers)
        self.submissions = submissions
        self.tasks = tasks_by_id(tasks)

    def __call__(self) -> CodeEnvironment:
        """One environment; TRL keeps it and resets it for each rollout."""
        return CodeEnvironment(self.scorer, self.submissions, self.tasks)

    def close(self) -> None:
        """End the sandbox of this process."""
        self.scorer.close()


class CodeEnvironment:
    """One rollout at a time; see `EnvironmentFactory`."""

    def __init__(self, scorer: Scorer, submissions: int, tasks: Mapping[str, Task] | None = None) -> None:
        """Wait for the first `reset`."""
        self._scorer = scorer
        self._submissions = submissions
        self._tasks = tasks
        self._task: Task | None = None
        self._left = 0
        self._score: Score | None = None

    def reset(self, **columns: Any) -> str | None:
        """Begin a rollout.

        Args:
            **columns: The dataset's columns; they say which task it is.

        Returns:
            What to add to the prompt: how to submit.

        Raises:
            DataError: The columns do not say which task it is.
        """
        self._task = task_of_columns(columns, self._tasks)
        self._left, self._score = self._submissions, None
        return (
            f"\n\nCall the tool `submit` with your code. You may submit {self._submissions} times; "
            "the last one counts."
        )

    def submit(self, code: str) -> str:
        """Run your program on the tests and get feedback.

        Args:
            code: The complete Python source code of your solution.

        Returns:
            Which tests failed and why, and how many submissions are left.
        """
        if self._task is None:
            raise ConfigError("submit was called before reset")
        if self._left == 0:
            return "No submissions are left. The last one counts."
        self._left -= 1
        [self._score] = self._scorer.score([code], [self._task])
        return f"{_feedback(self._task, self._score)}\nSubmissions left: {self._left}."

    def get_reward(self) -> float | None:
        """What the last submission is worth; 0 without one, None where it could not be judged."""
        return 0.0 if self._score is None else self._score.value


def _feedback(task: Task, score: Score) -> str:
    """What the policy may know: all about public tests; without any, the verdict."""
    outcome = score.outcome
    if outcome is None or outcome.status == Status.INFRA:
        return "The program could not be judged; this is not its fault."
    if outcome.status == Status.INVALID or not task.public_tests:
        return f"Verdict: {outcome.status.value}. {outcome.message}".rstrip()
    shown = list(zip(task.public_tests, outcome.tests, strict=False))
    failed = [_describe(task, test, result) for test, result in shown if result.status != Status.PASSED]
    if not failed:
        return f"All {len(shown)} example tests passed."
    return "\n".join([f"{len(failed)} of {len(shown)} example tests failed:", *failed])


def _describe(task: Task, test: TestCase, result: TestResult) -> str:
    what = {"call": _call(task, test), "stdio": f"input {test.stdin!r}", "code": test.source.strip()}[
        test.style
    ]
    return f"- {what}: {result.status.value}. {result.message}".rstrip()


def _call(task: Task, test: TestCase) -> str:
    arguments = [*map(repr, test.args), *(f"{name}={value!r}" for name, value in test.kwargs.items())]
    return f"{task.entry_point}({', '.join(arguments)})"

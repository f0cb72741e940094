"""From a completion that holds tests to a score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Self

from codegym.core import Program, Score, Task
from codegym.errors import ConfigError
from codegym.rewards.composition import Reward, RewardsLike, combined, resolve_rewards
from codegym.sandbox import Sandbox
from codegym.testquality.suites import MEASURES, SuiteJudge, SuiteOutcome
from codegym.testquality.written import Form

__all__ = ["SuiteScorer"]


class SuiteScorer:
    """Judges suites in completions, and says what they are worth: for tests what `Scorer` is for programs.

    Attributes:
        rewards: The rewards, as they were resolved.
        judge: Judges the suites.
    """

    def __init__(
        self,
        rewards: RewardsLike = "validity",
        sandbox: str | Sandbox = "local",
        *,
        form: Form = "asserts",
        k: int | None = None,
        measures: Iterable[str] = MEASURES,
        workers: int | None = None,
        **options: Any,
    ) -> None:
        """Prepare to score; nothing is started yet.

        Args:
            rewards: A registered name, a ``"module:attr"`` string, a function, a sequence of these, or a
                mapping from these to weights.
            sandbox: See `SuiteJudge`.
            form: See `SuiteJudge`.
            k: See `SuiteJudge`.
            measures: See `SuiteJudge`.
            workers: See `SuiteJudge`.
            **options: What the judge takes besides.

        Raises:
            NotFoundError: No plugin registered a name.
            ConfigError: A reward wants an unknown argument, or the like.
        """
        self.rewards: tuple[Reward, ...] = resolve_rewards(rewards)
        self.judge = SuiteJudge(sandbox, form=form, k=k, measures=measures, workers=workers, **options)

    def submit(self, completion: str, task: Task, candidate: Program | None = None) -> Future[SuiteOutcome]:
        """Judge a suite in the background."""
        return self.judge.submit(completion, task, candidate)

    def worth(self, completion: str, task: Task, suite: SuiteOutcome) -> Score:
        """Call the rewards for a suite that has been judged.

        Returns:
            The score. Its value is None after infrastructure trouble, and where no reward applied.

        Raises:
            RewardError: A reward raised, or returned something else than a number in its range or None.
        """
        evidence = {
            "completion": completion,
            "task": task,
            "program": None,
            "outcome": suite.candidate,
            "suite": suite,
        }
        value, components = combined(self.rewards, evidence, "suite" if suite.infra else None)
        return Score(value=value, components=components, outcome=suite.candidate)

    def score(
        self,
        completions: Sequence[str],
        tasks: Sequence[Task],
        candidates: Sequence[Program | None] | None = None,
    ) -> list[Score]:
        """Score a batch, in parallel.

        Args:
            completions: What the policy wrote.
            tasks: The task of each.
            candidates: The program that the policy was shown with each. None: it was shown none.

        Returns:
            A score for each completion. One whose `value` is None is no reward: leave that sample out.

        Raises:
            ConfigError: There are not as many tasks or candidates as completions.
            RewardError: A reward is broken.
            SandboxError: The sandbox cannot start.
        """
        shown = [None] * len(completions) if candidates is None else candidates
        if not len(completions) == len(tasks) == len(shown):
            raise ConfigError(
                f"each completion needs a task and a candidate or None, got {len(completions)}, {len(tasks)} "
                f"and {len(shown)}"
            )
        futures = [self.submit(*each) for each in zip(completions, tasks, shown, strict=True)]
        return [
            self.worth(completion, task, future.result())
            for completion, task, future in zip(completions, tasks, futures, strict=True)
        ]

    def close(self) -> None:
        """Close the judge."""
        self.judge.close()

    def __enter__(self) -> Self:
        """Nothing to do: the sandbox starts when needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

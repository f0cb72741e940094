"""codegym's rewards as a TRL reward function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from codegym.core import Score, Task
from codegym.rewards import Scorer
from codegym_trl.columns import completion_text, tasks_by_id, tasks_of_batch

__all__ = ["TRLReward"]

Completion = str | Sequence[Mapping[str, Any]]


class TRLReward:
    """A reward function for any TRL trainer, worth what codegym's rewards are worth.

    Picklable; the sandbox starts on first use, once in each process. Where a sample could not be judged
    through no fault of its own, its reward is None: TRL leaves it out of the group.

    Attributes:
        scorer: What judges.
        __name__: TRL calls its metrics after it: ``rewards/NAME/mean``.
    """

    def __init__(
        self,
        rewards: Any = "all_passed",
        *,
        tasks: Mapping[str, Task] | Iterable[Task] | None = None,
        sandbox: Any = "local",
        workers: int | None = None,
        name: str = "codegym",
        scorer: Scorer | None = None,
    ) -> None:
        """Say what counts.

        Args:
            rewards: A reward's name, several, or a mapping from name to weight; see `codegym.rewards.Scorer`.
            tasks: What the column ``task_id`` refers to. None: the dataset's column ``task`` holds the tasks
                themselves.
            sandbox: Where programs run.
            workers: How many at a time. None: as the sandbox sees fit.
            name: What TRL calls it.
            scorer: In place of `rewards`, `sandbox` and `workers`: a scorer that is shared.

        Raises:
            NotFoundError: A reward or sandbox of that name does not exist.
        """
        self.scorer = scorer or Scorer(rewards, sandbox=sandbox, workers=workers)
        self.tasks = tasks_by_id(tasks)
        self.__name__ = name

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Completion],
        completion_ids: Sequence[Sequence[int]],
        **kwargs: Any,
    ) -> list[float | None]:
        """Judge a batch; TRL calls this.

        Args:
            prompts: The prompts; looked at only where tasks come in the columns of the canonical row.
            completions: Texts, or lists of messages.
            completion_ids: Not looked at.
            **kwargs: The dataset's other columns, and TRL's ``log_metric`` and ``log_extra``.

        Returns:
            A reward for each completion; None where there is none.

        Raises:
            DataError: The columns do not say which tasks they are.
            RewardError: A reward function raised.
        """
        texts, tasks = self._read(prompts, completions, kwargs)
        return self._finish(prompts, texts, tasks, self.scorer.score(texts, tasks), kwargs)

    def as_async(self) -> Callable[..., Any]:
        """The same reward as a coroutine function, which TRL gathers with other asynchronous rewards.

        Returns:
            A picklable callable for which `inspect.iscoroutinefunction` holds.
        """
        function = functools.partial(codegym, self)
        function.__name__ = self.__name__  # type: ignore[attr-defined]
        return function

    def close(self) -> None:
        """End the sandbox of this process. It would start again on the next use."""
        self.scorer.close()

    def __enter__(self) -> Self:
        """Nothing to do: the sandbox starts on first use."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def scored(
        self,
        prompts: Sequence[Any],
        texts: Sequence[str],
        tasks: Sequence[Task],
        scores: Sequence[Score],
        step: int,
    ) -> None:
        """Called with every batch after it was judged; for subclasses that record samples."""

    def _read(
        self, prompts: Sequence[Any], completions: Sequence[Completion], columns: Mapping[str, Any]
    ) -> tuple[list[str], list[Task]]:
        texts = [completion_text(completion) for completion in completions]
        return texts, tasks_of_batch({**columns, "prompt": prompts}, len(texts), self.tasks)

    def _finish(
        self,
        prompts: Sequence[Any],
        texts: Sequence[str],
        tasks: Sequence[Task],
        scores: Sequence[Score],
        kwargs: Mapping[str, Any],
    ) -> list[float | None]:
        if "log_metric" in kwargs:
            log_means(kwargs["log_metric"], self.__name__, scores)
        if "log_extra" in kwargs:
            log_samples(kwargs["log_extra"], self.__name__, scores)
        state = kwargs.get("trainer_state")
        self.scored(prompts, texts, tasks, scores, 0 if state is None else state.global_step)
        return [score.value for score in scores]


async def codegym(
    reward: TRLReward,
    prompts: Sequence[Any],
    completions: Sequence[Completion],
    completion_ids: Sequence[Sequence[int]],
    **kwargs: Any,
) -> list[float | None]:
    """`TRLReward.__call__`, asynchronous.

    TRL takes this function's name for the metrics of `TRLReward.as_async`.
    """
    texts, tasks = reward._read(prompts, completions, kwargs)
    return reward._finish(prompts, texts, tasks, await reward.scorer.ascore(texts, tasks), kwargs)


def log_means(log_metric: Callable[[str, float], None], name: str, scores: Sequence[Score]) -> None:
    """Log each component's mean, where it applied, and the share of samples that could not be judged."""
    for component in component_names(scores):
        values = [value for score in scores if (value := score.components.get(component)) is not None]
        if values:
            log_metric(f"{name}/{component}", sum(values) / len(values))
    if scores:
        log_metric(f"{name}/not_judged", sum(score.value is None for score in scores) / len(scores))


def log_samples(log_extra: Callable[[str, list[Any]], None], name: str, scores: Sequence[Score]) -> None:
    """Log each sample's components and verdict."""
    for component in component_names(scores):
        log_extra(f"{name}/{component}", [score.components.get(component) for score in scores])
    log_extra(f"{name}/verdict", [score.outcome and score.outcome.status.value for score in scores])


def component_names(scores: Iterable[Score]) -> list[str]:
    """The components of these scores, in the order in which they first occur."""
    return list(dict.fromkeys(name for score in scores for name in score.components))

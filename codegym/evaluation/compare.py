"""Two evaluations of the same benchmark, side by side."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from codegym.core import Status
from codegym.errors import ConfigError
from codegym.evaluation.results import Result
from codegym.metrics import Interval, bootstrap

__all__ = ["Change", "Comparison", "compare_evaluations", "mcnemar", "verdict_changes"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A task, or a sample, on which two evaluations differ."""

    task_id: str
    before: float | str
    after: float | str
    index: int | None = None
    """Of a sample; None of a task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """How two evaluations compare on the tasks that both have."""

    tasks: int
    before: float
    """Pass@1 of the first, in [0, 1]."""
    after: float
    difference: Interval
    """The 95 % interval of the difference, by a bootstrap over pairs of tasks."""
    p_value: float | None
    """Of McNemar's exact test, that both are as good; None unless there is one sample of each task."""
    changes: tuple[Change, ...]
    """The tasks on which they differ, those that got worse first."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]


def compare_evaluations(before: Iterable[Result], after: Iterable[Result]) -> Comparison:
    """Compare two evaluations, task by task.

    Args:
        before: The results of the first; what could not be judged is left out.
        after: Those of the second.

    Raises:
        ConfigError: They have no task in common.
    """
    old, new = _by_task(before), _by_task(after)
    common = [task_id for task_id in old if task_id in new]
    if not common:
        raise ConfigError("the two evaluations have no task in common")
    pairs = {task_id: (_mean(old[task_id]), _mean(new[task_id])) for task_id in common}
    single = all(len(side[task_id]) == 1 for side in (old, new) for task_id in common)
    changes = [Change(task_id=task_id, before=a, after=b) for task_id, (a, b) in pairs.items() if a != b]
    return Comparison(
        tasks=len(common),
        before=math.fsum(a for a, _ in pairs.values()) / len(pairs),
        after=math.fsum(b for _, b in pairs.values()) / len(pairs),
        difference=bootstrap([b - a for a, b in pairs.values()]),
        p_value=mcnemar(pairs.values()) if single else None,
        changes=tuple(sorted(changes, key=lambda change: float(change.after) - float(change.before))),
        only_before=tuple(sorted(old.keys() - new.keys())),
        only_after=tuple(sorted(new.keys() - old.keys())),
    )


def mcnemar(pairs: Iterable[tuple[float, float]]) -> float:
    """McNemar's exact test of paired outcomes, two-sided.

    >>> mcnemar([(1, 0)] * 1 + [(0, 1)] * 9 + [(1, 1)] * 20)
    0.021484375

    Args:
        pairs: For each task 0 or 1, before and after.

    Returns:
        The chance of a split at least as uneven of the tasks that differ, if both are as good.
    """
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    n, fewer = len(differing), sum(a > b for a, b in differing)
    tail = sum(math.comb(n, i) for i in range(min(fewer, n - fewer) + 1))
    return min(1.0, 2 * tail / (1 << n))


def verdict_changes(before: Iterable[Result], after: Iterable[Result]) -> list[Change]:
    """The samples whose verdict is another one in the second evaluation of the same samples."""
    old = {result.key: result.status for result in before}
    return [
        Change(task_id=task_id, index=index, before=old[task_id, index].value, after=result.status.value)
        for result in after
        for task_id, index in [result.key]
        if (task_id, index) in old and old[task_id, index] != result.status
    ]


def _by_task(results: Iterable[Result]) -> Mapping[str, Sequence[bool]]:
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for result in sorted(results, key=lambda result: result.key):
        if result.status != Status.INFRA:
            found[result.task_id].append(result.status == Status.PASSED)
    return found


def _mean(passed: Sequence[bool]) -> float:
    return sum(passed) / len(passed)

"""From results to figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from codegym.core import Status, Task
from codegym.errors import ConfigError
from codegym.evaluation.results import Result
from codegym.metrics import bootstrap, pass_at_k, wilson

__all__ = ["DEFAULT_KS", "check_ks", "labels_of", "summarise"]

DEFAULT_KS: Final = (1, 10, 100)
"""The k of pass@k, as far as there are samples."""
LABELS: Final = ("difficulty", "tags", "source")
"""What of a task's `meta` figures are broken down by."""


def check_ks(ks: Sequence[int] | None, counts: Mapping[str, int]) -> tuple[int, ...]:
    """Which k to report.

    Args:
        ks: What was asked for. None: of 1, 10 and 100 those that the samples allow.
        counts: How many samples each task has.

    Raises:
        ConfigError: A k is not positive, or some task has too few samples for it.
    """
    fewest = min(counts, key=lambda task_id: counts[task_id])
    if ks is None:
        return tuple(k for k in DEFAULT_KS if k <= counts[fewest])
    for k in ks:
        if k < 1:
            raise ConfigError(f"the k of pass@k must be positive, got {k}")
        if k > counts[fewest]:
            raise ConfigError(
                f"pass@{k} needs {k} samples of each task, but {fewest!r} has only {counts[fewest]}"
            )
    return tuple(sorted(set(ks)))


def labels_of(task: Task) -> dict[str, list[str]]:
    """The labels of a task, by their kind: a text, or several."""
    found = {kind: task.meta[kind] for kind in LABELS if task.meta.get(kind)}
    return {
        kind: [str(value)] if isinstance(value, (str, int, float)) else sorted(map(str, value))
        for kind, value in found.items()
    }


def summarise(
    results: Iterable[Result],
    task_ids: Collection[str],
    ks: Sequence[int],
    labels: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
) -> dict[str, Any]:
    """Work out the figures of an evaluation.

    They depend on the verdicts only, not on their order nor on any timing.

    Args:
        results: One for each sample.
        task_ids: All tasks of the benchmark.
        ks: The k of pass@k.
        labels: Of each task that has any: `labels_of` it.

    Returns:
        What goes into ``summary.json``: ``pass_at_k`` by tier and k, each with the ends of a 95 % confidence
        interval and how it was made; ``failures``, how many samples failed in which way; how many ``tasks``
        and ``samples`` there were; ``missing_tasks``, those without a sample; and how many samples were
        ``not_judged``. A tier counts as passed where the tiers before it passed too. ``breakdown`` has
        pass@1 on all tests by kind of label and label, with the same interval.
    """
    results = sorted(results, key=lambda result: result.key)
    judged = [result for result in results if result.status != Status.INFRA]
    with_samples = {result.task_id for result in results}
    kinds = Counter(result.status for result in judged if result.status != Status.PASSED)
    return {
        "tasks": len(with_samples),
        "samples": len(results),
        "not_judged": len(results) - len(judged),
        "missing_tasks": sorted(set(task_ids) - with_samples),
        "pass_at_k": {
            tier: {str(k): _estimate(counts, k) for k in ks} for tier, counts in _counts(judged).items()
        },
        "failures": {kind.value: count for kind, count in sorted(kinds.items())},
        "breakdown": _breakdown(judged, labels or {}),
    }


def _breakdown(
    results: Sequence[Result], labels: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[str, dict[str, Any]]:
    """Pass@1 on all tests by label."""
    groups: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        for kind, values in labels.get(result.task_id, {}).items():
            for value in values:
                groups[kind, value].append(result)
    found: dict[str, dict[str, Any]] = {}
    for (kind, value), group in sorted(groups.items()):
        *_, counts = _counts(group).values()
        found.setdefault(kind, {})[value] = _estimate(counts, 1)
    return found


def _counts(results: Sequence[Result]) -> dict[str, list[tuple[int, int]]]:
    """For each tier, each task's samples and how many of them passed this tier and those before."""
    tiers = list(dict.fromkeys(tier for result in results for tier in result.tiers))
    by_task: defaultdict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_task[result.task_id].append(result)
    return {
        tier: [
            (len(group), sum(_passed(result, tiers[: number + 1]) for result in group))
            for group in by_task.values()
        ]
        for number, tier in enumerate(tiers)
    }


def _passed(result: Result, tiers: Iterable[str]) -> bool:
    return all(result.tiers.get(tier, Status.PASSED) == Status.PASSED for tier in tiers)


def _estimate(counts: Sequence[tuple[int, int]], k: int) -> dict[str, Any] | None:
    """Pass@k over the tasks that have enough samples; None where none has."""
    enough = [(n, c) for n, c in counts if n >= k]
    if not enough:
        return None
    values = [pass_at_k(n, c, k) for n, c in enough]
    if all(n == 1 for n, _ in enough):
        method, interval = "wilson", wilson(sum(c for _, c in enough), len(enough))
    else:
        method, interval = "bootstrap", bootstrap(values)
    return {
        "value": sum(values) / len(values),
        "low": interval.low,
        "high": interval.high,
        "interval": method,
        "tasks": len(enough),
    }

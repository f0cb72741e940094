"""Metrics of benchmarks: pass@k and its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from codegym.errors import ConfigError

__all__ = ["Interval", "avg_at_k", "bootstrap", "mean_pass_at_k", "pass_at_k", "wilson"]


class Interval(NamedTuple):
    """A confidence interval, both ends included."""

    low: float
    high: float


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate of the chance that at least one of `k` samples is right.

    ``1 - C(n-c, k) / C(n, k)``, in exact arithmetic.

    >>> round(pass_at_k(10, 3, 5), 6)
    0.916667

    Args:
        n: Samples drawn.
        c: Those of them that are right.
        k: Samples that the user would be shown.

    Returns:
        A probability.

    Raises:
        ConfigError: Not ``1 <= k <= n`` or not ``0 <= c <= n``.
    """
    if not 1 <= k <= n:
        raise ConfigError(f"pass@k needs 1 <= k <= n samples, got k={k} and n={n}")
    if not 0 <= c <= n:
        raise ConfigError(f"pass@k needs 0 <= c <= n right samples, got c={c} and n={n}")
    # one division of exact integers: right to the last bit, for any n
    return (math.comb(n, k) - math.comb(n - c, k)) / math.comb(n, k)


def mean_pass_at_k(counts: Iterable[tuple[int, int]], k: int) -> float:
    """The benchmark's pass@k: the mean over its tasks.

    Args:
        counts: For each task, how many samples were drawn and how many were right.
        k: Samples that the user would be shown.

    Raises:
        ConfigError: There are no tasks, or one has fewer than `k` samples.
    """
    estimates = [pass_at_k(n, c, k) for n, c in counts]
    if not estimates:
        raise ConfigError("pass@k of no tasks is not defined")
    return math.fsum(estimates) / len(estimates)


def avg_at_k(passed: Sequence[bool], k: int) -> float:
    """The fraction of a task's first `k` samples that are right.

    Raises:
        ConfigError: Not ``1 <= k <= len(passed)``.
    """
    if not 1 <= k <= len(passed):
        raise ConfigError(f"avg@k needs 1 <= k <= n samples, got k={k} and n={len(passed)}")
    return sum(passed[:k]) / k


def wilson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a proportion.

    Good for few trials and for proportions near 0 and 1, where the textbook interval is not.

    Raises:
        ConfigError: Not ``0 <= successes <= trials`` with at least one trial, or `level` is not in (0, 1).
    """
    if not (trials >= 1 and 0 <= successes <= trials):
        raise ConfigError(f"wilson needs 0 <= successes <= trials >= 1, got {successes} of {trials}")
    z = NormalDist().inv_cdf(0.5 + _checked_level(level) / 2)
    share = successes / trials
    scale = 1 + z * z / trials
    center = (share + z * z / (2 * trials)) / scale
    margin = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / scale
    low = 0.0 if successes == 0 else center - margin
    high = 1.0 if successes == trials else center + margin
    return Interval(low, high)


def bootstrap(
    values: Sequence[float], level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """The percentile bootstrap interval of a mean.

    Args:
        values: One value for each independent unit, such as each task's pass@k.
        level: The coverage that is aimed at.
        resamples: How many times the values are drawn with replacement.
        seed: The same seed gives the same interval.

    Raises:
        ConfigError: There are no values or no resamples, or `level` is not in (0, 1).
    """
    if not len(values) or resamples < 1:
        raise ConfigError(f"bootstrap needs values and resamples, got {len(values)} and {resamples}")
    data = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(seed)
    # in chunks: a matrix of all resamples of a large benchmark would not fit into memory
    chunk = max(1, 2**20 // len(data))
    means = np.concatenate(
        [
            rng.choice(data, size=(min(chunk, resamples - start), len(data))).mean(axis=1)
            for start in range(0, resamples, chunk)
        ]
    )
    tail = (1 - _checked_level(level)) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(low), float(high))


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise ConfigError(f"a confidence level is in (0, 1), got {level!r}")
    return level

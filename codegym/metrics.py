"""Metrics of benchmarks: pass@k and its uncertainty; of tests, what they get right and what they notice."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from codegym.errors import ConfigError

__all__ = [
    "Interval",
    "MutantCounts",
    "Verdicts",
    "avg_at_k",
    "bootstrap",
    "coverage_at_k",
    "mean_pass_at_k",
    "mul",
    "mut_at_k",
    "pass_at_k",
    "test_accuracy_at_k",
    "verdicts",
    "wilson",
]


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


# Tests


class MutantCounts(NamedTuple):
    """What a function's first k tests did to its mutants.

    Attributes:
        survived: Mutants that no test noticed. Errors and time limits count as noticed.
        completed: Mutants that were run.
        equivalent: Those of the survivors that are known to behave like the original.
        baseline_ok: Whether the original passes the tests.
    """

    survived: int
    completed: int
    equivalent: int = 0
    baseline_ok: bool = True


def test_accuracy_at_k(right: Iterable[Sequence[bool]], k: int) -> float:
    """The share of right tests among the first `k` of each function (ULT's and Code-A1's pass@k for tests).

    A test that was not written is not right.

    Args:
        right: For each function, whether each of its tests is.
        k: Tests that were asked for.

    Raises:
        ConfigError: There are no functions, or `k` is less than 1.
    """
    counts = [sum(map(bool, row[:k])) for row in right]
    if k < 1 or not counts:
        raise ConfigError(f"test accuracy needs functions and k >= 1, got {len(counts)} and k={k}")
    return sum(counts) / (k * len(counts))


test_accuracy_at_k.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it


def mut_at_k(
    functions: Iterable[MutantCounts], denominator: Literal["baseline_ok", "all"] = "baseline_ok"
) -> float:
    """The mean share of mutants that the first k tests kill (ULT, Code-A1).

    >>> mut_at_k([MutantCounts(3, 10)])
    0.7

    Args:
        functions: What became of the mutants of each; one without mutants counts nowhere.
        denominator: ``baseline_ok``: the mean is over the functions whose tests the original passes.
            ``all``: over all, where the others count 0.

    Raises:
        ConfigError: Counts make no sense, or there is no such denominator.
    """
    if denominator not in ("baseline_ok", "all"):
        raise ConfigError(f"denominator must be 'baseline_ok' or 'all', got {denominator!r}")
    counted = [one for one in functions if _mutants(one) and (one.baseline_ok or denominator == "all")]
    if not counted:
        return 0.0
    shares = [(1 - (one.survived - one.equivalent) / _mutants(one)) * one.baseline_ok for one in counted]
    return math.fsum(shares) / len(shares)


def _mutants(counts: MutantCounts) -> int:
    """The mutants that could be killed."""
    if not 0 <= counts.equivalent <= counts.survived <= counts.completed:
        raise ConfigError(f"mut@k needs 0 <= equivalent <= survived <= completed, got {counts}")
    return counts.completed - counts.equivalent


def mul(accuracy: float, mutation: float) -> float:
    """Code-A1's Mul: the product of a corpus's pass@k and mut@k, all three in percent (2603.15611).

    >>> round(mul(27.05, 26.41), 2)
    7.14

    Raises:
        ConfigError: One is not a percentage.
    """
    if not (0 <= accuracy <= 100 and 0 <= mutation <= 100):
        raise ConfigError(f"mul needs percentages, got {accuracy!r} and {mutation!r}")
    return accuracy * mutation / 100


def coverage_at_k(functions: Iterable[tuple[Sequence[AbstractSet[Hashable]], int]], k: int) -> float:
    """The mean share of lines, or branches, that the first `k` right tests of a function run (TestEval).

    Args:
        functions: For each, what each right test runs, and how much there is to run.
        k: Tests that are counted.

    Raises:
        ConfigError: There are no functions, `k` is less than 1, or there is less to run than is run.
    """
    shares = []
    for ran, total in functions:
        union = frozenset().union(*ran[:k]) if ran else frozenset()
        if total < max(len(union), 1):
            raise ConfigError(f"coverage@k: {len(union)} of {total} were run")
        shares.append(len(union) / total)
    if k < 1 or not shares:
        raise ConfigError(f"coverage@k needs functions and k >= 1, got {len(shares)} and k={k}")
    return math.fsum(shares) / len(shares)


class Verdicts(NamedTuple):
    """How well tests tell right programs from wrong ones (CodeRM, 2501.01054); nan where not defined."""

    accuracy: float
    f1: float
    false_acceptance: float
    """The share of wrong programs that are accepted."""
    false_rejection: float
    """The share of right programs that are rejected."""


def verdicts(accepted: Sequence[bool], right: Sequence[bool]) -> Verdicts:
    """Compare what tests say of programs with the truth.

    Args:
        accepted: Whether the tests accept each program.
        right: Whether it is right.

    Raises:
        ConfigError: There are no programs, or not as many of one as of the other.
    """
    said, true = np.asarray(accepted, np.bool_), np.asarray(right, np.bool_)
    if said.shape != true.shape or said.ndim != 1 or not said.size:
        raise ConfigError(f"verdicts need as many answers as programs, got {said.shape} and {true.shape}")
    hits, accepted_wrong, rejected_right = (int(x.sum()) for x in (said & true, said & ~true, ~said & true))
    return Verdicts(
        accuracy=float((said == true).mean()),
        f1=_ratio(2 * hits, 2 * hits + accepted_wrong + rejected_right),
        false_acceptance=_ratio(accepted_wrong, int((~true).sum())),
        false_rejection=_ratio(rejected_right, int(true.sum())),
    )


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan

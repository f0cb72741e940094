"""Objectives that look at the best of k samples: max@k (PKPO) and pass@k training."""

from __future__ import annotations

import functools
import math
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from codegym.errors import ConfigError
from codegym.metrics import pass_at_k
from codegym.objectives.advantages import rloo_advantages
from codegym.objectives.groups import Floats, as_groups, map_groups, reduce_groups

__all__ = ["Baseline", "max_at_k", "pass_at_k_advantages", "pkpo_advantages"]

Baseline = Literal["none", "loo", "loo-1"]


def max_at_k(rewards: npt.ArrayLike, k: int) -> Floats:
    """The unbiased estimate of the expected maximum of k samples: PKPO (2505.15201).

    ``sum_{i=k}^n C(i-1, k-1) g_(i) / C(n, k)`` over the rewards in ascending order. For rewards of 0 and 1
    this is pass@k.

    >>> max_at_k([0.1, 0.3, 0.5, 0.7, 0.9], k=2).round(6).item()
    0.7

    Args:
        rewards: Shape ``[..., n]``; None or nan where there is none.
        k: Samples of which the best counts.

    Returns:
        Shape ``[...]``; nan for a group with fewer than k rewards.

    Raises:
        ConfigError: Not ``1 <= k <= n``, or the rewards make no sense.
    """
    _check(rewards, k)

    def estimate(groups: Floats) -> Floats:
        n = groups.shape[1]
        if n < k:
            return np.full(len(groups), np.nan)
        best: Floats = np.sort(groups, axis=1) @ _maximum_weights(n, k)
        return best

    return reduce_groups(rewards, estimate)


def pkpo_advantages(
    rewards: npt.ArrayLike,
    k: int,
    *,
    baseline: Baseline = "loo-1",
    aggregation: Literal["sum", "mean"] = "sum",
) -> Floats:
    """What makes ``sum_i A_i grad log pi(y_i)`` an unbiased gradient of max@k: PKPO (2505.15201).

    Takes O(n log n) time for each group, for any k.

    >>> pkpo_advantages([1, 1, 0, 0, 0], k=2).round(6).tolist()
    [0.3, 0.3, 0.0, 0.0, 0.0]

    Args:
        rewards: Shape ``[..., n]``; None or nan where there is none.
        k: Samples of which the best counts.
        baseline: What is subtracted from the reward's own share: nothing (``none``), the estimate from the
            other samples (``loo``; a group needs more than k), or that of max@(k-1) from the other samples
            (``loo-1``, of the lowest variance). At k = 1 there is no such thing, and ``loo-1`` is RLOO.
        aggregation: What the trainer does with the terms of a group. ``mean`` multiplies them by its size.

    Returns:
        Shape ``[..., n]``; 0 in a group that has fewer rewards than the estimate needs.

    Raises:
        ConfigError: The group is too small for k, an option is unknown, or the rewards make no sense.
    """
    if baseline not in get_args(Baseline) or aggregation not in ("sum", "mean"):
        raise ConfigError(
            f"baseline must be one of {get_args(Baseline)} and aggregation 'sum' or 'mean', "
            f"got {baseline!r} and {aggregation!r}"
        )
    least = k + 1 if baseline == "loo" else k
    _check(rewards, k, least)

    def estimate(groups: Floats) -> Floats:
        n = groups.shape[1]
        if n < least:
            return np.zeros_like(groups)
        scale = n if aggregation == "mean" else 1
        if baseline == "loo-1" and k == 1:
            rloo: Floats = rloo_advantages(groups) * (scale / n)
            return rloo
        order = np.argsort(groups, axis=1, kind="stable")
        values = np.empty_like(groups)
        ranked = np.take_along_axis(groups, order, axis=1)
        np.put_along_axis(values, order, _scores(ranked, k, baseline), axis=1)
        scaled: Floats = values * scale
        return scaled

    return map_groups(rewards, estimate)


def pass_at_k_advantages(correct: npt.ArrayLike, k: int) -> Floats:
    """The advantages of pass@k training for right and wrong samples (2508.10751).

    With ``R`` the pass@k of the group and ``s = sqrt(R (1-R))``, a right sample gets ``(1-R) / s`` and a
    wrong one ``(1 - R - C(n-c-1, k-1) / C(n-1, k-1)) / s``. They sum to 0 in each group.

    >>> pass_at_k_advantages([1, 0, 0, 0], k=2).round(6).tolist()
    [1.0, -0.333333, -0.333333, -0.333333]

    Args:
        correct: Shape ``[..., n]``, of 0 and 1; None or nan where there is no verdict.
        k: Samples of which one right one is enough.

    Returns:
        Shape ``[..., n]``; 0 where R is 0 or 1, and in a group with fewer than k verdicts.

    Raises:
        ConfigError: Not ``1 <= k <= n``, or other values than 0, 1 and nan.
    """
    _check(correct, k)
    array = as_groups(correct)
    if not np.isin(array[~np.isnan(array)], (0.0, 1.0)).all():
        raise ConfigError("pass@k training needs verdicts of 0 and 1; for other rewards, use pkpo_advantages")

    def estimate(groups: Floats) -> Floats:
        n = groups.shape[1]
        if n < k:
            return np.zeros_like(groups)
        right, wrong = _class_advantages(n, k)
        count = groups.sum(axis=1, keepdims=True).astype(np.intp)
        values: Floats = np.where(groups == 1.0, right[count], wrong[count])
        return values

    return map_groups(array, estimate)


def _check(rewards: npt.ArrayLike, k: int, least: int | None = None) -> None:
    n = as_groups(rewards).shape[-1]
    if k < 1 or n < (k if least is None else least):
        raise ConfigError(f"k must be at least 1, and a group large enough for it, got k={k!r} and n={n}")


def _scores(ranked: Floats, k: int, baseline: Baseline) -> Floats:
    """The terms of the gradient for rewards in ascending order, ``[groups, n]``."""
    n = ranked.shape[1]
    own, others = _maximum_weights(n, k) * ranked, _pair_weights(n, k) * ranked
    scores: Floats = own + _after(others)
    if baseline == "loo":
        scores = scores - k / (n - 1) * _without_each(ranked, k)
    elif baseline == "loo-1":
        scores = scores - k / n * _without_each(ranked, k - 1)
    return scores


def _without_each(ranked: Floats, k: int) -> Floats:
    """The max@k of the group without each of its samples in turn, ``[groups, n]``."""
    weights = _maximum_weights(ranked.shape[1] - 1, k)
    # what ranks above the one that is left out moves down by one
    below, above = np.append(weights, 0.0) * ranked, np.insert(weights, 0, 0.0) * ranked
    return np.add(_before(below), _after(above))


def _before(terms: Floats) -> Floats:
    """For each position the sum of the terms before it."""
    sums = np.zeros_like(terms)
    np.cumsum(terms[:, :-1], axis=1, out=sums[:, 1:])
    return sums


def _after(terms: Floats) -> Floats:
    """For each position the sum of the terms after it."""
    return _before(terms[:, ::-1])[:, ::-1]


@functools.lru_cache(maxsize=1024)
def _maximum_weights(n: int, k: int) -> Floats:
    """The share of the k-subsets of which the i-th smallest of n is the maximum."""
    # exact integers, one division: no overflow, and right to the last bit
    total = math.comb(n, k)
    return np.array([math.comb(i - 1, k - 1) / total for i in range(1, n + 1)])


@functools.lru_cache(maxsize=1024)
def _pair_weights(n: int, k: int) -> Floats:
    """The share of the k-subsets with that maximum and one given smaller element; none at k = 1."""
    if k == 1:
        return np.zeros(n)
    total = math.comb(n, k)
    return np.array([0.0, *(math.comb(j - 2, k - 2) / total for j in range(2, n + 1))])


@functools.lru_cache(maxsize=1024)
def _class_advantages(n: int, k: int) -> tuple[Floats, Floats]:
    """For each number of right samples, from 0 to n, the advantages of a right and of a wrong one."""
    right, wrong = np.zeros(n + 1), np.zeros(n + 1)
    for c in range(1, n - k + 1):
        rate = pass_at_k(n, c, k)
        spread = math.sqrt(rate * (1 - rate))
        if not spread:  # so near to 1 that it is rounded to it
            continue
        right[c] = (1 - rate) / spread
        wrong[c] = (1 - rate - math.comb(n - c - 1, k - 1) / math.comb(n - 1, k - 1)) / spread
    return right, wrong

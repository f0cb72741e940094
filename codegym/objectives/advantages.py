"""Advantages of samples within their group: GRPO, Dr.GRPO, RLOO."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from codegym.errors import ConfigError
from codegym.objectives.groups import Floats, is_flat, map_groups

__all__ = ["dr_grpo_advantages", "grpo_advantages", "rloo_advantages"]


def grpo_advantages(rewards: npt.ArrayLike, *, ddof: int = 0, eps: float = 1e-6) -> Floats:
    """``A_i = (r_i - mean) / (std + eps)``: GRPO (DeepSeekMath, 2402.03300, 4.1.2).

    The paper does not say which standard deviation it means. The default makes GRPO equal to pass@k training
    at k = 1; ``ddof=1, eps=1e-6`` is what verl computes, ``ddof=1, eps=1e-4`` what TRL computes.

    >>> grpo_advantages([1, 0, 0, 1], eps=0).tolist()
    [1.0, -1.0, -1.0, 1.0]

    Args:
        rewards: Shape ``[..., n]``; None or nan where there is none.
        ddof: 0 for the deviation of a population, 1 for that of a sample.
        eps: Added to the deviation.

    Returns:
        Shape ``[..., n]``. Exactly 0 in a group whose rewards are all equal, in a group of one, and for a
        sample without a reward.

    Raises:
        ConfigError: `ddof` is neither 0 nor 1, `eps` is negative, or the rewards make no sense.
    """
    if ddof not in (0, 1):
        raise ConfigError(f"ddof must be 0 or 1, got {ddof!r}")
    if not 0 <= eps < np.inf:
        raise ConfigError(f"eps must be a finite number that is not negative, got {eps!r}")

    def scaled(groups: Floats) -> Floats:
        informative = ~is_flat(groups)
        values = np.zeros_like(groups)
        kept = groups[informative]
        if kept.size:
            spread = kept.std(axis=1, ddof=ddof, keepdims=True)
            values[informative] = (kept - kept.mean(axis=1, keepdims=True)) / (spread + eps)
        return values

    return map_groups(rewards, scaled)


def dr_grpo_advantages(rewards: npt.ArrayLike) -> Floats:
    """``A_i = r_i - mean``: Dr.GRPO (2503.20783, 3.2), without the bias towards easy and hard questions.

    >>> dr_grpo_advantages([1, 0, 0, 0]).tolist()
    [0.75, -0.25, -0.25, -0.25]

    Args:
        rewards: Shape ``[..., n]``; None or nan where there is none.

    Returns:
        Shape ``[..., n]``; exactly 0 where `grpo_advantages` is.

    Raises:
        ConfigError: The rewards make no sense.
    """
    return map_groups(rewards, _centred)


def rloo_advantages(rewards: npt.ArrayLike) -> Floats:
    """``A_i = r_i - mean of the others``: RLOO (Kool et al. 2019; 2402.14740, 3.2).

    >>> rloo_advantages([1, 0, 0]).tolist()
    [1.0, -0.5, -0.5]

    Args:
        rewards: Shape ``[..., n]``; None or nan where there is none.

    Returns:
        Shape ``[..., n]``; exactly 0 where `grpo_advantages` is.

    Raises:
        ConfigError: The rewards make no sense.
    """
    return map_groups(rewards, lambda groups: _centred(groups) * _ratio(groups.shape[1]))


def _centred(groups: Floats) -> Floats:
    """Rewards minus the mean of their group; equal rewards give exactly 0, whatever the rounding."""
    centred: Floats = groups - groups.mean(axis=1, keepdims=True)
    centred[is_flat(groups)] = 0.0
    return centred


def _ratio(n: int) -> float:
    """From the deviation from the mean to that from the mean of the others."""
    return n / (n - 1) if n > 1 else 0.0

"""Arithmetic on weights and allocations: presets, a floor for small models, smooth transitions, decay.

The presets, the floor, the transition and the decay come from a digest of TAROT, not from its paper or code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from codegym.errors import ConfigError
from codegym.tiers import TIERS, canonical_tier, tier_weights

__all__ = [
    "STRONG_START",
    "SUITE_RATIO",
    "WEAK_START",
    "decay",
    "lerp",
    "small_model_floor",
    "transition_share",
]


def _shares(*values: float) -> dict[str, float]:
    return dict(zip(TIERS, values, strict=True))


WEAK_START: Final[Mapping[str, float]] = _shares(0.8, 0.2, 0.0, 0.0)
"""The allocation that a weak model begins with."""
STRONG_START: Final[Mapping[str, float]] = _shares(0.1, 0.15, 0.5, 0.25)
"""The allocation that a strong model begins with. The digest has only the half for ``complex``."""
SUITE_RATIO: Final[Mapping[str, float]] = _shares(0.3, 0.3, 0.2, 0.2)
"""3 : 3 : 2 : 2, the recommended shares of the tiers in a suite."""

SMALL: Final = 10**9
"""Parameters below which a model is small."""


def small_model_floor(allocation: Mapping[str, float], parameters: float) -> dict[str, float]:
    """At least half of the draws from the basic tier, for a model of less than a billion parameters.

    Args:
        allocation: By tier, summing to 1.
        parameters: Of the model.

    Returns:
        For each tier; the others keep their ratio among themselves.
    """
    shares = tier_weights(allocation)
    basic = shares[TIERS[0]]
    if parameters >= SMALL or basic >= 0.5:
        return shares
    return {tier: 0.5 if tier == TIERS[0] else 0.5 * share / (1 - basic) for tier, share in shares.items()}


def lerp(
    start: Mapping[str, float], end: Mapping[str, float], at: float, begin: float, duration: float
) -> dict[str, float]:
    """``(1 - l) start + l end`` with ``l = clip((at - begin) / duration, 0, 1)``.

    >>> lerp(WEAK_START, {"intermediate": 0.2, "complex": 0.5, "edge": 0.3}, at=105, begin=100, duration=10)
    {'basic': 0.4, 'intermediate': 0.2, 'complex': 0.25, 'edge': 0.15}

    Args:
        start: By tier.
        end: By tier.
        at: The moment, in any unit.
        begin: When the transition begins.
        duration: How long it takes; not positive: it happens at `begin`.

    Returns:
        For each tier.
    """
    share = transition_share(at, begin, duration)
    first, second = tier_weights(start), tier_weights(end)
    return {tier: (1 - share) * first[tier] + share * second[tier] for tier in TIERS}


def transition_share(at: float, begin: float, duration: float) -> float:
    """How far a transition has come, from 0 to 1."""
    if duration <= 0:
        return float(at >= begin)
    # rounded: a transition from 0.4 that takes 0.2 is over at 0.6, whatever the last bits say
    return min(max(round((at - begin) / duration, 9), 0.0), 1.0)


def decay(
    weights: Mapping[str, float], gamma: float, *, easy: Iterable[str] = ("basic",), steps: int = 1
) -> dict[str, float]:
    """Multiply easy tiers by ``gamma ** steps``, then renormalise all to the sum of 1.

    Args:
        weights: By tier.
        gamma: In (0, 1].
        easy: The tiers that fade.
        steps: How often.

    Returns:
        For each tier.

    Raises:
        ConfigError: `gamma` is out of range, `steps` is negative, or all weights are 0.
    """
    if not (0 < gamma <= 1 and steps >= 0):
        raise ConfigError(f"gamma must be in (0, 1] and steps not negative, got {gamma!r} and {steps!r}")
    fading = {canonical_tier(tier) for tier in easy}
    left = {
        tier: weight * (gamma**steps if tier in fading else 1.0)
        for tier, weight in tier_weights(weights).items()
    }
    total = math.fsum(left.values())
    if not total:
        raise ConfigError(f"weights must not all be 0, got {dict(weights)!r} after {steps} steps")
    return {tier: weight / total for tier, weight in left.items()}

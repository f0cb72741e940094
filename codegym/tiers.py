"""The four tiers of difficulty of tests, by TAROT's names (2602.15449)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from codegym.errors import ConfigError

__all__ = ["TIERS", "canonical_tier", "tier_weights"]

TIERS: Final = ("basic", "intermediate", "complex", "edge")
"""From easy to hard."""
ALIASES: Final[Mapping[str, str]] = {"medium": "intermediate", "high": "complex"}
"""What TAROT's data set calls two of them."""
UNTIERED: Final = frozenset({None, "minimal", "original"})
"""Labels of tests that are there for validation only, and earn nothing."""


def canonical_tier(label: str | None) -> str | None:
    """The tier that a test's label means; None: it belongs to no tier.

    >>> canonical_tier("medium"), canonical_tier("original")
    ('intermediate', None)

    Raises:
        ConfigError: The label is none of a tier.
    """
    if label in UNTIERED:
        return None
    tier = ALIASES.get(str(label), label)
    if tier not in TIERS:
        raise ConfigError(
            f"no tier is called {label!r}: tiers are {', '.join(TIERS)}, with the aliases "
            f"{', '.join(ALIASES)}; tests without tier have the label None, 'minimal' or 'original'"
        )
    return tier


def tier_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """A number for each tier, 0 where none is given.

    Args:
        weights: By tier or alias.

    Raises:
        ConfigError: A tier is unknown or named twice, or a number is negative or not finite.
    """
    found = {canonical_tier(label): float(weight) for label, weight in weights.items()}
    if None in found or len(found) < len(weights):
        raise ConfigError(f"weights must name each tier once, got {dict(weights)!r}")
    if not all(0 <= weight < float("inf") for weight in found.values()):
        raise ConfigError(f"weights must be finite and not negative, got {dict(weights)!r}")
    return {tier: found.get(tier, 0.0) for tier in TIERS}

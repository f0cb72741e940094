"""A reward by tiers of difficulty: TAROT's (2602.15449)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, get_args

from codegym.core import Outcome, Status, Task
from codegym.errors import ConfigError
from codegym.tiers import TIERS, canonical_tier, tier_weights

__all__ = ["STAGE", "TierReward"]

STAGE: Final = "tier_stage"
"""Where a curriculum notes, in `Task.meta`, which tiers are active and what they weigh."""

Normalize = Literal["none", "active", "all"]
PerTier = Literal["rate", "sum"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TierReward:
    """``sum over active tiers of w_tier * (its passed tests / its tests)``.

    A tier without tests adds nothing, and so do tests without tier. Where a curriculum has prepared the task
    (`codegym.curricula.Stage.restrict`), its active tiers and weights are used in place of those here: they
    travel with the task, so that the reward stays a pure function wherever it is called. Every test must
    have run: grade without ``stop_early``.

    Attributes:
        weights: By tier; all tests count the same by default.
        active: The tiers that count. None: all.
        normalize: ``none``: as above, so that a reward grows as tiers become active (TAROT's released code).
            ``active``: divided by the weights of the active tiers that have tests. ``all``: divided by all
            weights.
        per_tier: ``rate``: see above. ``sum``: each passed test adds its tier's weight. The same where tiers
            have one test each, as in TAROT's data set.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(TIERS, 0.25))
    active: tuple[str, ...] | None = None
    normalize: Normalize = "none"
    per_tier: PerTier = "rate"

    name: ClassVar[str] = "tiers"
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)

    def __post_init__(self) -> None:
        """Check the options."""
        tier_weights(self.weights)
        for tier in self.active or ():
            if tier not in TIERS:
                raise ConfigError(f"active tiers must be among {', '.join(TIERS)}, got {tier!r}")
        if self.normalize not in get_args(Normalize) or self.per_tier not in get_args(PerTier):
            raise ConfigError(
                f"normalize must be one of {get_args(Normalize)} and per_tier of {get_args(PerTier)}, "
                f"got {self.normalize!r} and {self.per_tier!r}"
            )

    def __call__(self, task: Task, outcome: Outcome) -> float:
        """Add up the tiers."""
        stage = task.meta.get(STAGE, {})
        weights = tier_weights(stage.get("weights", self.weights))
        active = stage.get("active", TIERS if self.active is None else self.active)
        passed = _passed_by_tier(outcome)
        earned = math.fsum(weights[tier] * self._value(passed[tier]) for tier in active)
        if self.normalize == "none":
            return earned
        counted = TIERS if self.normalize == "all" else [tier for tier in active if passed[tier]]
        best = math.fsum(weights[tier] * self._best(passed[tier]) for tier in counted)
        return earned / best if best else 0.0

    def _value(self, passed: list[bool]) -> float:
        if self.per_tier == "sum":
            return float(sum(passed))
        return sum(passed) / len(passed) if passed else 0.0

    def _best(self, passed: list[bool]) -> float:
        """The greatest value of a tier; one that has no tests here counts as one with one test."""
        return float(max(len(passed), 1)) if self.per_tier == "sum" else 1.0


def _passed_by_tier(outcome: Outcome) -> dict[str, list[bool]]:
    passed: dict[str, list[bool]] = {tier: [] for tier in TIERS}
    for test in outcome.tests:
        tier = canonical_tier(test.tier)
        if tier is not None:
            passed[tier].append(test.status == Status.PASSED)
    return passed

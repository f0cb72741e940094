"""Curricula that are fixed before training: those that TAROT released (2602.15449)."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from codegym.curricula.base import Curriculum, Stage
from codegym.errors import ConfigError
from codegym.tiers import TIERS

__all__ = ["FORWARD", "INTERMEDIATE_FIRST", "REVERSE", "TAROT_POLICIES", "Schedule", "tarot_policy"]

Sets = tuple[tuple[str, ...], ...]

BASIC, INTERMEDIATE, COMPLEX, EDGE = TIERS

ALL: Final[Sets] = (TIERS,)
FORWARD: Final[Sets] = ((BASIC,), (BASIC, INTERMEDIATE), (BASIC, INTERMEDIATE, COMPLEX), TIERS)
REVERSE: Final[Sets] = ((COMPLEX,), (COMPLEX, EDGE), (INTERMEDIATE, COMPLEX, EDGE), TIERS)
INTERMEDIATE_FIRST: Final[Sets] = (
    (INTERMEDIATE,),
    (INTERMEDIATE, COMPLEX),
    (INTERMEDIATE, COMPLEX, EDGE),
    TIERS,
)

ROUNDING: Final = 1e-9
"""So far below a boundary it counts as reached: three epochs have 0.6 / 3, a little less than 0.2."""


@dataclass(frozen=True, kw_only=True)
class Schedule(Curriculum):
    """Sets of active tiers, one after another.

    >>> Schedule(name="mine", sets=FORWARD).active(0.2)
    ('basic', 'intermediate')

    Attributes:
        name: For people.
        sets: The active tiers of each period.
        boundaries: The progress at which each period but the first begins. A boundary belongs to the period
            that begins there.
        weights_by_tier: What passing a tier is worth.
        allocation_by_tier: How often a tier is drawn. Empty: the active ones equally often.
    """

    name: str
    sets: Sets
    boundaries: tuple[float, ...] = (0.2, 0.4, 0.6)
    weights_by_tier: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(TIERS, 0.25))
    allocation_by_tier: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that there is a set for each period."""
        ascending = all(a < b for a, b in zip((0.0, *self.boundaries), (*self.boundaries, 1.0), strict=True))
        if len(self.sets) != len(self.boundaries) + 1 or not ascending:
            raise ConfigError(
                f"curriculum {self.name!r}: boundaries must ascend between 0 and 1, one fewer than sets, "
                f"got {self.boundaries!r} and {len(self.sets)} sets"
            )
        for active in self.sets:
            self._stage(active)

    def stage(self, progress: float) -> Stage:
        """The stage of the period that `progress` is in."""
        if not 0 <= progress <= 1:
            raise ConfigError(f"progress must be in [0, 1], got {progress!r}")
        return self._stage(self.sets[bisect.bisect_right(self.boundaries, progress + ROUNDING)])

    def _stage(self, active: tuple[str, ...]) -> Stage:
        return Stage(active=active, weights=self.weights_by_tier, allocation=self.allocation_by_tier)


def _policy(name: str, sets: Sets, *weights: float) -> Schedule:
    boundaries = (0.2, 0.4, 0.6) if len(sets) > 1 else ()
    by_tier = dict(zip(TIERS, weights, strict=True))
    return Schedule(name=name, sets=sets, boundaries=boundaries, weights_by_tier=by_tier)


TAROT_POLICIES: Final[Mapping[str, Schedule]] = {
    policy.name: policy
    for policy in (
        _policy("basic_only", ((BASIC,),), 1, 0, 0, 0),
        _policy("complex_only", ((COMPLEX,),), 0, 0, 1, 0),
        _policy("edge_only", ((EDGE,),), 0, 0, 0, 1),
        _policy("uniform_forward", FORWARD, 0.25, 0.25, 0.25, 0.25),
        _policy("bi_weighted", FORWARD, 0.35, 0.35, 0.15, 0.15),
        _policy("ce_weighted", FORWARD, 0.15, 0.15, 0.35, 0.35),
        _policy("ce_weighted_reverse", REVERSE, 0.15, 0.15, 0.35, 0.35),
        _policy("avg_reward", ALL, 0.25, 0.25, 0.25, 0.25),
    )
}
"""The portfolio of TAROT's released code, by name; the authors chose one before training."""


def tarot_policy(policy: str) -> Schedule:
    """One of the released policies.

    Raises:
        ConfigError: There is no such policy.
    """
    if policy not in TAROT_POLICIES:
        raise ConfigError(f"no released policy is called {policy!r}; known: {', '.join(TAROT_POLICIES)}")
    return TAROT_POLICIES[policy]

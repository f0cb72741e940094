"""Which tests count, what they are worth and how often they come up, as training goes on.

`make_curriculum` makes one by name; `Curriculum` is the contract, and shows how to use one. `build_tiers`
gives a task tests of all tiers. docs/methods.md is the overview.
"""

from __future__ import annotations

from codegym.curricula.base import Curriculum, Stage, TieredTasks, make_curriculum, pass_rates
from codegym.curricula.builder import build_tiers, kill_table
from codegym.curricula.dials import STRONG_START, SUITE_RATIO, WEAK_START, decay, lerp, small_model_floor
from codegym.curricula.digest import (
    CapabilityCurriculum,
    DecayCurriculum,
    TransitionCurriculum,
    capability,
    strategy,
)
from codegym.curricula.inputs import draw_inputs, vary_inputs
from codegym.curricula.schedule import TAROT_POLICIES, Schedule, tarot_policy
from codegym.curricula.suites import (
    TierFeatures,
    apportion,
    assign_tiers,
    cyclomatic_complexity,
    rank_tests,
    ratio_gaps,
    tier_counts,
    tier_features,
)
from codegym.tiers import TIERS, canonical_tier

__all__ = [
    "STRONG_START",
    "SUITE_RATIO",
    "TAROT_POLICIES",
    "TIERS",
    "WEAK_START",
    "CapabilityCurriculum",
    "Curriculum",
    "DecayCurriculum",
    "Schedule",
    "Stage",
    "TierFeatures",
    "TieredTasks",
    "TransitionCurriculum",
    "apportion",
    "assign_tiers",
    "build_tiers",
    "canonical_tier",
    "capability",
    "cyclomatic_complexity",
    "decay",
    "draw_inputs",
    "kill_table",
    "lerp",
    "make_curriculum",
    "pass_rates",
    "rank_tests",
    "ratio_gaps",
    "small_model_floor",
    "strategy",
    "tarot_policy",
    "tier_counts",
    "tier_features",
    "vary_inputs",
]

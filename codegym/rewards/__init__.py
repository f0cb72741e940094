"""What an answer is worth.

A reward is a function, or an instance of a module-level class, that returns a number, or None where it does
not apply. Its arguments are filled by name, so it names those that it needs:

=============  ====================================================================================
`task`         the `codegym.Task`
`completion`   what the policy wrote, a text
`program`      the `codegym.Program` found in it, or None
`outcome`      the `codegym.Outcome` of running that program on the task's tests
`suite`        the `codegym.testquality.SuiteOutcome` of the tests in it; None where none were asked for
=============  ====================================================================================

Rewards are pure and fast: they look at evidence, and run nothing. One that is not registered by a plugin
may carry the attributes ``name``, ``weight`` and ``range``.
"""

from __future__ import annotations

from codegym.rewards.components import Format, Length, all_passed, fraction_passed, parses
from codegym.rewards.composition import ARGUMENTS, Reward, resolve_rewards
from codegym.rewards.scorer import Scorer
from codegym.rewards.suite_scorer import SuiteScorer
from codegym.rewards.tiers import TierReward

__all__ = [
    "ARGUMENTS",
    "Format",
    "Length",
    "Reward",
    "Scorer",
    "SuiteScorer",
    "TierReward",
    "all_passed",
    "fraction_passed",
    "parses",
    "resolve_rewards",
]

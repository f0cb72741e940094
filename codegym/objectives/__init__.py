"""The scalar mathematics of policy optimisation, for any trainer: plain functions on numpy arrays.

Rewards have the shape ``[..., n]``: the last axis is the group of samples of one prompt, and everything is
vectorised over the others. A sample without a reward (None or nan, after trouble with the infrastructure) is
left out of its group and gets an advantage of 0, so that it never counts as a bad one.

Each function's docstring names its paper; where papers and released code differ, it says which one is
meant. docs/methods.md is the overview.
"""

from __future__ import annotations

from codegym.objectives.advantages import dr_grpo_advantages, grpo_advantages, rloo_advantages
from codegym.objectives.diagnostics import invalid_test_ratio, reward_correlation, zero_variance_fraction
from codegym.objectives.entropy import EntropyController
from codegym.objectives.losses import (
    aggregate_loss,
    clip_fraction,
    clipped_objective,
    gspo_objective,
    gspo_ratio,
    kl_k3,
    trajectory_balance_loss,
)
from codegym.objectives.maxk import max_at_k, pass_at_k_advantages, pkpo_advantages
from codegym.objectives.sampling import (
    fill_batch,
    group_novelty,
    informative_groups,
    novelty_bonus,
    overlong_penalty,
    top_var,
)
from codegym.objectives.selection import (
    agreeing_tests,
    codet_scores,
    discrimination,
    expected_accuracy,
    misselection_bound,
    needed_tests,
    pass_counts,
    select,
    unsoundness,
)

__all__ = [
    "EntropyController",
    "aggregate_loss",
    "agreeing_tests",
    "clip_fraction",
    "clipped_objective",
    "codet_scores",
    "discrimination",
    "dr_grpo_advantages",
    "expected_accuracy",
    "fill_batch",
    "group_novelty",
    "grpo_advantages",
    "gspo_objective",
    "gspo_ratio",
    "informative_groups",
    "invalid_test_ratio",
    "kl_k3",
    "max_at_k",
    "misselection_bound",
    "needed_tests",
    "novelty_bonus",
    "overlong_penalty",
    "pass_at_k_advantages",
    "pass_counts",
    "pkpo_advantages",
    "reward_correlation",
    "rloo_advantages",
    "select",
    "top_var",
    "trajectory_balance_loss",
    "unsoundness",
    "zero_variance_fraction",
]

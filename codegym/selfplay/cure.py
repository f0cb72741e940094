"""CURE: a coder and a tester that learn from each other, with ground-truth tests but no ground-truth code.

Tables are ``[codes, tests]``: whether a program passes a test (2506.03136).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from codegym.errors import ConfigError
from codegym.objectives import grpo_advantages
from codegym.objectives.groups import Floats, Mask

__all__ = ["cure_advantages", "cure_code_rewards", "cure_test_rewards", "precision_margin"]


def cure_code_rewards(truth: npt.ArrayLike) -> Floats:
    """The share of the ground-truth tests that each program passes.

    Args:
        truth: Shape ``[codes, ground-truth tests]``.

    Returns:
        Shape ``[codes]``.

    Raises:
        ConfigError: The table has another form, or no test.
    """
    rewards: Floats = _table("truth", truth).mean(axis=1)
    return rewards


def cure_test_rewards(truth: npt.ArrayLike, generated: npt.ArrayLike, *, post_stage: bool = False) -> Floats:
    """What each generated test is worth.

    A program is right when it passes all ground-truth tests. A test that all right programs pass earns the
    share of the wrong ones that it catches; any other loses the share of the wrong ones that pass it. Without
    wrong programs it is 1 or -1.

    Args:
        truth: Shape ``[codes, ground-truth tests]``.
        generated: Shape ``[codes, generated tests]``.
        post_stage: Count 1 in place of the shares: caught every wrong one, or let one pass.

    Returns:
        Shape ``[generated tests]``, in [-1, 1]; nan, no reward, when no program is right.

    Raises:
        ConfigError: A table has another form, or they are of different programs.
    """
    right = np.asarray(_table("truth", truth).all(axis=1))
    passed = _table("generated", generated)
    if len(passed) != len(right):
        raise ConfigError(f"both tables need the same programs, got {len(right)} and {len(passed)}")
    if not right.any():
        return np.full(passed.shape[1], np.nan)
    sound = passed[right].all(axis=0)
    if right.all():
        return np.where(sound, 1.0, -1.0)
    passing = passed[~right].mean(axis=0)
    if post_stage:
        passing = np.ceil(passing)
    rewards: Floats = np.where(sound, 1 - passing, 0 - passing)
    return rewards


def cure_advantages(rewards: npt.ArrayLike) -> Floats:
    """Rewards of a question's programs, or of its tests, normalised by the population's deviation.

    Args:
        rewards: Shape ``[..., n]``.

    Returns:
        The same shape; 0 everywhere where they are all equal, which the released code drops.
    """
    return grpo_advantages(rewards, ddof=0, eps=0.0)


def precision_margin(correct: float, wrong_passes_correct: float, wrong_passes_wrong: float) -> float:
    """``mu = p_u (1 - p_01) - (1 - p_u) p_00``: above 0, rewards order tests rightly on average.

    >>> round(precision_margin(0.7, 0.4, 0.2), 6)
    0.36

    Args:
        correct: p_u, the chance that a generated test is right.
        wrong_passes_correct: p_01, the chance that a wrong program passes a right test.
        wrong_passes_wrong: p_00, the chance that a wrong program passes a wrong test.

    Raises:
        ConfigError: An argument is no probability.
    """
    for value in (correct, wrong_passes_correct, wrong_passes_wrong):
        if not 0 <= value <= 1:
            raise ConfigError(f"probabilities are in [0, 1], got {value!r}")
    return correct * (1 - wrong_passes_correct) - (1 - correct) * wrong_passes_wrong


def _table(name: str, passed: npt.ArrayLike) -> Mask:
    table = np.asarray(passed, np.bool_)
    if table.ndim != 2 or not table.size:
        raise ConfigError(f"{name} must have the shape [codes, tests], got {table.shape}")
    return table

"""What a whole suite is worth in related methods: UTRL's reward, and the incremental mutation reward."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import numpy.typing as npt

from codegym.errors import ConfigError
from codegym.objectives.groups import Floats

__all__ = ["caught_fraction", "incremental_mutation_rewards", "utrl_format", "utrl_reward"]


def utrl_reward(
    format_right: bool, caught: float, n_valid: int, n_unique: int, *, expected: int = 12
) -> float:
    """``0.1 format + 0.85 disc + 0.05 n_valid / max(12, n_unique)``: UTRL's test writer (2508.21107).

    >>> round(utrl_reward(True, caught=3 / 4, n_valid=9, n_unique=10), 6)
    0.775

    Args:
        format_right: From `utrl_format`.
        caught: From `caught_fraction`.
        n_valid: Different tests that the right program passes.
        n_unique: Different tests.
        expected: Tests below which fewer are no better.

    Raises:
        ConfigError: A number is out of range.
    """
    if not (0 <= n_valid <= n_unique and 0 <= caught <= 1 and expected >= 1):
        raise ConfigError(
            f"0 <= n_valid <= n_unique, caught in [0, 1] and expected >= 1 must hold, "
            f"got {n_valid=}, {n_unique=}, {caught=}, {expected=}"
        )
    return 0.1 * format_right + 0.85 * caught + 0.05 * n_valid / max(expected, n_unique)


def caught_fraction(passed: npt.ArrayLike, valid: npt.ArrayLike) -> float:
    """``disc``: the share of the candidates that fail a valid test.

    Args:
        passed: Shape ``[candidates, tests]``.
        valid: Shape ``[tests]``: whether the right program passes each test.

    Raises:
        ConfigError: There is no candidate, or the shapes disagree.
    """
    table, kept = np.asarray(passed, np.bool_), np.asarray(valid, np.bool_)
    if table.ndim != 2 or not len(table) or kept.shape != table.shape[1:]:
        raise ConfigError(
            f"passed must be [candidates, tests] and valid [tests], got {table.shape}, {kept.shape}"
        )
    return float((~table[:, kept]).any(axis=1).mean())


def utrl_format(text: str, n_tests: int) -> bool:
    """Whether there is a ``<reasoning>`` for each test, and the text ends with a closed block."""
    return text.count("<reasoning>") == n_tests and text.rstrip().endswith("```")


def incremental_mutation_rewards(
    killed: Sequence[AbstractSet[Hashable]], mutants: int, *, penalty: float = 0.0
) -> Floats:
    """``r_t = |killed_t - killed before| / |mutants|``, less a penalty for a test that kills nothing new.

    After MIST-RL (2603.01409).

    >>> incremental_mutation_rewards([{1, 2}, {2}, {2, 3}], mutants=4, penalty=0.1).tolist()
    [0.5, -0.1, 0.25]

    Args:
        killed: The mutants that each test kills, in the order of the suite.
        mutants: How many there are.
        penalty: What a redundant test loses.

    Returns:
        Shape ``[tests]``.

    Raises:
        ConfigError: There are fewer mutants than were killed, or the penalty is negative.
    """
    union = set().union(*killed)
    if mutants < max(len(union), 1) or not penalty >= 0:
        raise ConfigError(f"got {mutants} mutants of which {len(union)} are killed, and {penalty=!r}")
    seen: set[Hashable] = set()
    rewards = np.zeros(len(killed))
    for i, each in enumerate(killed):
        new = len(each - seen)
        rewards[i] = new / mutants if new else -penalty
        seen |= each
    return rewards

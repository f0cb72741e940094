"""Which groups and samples are worth training on: DAPO's filter and length penalty, TopVar, novelty."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from codegym.errors import ConfigError
from codegym.objectives.groups import Floats, Mask, as_groups, is_flat, reduce_groups

__all__ = [
    "fill_batch",
    "group_novelty",
    "informative_groups",
    "novelty_bonus",
    "overlong_penalty",
    "top_var",
]

_Group = TypeVar("_Group")


def informative_groups(rewards: npt.ArrayLike) -> Mask:
    """Which groups have rewards that differ: the filter of dynamic sampling (DAPO, 2503.14476, eq. 11).

    For verdicts, those with ``0 < right < n``. All others have an advantage of 0 everywhere.

    Args:
        rewards: Shape ``[..., n]``; None or nan where there is none.

    Returns:
        Shape ``[...]``.

    Raises:
        ConfigError: The rewards make no sense.
    """
    kept: Mask = reduce_groups(rewards, lambda groups: ~is_flat(groups)) == 1.0
    return kept


def fill_batch(
    draw: Callable[[int], Sequence[_Group]],
    rewards_of: Callable[[_Group], npt.ArrayLike],
    size: int,
    *,
    max_tries: int = 10,
) -> list[_Group]:
    """Draw until the batch is full of informative groups: dynamic sampling (DAPO, 2503.14476, 3.2).

    Args:
        draw: Is told how many groups are missing, and returns about as many.
        rewards_of: The rewards of a group.
        size: Groups in the batch.
        max_tries: Calls of `draw` after which a batch that is not full is good enough.

    Returns:
        At most `size` groups, in the order in which they were drawn.

    Raises:
        ConfigError: The size or the number of tries is not positive, or rewards make no sense.
    """
    if size < 1 or max_tries < 1:
        raise ConfigError(f"size and max_tries must be positive, got {size!r} and {max_tries!r}")
    batch: list[_Group] = []
    for _ in range(max_tries):
        drawn = draw(size - len(batch))
        batch += [group for group in drawn if informative_groups(rewards_of(group)).all()]
        if len(batch) >= size:
            break
    return batch[:size]


def overlong_penalty(lengths: npt.ArrayLike, limit: int, margin: int) -> Floats:
    """0 up to ``limit - margin``, falling to -1 at `limit`, and -1 beyond (DAPO, 2503.14476, eq. 13).

    >>> overlong_penalty([16384, 18432, 20480, 99999], limit=20480, margin=4096).tolist()
    [0.0, -0.5, -1.0, -1.0]

    Args:
        lengths: Tokens of each response.
        limit: Tokens from which on the penalty is full.
        margin: Tokens before `limit` at which it sets in.

    Raises:
        ConfigError: Not ``0 < margin <= limit``.
    """
    if not 0 < margin <= limit:
        raise ConfigError(f"0 < margin <= limit must hold, got margin={margin!r}, limit={limit!r}")
    penalty: Floats = np.clip((limit - margin - np.asarray(lengths, np.float64)) / margin, -1.0, 0.0)
    return penalty + 0.0  # no negative zero


def top_var(rewards: npt.ArrayLike, keep: int = 1) -> npt.NDArray[np.intp]:
    """The candidates whose suites' rewards differ most: TopVar of Code-A1 (2603.15611).

    Only their suites update the test model; all candidates update the code model.

    >>> top_var([[0.5, 0.5, 0.5], [0.2, 0.8, 0.5], [1.0, 0.0, 0.5]]).tolist()
    [2]

    Args:
        rewards: Shape ``[..., candidates, suites]``; None or nan where there is none.
        keep: Candidates to keep of each question.

    Returns:
        Shape ``[..., keep]``: indices of candidates, by falling population standard deviation, and among
        equal ones by index.

    Raises:
        ConfigError: Not ``1 <= keep <= candidates``, or the rewards make no sense.
    """
    deviations = reduce_groups(rewards, lambda groups: groups.std(axis=1))
    if deviations.ndim == 0 or not 1 <= keep <= deviations.shape[-1]:
        raise ConfigError(
            f"rewards must have the shape [..., candidates, suites] with 1 <= keep <= candidates, "
            f"got {np.shape(rewards)} and {keep=!r}"
        )
    # rounded: the same rewards in another order must tie
    ranked = np.round(np.nan_to_num(deviations, nan=-1.0), 12)
    return np.argsort(-ranked, axis=-1, kind="stable")[..., :keep]


def group_novelty(items: Sequence[AbstractSet[Hashable]]) -> Floats:
    """The share of a group's items that each of its samples alone brings.

    ``|S_i - union of the others| / |union of all|``. Items are what a suite reaches: covered lines, killed
    mutants, inputs. Give a sample that fell through a gate an empty set.

    >>> group_novelty([{1, 2, 3}, {2, 3}, {3, 9}]).tolist()
    [0.25, 0.0, 0.25]

    Args:
        items: A set for each sample of the group.

    Returns:
        Shape ``[n]``, in [0, 1]; 0 where no sample has items.
    """
    counts: dict[Hashable, int] = {}
    for each in items:
        for item in each:
            counts[item] = counts.get(item, 0) + 1
    alone = [sum(counts[item] == 1 for item in each) for each in items]
    return np.array(alone, dtype=np.float64) / max(len(counts), 1)


def novelty_bonus(
    rewards: npt.ArrayLike, items: Sequence[AbstractSet[Hashable]], scale: float = 0.5
) -> Floats:
    """``R_i (1 + scale * novelty_i)``: more for a good suite that finds what the others of its group miss.

    Never lifts a sample that earned nothing.

    Args:
        rewards: Shape ``[n]``, not negative; nan where there is none, and it stays so.
        items: As for `group_novelty`.
        scale: The bonus for a sample that brings everything alone, as a share of its reward.

    Raises:
        ConfigError: There are not as many sets as rewards, a reward or the scale is negative.
    """
    values = as_groups(rewards)
    if values.shape != (len(items),):
        raise ConfigError(f"each reward needs a set of items, got {values.shape} and {len(items)}")
    if (values < 0).any() or not scale >= 0:
        raise ConfigError(f"a novelty bonus needs rewards and a scale that are not negative, got {scale=!r}")
    bonus: Floats = values * (1 + scale * group_novelty(items))
    return bonus

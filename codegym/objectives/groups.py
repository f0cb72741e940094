"""Groups of rewards as arrays, and what to do with the samples that have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from codegym.errors import ConfigError

__all__ = ["EQUAL", "Floats", "Mask", "as_groups", "as_mask", "is_flat", "map_groups", "reduce_groups"]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

EQUAL = 1e-12
"""Rewards of a group that differ by less are equal: what is left is rounding, and must not be scaled up."""


def as_groups(rewards: npt.ArrayLike) -> Floats:
    """Rewards as an array whose last axis is the group.

    Args:
        rewards: Shape ``[..., n]``. None or nan: that sample has no reward.

    Raises:
        ConfigError: They are no numbers, a group is empty, or one is infinite.
    """
    try:
        array = np.asarray(rewards, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"rewards must be numbers in groups of one size: {error}") from error
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ConfigError(f"rewards must have the shape [..., n] with n > 0, got {array.shape}")
    if np.isinf(array).any():
        raise ConfigError("rewards must be finite, or None or nan where there is none; got an infinite one")
    return array


def as_mask(mask: npt.ArrayLike | None, shape: tuple[int, ...]) -> Mask:
    """A mask of that shape. None: everything counts.

    Raises:
        ConfigError: It has another shape, or other values than 0 and 1.
    """
    array = np.ones(shape, dtype=np.bool_) if mask is None else np.asarray(mask)
    if array.shape != shape or not np.isin(array, (0, 1)).all():
        raise ConfigError(f"a mask must hold 0 and 1 in the shape {shape}, got the shape {array.shape}")
    return array.astype(np.bool_)


def is_flat(groups: Floats) -> Mask:
    """Which groups have rewards that are all equal. Shape ``[..., n]`` to ``[...]``."""
    flat: Mask = np.ptp(groups, axis=-1) < EQUAL
    return flat


def map_groups(rewards: npt.ArrayLike, estimate: Callable[[Floats], Floats]) -> Floats:
    """Give each sample a value that depends on its group.

    Args:
        rewards: Shape ``[..., n]``; None or nan where there is none.
        estimate: From the groups that have `m` rewards, as an array ``[groups, m]``, to values of that shape.

    Returns:
        Shape ``[..., n]``. Samples without a reward are left out of their group, and get 0.

    Raises:
        ConfigError: The rewards make no sense.
    """
    groups = as_groups(rewards)
    values = np.zeros_like(groups)
    flat = values.reshape(-1, groups.shape[-1])
    for _, chosen, present in _by_size(groups):
        flat[chosen] = estimate(present).ravel()
    return values


def reduce_groups(rewards: npt.ArrayLike, estimate: Callable[[Floats], npt.NDArray[np.generic]]) -> Floats:
    """Give each group a value.

    Args:
        rewards: Shape ``[..., n]``; None or nan where there is none.
        estimate: From the groups that have `m` rewards, as an array ``[groups, m]``, to their values,
            ``[groups]``.

    Returns:
        Shape ``[...]``; nan for groups without rewards.

    Raises:
        ConfigError: The rewards make no sense.
    """
    groups = as_groups(rewards)
    values = np.full(groups.shape[:-1], np.nan)
    flat = values.reshape(-1)
    for rows, _, present in _by_size(groups):
        flat[rows] = estimate(present)
    return values


def _by_size(groups: Floats) -> Iterator[tuple[Mask, Mask, Floats]]:
    """The groups that have equally many rewards: which they are, where the rewards are, and the rewards."""
    table = groups.reshape(-1, groups.shape[-1])
    present = ~np.isnan(table)
    sizes = present.sum(axis=1)
    for size in np.unique(sizes[sizes > 0]).tolist():
        rows = sizes == size
        chosen = present & rows[:, np.newaxis]
        yield rows, chosen, table[chosen].reshape(-1, size)

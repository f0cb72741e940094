"""Numbers that tell whether training still has something to learn from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from codegym.errors import ConfigError
from codegym.objectives.groups import as_groups
from codegym.objectives.sampling import informative_groups

__all__ = ["invalid_test_ratio", "reward_correlation", "zero_variance_fraction"]


def zero_variance_fraction(rewards: npt.ArrayLike) -> float:
    """The share of the groups whose rewards are all equal: those that give no gradient.

    Args:
        rewards: Shape ``[..., n]``; None or nan where there is none.

    Raises:
        ConfigError: There is no group, or the rewards make no sense.
    """
    informative = informative_groups(rewards)
    if not informative.size:
        raise ConfigError("the fraction of zero-variance groups needs a group, got none")
    return float(1 - informative.mean())


def reward_correlation(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Pearson's correlation of two rewards of the same episodes.

    For the code player and the test player of Code-A1 it is expected to be negative.

    Args:
        first: One reward for each episode; nan where there is none.
        second: Likewise.

    Returns:
        From -1 to 1; nan where it is not defined, since one is constant or there are fewer than two episodes.

    Raises:
        ConfigError: There are not as many of each.
    """
    pairs = np.stack([as_groups(first).ravel(), _alike(first, second)])
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    if pairs.shape[1] < 2 or (np.ptp(pairs, axis=1) == 0).any():
        return float("nan")
    return float(np.corrcoef(pairs)[0, 1])


def invalid_test_ratio(invalid: int, generated: int) -> float:
    """The share of the generated tests that are not valid; 0 where there are none.

    Raises:
        ConfigError: Not ``0 <= invalid <= generated``.
    """
    if not 0 <= invalid <= generated:
        raise ConfigError(f"0 <= invalid <= generated must hold, got {invalid!r} and {generated!r}")
    return invalid / generated if generated else 0.0


def _alike(first: npt.ArrayLike, second: npt.ArrayLike) -> npt.NDArray[np.float64]:
    values = as_groups(second)
    if values.shape != np.shape(first):
        raise ConfigError(f"both rewards need the same shape, got {np.shape(first)} and {values.shape}")
    return values.ravel()

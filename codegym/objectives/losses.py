"""The scalar parts of a policy loss: clipping, KL, aggregation, GSPO's sequence ratio, trajectory balance.

Objectives are to be maximised; losses, as `aggregate_loss` takes them, to be minimised. Log-probabilities
have the shape ``[sequences, tokens]``, and a mask of that shape marks the tokens that count.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from codegym.errors import ConfigError
from codegym.objectives.groups import Floats, Mask, as_mask

__all__ = [
    "Aggregation",
    "aggregate_loss",
    "clip_fraction",
    "clipped_objective",
    "gspo_objective",
    "gspo_ratio",
    "kl_k3",
    "trajectory_balance_loss",
]

Aggregation = Literal["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]
"""How the losses of tokens become one number, by verl's names."""


def clipped_objective(
    ratio: npt.ArrayLike,
    advantages: npt.ArrayLike,
    *,
    low: float = 0.2,
    high: float = 0.28,
    dual: float | None = None,
) -> Floats:
    """``min(rho A, clip(rho, 1 - low, 1 + high) A)``, DAPO's decoupled clip (2503.14476, eq. 8).

    ``high=0.2`` is the symmetric clip of PPO and GRPO.

    >>> clipped_objective(1.5, 1.0).item()
    1.28

    Args:
        ratio: The probability of a token (or sequence) under the policy over that under the old policy.
        advantages: Of a shape that broadcasts with `ratio`.
        low: How far the ratio may fall.
        high: How far the ratio may rise.
        dual: Above 1 + high: the objective of a negative advantage is at least ``dual * A`` (dual clip,
            1912.09729). None: unbounded.

    Returns:
        The objective of each token.

    Raises:
        ConfigError: A bound makes no sense.
    """
    _check_clip(low, high)
    if dual is not None and not dual > 1 + high:
        raise ConfigError(f"dual must be above 1 + high = {1 + high}, got {dual!r}")
    ratio, advantages = np.asarray(ratio, np.float64), np.asarray(advantages, np.float64)
    objective: Floats = np.minimum(ratio * advantages, np.clip(ratio, 1 - low, 1 + high) * advantages)
    if dual is not None:
        objective = np.where(advantages < 0, np.maximum(objective, dual * advantages), objective)
    return objective


def clip_fraction(
    ratio: npt.ArrayLike,
    advantages: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    *,
    low: float = 0.2,
    high: float = 0.28,
) -> float:
    """The share of the tokens whose gradient the clip cuts off; 0 without tokens.

    Raises:
        ConfigError: A bound makes no sense, or the mask has another shape.
    """
    _check_clip(low, high)
    ratios, values = np.broadcast_arrays(np.asarray(ratio, np.float64), np.asarray(advantages, np.float64))
    clipped = ((ratios < 1 - low) & (values < 0)) | ((ratios > 1 + high) & (values > 0))
    kept = as_mask(mask, ratios.shape)
    return float(clipped[kept].mean()) if kept.any() else 0.0


def kl_k3(log_probs: npt.ArrayLike, reference_log_probs: npt.ArrayLike) -> Floats:
    """``exp(d) - d - 1`` with ``d = log pi_ref - log pi``: the k3 estimate of KL(pi, pi_ref), never negative.

    Schulman, "Approximating KL divergence", 2020; DeepSeekMath (2402.03300, eq. 4).
    """
    difference = np.asarray(reference_log_probs, np.float64) - np.asarray(log_probs, np.float64)
    estimate: Floats = np.expm1(difference) - difference
    return estimate


def aggregate_loss(
    losses: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    mode: Aggregation = "token-mean",
    *,
    max_length: int | None = None,
) -> float:
    """From the losses of tokens to one number.

    ``token-mean``: over all tokens (DAPO, 2503.14476, eq. 12). ``seq-mean-token-mean``: over each sequence,
    then over the sequences (GRPO). ``seq-mean-token-sum``: the mean of the sequences' sums.
    ``seq-mean-token-sum-norm``: the same over the constant `max_length` (Dr.GRPO, 2503.20783, 3.2).

    Args:
        losses: Shape ``[sequences, tokens]``.
        mask: Which tokens count. None: all.
        mode: See above.
        max_length: Tokens that a sequence may have; for the last mode.

    Returns:
        The loss. A sequence without tokens counts as one with loss 0 where sequences are averaged.

    Raises:
        ConfigError: The mode is unknown, lacks its `max_length`, or a shape is wrong.
    """
    table = np.asarray(losses, np.float64)
    if table.ndim != 2 or not table.size:
        raise ConfigError(f"losses must have the shape [sequences, tokens], got {table.shape}")
    if mode not in get_args(Aggregation):
        raise ConfigError(f"mode must be one of {', '.join(get_args(Aggregation))}, got {mode!r}")
    if (mode == "seq-mean-token-sum-norm") != (max_length is not None and max_length > 0):
        raise ConfigError(
            f"a positive max_length goes with the mode 'seq-mean-token-sum-norm' and only with it, "
            f"got {max_length!r} with {mode!r}"
        )
    kept = as_mask(mask, table.shape)
    if mode == "token-mean":
        return float(table[kept].mean()) if kept.any() else 0.0
    if mode == "seq-mean-token-mean":
        return float(_token_mean(table, kept).mean())
    return float(np.where(kept, table, 0.0).sum() / len(table) / (max_length or 1))


def gspo_ratio(
    log_probs: npt.ArrayLike, old_log_probs: npt.ArrayLike, mask: npt.ArrayLike | None = None
) -> Floats:
    """``exp(mean_t(log pi - log pi_old))``: the length-normalised ratio of a sequence.

    GSPO (2507.18071, eq. 7).

    >>> gspo_ratio([[0.1, -0.2, 0.4]], [[0.0, 0.0, 0.0]]).round(6).tolist()
    [1.105171]

    Args:
        log_probs: Shape ``[sequences, tokens]``.
        old_log_probs: Likewise.
        mask: Which tokens count. None: all.

    Returns:
        Shape ``[sequences]``; 1 for a sequence without tokens.

    Raises:
        ConfigError: A shape is wrong.
    """
    difference = np.asarray(log_probs, np.float64) - np.asarray(old_log_probs, np.float64)
    if difference.ndim != 2:
        raise ConfigError(f"log_probs must have the shape [sequences, tokens], got {difference.shape}")
    return np.exp(_token_mean(difference, as_mask(mask, difference.shape)))


def gspo_objective(
    log_probs: npt.ArrayLike,
    old_log_probs: npt.ArrayLike,
    advantages: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    *,
    low: float = 3e-4,
    high: float = 4e-4,
) -> Floats:
    """The clipped objective of whole sequences (GSPO, 2507.18071, eq. 5); its mean is to be maximised.

    A sequence that is clipped loses all its tokens. Advantages are those of GRPO.

    Args:
        log_probs: Shape ``[sequences, tokens]``.
        old_log_probs: Likewise.
        advantages: Shape ``[sequences]``.
        mask: Which tokens count. None: all.
        low: How far the ratio may fall.
        high: How far the ratio may rise.

    Returns:
        Shape ``[sequences]``.

    Raises:
        ConfigError: A shape or a bound is wrong.
    """
    ratio = gspo_ratio(log_probs, old_log_probs, mask)
    return clipped_objective(ratio, advantages, low=low, high=high)


def trajectory_balance_loss(
    log_z: npt.ArrayLike,
    sequence_log_probs: npt.ArrayLike,
    rewards: npt.ArrayLike,
    *,
    beta: float = 1.0,
    eps: float = 1e-6,
) -> Floats:
    """``(log Z + log pi(y) - beta log max(R, eps))^2``: trajectory balance (2201.13259).

    A policy that brings it to 0 samples answers in proportion to ``R^beta``, instead of only the best ones
    (compare FlowRL, 2509.15207).

    Args:
        log_z: The estimate of the log-partition function of each prompt.
        sequence_log_probs: The sum of the tokens' log-probabilities of each answer.
        rewards: Not negative; nan where there is none.
        beta: How sharply good answers are preferred.
        eps: In place of smaller rewards, whose logarithm would not be finite.

    Returns:
        The loss of each answer; 0 without a reward.

    Raises:
        ConfigError: A reward is negative, or `eps` is not positive.
    """
    values = np.asarray(rewards, np.float64)
    if (values < 0).any() or not eps > 0:
        raise ConfigError(f"trajectory balance needs rewards that are not negative and eps > 0, got {eps=!r}")
    target = beta * np.log(np.maximum(values, eps))
    loss = (np.asarray(log_z, np.float64) + np.asarray(sequence_log_probs, np.float64) - target) ** 2
    return np.where(np.isnan(values), 0.0, loss)


def _check_clip(low: float, high: float) -> None:
    if not (0 <= low < 1 and 0 <= high < np.inf):
        raise ConfigError(f"a clip needs 0 <= low < 1 and high >= 0, got {low=!r} and {high=!r}")


def _token_mean(table: Floats, kept: Mask) -> Floats:
    """The mean of each sequence over the tokens that count; 0 without any."""
    mean: Floats = np.where(kept, table, 0.0).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)
    return mean

# ruff: noqa: PT028 (test_reward is no test)
"""The rewards of Code-A1, a duel of a code player and a test player (2603.15611).

The test player sees a candidate and writes suites against it; each suite is checked on the ground truth; the
candidate runs on what is valid of it, and on the mistakes of the past. Pass rates are in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from codegym.errors import ConfigError

__all__ = [
    "CODE_A1_PAPER",
    "CODE_A1_RELEASE",
    "CodeA1",
    "adversarial_reward",
    "code_reward",
    "nonprintable_ratio",
    "pass_new",
    "test_reward",
    "validity_reward",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeA1:
    """The settings of a duel."""

    candidates: int = 8
    """M: programs for each question."""
    suites: int = 8
    """N: suites against each candidate."""
    tests: int = 5
    """K: tests in a suite; what is written beyond them is not looked at."""
    replay: int = 8
    """Old mistakes that a candidate is run on."""
    kept: int = 1
    """Candidates of a question whose suites update the test player; see `codegym.objectives.top_var`."""
    alpha: float = 0.5
    """The weight of validity in the test player's reward."""


CODE_A1_PAPER: Final = CodeA1()
CODE_A1_RELEASE: Final = CodeA1(tests=8)
"""The released code asks for 8 tests where the paper has 5."""


def validity_reward(n_valid: int, n_invalid: int, k: int = 5) -> float:
    """``R_val = clip(min(n_valid / K, 1 - n_invalid / K), 0, 1)``, the released code's form.

    It equals the paper's, valid tests over K, when exactly K tests are written.

    >>> validity_reward(6, 2, k=8)
    0.75

    Args:
        n_valid: Tests that were kept, those with a corrected expected value among them.
        n_invalid: Tests that do not parse, fail on the ground truth, are repeated, or were corrected.
        k: Tests asked for.

    Raises:
        ConfigError: A count is negative, or `k` is not positive.
    """
    if n_valid < 0 or n_invalid < 0 or k < 1:
        raise ConfigError(f"counts must not be negative, and k positive, got {n_valid=}, {n_invalid=}, {k=}")
    return min(max(min(n_valid / k, 1 - n_invalid / k), 0.0), 1.0)


def pass_new(n_valid: int, n_failed: int, k: int | None = None) -> float | None:
    """How much of a new suite the candidate passes.

    Args:
        n_valid: Tests of the suite that are valid.
        n_failed: Those of them that the candidate fails.
        k: None: the denominator is `n_valid`, as in the paper; this is what the code player is paid by. K:
            ``1 - n_failed / K``, as in the released code; pay the test player by this, or one killer test
            would earn as much as K of them.

    Returns:
        A rate, or None where no test is valid.

    Raises:
        ConfigError: Not ``0 <= n_failed <= n_valid``, or more than `k` tests are valid.
    """
    if not 0 <= n_failed <= n_valid or (k is not None and n_valid > k):
        raise ConfigError(f"0 <= n_failed <= n_valid <= k must hold, got {n_failed=}, {n_valid=}, {k=}")
    if not n_valid:
        return None
    return 1 - n_failed / (n_valid if k is None else k)


def code_reward(new: Sequence[float | None], pass_hist: float | None = None, *, loaded: bool = True) -> float:
    """The code player's: ``R_C = (Pass_hist + mean_n Pass_new(n)) / 2``, or the mean alone without history.

    >>> round(code_reward([0.8, 0.6, 1.0], pass_hist=0.5), 6)
    0.65

    Args:
        new: The pass rate on each suite. None: it has no valid test, and counts as the pass rate of the past,
            or 0 without history.
        pass_hist: The pass rate on the mistakes of the past. None: there are none.
        loaded: Whether the candidate could be loaded at all; 0 if not.

    Raises:
        ConfigError: A rate is not in [0, 1], or there are neither suites nor a history.
    """
    rates = [_rate("a pass rate", pass_hist or 0.0 if each is None else each) for each in new]
    if pass_hist is not None:
        _rate("pass_hist", pass_hist)
    if not rates and pass_hist is None:
        raise ConfigError("a candidate without suites and without history has no reward")
    if not loaded:
        return 0.0
    mean = math.fsum(rates) / len(rates) if rates else pass_hist or 0.0
    return mean if pass_hist is None else (pass_hist + mean) / 2


def adversarial_reward(new: float | None, pass_hist: float | None = None) -> float:
    """``R_adv = (Pass_hist - Pass_new + 1) / 2``, or ``1 - Pass_new`` without history.

    Args:
        new: The candidate's pass rate on the suite. None: the suite has no valid test, and earns 0.
        pass_hist: Its pass rate on the mistakes of the past. None: there are none.

    Raises:
        ConfigError: A rate is not in [0, 1].
    """
    if pass_hist is not None:
        _rate("pass_hist", pass_hist)
    if new is None:
        return 0.0
    _rate("pass_new", new)
    return 1 - new if pass_hist is None else (pass_hist - new + 1) / 2


def test_reward(
    r_val: float,
    pass_new: float | None,
    pass_hist: float | None = None,
    alpha: float = 0.5,
    *,
    loaded: bool = True,
    nonprintable: float = 0.0,
) -> float:
    """The test player's: ``R_T = alpha R_val + (1 - alpha) R_adv``.

    >>> round(test_reward(0.8, 0.6), 6)
    0.6

    Args:
        r_val: From `validity_reward`.
        pass_new: From the function of that name.
        pass_hist: The candidate's pass rate on the mistakes of the past. None: there are none.
        alpha: The weight of validity.
        loaded: Whether the candidate could be loaded; a suite against one that could not earns nothing.
        nonprintable: From `nonprintable_ratio`; subtracted.

    Raises:
        ConfigError: An argument is not in [0, 1].
    """
    _rate("r_val", r_val)
    _rate("alpha", alpha)
    _rate("nonprintable", nonprintable)
    earned = alpha * r_val + (1 - alpha) * adversarial_reward(pass_new, pass_hist)
    return (earned if loaded else 0.0) - nonprintable


test_reward.__test__ = False  # type: ignore[attr-defined]  # for pytest: not a test


def nonprintable_ratio(text: str) -> float:
    """The share of a response's characters that are neither printable nor white space; 0 of an empty one."""
    strange = sum(not (character.isprintable() or character.isspace()) for character in text)
    return strange / max(len(text), 1)


def _rate(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise ConfigError(f"{name} must be in [0, 1], got {value!r}")
    return value

"""Choosing among candidates by generated tests, and how far the choice can be trusted.

``passed`` is a table ``[candidates, tests]``: whether a candidate passes a test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from codegym.errors import ConfigError
from codegym.objectives.groups import Floats, Mask

__all__ = [
    "agreeing_tests",
    "codet_scores",
    "discrimination",
    "expected_accuracy",
    "misselection_bound",
    "needed_tests",
    "pass_counts",
    "select",
    "unsoundness",
]


def pass_counts(passed: npt.ArrayLike) -> Floats:
    """The tests that each candidate passes: the score of TCS (2609.03955, eq. 5). Shape ``[candidates]``."""
    counts: Floats = _table(passed).sum(axis=1, dtype=np.float64)
    return counts


def codet_scores(passed: npt.ArrayLike, power: float = 0.5) -> Floats:
    """The score of the consensus set of each candidate: dual execution agreement (CodeT, 2207.10397, 2.2).

    Candidates that pass the same tests form a set; its score is the number of tests times the number of
    candidates to the `power`: 0.5 in the released code, 1 in the paper.

    >>> rows = [[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]
    >>> codet_scores(rows).round(6).tolist()
    [4.242641, 4.242641, 3.0, 0.0, 4.0]

    Args:
        passed: Shape ``[candidates, tests]``.
        power: See above.

    Returns:
        Shape ``[candidates]``; 0 for one that passes nothing.
    """
    table = _table(passed)
    _, members, sizes = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    scores: Floats = table.sum(axis=1) * np.power(sizes[members.ravel()], power, dtype=np.float64)
    return scores


def agreeing_tests(passed: npt.ArrayLike, eligible: npt.ArrayLike, share: float = 0.5) -> Mask:
    """Which tests at least that share of the eligible candidates passes: a filter for wrong tests.

    Args:
        passed: Shape ``[candidates, tests]``.
        eligible: Shape ``[candidates]``: who passes the public tests.
        share: From 0 to 1.

    Returns:
        Shape ``[tests]``; all of them without an eligible candidate.
    """
    table, voters = _table(passed), np.asarray(eligible, np.bool_)
    if not voters.any():
        return np.ones(table.shape[1], np.bool_)
    agreed: Mask = table[voters].mean(axis=0) >= share
    return agreed


def select(scores: npt.ArrayLike, eligible: npt.ArrayLike | None = None) -> int | None:
    """The index of the candidate with the highest score, the lowest one of several.

    Args:
        scores: Shape ``[candidates]``.
        eligible: Who passes the public tests. None: everybody.

    Returns:
        None when nobody is eligible: the problem counts as failed.
    """
    best = _best(scores, eligible)
    return int(best[0]) if best.size else None


def expected_accuracy(
    scores: npt.ArrayLike, correct: npt.ArrayLike, eligible: npt.ArrayLike | None = None
) -> float:
    """The chance that the selected candidate is right, when ties are broken at random.

    >>> expected_accuracy([3, 3, 5, 2], [1, 0, 0, 1], eligible=[1, 1, 0, 1])
    0.5

    Args:
        scores: Shape ``[candidates]``.
        correct: Whether each candidate is right.
        eligible: Who passes the public tests. None: everybody.

    Returns:
        From 0 to 1; 0 when nobody is eligible.
    """
    best = _best(scores, eligible)
    return float(np.asarray(correct, np.float64)[best].mean()) if best.size else 0.0


def misselection_bound(margins: float | Sequence[float], tests: int, candidates: int | None = None) -> float:
    """An upper bound on the chance that tests select a wrong candidate: TCS (2609.03955, Prop. 1).

    ``(N - 1) exp(-K d^2 / 2)`` with ``d = delta - alpha``; or, with the margin of each wrong candidate, the
    sharper ``sum_C exp(-K d_C^2 / 2)``. It supposes that a right candidate is among them, and that the tests
    are independent of each other given the candidates and have valid inputs. It says nothing (1.0) unless d
    is above ``sqrt(2 ln(N - 1) / K)``.

    >>> round(misselection_bound(0.5, tests=32, candidates=32), 6)
    0.567785

    Args:
        margins: The smallest ``delta - alpha`` of the wrong candidates; or that of each of them.
        tests: K.
        candidates: N, for one margin.

    Returns:
        From 0 to 1; 1.0 when a margin is not positive.

    Raises:
        ConfigError: A count makes no sense, or `candidates` is given with many margins or not with one.
    """
    if isinstance(margins, Sequence) == (candidates is not None):
        raise ConfigError("candidates goes with one margin, and only with one")
    if tests < 0 or (candidates is not None and candidates < 1):
        raise ConfigError(f"counts must be positive, got {tests=!r} and {candidates=!r}")
    each = list(margins) if isinstance(margins, Sequence) else [margins] * ((candidates or 1) - 1)
    if any(not margin > 0 for margin in each):
        return 1.0
    return min(1.0, math.fsum(math.exp(-tests * margin**2 / 2) for margin in each))


def needed_tests(candidates: int, risk: float, margin: float) -> int:
    """The tests that bring `misselection_bound` down to `risk`: ``ceil(2 ln((N - 1) / risk) / d^2)``.

    >>> needed_tests(32, risk=0.05, margin=0.4)
    81

    Raises:
        ConfigError: Not ``candidates >= 2``, ``0 < risk < 1`` and ``0 < margin <= 1``.
    """
    if not (candidates >= 2 and 0 < risk < 1 and 0 < margin <= 1):
        raise ConfigError(
            f"candidates >= 2, 0 < risk < 1 and 0 < margin <= 1 must hold, "
            f"got {candidates=!r}, {risk=!r}, {margin=!r}"
        )
    return math.ceil(2 * math.log((candidates - 1) / risk) / margin**2)


def unsoundness(sound: npt.ArrayLike) -> float:
    """The estimate of alpha: the generated tests that a right program fails, over all generated.

    Raises:
        ConfigError: There are no tests.
    """
    verdicts = np.asarray(sound, np.bool_)
    if not verdicts.size:
        raise ConfigError("alpha of no tests is not defined")
    return float(1 - verdicts.mean())


def discrimination(sound: npt.ArrayLike, failed: npt.ArrayLike) -> float:
    """The estimate of delta(C): the tests that are sound and that C fails, over all generated.

    Args:
        sound: Whether a right program passes each test.
        failed: Whether the candidate fails it.

    Raises:
        ConfigError: There are no tests, or not as many verdicts of both.
    """
    verdicts, failures = np.asarray(sound, np.bool_), np.asarray(failed, np.bool_)
    if not verdicts.size or verdicts.shape != failures.shape:
        raise ConfigError(f"delta needs two verdicts on each test, got {verdicts.shape} and {failures.shape}")
    return float((verdicts & failures).mean())


def _table(passed: npt.ArrayLike) -> Mask:
    table = np.asarray(passed, np.bool_)
    if table.ndim != 2 or not len(table):
        raise ConfigError(f"passed must have the shape [candidates, tests], got {table.shape}")
    return table


def _best(scores: npt.ArrayLike, eligible: npt.ArrayLike | None) -> npt.NDArray[np.intp]:
    """The eligible candidates with the highest score."""
    values = np.asarray(scores, np.float64)
    allowed = np.ones(values.shape, np.bool_) if eligible is None else np.asarray(eligible, np.bool_)
    if values.ndim != 1 or allowed.shape != values.shape:
        raise ConfigError(
            f"scores and eligible need the shape [candidates], got {values.shape} and {allowed.shape}"
        )
    if not allowed.any():
        return np.array([], dtype=np.intp)
    return np.flatnonzero(allowed & (values == values[allowed].max()))

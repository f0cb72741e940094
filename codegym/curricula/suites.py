"""Tests and the tiers they belong to: how hard a test looks, what it catches, how a suite is divided."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from codegym.core import TestCase
from codegym.curricula.dials import SUITE_RATIO
from codegym.curricula.inputs import input_key
from codegym.errors import ConfigError
from codegym.tiers import TIERS, canonical_tier, tier_weights

__all__ = [
    "TierFeatures",
    "apportion",
    "assign_tiers",
    "cyclomatic_complexity",
    "rank_tests",
    "ratio_gaps",
    "tier_counts",
    "tier_features",
]

# How hard a test looks

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class TierFeatures:
    """Proxies of how hard an input is; after TAROT's, as an audit of it reports them."""

    length: int
    """Characters."""
    diversity: float
    """Different tokens over all tokens, from 0 to 1."""
    transitions: float
    """Of the pairs of neighbouring characters, the share that changes between letter, digit, white space and
    others."""


def tier_features(test: TestCase | str) -> TierFeatures:
    """Measure a test's input.

    Args:
        test: A test, or its input as a text. The input of a call are its arguments as Python writes them,
            that of test code is the code.
    """
    text = test if isinstance(test, str) else _input_text(test)
    tokens = _TOKEN.findall(text)
    kinds = [_kind(character) for character in text]
    changes = sum(first != second for first, second in pairwise(kinds))
    return TierFeatures(
        length=len(text),
        diversity=len(set(tokens)) / max(len(tokens), 1),
        transitions=changes / max(len(text) - 1, 1),
    )


def _input_text(test: TestCase) -> str:
    if test.style == "call":
        named = (f"{name}={_written(value)}" for name, value in test.kwargs.items())
        return ", ".join([*map(_written, test.args), *named])
    return test.stdin if test.style == "stdio" else test.source


def _written(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # integers of more digits than Python likes to print
        return input_key(value)


def _kind(character: str) -> int:
    return 0 if character.isalpha() else 1 if character.isdigit() else 2 if character.isspace() else 3


def cyclomatic_complexity(code: str) -> int:
    """The paths through the most complicated function of a program, method or not, or its top level.

    Args:
        code: A program that parses.

    Returns:
        McCabe's number, at least 1.

    Raises:
        ConfigError: It does not parse, or the package radon is not installed.
    """
    try:
        from radon.complexity import add_inner_blocks
        from radon.visitors import ComplexityVisitor, Function
    except ImportError as error:
        raise ConfigError(
            "cyclomatic complexity needs the package radon: pip install 'codegym[curricula]'"
        ) from error
    try:
        visitor = ComplexityVisitor.from_code(code)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ConfigError(f"the program does not parse: {error}") from error
    functions = [block for block in add_inner_blocks(visitor.blocks) if isinstance(block, Function)]
    return max([int(visitor.complexity), *(int(function.complexity) for function in functions)])


# How tests are ranked


def rank_tests(features: Sequence[TierFeatures], kills: npt.ArrayLike | None = None) -> list[int]:
    """Positions of tests, from easy to hard.

    What a test catches counts first: each program known to be wrong gives a point, which is shared by the
    tests that catch it, so that a test is hard that catches what few others do. Among tests that catch the
    same, those are harder whose inputs look harder: by the mean of their ranks in length, diversity and
    transitions.

    Args:
        features: Of each test.
        kills: Shape ``[tests, wrong programs]``: whether the test catches the program. None: there are none.

    Raises:
        ConfigError: There are not as many rows as tests.
    """
    table = np.zeros((len(features), 0)) if kills is None else np.asarray(kills, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(features):
        raise ConfigError(f"kills must have the shape [{len(features)}, wrong programs], got {table.shape}")
    if not features:
        return []
    caught = (table / np.maximum(table.sum(axis=0), 1)).sum(axis=1).round(9)
    looks = np.mean([_ranks(column) for column in zip(*map(astuple, features), strict=True)], axis=0)
    return sorted(range(len(features)), key=lambda i: (caught[i], looks[i]))


def _ranks(values: Sequence[float]) -> npt.NDArray[np.float64]:
    """The rank of each value, equal ones sharing the mean."""
    column = np.asarray(values, dtype=np.float64)
    smaller = (column[:, np.newaxis] > column).sum(axis=1)
    equal = (column[:, np.newaxis] == column).sum(axis=1)
    ranks: npt.NDArray[np.float64] = smaller + (equal - 1) / 2
    return ranks


def assign_tiers(ranking: Sequence[int], ratio: Mapping[str, float] = SUITE_RATIO) -> list[str]:
    """Divide ranked tests into tiers: the easiest ones are basic, the hardest ones edge.

    Args:
        ranking: Positions of tests from easy to hard, as `rank_tests` gives them.
        ratio: How the tiers relate.

    Returns:
        The tier of each test, by position.

    Raises:
        ConfigError: The ratio makes no sense.
    """
    counts = apportion(len(ranking), ratio)
    tiers = [tier for tier in TIERS for _ in range(counts[tier])]
    assigned = dict(zip(ranking, tiers, strict=True))
    return [assigned[i] for i in range(len(ranking))]


# How a suite is divided


def apportion(total: int, ratio: Mapping[str, float] = SUITE_RATIO) -> dict[str, int]:
    """Whole numbers in a ratio: rounded down, and what is left goes to the largest remainders.

    >>> apportion(10)
    {'basic': 3, 'intermediate': 3, 'complex': 2, 'edge': 2}

    Raises:
        ConfigError: `total` is negative, or the ratio has nothing in it.
    """
    weights = tier_weights(ratio)
    whole = math.fsum(weights.values())
    if total < 0 or not whole:
        raise ConfigError(
            f"total must not be negative nor the ratio empty, got {total!r} and {dict(ratio)!r}"
        )
    exact = {tier: total * weight / whole for tier, weight in weights.items()}
    counts = {tier: math.floor(share) for tier, share in exact.items()}
    left = sorted(TIERS, key=lambda tier: counts[tier] - exact[tier])
    for tier in left[: total - sum(counts.values())]:
        counts[tier] += 1
    return counts


def tier_counts(tests: Sequence[TestCase]) -> dict[str, int]:
    """How many tests there are of each tier; those without tier do not count.

    Raises:
        ConfigError: A label is none of a tier.
    """
    labels = [canonical_tier(test.tier) for test in tests]
    return {tier: labels.count(tier) for tier in TIERS}


def ratio_gaps(tests: Sequence[TestCase], ratio: Mapping[str, float] = SUITE_RATIO) -> dict[str, int]:
    """How many tests each tier has too many, or, below 0, too few, for the ratio at this size.

    A suite is in the ratio where all are 0.

    Raises:
        ConfigError: A label is none of a tier, or the ratio makes no sense.
    """
    counts = tier_counts(tests)
    wanted = apportion(sum(counts.values()), ratio)
    return {tier: counts[tier] - wanted[tier] for tier in TIERS}

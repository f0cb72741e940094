"""How much validity counts for the test player, over a training run.

Code-A1's paper and code keep alpha at 0.5. The schedule and the rule are those of a digest of it, not of the
paper; use them by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from codegym.errors import ConfigError

__all__ = ["AdaptiveAlpha", "AlphaSchedule", "ConstantAlpha", "ScheduledAlpha"]


class AlphaSchedule(Protocol):
    """Says what alpha is at a training step."""

    def at(self, step: int) -> float:
        """Alpha at `step`, counted from 0."""


@dataclass(frozen=True, slots=True)
class ConstantAlpha:
    """Always the same: Code-A1."""

    alpha: float = 0.5

    def __post_init__(self) -> None:
        """Check the range."""
        _check("alpha", self.alpha)

    def at(self, step: int) -> float:
        """The constant."""
        return self.alpha


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduledAlpha:
    """First one value, then another.

    >>> schedule = ScheduledAlpha(total=111)
    >>> schedule.at(11), schedule.at(12)
    (0.7, 0.5)

    Attributes:
        total: Training steps.
        warmup: The share of them in which `first` holds; rounded up to whole steps.
        first: Alpha at the beginning.
        then: Alpha afterwards.
    """

    total: int
    warmup: float = 0.1
    first: float = 0.7
    then: float = 0.5

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.total < 1:
            raise ConfigError(f"total must be positive, got {self.total!r}")
        for name in ("warmup", "first", "then"):
            _check(name, getattr(self, name))

    def at(self, step: int) -> float:
        """Alpha at `step`, counted from 0."""
        # less a trifle: 0.1 * 70 is a little more than 7
        return self.first if step < math.ceil(self.warmup * self.total - 1e-9) else self.then


@dataclass(kw_only=True, slots=True)
class AdaptiveAlpha:
    """Asks for stronger tests when they kill too few mutants.

    >>> rule = AdaptiveAlpha(threshold=0.3)
    >>> [round(rule.update(0.2), 5) for _ in range(6)]
    [0.45, 0.405, 0.3645, 0.32805, 0.3, 0.3]

    Attributes:
        threshold: mut@k below which tests are too weak.
        alpha: The current value.
        temperature: For sampling tests; rises with each step down of alpha.
        factor: What alpha is multiplied by.
        least: The smallest alpha.
        heat: What is added to the temperature.
        rescued: Alpha after `rescue`.
    """

    threshold: float
    alpha: float = 0.5
    temperature: float = 1.0
    factor: float = 0.9
    least: float = 0.3
    heat: float = 0.1
    rescued: float = 0.8

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("threshold", "alpha", "factor", "least", "rescued"):
            _check(name, getattr(self, name))

    def at(self, step: int) -> float:
        """The current value."""
        return self.alpha

    def update(self, mut_at_k: float) -> float:
        """Look at a new mut@k, in [0, 1], and return the new alpha."""
        _check("mut@k", mut_at_k)
        if mut_at_k < self.threshold:
            self.alpha = max(self.least, self.factor * self.alpha)
            self.temperature += self.heat
        return self.alpha

    def rescue(self) -> float:
        """Return to validity, when hardly a test is valid any more."""
        self.alpha = self.rescued
        return self.alpha

    def state_dict(self) -> dict[str, float]:
        """Everything, as plain data."""
        return asdict(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned.

        Raises:
            ConfigError: The state is not one of this class, or out of range.
        """
        if state.keys() != asdict(self).keys():
            raise ConfigError(f"expected the fields {sorted(asdict(self))}, got {sorted(state)}")
        for name, value in asdict(AdaptiveAlpha(**state)).items():
            setattr(self, name, value)


def _check(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ConfigError(f"{name} must be in [0, 1], got {value!r}")

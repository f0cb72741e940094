"""Curricula of a digest of TAROT: chosen by capability and chosen anew, smooth, and with fading weights.

They are in neither the paper nor its code, whose policies are fixed before training (`schedule`); so they
are on by name only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from codegym.curricula.base import Curriculum, Stage, make_curriculum
from codegym.curricula.dials import (
    STRONG_START,
    SUITE_RATIO,
    WEAK_START,
    decay,
    lerp,
    small_model_floor,
    transition_share,
)
from codegym.curricula.schedule import FORWARD, INTERMEDIATE_FIRST, REVERSE, Schedule, Sets
from codegym.errors import ConfigError
from codegym.tiers import TIERS

__all__ = [
    "CapabilityCurriculum",
    "DecayCurriculum",
    "Strategy",
    "TransitionCurriculum",
    "capability",
    "strategy",
]

Strategy = Literal["basic_to_complex", "intermediate_first", "complex_to_edge"]

_STRATEGIES: Final[Mapping[str, tuple[Sets, Mapping[str, float]]]] = {
    "basic_to_complex": (FORWARD, WEAK_START),
    "intermediate_first": (INTERMEDIATE_FIRST, SUITE_RATIO),
    "complex_to_edge": (REVERSE, STRONG_START),
}
"""What each strategy makes active, and the allocation that it begins with."""


def capability(scores: Mapping[str, float | None], weights: Mapping[str, float] | None = None) -> float:
    """The weighted mean of benchmark scores.

    >>> round(capability({"humaneval": 60, "mbpp+": 55, "cruxeval": 40}), 3)
    51.667

    Args:
        scores: In percent, by benchmark. None: not known, and left out.
        weights: By benchmark. None: they all count the same.

    Returns:
        In percent.

    Raises:
        ConfigError: No score is known, one is not in [0, 100], or the known ones have no weight.
    """
    known = {name: score for name, score in scores.items() if score is not None}
    if not known or not all(0 <= score <= 100 for score in known.values()):
        raise ConfigError(f"capability needs scores in percent, from 0 to 100, got {dict(scores)!r}")
    shares = {name: 1.0 if weights is None else weights.get(name, 0.0) for name in known}
    total = math.fsum(shares.values())
    if not total > 0 or min(shares.values()) < 0:
        raise ConfigError(f"weights must be positive for a known score, got {weights!r} for {list(known)}")
    return math.fsum(shares[name] * score for name, score in known.items()) / total


def strategy(percent: float) -> Strategy:
    """From a capability to a strategy: below 50 easy tests first, above 70 hard ones, in between the middle.

    Raises:
        ConfigError: `percent` is not in [0, 100].
    """
    if not 0 <= percent <= 100:
        raise ConfigError(f"a capability is in percent, from 0 to 100, got {percent!r}")
    if percent < 50:
        return "basic_to_complex"
    return "intermediate_first" if percent <= 70 else "complex_to_edge"


class CapabilityCurriculum(Curriculum):
    """Begins where the model stands, and looks again every few updates.

    Active tiers are those of the strategy; the allocation passes from the one that the strategy begins with
    to 3 : 3 : 2 : 2 at the last boundary.

    Attributes:
        capability: In percent, as last assessed.
    """

    def __init__(
        self,
        scores: Mapping[str, float | None],
        *,
        benchmark_weights: Mapping[str, float] | None = None,
        parameters: float = math.inf,
        reassess_every: int = 5,
    ) -> None:
        """Assess the model.

        Args:
            scores: Of benchmarks such as HumanEval, MBPP+ and CRUXEval, in percent; see `capability`.
            benchmark_weights: See `capability`.
            parameters: Of the model; for a small one half of the draws are basic.
            reassess_every: Updates between assessments; then the mean pass rate since the last one is the
                capability. 0: never.

        Raises:
            ConfigError: There is no score, or an argument is out of range.
        """
        if reassess_every < 0 or not parameters > 0:
            raise ConfigError(
                f"reassess_every must not be negative and parameters positive, "
                f"got {reassess_every!r} and {parameters!r}"
            )
        self.capability = capability(scores, benchmark_weights)
        self._parameters = parameters
        self._reassess_every = reassess_every
        self._seen: list[float] = []

    @property
    def strategy(self) -> Strategy:
        """By the current capability."""
        return strategy(self.capability)

    def stage(self, progress: float) -> Stage:
        """The strategy's stage."""
        sets, start = _STRATEGIES[self.strategy]
        schedule = Schedule(name=self.strategy, sets=sets)
        stage = schedule.stage(progress)
        allocation = lerp(start, SUITE_RATIO, progress, 0.0, schedule.boundaries[-1])
        return Stage(
            active=stage.active,
            weights=stage.weights,
            allocation=small_model_floor(allocation, self._parameters),
        )

    def update(self, rates: Mapping[str, float]) -> None:
        """Take in live pass rates, all tiers counting the same, and assess anew when it is time.

        Raises:
            ConfigError: A rate is not in [0, 1].
        """
        values = [_rate(rate) for rate in rates.values()]
        if not values or not self._reassess_every:
            return
        self._seen.append(math.fsum(values) / len(values))
        if len(self._seen) >= self._reassess_every:
            self.capability = 100 * math.fsum(self._seen) / len(self._seen)
            self._seen = []

    def state_dict(self) -> dict[str, Any]:
        """The capability, and the pass rates since it was assessed."""
        return {"capability": self.capability, "seen": list(self._seen)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        _expect(state, "capability", "seen")
        strategy(state["capability"])
        self.capability, self._seen = state["capability"], [_rate(rate) for rate in state["seen"]]


class TransitionCurriculum(Curriculum):
    """Passes smoothly from one curriculum to another: both dials are interpolated; see `dials.lerp`."""

    def __init__(
        self, first: str | Curriculum, second: str | Curriculum, *, begin: float = 0.45, duration: float = 0.1
    ) -> None:
        """Join two curricula.

        Args:
            first: A curriculum, or the name of one.
            second: Likewise.
            begin: The progress at which the transition begins.
            duration: How much progress it takes; 0: at once. Meanwhile the tiers of both are active.

        Raises:
            NotFoundError: There is no curriculum of a name.
            ConfigError: A number is out of range.
        """
        if not 0 <= begin <= 1 or not 0 <= duration <= 1:
            raise ConfigError(f"begin and duration must be in [0, 1], got {begin!r} and {duration!r}")
        self.first, self.second = make_curriculum(first), make_curriculum(second)
        self._begin, self._duration = begin, duration

    def stage(self, progress: float) -> Stage:
        """The first curriculum's stage, the second's, or one between them."""
        share = transition_share(progress, self._begin, self._duration)
        before, after = self.first.stage(progress), self.second.stage(progress)
        if share in (0.0, 1.0):
            return after if share else before
        moment = (progress, self._begin, self._duration)
        return Stage(
            active=tuple(tier for tier in TIERS if tier in before.active + after.active),
            weights=lerp(_worth(before), _worth(after), *moment),
            allocation=lerp(before.allocation, after.allocation, *moment),
        )

    def update(self, rates: Mapping[str, float]) -> None:
        """Tell both."""
        self.first.update(rates)
        self.second.update(rates)

    def state_dict(self) -> dict[str, Any]:
        """The states of both."""
        return {"first": self.first.state_dict(), "second": self.second.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        _expect(state, "first", "second")
        self.first.load_state_dict(state["first"])
        self.second.load_state_dict(state["second"])


class DecayCurriculum(Curriculum):
    """Lets the weights of easy tiers fade with each update; see `dials.decay`."""

    def __init__(
        self, base: str | Curriculum = "avg_reward", *, gamma: float = 0.9, easy: Sequence[str] = ("basic",)
    ) -> None:
        """Wrap a curriculum.

        Args:
            base: A curriculum, or the name of one.
            gamma: What the weights of easy tiers are multiplied by.
            easy: The tiers that fade.

        Raises:
            NotFoundError: There is no curriculum of that name.
            ConfigError: `gamma` is out of range, or a tier unknown.
        """
        self.base = make_curriculum(base)
        self._gamma, self._easy, self._steps = gamma, tuple(easy), 0
        decay(dict.fromkeys(TIERS, 1.0), gamma, easy=self._easy)

    def stage(self, progress: float) -> Stage:
        """The base's stage with weights that have faded; they sum to 1."""
        stage = self.base.stage(progress)
        faded = decay(stage.weights, self._gamma, easy=self._easy, steps=self._steps)
        return Stage(active=stage.active, weights=faded, allocation=stage.allocation)

    def update(self, rates: Mapping[str, float]) -> None:
        """Fade by one step."""
        self._steps += 1
        self.base.update(rates)

    def state_dict(self) -> dict[str, Any]:
        """How far weights have faded, and the state of the base."""
        return {"steps": self._steps, "base": self.base.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        _expect(state, "steps", "base")
        self.base.load_state_dict(state["base"])
        self._steps = int(state["steps"])


def _worth(stage: Stage) -> dict[str, float]:
    """The weights, 0 where a tier is not active: what a test of it earns."""
    return {tier: weight if tier in stage.active else 0.0 for tier, weight in stage.weights.items()}


def _rate(value: float) -> float:
    if not 0 <= value <= 1:
        raise ConfigError(f"a pass rate is in [0, 1], got {value!r}")
    return float(value)


def _expect(state: Mapping[str, Any], *fields: str) -> None:
    if set(state) != set(fields):
        raise ConfigError(f"expected a state with {', '.join(fields)}, got {sorted(state)}")

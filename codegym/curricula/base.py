"""The contract of a curriculum, and how a trainer or an environment uses one.

A curriculum has two dials, which are independent: `Stage.allocation` says how often tests of a tier are
drawn, `Stage.weights` what passing them is worth. Both depend on the progress of training and on nothing but
what `Curriculum.update` was told, so that a run can be repeated.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from codegym.core import Outcome, Status, Task
from codegym.errors import ConfigError
from codegym.plugins import registry
from codegym.rewards.tiers import STAGE, TierReward
from codegym.tiers import TIERS, canonical_tier, tier_weights

__all__ = ["Curriculum", "Stage", "TieredTasks", "make_curriculum", "pass_rates"]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What a curriculum asks for at one moment.

    Attributes:
        active: The tiers whose tests earn something, from easy to hard.
        weights: What passing a tier is worth, for each tier; that of an inactive one does not matter.
        allocation: How often a tier is drawn, for each tier; they sum to 1. Empty: active ones equally often.
    """

    active: tuple[str, ...]
    weights: Mapping[str, float]
    allocation: Mapping[str, float]

    def __post_init__(self) -> None:
        """Check the values, and give every tier a number."""
        if not self.active or any(tier not in TIERS for tier in self.active):
            raise ConfigError(f"active tiers must be some of {', '.join(TIERS)}, got {self.active!r}")
        even = dict.fromkeys(self.active, 1 / len(self.active))
        allocation = tier_weights(self.allocation or even)
        if not math.isclose(math.fsum(allocation.values()), 1.0, abs_tol=1e-6):
            raise ConfigError(f"an allocation must sum to 1, got {dict(self.allocation)!r}")
        object.__setattr__(self, "active", tuple(tier for tier in TIERS if tier in self.active))
        object.__setattr__(self, "weights", tier_weights(self.weights))
        object.__setattr__(self, "allocation", allocation)

    def sample(self, seed: int, index: int, among: Iterable[str] = TIERS) -> str:
        """Draw a tier by the allocation. A tier that earns nothing is not drawn.

        Args:
            seed: Of the run, not negative.
            index: Of the draw, not negative.
            among: The tiers that there are tests of.

        Raises:
            ConfigError: None of the active tiers is among them.
        """
        possible = [tier for tier in self.active if tier in set(among)]
        if not possible:
            raise ConfigError(f"no test has one of the active tiers {', '.join(self.active)}")
        shares = np.array([self.allocation[tier] for tier in possible])
        if not shares.any():
            shares = np.ones(len(possible))
        rng = np.random.default_rng([seed, index])
        return possible[int(rng.choice(len(possible), p=shares / shares.sum()))]

    def focus(self, tier: str) -> Stage:
        """The same with one active tier.

        Raises:
            ConfigError: It is not active.
        """
        if tier not in self.active:
            raise ConfigError(f"tier {tier!r} is not among the active ones, {', '.join(self.active)}")
        return replace(self, active=(tier,), allocation={})

    def applies(self, task: Task) -> bool:
        """Whether the task has a test of an active tier."""
        return any(canonical_tier(test.tier) in self.active for test in task.tests)

    def restrict(self, task: Task) -> Task:
        """The task without the hidden tests of inactive tiers, and with a note for `TierReward`.

        The task that is passed in stays as it is. Tests without tier stay in, for validation.

        Raises:
            ConfigError: The task has no test of an active tier, so that it could not be failed.
        """
        if not self.applies(task):
            raise ConfigError(f"task {task.id!r} has no test of the tiers {', '.join(self.active)}")
        kept = {*self.active, None}
        hidden = tuple(test for test in task.hidden_tests if canonical_tier(test.tier) in kept)
        note = {"active": list(self.active), "weights": dict(self.weights)}
        return replace(task, hidden_tests=hidden, meta={**task.meta, STAGE: note})

    def reward(self, **options: Any) -> TierReward:
        """The reward of this stage, for outcomes of tasks that were not restricted.

        Args:
            **options: ``normalize`` and ``per_tier`` of `TierReward`.
        """
        return TierReward(weights=self.weights, active=self.active, **options)


class Curriculum(abc.ABC):
    """Decides which tiers count, what they are worth and how often they come up, as training goes on.

    In a trainer or an environment::

        curriculum = make_curriculum("uniform_forward")
        scorer = Scorer(rewards={"tiers": 1.0, "format": 1.0})
        deck = TieredTasks(tasks)
        for step in range(steps):
            stage = curriculum.stage(step / steps)
            batch = [deck.draw(stage, seed, step * size + i) for i in range(size)]
            scores = scorer.score(completions_for(batch), batch)
            curriculum.update(pass_rates(score.outcome for score in scores))

    Implement `stage`. One that learns from how training goes implements `update`, `state_dict` and
    `load_state_dict` too. Publish it with the hook `codegym_register_curricula`.
    """

    @abc.abstractmethod
    def stage(self, progress: float) -> Stage:
        """What is asked for.

        Args:
            progress: The share of training that is done, from 0 to 1.

        Raises:
            ConfigError: `progress` is not in [0, 1].
        """

    def active(self, progress: float) -> tuple[str, ...]:
        """The tiers whose tests earn something."""
        return self.stage(progress).active

    def weights(self, progress: float) -> Mapping[str, float]:
        """What passing each tier is worth."""
        return self.stage(progress).weights

    def allocation(self, progress: float) -> Mapping[str, float]:
        """How often each tier is drawn."""
        return self.stage(progress).allocation

    def sample(self, seed: int, index: int, progress: float) -> str:
        """Draw a tier: a function of the seed, the index and the stage."""
        return self.stage(progress).sample(seed, index)

    def update(self, rates: Mapping[str, float]) -> None:  # noqa: B027 (most do nothing here)
        """Hear how training goes. Most curricula do not listen.

        Args:
            rates: By tier, the share of its tests that the policy passed in the last step; see `pass_rates`.
        """

    def state_dict(self) -> dict[str, Any]:
        """What it learned from updates, as plain data."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned.

        Raises:
            ConfigError: It is the state of another curriculum.
        """
        if state:
            raise ConfigError(f"{type(self).__name__} has no state, got {dict(state)!r}")


def make_curriculum(name: str | Curriculum, **options: Any) -> Curriculum:
    """Make a curriculum.

    Args:
        name: A registered name, a ``"module:attr"`` string, or a curriculum, which is returned as it is.
        **options: What the curriculum takes; those that its registration gives are the defaults.

    Raises:
        NotFoundError: No plugin registered the name.
        ConfigError: An option makes no sense, or what the name stands for is no curriculum.
    """
    if isinstance(name, Curriculum):
        return name
    if ":" in name:
        made = registry().resolve("curriculum", name)(**options)
    else:
        entry = registry().get("curriculum", name)
        made = entry.load()(**{**entry.spec, **options})
    if not isinstance(made, Curriculum):
        raise ConfigError(f"{name!r} must make a codegym.curricula.Curriculum, got {made!r:.200}")
    return made


class TieredTasks:
    """Tasks that can be drawn by the tiers of their tests.

    Attributes:
        tasks: All of them.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        """Sort tasks by tier; a task may have tests of several.

        Raises:
            ConfigError: A test's label is none of a tier, or no test has a tier.
        """
        self.tasks = tuple(tasks)
        self._by_tier: dict[str, list[Task]] = {}
        for task in self.tasks:
            for tier in {canonical_tier(test.tier) for test in task.tests} - {None}:
                self._by_tier.setdefault(str(tier), []).append(task)
        if not self._by_tier:
            raise ConfigError(f"none of the {len(self.tasks)} tasks has a test with a tier")

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers that there are tests of."""
        return tuple(tier for tier in TIERS if tier in self._by_tier)

    def draw(self, stage: Stage, seed: int, index: int, *, focus: bool = False) -> Task:
        """Draw a tier by the stage's allocation, then a task that has it; every task equally likely.

        Args:
            stage: Of the curriculum.
            seed: Of the run, not negative.
            index: Of the draw, not negative.
            focus: Count only the tests of the tier that was drawn, in place of all active ones.

        Returns:
            The task, restricted to the stage.

        Raises:
            ConfigError: No task has a test of an active tier.
        """
        tier = stage.sample(seed, index, self._by_tier)
        tasks = self._by_tier[tier]
        rng = np.random.default_rng([seed, index, 1])
        return (stage.focus(tier) if focus else stage).restrict(tasks[int(rng.integers(len(tasks)))])


def pass_rates(outcomes: Iterable[Outcome | None]) -> dict[str, float]:
    """By tier, the mean share of its tests that programs passed.

    Args:
        outcomes: Those that are None, or that infrastructure spoilt, are left out.

    Returns:
        Only the tiers that there were tests of.

    Raises:
        ConfigError: A test's label is none of a tier.
    """
    rates: dict[str, list[float]] = {}
    for outcome in outcomes:
        if outcome is None or outcome.status == Status.INFRA:
            continue
        passed: dict[str, list[bool]] = {}
        for test in outcome.tests:
            passed.setdefault(canonical_tier(test.tier) or "", []).append(test.status == Status.PASSED)
        for tier, verdicts in passed.items():
            rates.setdefault(tier, []).append(sum(verdicts) / len(verdicts))
    return {tier: _mean(rates[tier]) for tier in TIERS if tier in rates}


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)

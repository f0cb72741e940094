"""From what a user names to reward functions that can be called."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from codegym.errors import ConfigError, RewardError
from codegym.plugins import describe, load_target, registry

__all__ = ["ARGUMENTS", "Reward", "RewardLike", "RewardsLike", "combined", "resolve_rewards"]

ARGUMENTS: Final = ("task", "completion", "program", "outcome", "suite")
"""What a reward may ask for."""

RewardLike = str | Callable[..., float | None]
"""A registered name, a ``"module:attr"`` string, or a function."""

RewardsLike = RewardLike | Sequence[RewardLike] | Mapping[Any, float]
"""One reward, several, or rewards with their weights."""

UNBOUNDED: Final = (-math.inf, math.inf)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reward:
    """A reward function with what is declared about it.

    Attributes:
        name: What its value is called in a score.
        function: Returns a number, or None where it does not apply.
        arguments: Those of `ARGUMENTS` that it wants.
        weight: What its value is multiplied by in the sum.
        range: The least and the greatest value that it may return.
        plugin: Who registered it. None: the user passed it.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    weight: float = 1.0
    range: tuple[float, float] = UNBOUNDED
    plugin: str | None = None

    def __post_init__(self) -> None:
        """Check the declarations."""
        if not math.isfinite(self.weight):
            raise ConfigError(f"{self.label}: the weight must be a finite number, got {self.weight!r}")
        if not self.range[0] <= self.range[1]:
            raise ConfigError(f"{self.label}: the range must be (least, greatest), got {self.range!r}")

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"Reward {self.name!r}" + ("" if self.plugin is None else f" of plugin {self.plugin!r}")

    def __call__(self, evidence: Mapping[str, Any]) -> float | None:
        """Call the function with what it wants of the evidence, and check what it returns.

        Args:
            evidence: A value for each of `ARGUMENTS`.

        Raises:
            RewardError: The function raised, or returned something else than None or a number within its
                range.
        """
        try:
            value = self.function(**{name: evidence[name] for name in self.arguments})
        except Exception as error:
            raise RewardError(f"{self.label} raised {describe(error)}") from error
        if value is None:
            return None
        least, greatest = self.range
        if not isinstance(value, numbers.Real) or not math.isfinite(value):
            raise RewardError(f"{self.label} must return a finite number or None, got {value!r:.200}")
        number = float(value)
        if not least <= number <= greatest:
            raise RewardError(f"{self.label} must return a number from {least} to {greatest}, got {value!r}")
        return number


def combined(
    rewards: Sequence[Reward], evidence: Mapping[str, Any], missing: str | None = None
) -> tuple[float | None, dict[str, float | None]]:
    """Call rewards, and add up what they return.

    Args:
        rewards: The rewards.
        evidence: A value for each of `ARGUMENTS`.
        missing: The argument that trouble with the infrastructure left without a value; rewards that want it
            are not called.

    Returns:
        The weighted sum, None after such trouble and where no reward applies; and each reward's own value.

    Raises:
        RewardError: A reward raised, or returned something else than a number in its range or None.
    """
    components = {
        reward.name: None if missing in reward.arguments else reward(evidence) for reward in rewards
    }
    parts = [
        reward.weight * value
        for reward, value in zip(rewards, components.values(), strict=True)
        if value is not None
    ]
    return (None if missing or not parts else math.fsum(parts)), components


def resolve_rewards(rewards: RewardsLike) -> tuple[Reward, ...]:
    """Find the rewards that a user means.

    Args:
        rewards: A registered name, a ``"module:attr"`` string, a function, a sequence of these, or a
            mapping from these to weights. Without a mapping, the weights are those that were declared.

    Raises:
        NotFoundError: No plugin registered a name.
        PluginError: What a name stands for cannot be imported.
        ConfigError: There is none; a name occurs twice; something is no reward, or wants an unknown argument.
    """
    if isinstance(rewards, str) or callable(rewards):
        rewards = (rewards,)
    found = [_resolve(each) for each in rewards]
    if isinstance(rewards, Mapping):
        found = [
            replace(reward, weight=float(rewards[key])) for key, reward in zip(rewards, found, strict=True)
        ]
    names = [reward.name for reward in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not names:
        raise ConfigError(
            f"rewards need different names, got {twice} twice" if twice else "there must be a reward"
        )
    return tuple(found)


def _resolve(what: object) -> Reward:
    if not isinstance(what, str):
        own_name: str = getattr(what, "__name__", type(what).__name__)
        return _declared(what, getattr(what, "name", own_name))
    if ":" in what:
        return _declared(load_target(what), what.rpartition(":")[2])
    entry = registry().get("reward", what)
    return _declared(entry.load(), what, plugin=entry.plugin, **entry.spec)


def _declared(what: Any, name: str, plugin: str | None = None, **spec: Any) -> Reward:
    """A reward with what its registration, or else it itself, declares."""
    function = what() if inspect.isclass(what) else what
    if not callable(function):
        raise ConfigError(f"reward {name!r} must be a function, got {what!r:.200}")
    return Reward(
        name=name,
        function=function,
        arguments=_wanted(function, name),
        weight=float(spec.get("weight", getattr(function, "weight", 1.0))),
        range=tuple(spec.get("range", getattr(function, "range", UNBOUNDED))),
        plugin=plugin,
    )


def _wanted(function: Callable[..., Any], name: str) -> tuple[str, ...]:
    """Which of `ARGUMENTS` a function wants."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        raise ConfigError(f"reward {name!r} must be a plain function, not a coroutine function")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"reward {name!r} must tell its arguments: {error}") from error
    if any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters):
        return ARGUMENTS
    by_name = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [p.name for p in parameters if p.default is p.empty and p.kind != p.VAR_POSITIONAL]
    unknown = [each for each in unknown if each not in ARGUMENTS or each not in {p.name for p in by_name}]
    if unknown:
        raise ConfigError(
            f"reward {name!r} wants {', '.join(map(repr, unknown))}, but arguments are filled by name from "
            + ", ".join(ARGUMENTS)
        )
    return tuple(p.name for p in by_name if p.name in ARGUMENTS)

"""A controller that keeps the policy's entropy up."""

from __future__ import annotations

from dataclasses import dataclass

from codegym.errors import ConfigError

__all__ = ["EntropyController"]


@dataclass(kw_only=True, slots=True)
class EntropyController:
    """Raises the coefficient of the entropy bonus while entropy is below its target, and lowers it above.

    The adaptive entropy of Skywork-OR1 (2505.22312), with the settings of TCS (2609.03955, App. A).

    >>> controller = EntropyController()
    >>> [round(controller.update(entropy), 3) for entropy in (0.15, 0.1, 0.25, 0.3)]
    [0.001, 0.002, 0.001, 0.0]

    Attributes:
        target: Nats per token; a policy below it is pushed.
        step: What one update changes.
        least: The smallest coefficient.
        greatest: The largest coefficient.
        coefficient: The current one. With the fields above it is the whole state.
    """

    target: float = 0.2
    step: float = 0.001
    least: float = 0.0
    greatest: float = 0.1
    coefficient: float = 0.0

    def __post_init__(self) -> None:
        """Check the bounds."""
        if not self.least <= self.coefficient <= self.greatest:
            raise ConfigError(f"least <= coefficient <= greatest must hold, got {self!r}")
        if not self.step > 0:
            raise ConfigError(f"step must be positive, got {self.step!r}")

    def update(self, entropy: float) -> float:
        """Move by one step.

        Args:
            entropy: Nats per token, as measured in this training step.

        Returns:
            The new coefficient.
        """
        change = self.step if entropy < self.target else -self.step
        self.coefficient = min(max(self.coefficient + change, self.least), self.greatest)
        return self.coefficient

    def weight(self, entropy: float) -> float:
        """What to multiply the entropy bonus by: 0 while entropy is high enough."""
        return self.coefficient if entropy < self.target else 0.0

"""TCS: one model learns to solve and, in two stages, to verify (2609.03955).

The verifier writes one test, an input with its output, against a program. In stage 1 it is paid for a sound
test, in stage 2 for a sound test that this program fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from codegym.core import Status
from codegym.errors import ConfigError
from codegym.testquality.written import extract_test

__all__ = [
    "TEST_TYPES",
    "StageController",
    "extract_test",
    "is_copy",
    "mixed_reward",
    "sample_tests",
    "stage1_reward",
    "stage2_reward",
]

TEST_TYPES: Final = ("basic", "edge", "corner", "performance")
"""What a verifier is asked for, drawn uniformly. Not the tiers of `codegym.curricula`."""

CopyRule = Literal["input", "pair"]


# Rewards


def stage1_reward(reference: Status, *, copied: bool) -> float | None:
    """``R_1 = 1[Exec(C*, I) = O] 1[not copied]``: a sound test (eq. 3).

    Args:
        reference: What became of a right program on the test. Anything but a pass is an unsound test, so too
            an error or a timeout.
        copied: From `is_copy`.

    Returns:
        0 or 1; None after trouble with the infrastructure.
    """
    if reference == Status.INFRA:
        return None
    return float(reference == Status.PASSED and not copied)


def stage2_reward(reference: Status, wrong: Status, *, copied: bool) -> float | None:
    """``R_2 = R_1 1[Exec(C_wrong, I) != O]``: a sound test that the program at hand fails (eq. 4).

    Args:
        reference: What became of a right program on the test.
        wrong: What became of the program that the verifier was shown: that one only, never an aggregate over
            several. An error or a timeout counts as failing the test (App. A.5).
        copied: From `is_copy`.

    Returns:
        0 or 1; None after trouble with the infrastructure.
    """
    sound = stage1_reward(reference, copied=copied)
    if not sound:
        return sound
    return None if wrong == Status.INFRA else float(wrong != Status.PASSED)


def mixed_reward(first: float | None, second: float | None, share: float) -> float | None:
    """``(1 - share) R_1 + share R_2``: a soft switch of stages, which the paper names among its limitations.

    Args:
        first: From `stage1_reward`.
        second: From `stage2_reward`.
        share: From 0 (stage 1) to 1 (stage 2); see `StageController.share`.

    Returns:
        From 0 to 1; None where a reward that counts is missing.

    Raises:
        ConfigError: `share` is not in [0, 1].
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"share must be in [0, 1], got {share!r}")
    terms = [(1 - share, first), (share, second)]
    if any(weight and value is None for weight, value in terms):
        return None
    return sum(weight * value for weight, value in terms if value is not None)


def is_copy(
    test_input: str, test_output: str, examples: Iterable[tuple[str, str]], rule: CopyRule = "input"
) -> bool:
    """Whether a test was copied from the examples in the prompt.

    Args:
        test_input: The test's input.
        test_output: Its output.
        examples: Inputs and outputs in the prompt.
        rule: ``input``: an equal input, but for white space at its ends, is a copy (the released code): a
            right program has one output for it, and white space is no idea. ``pair``: input and output are
            equal to the letter (the paper).

    Raises:
        ConfigError: There is no such rule.
    """
    if rule == "input":
        return any(test_input.strip() == each.strip() for each, _ in examples)
    if rule == "pair":
        return (test_input, test_output) in set(examples)
    raise ConfigError(f"rule must be 'input' or 'pair', got {rule!r}")


def sample_tests(count: int, seed: int, index: int, *, most: int = 3) -> list[int]:
    """Which of a task's tests a solver's rollout is judged by: at most so many, without replacement.

    Args:
        count: Tests of the task.
        seed: Of the run.
        index: Of the rollout.
        most: 3 in the released code.

    Returns:
        Positions, in ascending order.

    Raises:
        ConfigError: A number is negative.
    """
    if min(count, seed, index, most) < 0:
        raise ConfigError(f"numbers must not be negative, got {count=}, {seed=}, {index=}, {most=}")
    rng = np.random.default_rng([seed, index])
    return sorted(rng.choice(count, size=min(count, most), replace=False).tolist()) if count else []


# Stages


@dataclass(kw_only=True)
class StageController:
    """Decides when the verifier goes from stage 1 to stage 2, which it does once.

    The paper switches when the accuracy of tests on the training batch reaches about 0.75. Use `stage` (or
    `share`) for the rewards of a step, then tell `record` how it went; when that returns True, empty the
    buffer.

    >>> controller = StageController()
    >>> stages = []
    >>> for accuracy in (0.60, 0.74, 0.76, 0.70):
    ...     stages.append(controller.stage)
    ...     switched = controller.record(accuracy)
    >>> stages
    [1, 1, 1, 2]

    Attributes:
        threshold: The accuracy to reach, as a mean over `window` steps.
        window: Steps that the mean is taken over; it waits for as many.
        patience: Steps in a row at which the mean must reach it.
        fixed_step: Switch before this step instead, whatever the accuracy.
        ramp_steps: Steps over which `share` goes from 0 to 1 after the switch. 0: at once.
    """

    threshold: float = 0.75
    window: int = 1
    patience: int = 1
    fixed_step: int | None = None
    ramp_steps: int = 0
    _step: int = field(default=0, init=False)
    _hits: int = field(default=0, init=False)
    _switched_at: int | None = field(default=None, init=False)
    _recent: deque[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.window < 1 or self.patience < 1 or self.ramp_steps < 0 or not 0 <= self.threshold <= 1:
            raise ConfigError(
                f"window and patience must be positive, ramp_steps not negative, the threshold in [0, 1], "
                f"got {self.window}, {self.patience}, {self.ramp_steps}, {self.threshold}"
            )
        self._recent = deque(maxlen=self.window)
        if self.fixed_step is not None and self.fixed_step <= 0:
            self._switched_at = 0

    @property
    def stage(self) -> Literal[1, 2]:
        """The stage of the current step."""
        return 1 if self._switched_at is None else 2

    @property
    def share(self) -> float:
        """How much of stage 2's reward counts in the current step."""
        if self._switched_at is None:
            return 0.0
        return min((self._step - self._switched_at) / self.ramp_steps, 1.0) if self.ramp_steps else 1.0

    def record(self, accuracy: float | None) -> bool:
        """End the current step.

        Args:
            accuracy: The share of the step's tests that are sound. None: it had no verifier prompts.

        Returns:
            Whether the next step is the first one of stage 2.

        Raises:
            ConfigError: The accuracy is not in [0, 1].
        """
        self._step += 1
        if accuracy is not None:
            self._look_at(accuracy)
        if self._switched_at is not None:
            return False
        due = self._hits >= self.patience if self.fixed_step is None else self._step >= self.fixed_step
        if due:
            self._switched_at = self._step
        return due

    def _look_at(self, accuracy: float) -> None:
        if not 0 <= accuracy <= 1:
            raise ConfigError(f"accuracy must be in [0, 1], got {accuracy!r}")
        self._recent.append(accuracy)
        full = len(self._recent) == self.window
        # a trifle below counts: a mean of 0.75s may be rounded down
        reached = full and sum(self._recent) / self.window >= self.threshold - 1e-12
        self._hits = self._hits + 1 if reached else 0

    def state_dict(self) -> dict[str, Any]:
        """Where it stands, as plain data."""
        return {
            "step": self._step,
            "hits": self._hits,
            "switched_at": self._switched_at,
            "recent": list(self._recent),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned.

        Raises:
            ConfigError: The state lacks something.
        """
        if state.keys() != self.state_dict().keys():
            raise ConfigError(f"expected the fields {sorted(self.state_dict())}, got {sorted(state)}")
        self._step, self._hits, self._switched_at = state["step"], state["hits"], state["switched_at"]
        self._recent = deque(_floats(state["recent"]), maxlen=self.window)


def _floats(values: Sequence[float]) -> list[float]:
    return [float(value) for value in values]

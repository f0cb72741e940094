"""TCS's buffer of the policy's recent programs, and what a training step asks for (2609.03955, Alg. 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np

from codegym.core import Status
from codegym.errors import ConfigError
from codegym.selfplay.tcs import TEST_TYPES

__all__ = ["Attempt", "PolicyAlignedBuffer", "SolverPrompt", "VerifierPrompt", "admits", "draw_prompt"]

EXECUTED: Final = frozenset({Status.PASSED, Status.WRONG})
FAILED_TO_ANSWER: Final = frozenset({Status.ERROR, Status.TIMEOUT, Status.MEMORY})


def admits(statuses: Sequence[Status], stage: Literal[1, 2], *, admit_runtime_errors: bool = False) -> bool:
    """Whether a program may be shown to the verifier, by what became of it on the tests.

    The paper's rule, over all tests that ran: in stage 1 a program that answers every test, in stage 2 one
    that besides is wrong on one of them. (The released code looks at the first result only.)

    Args:
        statuses: One for each test, with none skipped.
        stage: Of the verifier.
        admit_runtime_errors: Let errors, timeouts and memory count as answers, and as wrong ones.

    Raises:
        ConfigError: There is no such stage, or the verdict was stopped early, so that it is not known.
    """
    if stage not in (1, 2):
        raise ConfigError(f"stage must be 1 or 2, got {stage!r}")
    found = set(statuses)
    if Status.SKIPPED in found and not found & FAILED_TO_ANSWER:
        raise ConfigError("admission needs a result for every test: grade without stop_early")
    allowed = EXECUTED | (FAILED_TO_ANSWER | {Status.SKIPPED} if admit_runtime_errors else set())
    if not found or not found <= allowed:
        return False
    return stage == 1 or found != {Status.PASSED}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A program that the policy wrote."""

    prompt: str
    """The id of the question."""
    code: str
    step: int
    """The training step in which it was written."""


class PolicyAlignedBuffer:
    """Programs that the policy wrote of late, each shown to the verifier once.

    With a window, it holds what the current policy gets wrong, not what an older one did. Draws depend on
    the seed, the index and the content, and on nothing else.
    """

    def __init__(
        self, max_items: int, *, window_steps: int | None = 10, max_per_prompt: int | None = 16
    ) -> None:
        """Start empty.

        Args:
            max_items: Capacity; the oldest programs give way. In the released code, the size of the data set.
            window_steps: T_b: how many steps back a program may come from. The paper gives no number. None:
                any age, as in the released code.
            max_per_prompt: Programs for one question; its oldest give way. None: any number.

        Raises:
            ConfigError: A number is out of range.
        """
        if max_items < 1 or (window_steps or 0) < 0 or (max_per_prompt is not None and max_per_prompt < 1):
            raise ConfigError(
                f"capacities must be positive and the window not negative, "
                f"got {max_items=}, {window_steps=}, {max_per_prompt=}"
            )
        self.max_items = max_items
        self.window_steps = window_steps
        self.max_per_prompt = max_per_prompt
        self._items: list[Attempt] = []

    def __len__(self) -> int:
        """How many programs it holds."""
        return len(self._items)

    @property
    def items(self) -> tuple[Attempt, ...]:
        """The programs, oldest first."""
        return tuple(self._items)

    def push(self, attempt: Attempt) -> None:
        """Add a program; use `admits` first.

        Raises:
            ConfigError: It is older than one that is already there.
        """
        if self._items and attempt.step < self._items[-1].step:
            raise ConfigError(f"steps must not go back, got {attempt.step} after {self._items[-1].step}")
        self._items.append(attempt)
        of_prompt = [i for i, item in enumerate(self._items) if item.prompt == attempt.prompt]
        if self.max_per_prompt is not None and len(of_prompt) > self.max_per_prompt:
            del self._items[of_prompt[0]]
        if len(self._items) > self.max_items:
            del self._items[0]

    def draw(self, seed: int, index: int) -> Attempt | None:
        """Take out a program, all being equally likely. None: there is none.

        Args:
            seed: Of the run, not negative.
            index: Of the draw, not negative.
        """
        if not self._items:
            return None
        return self._items.pop(int(np.random.default_rng([seed, index]).integers(len(self._items))))

    def expire(self, step: int) -> int:
        """Drop what is too old at a step: an item stays when ``item.step >= step - window_steps``.

        Returns:
            How many were dropped.
        """
        if self.window_steps is None:
            return 0
        oldest = step - self.window_steps
        kept = [item for item in self._items if item.step >= oldest]
        dropped = len(self._items) - len(kept)
        self._items = kept
        return dropped

    def clear(self) -> None:
        """Drop everything: at a switch of stages."""
        self._items.clear()

    def state_dict(self) -> dict[str, Any]:
        """The content, as plain data."""
        return {"items": [asdict(item) for item in self._items]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with what `state_dict` returned.

        Raises:
            ConfigError: The state is malformed.
        """
        try:
            items = [Attempt(**item) for item in state["items"]]
        except (KeyError, TypeError) as error:
            raise ConfigError(f"not the state of a buffer: {error!r}") from error
        self._items = []
        for item in items:
            self.push(item)


@dataclass(frozen=True, slots=True)
class SolverPrompt:
    """Ask the policy to solve a question."""

    question: int
    """Its position in the data set."""


@dataclass(frozen=True, slots=True)
class VerifierPrompt:
    """Ask the policy for a test against one of its programs."""

    attempt: Attempt
    test_type: str
    """One of `TEST_TYPES`."""


def draw_prompt(
    seed: int,
    index: int,
    questions: int,
    buffer: PolicyAlignedBuffer,
    *,
    verifier_share: float = 0.5,
) -> SolverPrompt | VerifierPrompt:
    """What the policy is asked next: a test against a program from the buffer, or a program.

    Args:
        seed: Of the run, not negative.
        index: Of the draw, not negative.
        questions: The size of the data set.
        buffer: What is drawn from it leaves it. While it is empty, only programs are asked for.
        verifier_share: The chance of a verifier prompt.

    Raises:
        ConfigError: There are no questions, or the share is not in [0, 1].
    """
    if questions < 1 or not 0 <= verifier_share <= 1:
        raise ConfigError(
            f"there must be questions, and a share in [0, 1], got {questions!r} and {verifier_share!r}"
        )
    rng = np.random.default_rng([seed, index, 1])
    verify, question, kind = rng.random(), int(rng.integers(questions)), int(rng.integers(len(TEST_TYPES)))
    if verify >= verifier_share:
        return SolverPrompt(question)
    attempt = buffer.draw(seed, index)
    return SolverPrompt(question) if attempt is None else VerifierPrompt(attempt, TEST_TYPES[kind])

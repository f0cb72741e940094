"""A space of texts.

`gymnasium.spaces.Text` admits letters and digits unless it is given a list of all other characters, and is
slow with a long one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Final

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Tuple
from gymnasium.vector.utils import batch_differing_spaces, create_empty_array

from codegym.errors import ConfigError

__all__ = ["Str"]

SAMPLE_LENGTH: Final = 64
"""Characters that a sample has at most."""
SAMPLE_CHARACTERS: Final = [chr(code) for code in range(32, 127)] + list("\n\t\u00e9\u03bb\u4e2d\U0001f600")


class Str(Space[str]):
    """All texts of Unicode up to a length.

    It batches into a tuple of such spaces, so vector environments take and give tuples of texts.
    `gymnasium.vector.AsyncVectorEnv` needs ``shared_memory=False``, since texts have no fixed size.

    Attributes:
        max_length: The greatest number of characters.
    """

    def __init__(self, max_length: int = 1_000_000, seed: int | np.random.Generator | None = None) -> None:
        """Make the space.

        Args:
            max_length: The greatest number of characters.
            seed: For `sample`.

        Raises:
            ConfigError: `max_length` is negative.
        """
        if max_length < 0:
            raise ConfigError(f"max_length must not be negative, got {max_length!r}")
        self.max_length = max_length
        super().__init__(seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Texts are no arrays."""
        return False

    def sample(self, mask: None = None, probability: None = None) -> str:
        """A short random text: of letters, signs, white space and some characters beyond ASCII.

        Raises:
            ConfigError: There is a mask: this space has no use for one.
        """
        if mask is not None or probability is not None:
            raise ConfigError("a Str space samples without mask and probability")
        length = int(self.np_random.integers(min(self.max_length, SAMPLE_LENGTH) + 1))
        picks = self.np_random.integers(len(SAMPLE_CHARACTERS), size=length)
        return "".join(SAMPLE_CHARACTERS[pick] for pick in picks)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a text that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        """Texts are JSON as they are."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Texts are JSON as they are."""
        return [str(sample) for sample in sample_n]

    def __eq__(self, other: object) -> bool:
        """Whether `other` is a space of texts up to the same length."""
        return isinstance(other, Str) and other.max_length == self.max_length

    def __hash__(self) -> int:
        """Equal spaces have one hash."""
        return hash((Str, self.max_length))

    def __repr__(self) -> str:
        """How the space was made."""
        return f"Str(max_length={self.max_length})"


@create_empty_array.register(Str)
def _empty_texts(space: Str, n: int = 1, fn: Callable[..., Any] = np.zeros) -> tuple[str, ...]:
    return ("",) * n


@batch_differing_spaces.register(Str)
def _batch_differing_texts(spaces: list[Str]) -> Tuple[str]:  # type: ignore[misc]  # of spaces, not of lists
    return Tuple([deepcopy(space) for space in spaces], seed=deepcopy(spaces[0].np_random))

"""The contract of a generator, and what it is asked."""

from __future__ import annotations

import abc
import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from codegym.errors import ConfigError

__all__ = ["Completion", "Generator", "Prompt", "Sampling", "cut", "make_generator"]

Messages = tuple[dict[str, str], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How texts are drawn from a model."""

    samples: int = 1
    """Texts for each task."""
    temperature: float = 0.0
    """0: the most likely text."""
    top_p: float = 1.0
    max_tokens: int = 1024
    """Where a text is cut off."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.samples < 1 or self.max_tokens < 1:
            raise ConfigError(f"samples and max_tokens must be at least 1, got {self!r}")
        if not (math.isfinite(self.temperature) and self.temperature >= 0 and 0 < self.top_p <= 1):
            raise ConfigError(f"expected a temperature of at least 0 and a top_p in (0, 1], got {self!r}")
        if self.samples > 1 and self.temperature == 0:
            raise ConfigError(f"{self.samples} samples at temperature 0 are the same; set a temperature")

    def seed_of(self, task_id: str, index: int) -> int:
        """The seed of one sample: it depends on nothing but the run's seed, the task and the number."""
        data = f"{self.seed}\0{task_id}\0{index}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(data, digest_size=4).digest(), "little") >> 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """What one text is to be drawn for."""

    task_id: str
    index: int
    """Number among the samples of the task."""
    text: str | None = None
    """For a model that continues text."""
    messages: Messages | None = None
    """For a model that answers messages."""
    stop: tuple[str, ...] = ()
    """Where a continuation ends."""
    seed: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """What became of a prompt."""

    prompt: Prompt
    text: str | None
    """None: there is none, after retries."""
    finish_reason: str = ""
    """``stop``, ``length``, or what the server says."""
    error: str = ""
    """Why there is no text."""


class Generator(abc.ABC):
    """Turns prompts into texts.

    Implement in a backend: `generate`, and the attribute.

    Attributes:
        model: What the samples file says they are from.
    """

    model: str

    @abc.abstractmethod
    def generate(self, prompts: Iterable[Prompt], sampling: Sampling) -> Iterator[Completion]:
        """Draw a text for each prompt.

        Args:
            prompts: Taken as they can be worked on, and not all at once.
            sampling: How.

        Yields:
            One completion for each prompt, as they come, in any order.

        Raises:
            ConfigError: The model or the server cannot be used at all.
        """


def cut(text: str, stops: Iterable[str]) -> str:
    """A continuation up to the first of the texts that end it."""
    ends = [place for stop in stops if (place := text.find(stop)) >= 0]
    return text[: min(ends, default=len(text))]


def make_generator(name: str, model: str, **options: Any) -> Generator:
    """Make a generator.

    Args:
        name: A registered name, such as ``openai``, or a ``"module:attr"`` string.
        model: What the backend calls the model.
        **options: What the backend takes besides.

    Raises:
        NotFoundError: No plugin registered the name.
        ConfigError: The backend takes no such option, or there is no such model.
    """
    from codegym.plugins import registry

    made: Generator = registry().resolve("generator", name)(model, **options)
    return made

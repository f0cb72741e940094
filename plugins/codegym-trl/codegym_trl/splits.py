"""What is trained on, what weights are selected on, and what is held out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from codegym.core import Task
from codegym.datasets import load_tasks
from codegym.errors import ConfigError
from codegym_trl.config import TrainConfig

__all__ = ["Splits", "load_splits"]

KNOWN: Final = {"listfuncs": ("train", "validation", "test")}
"""Datasets that come with splits: what is trained on, selected on, held out."""

VALIDATION_SHARE: Final = 0.1
TEST_SHARE: Final = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class Splits:
    """Tasks; no task is in two of them."""

    train: tuple[Task, ...]
    validation: tuple[Task, ...]
    test: tuple[Task, ...]


def load_splits(config: TrainConfig) -> Splits:
    """Load the tasks of a run.

    A split that the configuration does not name, and that the dataset is not known to have, is taken out of
    the training split, by a hash of the tasks' ids: the same tasks in every run, whatever else changes.

    Raises:
        NotFoundError: There is no such dataset.
        ConfigError: A split is empty, or two of them share a task.
        DataError: A row is malformed.
    """
    names = (config.split, config.validation_split, config.test_split)
    defaults = KNOWN.get(config.dataset, names)
    train, validation, test = (name or default for name, default in zip(names, defaults, strict=True))
    rest = _load(config, train)
    fifth, tenth = round(len(rest) * TEST_SHARE), round(len(rest) * VALIDATION_SHARE)
    held_out, rest = _take(rest, fifth) if test is None else (_load(config, test), rest)
    selected_on, rest = _take(rest, tenth) if validation is None else (_load(config, validation), rest)
    splits = Splits(
        train=tuple(rest[: config.limit]),
        validation=tuple(selected_on[: config.evaluation_limit]),
        test=tuple(held_out[: config.evaluation_limit]),
    )
    _check(splits, config.dataset)
    return splits


def _check(splits: Splits, dataset: str) -> None:
    seen: dict[str, str] = {}
    for name in ("train", "validation", "test"):
        tasks = getattr(splits, name)
        if not tasks:
            raise ConfigError(f"dataset {dataset!r}: no tasks are left for {name}")
        for task in tasks:
            if seen.setdefault(task.id, name) != name:
                raise ConfigError(
                    f"dataset {dataset!r}: task {task.id!r} is in the splits for {seen[task.id]} and {name}"
                )


def _load(config: TrainConfig, split: str | None) -> list[Task]:
    return list(load_tasks(config.dataset, source=config.source, split=split))


def _take(tasks: Sequence[Task], count: int) -> tuple[list[Task], list[Task]]:
    """That many tasks, chosen by their ids, and the rest, both in order."""
    ranked = sorted(tasks, key=lambda task: hashlib.sha256(task.id.encode()).digest())
    taken = {task.id for task in ranked[:count]}
    return [task for task in tasks if task.id in taken], [task for task in tasks if task.id not in taken]

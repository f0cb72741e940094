from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from codegym.core import Task
from codegym.datasets import listfuncs
from codegym.rewards import Scorer

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"


@pytest.fixture(scope="session")
def tasks() -> list[Task]:
    return list(islice(listfuncs.load(split="train"), 16))


@pytest.fixture(scope="session")
def scorer() -> Iterator[Scorer]:
    scorer = Scorer({"fraction_passed": 0.5, "all_passed": 0.5})
    yield scorer
    scorer.close()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that has seen a little of the corpus: enough to run, not to be right."""
    from codegym_trl.config import WarmStart
    from codegym_trl.policy import build_policy

    return build_policy(tmp_path_factory.mktemp("tiny"), training=WarmStart(steps=20))

"""Public benchmark files, which the project holds no copy of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with the benchmark files."""
    default = Path(__file__).resolve().parents[3] / "shared/data"
    folder = Path(os.environ.get("CODEGYM_DATA", default))
    if not folder.is_dir():
        pytest.skip(
            f"no benchmark files: {folder} does not exist; set CODEGYM_DATA to a folder that holds them"
        )
    return folder


@pytest.fixture(scope="session")
def full() -> bool:
    """Whether to run whole benchmarks, which takes minutes, or a part of each."""
    return os.environ.get("CODEGYM_PARITY") == "full"

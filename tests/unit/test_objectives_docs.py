"""docs/methods.md is true: its programs print what they say, its names exist, doctests hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

from codegym import curricula, objectives, selfplay
from codegym.curricula import TAROT_POLICIES
from codegym.plugins import registry

PAGE = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
PACKAGES = (objectives, curricula, selfplay)
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_print_what_their_last_lines_say(program, tmp_path):
    expected = [line[2:] for line in program.splitlines() if line.startswith("# ")]
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == expected


def test_every_function_of_the_tables_exists():
    names = {name for package in PACKAGES for name in package.__all__}
    rows = [row for row in PAGE.splitlines() if row.startswith("| ") and "(" in row]
    for row in rows:
        for name in re.findall(r"`([a-z][a-z_0-9]+)`", row.split("|")[2]):
            assert name in names, row


def test_every_curriculum_is_in_the_table():
    first_cells = " ".join(row.split("|")[1] for row in PAGE.splitlines() if row.startswith("| `"))
    for entry in registry().entries("curriculum"):
        if entry.plugin == "builtin":
            assert f"`{entry.name}`" in first_cells
    assert len(TAROT_POLICIES) == 8


def modules():
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield found.name
    yield "codegym.tiers"


@pytest.mark.parametrize("name", list(modules()))
def test_doctests(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0

"""Everything that is registered keeps the promises of its contract: what comes with codegym, and what is installed."""

import functools
import json
import os
from pathlib import Path

import pytest

from codegym.core import Task, TestCase
from codegym.datasets.row import task_to_row
from codegym.errors import SandboxUnavailableError
from codegym.plugins import registry
from codegym.testing import check_dataset, check_plugin, parametrize_with_checks, subject_of

DATA = Path(os.environ.get("CODEGYM_DATA", Path(__file__).parents[3] / "shared" / "data"))
"""Public benchmark files."""
PRODUCT = Task(
    id="product", prompt="Multiply.", entry_point="f", hidden_tests=(TestCase.call(2, 3, expected=6),),
    reference_solutions=("def f(a, b): return a * b",), wrong_solutions=("def f(a, b): return a + b",),
)  # fmt: skip
"""For contracts whose built-in examples bring no wrong solutions."""
ENVIRONMENTS = {
    "codegym/Solver-v0": {"tasks": "listfuncs", "rewards": ["all_passed"], "workers": 2, "max_turns": 3},
    "codegym/Verifier-v0": {"tasks": "listfuncs", "rewards": ["validity"], "workers": 2, "max_turns": 4},
}
"""What those environments take that cannot be made without."""
ELSEWHERE = {"http": "tests/unit/test_http_sandbox.py"}
"""Sandboxes that are checked where there is a service for them."""
SOURCES = {
    "humaneval": "HumanEval.jsonl.gz",
    "humaneval+": "HumanEvalPlus-Mini.jsonl.gz",
    "mbpp+": "MbppPlus.jsonl.gz",
}
ROWS = Path(__file__).parents[1] / "rows"
"""Rows of other benchmarks' shapes, made up."""


def names(kind):
    return [entry.name for entry in registry().entries(kind)]


@functools.cache
def why_not(subject):
    """Why a sandbox cannot start here; None where it can."""
    try:
        subject.sandbox.start()
    except SandboxUnavailableError as error:
        return str(error)
    return None


@parametrize_with_checks("sandbox", [name for name in names("sandbox") if name not in ELSEWHERE])
def test_sandboxes(subject, check):
    if reason := why_not(subject):
        pytest.skip(reason)
    check(subject)


@parametrize_with_checks("reward", names("reward"))
def test_rewards(subject, check):
    check(subject)


@parametrize_with_checks(
    "environment",
    [subject_of("environment", name, **ENVIRONMENTS.get(name, {})) for name in names("environment")],
)
def test_environments(subject, check):
    check(subject)


@pytest.mark.parametrize("name", names("dataset"))
def test_datasets(local, tmp_path, name):
    made_up = ROWS / f"{name}.jsonl"
    source = DATA / SOURCES[name] if name in SOURCES else made_up if made_up.exists() else None
    if source is not None and not source.exists():
        pytest.skip(f"{source.name} is not at hand: set CODEGYM_DATA")
    if name == "jsonl":
        source = tmp_path / "tasks.jsonl"
        source.write_text(json.dumps(task_to_row(PRODUCT)) + "\n")
    check_dataset(name, source=source, limit=20, sandbox=local)


def test_no_plugin_is_broken():
    registry().discover()
    assert registry().broken == {}


@pytest.mark.parametrize("name", [name for name, _ in registry().manager.list_name_plugin()])
def test_plugins(name):
    check_plugin(name)

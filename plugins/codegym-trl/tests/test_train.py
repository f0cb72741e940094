from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from codegym.cli import make_app
from codegym.core import Task, TestCase
from codegym.errors import ConfigError, NotFoundError
from codegym.plugins import registry
from codegym_trl import plugin
from codegym_trl.config import TrainConfig
from codegym_trl.splits import load_splits

SMALL = ["--steps", "2", "--batch", "8", "--generations", "4", "--set", "warm_start.steps=15"]
SMALL += ["--set", "evaluation_limit=8", "--set", "evaluate_every=1"]


def few(*, source: str | None = None, split: str | None = None) -> Iterator[Task]:
    """A dataset without splits."""
    for number in range(30):
        yield Task(
            id=f"few/{number}",
            prompt=f"Write a Python function solve(xs): return {number}.\n",
            entry_point="solve",
            hidden_tests=(TestCase.call([1], expected=number),),
        )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    """The plugin, where it is not installed."""
    registry().discover()
    if not registry().manager.has_plugin("trl"):
        registry().add(plugin, "trl")


def test_the_command_trains_and_leaves_everything_behind(tmp_path: Path) -> None:
    output = tmp_path / "run"
    result = CliRunner().invoke(make_app(), ["train", "--output", str(output), *SMALL])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert result.stdout.startswith("Held-out greedy pass rate: ")
    summary = json.loads((output / "summary.json").read_text())
    assert summary["before"].keys() == summary["after"].keys() == {"pass_rate", "judged", "verdicts"}
    assert summary["tasks"] == {"train": 765, "validation": 8, "test": 8}
    assert summary["config"]["warm_start"]["steps"] == 15
    metrics = lines(output / "metrics.jsonl")
    assert [row["step"] for row in metrics if row["phase"] == "train"] == [1, 2]
    assert [row["step"] for row in metrics if row["phase"] == "validation"] == [0, 1, 2]
    phases = Counter(row["phase"] for row in lines(output / "samples.jsonl"))
    assert phases == {"train": 16, "before": 8, "after": 8}
    assert "<svg" in (output / "report.html").read_text()
    assert (output / "model" / "config.json").is_file()


def test_a_saved_model_can_be_trained_on_another_dataset_and_reward(tiny: Path, tmp_path: Path) -> None:
    arguments = ["--model", str(tiny), "--dataset", f"{__name__}:few", "--reward", "fraction_passed=2"]
    arguments += ["--output", str(tmp_path), "--max-tokens", "16", "--set", "evaluate_every=0"]
    result = CliRunner().invoke(make_app(), ["train", *SMALL[:6], *arguments])
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["tasks"] == {"train": 21, "validation": 3, "test": 6}
    assert summary["selected_step"] == 2
    assert "codegym/fraction_passed" in lines(tmp_path / "metrics.jsonl")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "./no-such-folder"], "there is no such folder"),
        (["--dataset", "listfunc"], "Did you mean 'listfuncs'?"),
        (["--reward", "all_pased"], "all_passed"),
        (["--sandbox", "lokal"], "Did you mean 'local'?"),
        (["--set", "stpes=3"], "Did you mean 'steps'"),
    ],
)
def test_mistakes_end_with_one_message_before_anything_heavy(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    result = CliRunner().invoke(make_app(), ["train", "--output", str(output), *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert not output.exists()


def test_nothing_heavy_is_imported_with_the_package_or_for_a_mistake() -> None:
    program = (
        "import sys, codegym_trl, codegym_trl.plugin, codegym_trl.command\n"
        "from codegym_trl.models import check_model\n"
        "from codegym_trl import TRLReward, EnvironmentFactory, to_dataset\n"
        "try: check_model('./nowhere')\n"
        "except ValueError: pass\n"
        "print(sorted({'torch', 'trl', 'transformers', 'datasets', 'matplotlib'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_splits_are_disjoint_and_do_not_move() -> None:
    splits = load_splits(TrainConfig(dataset=f"{__name__}:few"))
    ids = [task.id for part in (splits.train, splits.validation, splits.test) for task in part]
    assert sorted(ids) == sorted(task.id for task in few())
    assert splits == load_splits(TrainConfig(dataset=f"{__name__}:few", seed=5))
    assert len(load_splits(TrainConfig(limit=10)).train) == 10


def test_splits_can_be_named() -> None:
    splits = load_splits(TrainConfig(split="validation", validation_split="train", test_split="test"))
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (109, 256, 218)


def test_what_is_trained_on_is_not_tested_on() -> None:
    with pytest.raises(ConfigError, match="is in the splits for train and test"):
        load_splits(TrainConfig(split="test"))


def test_wrong_names_of_datasets_and_splits_are_reported() -> None:
    with pytest.raises(NotFoundError, match="listfuncs"):
        load_splits(TrainConfig(dataset="listfunk"))
    with pytest.raises(ConfigError, match="dev"):
        load_splits(TrainConfig(split="dev"))

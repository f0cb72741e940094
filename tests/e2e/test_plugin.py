"""A stranger's plugin: installed from a folder of its own, found, and used in training."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def run(*command, folder, site):
    environment = {**os.environ, "PYTHONPATH": str(site), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder of packages with the template installed into it."""
    source = tmp_path_factory.mktemp("source") / "mine"
    shutil.copytree(ROOT / "plugins" / "_template", source)
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(site), str(source)], check=True)
    return site


def test_it_is_listed_and_says_whose_it_is(site, tmp_path):
    result = run(str(BIN / "codegym"), "list", "reward", folder=tmp_path, site=site)
    assert result.returncode == 0, result.stderr
    assert "brevity" in result.stdout
    assert "codegym_brevity:brevity" in result.stdout


def test_it_changes_no_number_of_a_run_that_does_not_name_it(site, tmp_path):
    code = (
        "from codegym.datasets import load_tasks\nfrom codegym.rewards import Scorer\n"
        "task = next(load_tasks('listfuncs', split='train'))\n"
        "with Scorer({}, sandbox='subprocess', workers=1) as scorer:\n"
        "    print(scorer.score([task.reference_solutions[0]], [task])[0].value)"
    )
    values = [
        run(sys.executable, "-c", code.format(rewards), folder=tmp_path, site=site).stdout.strip()
        for rewards in ("'all_passed'", "{'all_passed': 1.0, 'brevity': 0.5}")
    ]
    assert float(values[0]) == 1.0
    assert 1.0 < float(values[1]) < 1.5


def test_it_rewards_a_training_run(site, tmp_path):
    pytest.importorskip("trl", reason="codegym-trl is not installed")
    small = ["warm_start.steps=30", "evaluation_limit=4", "evaluate_every=0"]
    command = [str(BIN / "codegym"), "train", "--reward", "all_passed", "--reward", "brevity=0.25"]
    command += ["--steps", "1", "--batch", "8", "--generations", "4", "--limit", "8", "--output", "run"]
    result = run(*command, *(f"--set={each}" for each in small), folder=tmp_path, site=site)
    assert result.returncode == 0, result.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["config"]["rewards"] == {"all_passed": 1.0, "brevity": 0.25}
    samples = [json.loads(line) for line in (tmp_path / "run" / "samples.jsonl").read_text().splitlines()]
    trained = [sample for sample in samples if sample["phase"] == "train"]
    assert trained
    assert all(set(sample["components"]) == {"all_passed", "brevity"} for sample in trained)

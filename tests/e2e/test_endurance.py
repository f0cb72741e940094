"""A short soak and a few faults, by the program that makes the figures of benchmarks/README.md."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "bench_endurance.py"


@pytest.mark.skipif(sys.platform != "linux", reason="needs the local sandbox")
def test_nothing_is_lost_or_leaked(tmp_path):
    command = [
        sys.executable,
        "-W",
        "ignore",
        str(BENCHMARK),
        "--quick",
        "--json",
        str(tmp_path / "out.json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    results = json.loads((tmp_path / "out.json").read_text())
    for name, result in results.items():
        tally = result["tally"]
        trouble = {key: tally[key] for key in ("wrong", "lost", "doubled", "without_cause")}
        assert trouble == {"wrong": [], "lost": 0, "doubled": 0, "without_cause": 0}, name
        assert result["leaked"] == 0, (name, result["before"], result["after"])
    assert results["soak"]["tally"]["requests"] == 2000
    assert "infra" not in results["soak"]["tally"]["statuses"]
    assert sum(results["faults"]["tally"]["faults"].values()) == 30
    assert "infra" not in results["faults"]["afterwards"]["statuses"]
    assert done.returncode == 0, done.stdout + done.stderr

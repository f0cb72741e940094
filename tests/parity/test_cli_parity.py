"""The command line on a real benchmark, in a real sandbox."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from codegym.cli import make_app
from codegym.datasets import read_rows


def test_canonical_completions_of_humaneval_plus(data: Path, tmp_path: Path) -> None:
    source = data / "HumanEvalPlus-Mini.jsonl.gz"
    samples = tmp_path / "canonical.jsonl"
    with samples.open("w") as file:
        for _, row in read_rows(source):
            for completion in (row["canonical_solution"], "    return None\n"):
                file.write(json.dumps({"task_id": row["task_id"], "completion": completion}) + "\n")
    args = ["eval", "--dataset", "humaneval+", "--samples", samples, "--source", source, "--output", tmp_path]
    result = CliRunner().invoke(make_app(), [str(arg) for arg in args] + ["--k", "1,2"])
    assert result.exit_code == 0, result.output
    summary = json.loads((tmp_path / "summary.json").read_text())
    for tier in ("base", "plus"):
        assert summary["pass_at_k"][tier]["2"]["value"] == 1.0
        assert summary["pass_at_k"][tier]["1"]["value"] == 0.5
    assert summary["not_judged"] == 0
    assert (tmp_path / "report.html").exists()


def test_one_program(data: Path, tmp_path: Path) -> None:
    source = data / "HumanEvalPlus-Mini.jsonl.gz"
    row = next(row for _, row in read_rows(source))
    program = tmp_path / "program.py"
    args = ["score", program, "--dataset", "humaneval+", "--task", row["task_id"], "--source", source]
    for text, code in ((row["prompt"] + row["canonical_solution"], 0), (row["prompt"] + "    pass", 1)):
        program.write_text(text)
        result = CliRunner().invoke(make_app(), [str(arg) for arg in args])
        assert result.exit_code == code, result.output

"""The README is true: its programs run and print what they say, its commands exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("CODEGYM_DATA", ROOT.parent / "shared" / "data"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def run(command, folder):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("program", blocks("python"))
def test_programs_print_what_their_last_lines_say(program, tmp_path):
    expected = [line[2:] for line in program.splitlines() if line.startswith("# ")]
    result = run([sys.executable, "-c", program], tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == expected
    assert not result.stderr


def commands():
    return [line[2:].partition("  #")[0] for block in blocks("console") for line in block.splitlines()]


@pytest.mark.parametrize("command", [line for line in commands() if line.startswith("codegym")])
def test_commands_run(command, tmp_path):
    if "HumanEvalPlus" in command:
        source = DATA / "HumanEvalPlus.jsonl.gz"
        if not source.exists():
            pytest.skip(f"needs {source.name} in {DATA}")
        (tmp_path / source.name).symlink_to(source)
        solution = "from typing import List\ndef has_close_elements(xs, t):\n    return any(abs(a - b) < t for i, a in"
        solution += " enumerate(xs) for b in xs[:i])\n"
        (tmp_path / "solution.py").write_text(solution)
        (tmp_path / "samples.jsonl").write_text(
            f'{{"task_id": "HumanEval/0", "solution": {solution!r}}}\n'.replace("'", '"')
        )
    result = run(command.split(), tmp_path)
    assert result.returncode == 0, result.stderr


def test_the_other_commands_are_known():
    rest = [line for line in commands() if not line.startswith("codegym")]
    assert all(re.fullmatch(r"pip install [\w-]+ *", line) for line in rest)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make (\w+)`", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target

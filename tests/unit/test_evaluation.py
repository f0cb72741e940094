from __future__ import annotations

import ast
import dataclasses
import gzip
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from codegym.core import Outcome, Program, Status, Task, TestCase, TestResult
from codegym.errors import ConfigError, DataError
from codegym.evaluation import evaluate, read_evaluation, read_results, read_samples

TASKS = {
    task_id: Task(
        id=task_id,
        prompt=f"def f{number}(x):\n",
        starter_code=f"def f{number}(x):\n",
        entry_point=f"f{number}",
        hidden_tests=(
            TestCase.call(1, expected=number, tier="base"),
            TestCase.call(2, expected=number, tier="plus"),
        ),
    )
    for number, task_id in enumerate(["T/0", "T/1", "T/2"])
}


class FakeGrader:
    """Passes the tests that the program's last comment names."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.judged: list[str] = []
        self.stop_after = stop_after

    def submit(self, program: Program, task: Task) -> Future[Outcome]:
        if self.stop_after is not None and len(self.judged) >= self.stop_after:
            raise KeyboardInterrupt
        self.judged.append(program.code)
        future: Future[Outcome] = Future()
        future.set_result(self.outcome(program.code, task))
        return future

    def outcome(self, code: str, task: Task) -> Outcome:
        try:
            ast.parse(code)
        except SyntaxError:
            return Outcome.unrunnable("does not parse")
        words = code.rpartition("#")[2].split()
        if "infra" in words:
            return Outcome.infrastructure("the sandbox is gone", task.tests)
        results = [
            TestResult(
                index=index,
                status=Status.PASSED if test.tier in words else Status.WRONG,
                tier=test.tier,
                cpu_s=index + 0.5,
                message="" if test.tier in words else "wrong \ud800",
            )
            for index, test in enumerate(task.tests)
        ]
        return Outcome.of(results, cpu_s=2.0)


def write_samples(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sample(number: int, passes: str) -> dict[str, Any]:
    return {"task_id": f"T/{number}", "completion": f"    return {number} # {passes}"}


ROWS = [sample(0, "base plus"), sample(1, "base"), sample(1, "plus"), sample(0, "-"), sample(2, "base plus")]


def test_base_and_plus_are_counted_apart(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", ROWS)
    evaluation = evaluate(TASKS.values(), path, FakeGrader(), tmp_path / "out", dataset="fake")
    summary = evaluation.summary
    assert {tier: found["1"]["value"] for tier, found in summary["pass_at_k"].items()} == {
        "base": pytest.approx((0.5 + 0.5 + 1) / 3),
        "plus": pytest.approx((0.5 + 0 + 1) / 3),  # needs base too
    }
    assert summary["failures"] == {"wrong": 3}
    assert (summary["tasks"], summary["samples"], summary["not_judged"]) == (3, 5, 0)
    assert summary["missing_tasks"] == []
    assert json.loads((tmp_path / "out/summary.json").read_text()) == summary
    assert read_evaluation(tmp_path / "out") == evaluation


def test_one_sample_per_task_has_a_wilson_interval(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", [sample(0, "base plus"), sample(1, "base")])
    summary = evaluate(TASKS.values(), path, FakeGrader(), tmp_path / "out").summary
    found = summary["pass_at_k"]["plus"]["1"]
    assert (found["interval"], found["value"]) == ("wilson", 0.5)
    assert found["low"] < 0.5 < found["high"]
    assert summary["missing_tasks"] == ["T/2"]


@pytest.mark.parametrize("cut", [0, 1, 25, -1])
def test_an_evaluation_goes_on_where_it_was_killed(tmp_path: Path, cut: int) -> None:
    path = write_samples(tmp_path / "s.jsonl", ROWS)
    whole = evaluate(TASKS.values(), path, FakeGrader(), tmp_path / "whole")

    with pytest.raises(KeyboardInterrupt):
        evaluate(TASKS.values(), path, FakeGrader(stop_after=3), tmp_path / "out", in_flight=1)
    results = tmp_path / "out/results.jsonl"
    assert not (tmp_path / "out/summary.json").exists()
    lines = results.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3
    results.write_bytes(b"".join(lines[:2]) + lines[2][:cut])

    grader = FakeGrader()
    resumed = evaluate(TASKS.values(), path, grader, tmp_path / "out")
    assert len(grader.judged) == 3
    assert resumed.summary == whole.summary
    assert resumed.results == whole.results
    assert (tmp_path / "out/summary.json").read_bytes() == (tmp_path / "whole/summary.json").read_bytes()


def test_an_evaluation_survives_kill_9(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", [sample(number % 3, "base") for number in range(60)])
    whole = evaluate(TASKS.values(), path, FakeGrader(), tmp_path / "whole")
    code = """
import importlib.util, sys, time
spec = importlib.util.spec_from_file_location("fakes", sys.argv[1])
fakes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fakes)
class Slow(fakes.FakeGrader):
    def outcome(self, code, task):
        time.sleep(0.05)
        return super().outcome(code, task)
fakes.evaluate(fakes.TASKS.values(), sys.argv[2], Slow(), sys.argv[3], in_flight=1)
"""
    results = tmp_path / "out/results.jsonl"
    process = subprocess.Popen([sys.executable, "-c", code, __file__, path, results.parent])
    while process.poll() is None and not (results.exists() and results.read_bytes().count(b"\n") > 2):
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    grader = FakeGrader()
    resumed = evaluate(TASKS.values(), path, grader, results.parent)
    assert 0 < len(grader.judged) < 60
    assert resumed == dataclasses.replace(whole, output=results.parent)


def test_what_could_not_be_judged_is_left_out_and_tried_again(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", [sample(0, "infra"), sample(1, "base plus")])
    summary = evaluate(TASKS.values(), path, FakeGrader(), tmp_path / "out").summary
    assert summary["not_judged"] == 1
    assert summary["pass_at_k"]["plus"]["1"]["value"] == 1.0
    assert summary["pass_at_k"]["plus"]["1"]["tasks"] == 1
    again = FakeGrader()
    evaluate(TASKS.values(), path, again, tmp_path / "out")
    assert len(again.judged) == 1
    assert len(read_results(tmp_path / "out/results.jsonl")) == 2


def test_nothing_judged_has_no_figures(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", [sample(0, "infra")])
    assert evaluate(TASKS.values(), path, FakeGrader(), tmp_path / "out").summary["pass_at_k"] == {}


def test_a_program_that_is_none_fails_every_tier(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", [{"task_id": "T/0", "solution": "def f0(:"}])
    evaluation = evaluate(TASKS.values(), path, FakeGrader(), tmp_path / "out", extract=False)
    assert evaluation.results[0].tiers == {"base": Status.INVALID, "plus": Status.INVALID}
    assert evaluation.summary["failures"] == {"invalid": 1}


def test_results_of_other_samples_are_refused(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", ROWS)
    evaluate(TASKS.values(), path, FakeGrader(), tmp_path / "out")
    for rows in (ROWS[1:], [sample(0, "other"), *ROWS[1:]]):
        other = write_samples(tmp_path / "other.jsonl", rows)
        grader = FakeGrader()
        with pytest.raises(DataError, match=r"results\.jsonl: has a result for sample . of 'T/0', but"):
            evaluate(TASKS.values(), other, grader, tmp_path / "out")
        assert grader.judged == []


def test_a_results_file_that_is_damaged_inside_is_refused(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", ROWS)
    (tmp_path / "results.jsonl").write_text('{"a": 1}\n{}\n')
    with pytest.raises(DataError, match=r"results\.jsonl:1: not a result"):
        evaluate(TASKS.values(), path, FakeGrader(), tmp_path)


def test_k_is_checked_before_anything_is_judged(tmp_path: Path) -> None:
    path = write_samples(tmp_path / "s.jsonl", ROWS)
    grader = FakeGrader()
    with pytest.raises(ConfigError, match="pass@2 needs 2 samples of each task, but 'T/2' has only 1"):
        evaluate(TASKS.values(), path, grader, tmp_path, ks=[1, 2])
    with pytest.raises(ConfigError, match="must be positive, got 0"):
        evaluate(TASKS.values(), path, grader, tmp_path, ks=[0])
    assert grader.judged == []


def test_pass_at_k_of_several_samples_is_bootstrapped(tmp_path: Path) -> None:
    rows = [sample(n, "base plus" if s < n else "-") for n in range(3) for s in range(10)]
    path = write_samples(tmp_path / "s.jsonl", rows)
    found = evaluate(TASKS.values(), path, FakeGrader(), tmp_path / "out").summary["pass_at_k"]["base"]
    assert set(found) == {"1", "10"}
    assert found["1"]["interval"] == "bootstrap"
    assert found["10"]["value"] == pytest.approx(2 / 3)


class TestReadingSamples:
    def test_completions_continue_and_solutions_are_whole(self, tmp_path: Path) -> None:
        rows = [
            {"task_id": "T/0", "completion": "    return 1", "solution": None},
            {"task_id": "T/0", "solution": "def f0(x): return 2", "extra": 1},
        ]
        first, second = read_samples(write_samples(tmp_path / "s.jsonl", rows), TASKS)
        assert first.program(TASKS["T/0"]).code == "def f0(x):\n    return 1"
        assert second.program(TASKS["T/0"]).code == "def f0(x): return 2"
        assert (first.index, second.index) == (0, 1)

    def test_gzip(self, tmp_path: Path) -> None:
        path = tmp_path / "s.jsonl.gz"
        path.write_bytes(gzip.compress(json.dumps(sample(1, "base")).encode()))
        assert read_samples(path, TASKS)[0].key == ("T/1", 0)

    def test_numbers_may_be_given(self, tmp_path: Path) -> None:
        rows = [sample(0, "") | {"sample_index": 7}, sample(0, "") | {"sample_index": 3}]
        assert [s.index for s in read_samples(write_samples(tmp_path / "s", rows), TASKS)] == [7, 3]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", r"s\.jsonl: the file has no rows"),
            ('{"task_id": "T/9", "solution": ""}', r"s\.jsonl:1: the dataset has no task 'T/9'"),
            ('\n{"task_id": "T/0"}', r"s\.jsonl:2: expected a field 'completion' or 'solution'"),
            ('{"task_id": "T/0", "solution": ["a"]}', r"s\.jsonl:1: Expected `str.*`row\.solution`"),
            ('{"solution": "a"}', r"s\.jsonl:1: Object missing required field `task_id`"),
            ('{"task_id": "T/0", "solution', r"s\.jsonl:1: malformed JSON"),
            (
                '{"task_id": "T/0", "solution": "", "sample_index": 0}\n' * 2,
                r"s\.jsonl:2: sample 0 of 'T/0' occ",
            ),
        ],
    )
    def test_malformed_files_are_data_errors(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "s.jsonl"
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_samples(path, TASKS)

"""Figures by label, two evaluations side by side, and judging once more."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from codegym.cli import make_app
from codegym.core import Status, Task, TestCase
from codegym.datasets.row import task_to_row
from codegym.errors import ConfigError
from codegym.evaluation import Result, compare_evaluations, evaluate, summarise, verdict_changes
from codegym.evaluation.compare import mcnemar
from codegym.evaluation.run import leaderboard
from codegym.evaluation.summary import labels_of
from codegym.grading import Grader


def result(task_id, passed, index=0):
    status = passed if isinstance(passed, Status) else Status.PASSED if passed else Status.WRONG
    return Result(
        task_id=task_id,
        sample_index=index,
        program="x",
        status=status,
        tiers={"all": status},
        passed=0,
        tests=1,
    )


def results(verdicts):
    return [result(f"T/{n}", passed) for n, passed in enumerate(verdicts)]


# By label


def test_figures_are_broken_down_by_every_label_of_a_task():
    labels = {
        "T/0": {"difficulty": ["easy"], "tags": ["dp", "graphs"]},
        "T/1": {"difficulty": ["hard"], "tags": ["dp"]},
    }
    found = summarise(results([1, 0, 1]), ["T/0", "T/1", "T/2"], [1], labels)["breakdown"]
    assert {
        kind: {label: (e["value"], e["tasks"]) for label, e in by.items()} for kind, by in found.items()
    } == {
        "difficulty": {"easy": (1.0, 1), "hard": (0.0, 1)},
        "tags": {"dp": (0.5, 2), "graphs": (1.0, 1)},
    }


@pytest.mark.parametrize(("meta", "labels"), [
    ({"difficulty": "easy", "tags": ["b", "a"]}, {"difficulty": ["easy"], "tags": ["a", "b"]}),
    ({"difficulty": 3}, {"difficulty": ["3"]}),
    ({"tags": [], "other": "x"}, {}),
])  # fmt: skip
def test_labels_are_texts(meta, labels):
    assert labels_of(Task(id="t", prompt="", meta=meta)) == labels


def test_the_leaderboard_has_percentages():
    summary = summarise(results([1, 0, 0]), [f"T/{n}" for n in range(3)], [1]) | {
        "dataset": "d",
        "codegym": "0",
        "python": "3",
    }
    board = leaderboard(summary)
    assert board["pass@1"] == {"all": 33.33}
    assert board["complete"]
    assert not leaderboard(summary | {"missing_tasks": ["x"]})["complete"]


# Side by side


def test_a_comparison_is_made_task_by_task():
    found = compare_evaluations(results([1, 1, 0, 0, 1]), results([1, 0, 1, 1, 1, 1]))
    assert (found.tasks, found.before, found.after) == (5, 0.6, 0.8)
    assert [change.task_id for change in found.changes] == ["T/1", "T/2", "T/3"]
    assert found.only_after == ("T/5",)
    assert found.p_value == 1.0
    assert found.difference.low <= 0.2 <= found.difference.high


def test_with_several_samples_means_are_compared():
    before = [result("T/0", 1, 0), result("T/0", 0, 1)]
    after = [result("T/0", 1, 0), result("T/0", 1, 1)]
    found = compare_evaluations(before, after)
    assert (found.before, found.after, found.p_value) == (0.5, 1.0, None)


def test_what_was_not_judged_is_left_out():
    found = compare_evaluations(results([1, Status.INFRA]), results([1, 1]))
    assert found.tasks == 1


def test_nothing_in_common():
    with pytest.raises(ConfigError, match="no task in common"):
        compare_evaluations([result("a", 1)], [result("b", 1)])


def test_mcnemar_worked():
    assert mcnemar([(1, 0)] * 10) == pytest.approx(2 / 2**10)
    assert mcnemar([(1, 0), (0, 1)]) == 1.0
    assert mcnemar([(1, 1), (0, 0)]) == 1.0


@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1])), max_size=9))
def test_mcnemar_is_the_share_of_splits_at_least_as_uneven(pairs):
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    seen = abs(sum(a - b for a, b in differing))
    splits = list(product([1, -1], repeat=len(differing)))
    share = sum(abs(sum(split)) >= seen for split in splits) / len(splits)
    assert mcnemar(pairs) == pytest.approx(share)
    assert mcnemar([(b, a) for a, b in pairs]) == mcnemar(pairs)


def test_changed_verdicts_are_named():
    changes = verdict_changes(results([1, 0, Status.TIMEOUT]), results([1, 1, 0]))
    assert [(c.task_id, c.before, c.after) for c in changes] == [
        ("T/1", "wrong", "passed"),
        ("T/2", "timeout", "wrong"),
    ]


# The commands


@pytest.fixture
def tasks(tmp_path):
    made = [
        Task(
            id=f"T/{n}",
            prompt="",
            entry_point="f",
            hidden_tests=(TestCase.call(1, expected=n),),
            meta={"difficulty": "easy"},
        )
        for n in range(3)
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(task_to_row(task)) + "\n" for task in made))
    return made, path


def evaluated(tasks, local, folder, answers):
    samples = folder.with_suffix(".samples.jsonl")
    lines = [
        json.dumps({"task_id": t.id, "solution": f"def f(x): return {a}"})
        for t, a in zip(tasks, answers, strict=True)
    ]
    samples.write_text("\n".join(lines) + "\n")
    with Grader(local) as grader:
        return evaluate(tasks, samples, grader, folder, dataset="jsonl")


def run(*arguments):
    return CliRunner().invoke(make_app(), list(map(str, arguments)))


def test_compare(tasks, local, tmp_path):
    evaluated(tasks[0], local, tmp_path / "a", [0, 0, 0])
    evaluated(tasks[0], local, tmp_path / "b", [0, 1, 2])
    shown = run("compare", tmp_path / "a", tmp_path / "b")
    assert shown.exit_code == 0, shown.output
    assert "3 tasks in both: pass@1 0.333 before, 1.000 after" in shown.output
    assert "p = 0.5000" in shown.output
    assert run("compare", tmp_path / "a", tmp_path / "none").exit_code == 2


def test_reverify_finds_verdicts_that_changed(tasks, local, tmp_path):
    made, source = tasks
    evaluated(made, local, tmp_path / "a", [0, 1, 0])
    shown = run("reverify", tmp_path / "a", "--source", source)
    assert shown.exit_code == 0, shown.output
    assert "3 samples judged again, 0 verdicts changed" in shown.output
    stored = (tmp_path / "a" / "results.jsonl").read_text()
    (tmp_path / "a" / "results.jsonl").write_text(stored.replace('"status":"wrong"', '"status":"passed"', 1))
    shown = run("reverify", tmp_path / "a", "--source", source)
    assert shown.exit_code == 1
    assert "sample 0 of T/2: passed before, wrong now" in shown.output


def test_the_report_shows_labels(tasks, local, tmp_path):
    from codegym.report import write_evaluation_report

    page = write_evaluation_report(tmp_path / "r.html", evaluated(tasks[0], local, tmp_path / "a", [0, 1, 0]))
    assert "Pass@1 by difficulty" in page.read_text()

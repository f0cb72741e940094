"""The audit itself: it finds what is wrong with a grader."""

import contextlib
import json
import os
import subprocess
import sys
import threading

import pytest
from typer.testing import CliRunner

from codegym.audit import GRADERS, Verdict, audit, corpus, make_grader
from codegym.audit.graders import foreign
from codegym.audit.traps import set_traps, with_traps
from codegym.cli import make_app
from codegym.errors import NotFoundError

SOME = [entry for entry in corpus() if entry.name in ("frame_walk", "always_equal", "plain", "stdin_buffer")]


class Fake:
    """A grader that says what it is told."""

    name, parallel = "fake", 2

    def __init__(self, verdict, skips=lambda entry: ""):
        self.verdict, self.skips = verdict, skips

    def __call__(self, entry):
        return self.verdict(entry)


def fake(verdict, **options):
    return contextlib.nullcontext(Fake(verdict, **options))


def right(entry):
    return Verdict(value=0.0 if entry.side == "hostile" else 1.0)


def test_a_grader_that_is_right_is_clean():
    found = audit(fake(right), SOME)
    assert found.clean
    assert found.counts("hostile")[:2] == (found.counts("hostile")[1],) * 2


@pytest.mark.parametrize(("verdict", "wrong"), [
    (lambda entry: Verdict(value=1.0), "hostile"),
    (lambda entry: Verdict(value=0.0), "right"),
    (lambda entry: Verdict(value=0.5), "both"),
    (lambda entry: Verdict(value=None), "both"),
])  # fmt: skip
def test_wrong_verdicts_are_named(verdict, wrong):
    found = audit(fake(verdict), SOME)
    sides = {cell.entry.side for cell in found.wrong}
    assert sides == ({"hostile", "right"} if wrong == "both" else {wrong})
    assert not found.clean


def test_a_grader_that_tells_the_answers_is_wrong():
    def verdict(entry):
        return Verdict(value=right(entry).value, spoke=entry.side == "hostile")

    assert {cell.entry.side for cell in audit(fake(verdict), SOME).wrong} == {"hostile"}


def test_what_is_not_run_is_neither_right_nor_wrong():
    found = audit(fake(right, skips=lambda entry: "no" if entry.side == "hostile" else ""), SOME)
    assert found.clean
    assert found.counts("hostile")[:2] == (0, 0)
    assert found.counts("hostile")[2] > 0


def leaks_a_file(folder):
    (folder / "codegym-left").write_text("x")


def leaks_a_descriptor(folder):
    os.open(folder, os.O_RDONLY)


def leaks_a_process(folder):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"], **quiet)


def leaks_a_thread(folder):
    threading.Thread(target=threading.Event().wait, args=(60,), daemon=True, name="left").start()


@pytest.mark.parametrize(("leak", "what"), [
    (leaks_a_file, "files"), (leaks_a_descriptor, "descriptors"), (leaks_a_process, "processes"), (leaks_a_thread, "threads"),
])  # fmt: skip
def test_what_is_left_behind_is_named(tmp_path, leak, what):
    code = f"""
import contextlib, pathlib, sys, tempfile
sys.path.insert(0, {os.path.dirname(__file__)!r})
tempfile.tempdir = {str(tmp_path)!r}
from codegym.audit import audit, leftovers
leftovers.PATIENCE_S = 0.2
import test_audit as t
found = audit(t.fake(lambda e: (t.{leak.__name__}(pathlib.Path({str(tmp_path)!r})), t.right(e))[1]), t.SOME[:1])
print(found.left, found.clean)
import os; os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert f"'{what}: " in done.stdout, done.stdout + done.stderr
    assert "False" in done.stdout


def test_the_traps_hold_the_answers_and_are_taken_away():
    with set_traps() as places:
        code = with_traps("open('@FILE@').read(), @PORT@, '@TOKEN@'", places)
        assert "@" not in code
        with open(places["@FILE@"]) as file:
            assert places["@TOKEN@"] in file.read()
        assert places["@TOKEN@"] in os.environ["CODEGYM_AUDIT_TOKENS"]
    assert not os.path.exists(places["@FILE@"])
    assert "CODEGYM_AUDIT_TOKENS" not in os.environ


# Other graders


def test_dangerous_programs_are_not_put_to_graders_without_a_wall():
    grader = foreign.ForeignGrader("other", judge_well, lambda entry: (entry.code,), 1)
    by_name = {entry.name: entry for entry in corpus()}
    for name in ("fork_bomb", "kill_all", "delete_files", "plant_files", "mount", "disk"):
        assert grader.skips(by_name[name]) == foreign.DANGER
    assert grader.skips(by_name["frame_walk"]) == ""


def judge_well(code):
    return 1.0


def judge_never(code):
    threading.Event().wait()


def judge_dying(code):
    os._exit(1)


def judge_raising(code):
    raise ValueError("oops")


@pytest.mark.parametrize(("judge", "value", "note"), [
    (judge_well, 1.0, ""), (judge_never, None, "no verdict within"), (judge_dying, None, "died"), (judge_raising, None, "oops"),
])  # fmt: skip
def test_another_grader_may_hang_or_die(monkeypatch, judge, value, note):
    monkeypatch.setattr(foreign, "DEADLINE_S", 3.0)
    grader = foreign.ForeignGrader("other", judge, lambda entry: (entry.code,), 1)
    with foreign.no_wall(grader):
        for _ in range(2):
            verdict = grader(SOME[0])
            assert verdict.value == value
            assert note in verdict.note


def test_an_unknown_grader():
    with pytest.raises(NotFoundError, match="'evalplus'"):
        make_grader("evalpus")


# The command


def run(monkeypatch, verdict, *arguments):
    monkeypatch.setattr("codegym.audit.make_grader", lambda *_: fake(verdict))
    return CliRunner(env={"COLUMNS": "150"}).invoke(make_app(), ["audit", *map(str, arguments)])


def test_the_command_names_what_is_wrong_and_fails(monkeypatch, tmp_path):
    good = run(monkeypatch, right, "--style", "stdio", "--json", tmp_path / "a.json")
    assert good.exit_code == 0, good.output
    cells = json.loads((tmp_path / "a.json").read_text())[0]["cells"]
    assert len(cells) == sum(entry.style == "stdio" for entry in corpus())
    bad = run(monkeypatch, lambda entry: Verdict(value=1.0, note="fooled"), "--style", "stdio")
    assert bad.exit_code == 1
    assert "WRONG hostile/stdio/frame_walk: 1: fooled" in bad.output


def test_the_table_of_graders(monkeypatch):
    shown = run(monkeypatch, right, "--markdown", "--grader", "all", "--style", "assert")
    assert shown.output.startswith("| grader | hostile programs stopped |")
    assert len(shown.output.strip().splitlines()) == 2 + len(GRADERS)


def test_a_style_that_is_none(monkeypatch):
    assert run(monkeypatch, right, "--style", "poem").exit_code == 2

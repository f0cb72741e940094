from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import codegym
from codegym.cli import make_app
from codegym.core import Outcome, Program, Status, Task, TestCase, TestResult
from codegym.datasets.row import task_to_row
from codegym.hookspecs import hookimpl
from codegym.plugins import PluginRegistry

DATASET = "codegym.datasets.row:load"


class FakeSandbox:
    """Grades by the words in a program's text."""

    def __init__(self, name: str, workers: int | None = None) -> None:
        self.isolation = SimpleNamespace(strong=name == "local", missing=("net", "pid"))

    def __enter__(self) -> FakeSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FakeGrader:
    def __init__(self, sandbox: FakeSandbox, stop_early: bool = False, cache: object = None) -> None:
        self.stop_early = stop_early

    def __enter__(self) -> FakeGrader:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def grade(self, program: Program, task: Task) -> Outcome:
        if "infra" in program.code:
            return Outcome.infrastructure("the sandbox is gone", task.tests)
        results = [
            TestResult(
                index=index,
                status=Status.PASSED if str(test.tier) in program.code else Status.WRONG,
                message="" if str(test.tier) in program.code else "another value",
                tier=test.tier,
                cpu_s=0.25,
            )
            for index, test in enumerate(task.tests)
        ]
        return Outcome.of(results)

    def submit(self, program: Program, task: Task) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_result(self.grade(program, task))
        return future


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegym.grading.Grader", FakeGrader)
    monkeypatch.setattr("codegym.sandbox.make_sandbox", FakeSandbox)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    tests = (TestCase.code("", tier="base"), *(TestCase.code("", tier="plus") for _ in range(30)))
    rows = [task_to_row(Task(id=f"T/{number}", prompt="", hidden_tests=tests)) for number in range(2)]
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*args: object, app: typer.Typer | None = None, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app or make_app(), [str(arg) for arg in args], input=stdin)


def test_version() -> None:
    for arg in ("version", "--version"):
        result = run(arg)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.startswith(f"codegym {codegym.__version__} (Python 3.")


def test_help_names_every_command_and_the_exit_codes() -> None:
    result = run("--help")
    assert result.exit_code == 0
    for word in ("list", "eval", "score", "report", "version", "Exit codes"):
        assert word in result.stdout


def test_help_and_list_import_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from codegym.cli import make_app\n"
        "make_app()({args}, standalone_mode=False)\n"
        "heavy = ['numpy', 'gymnasium', 'rich', 'jinja2', 'msgspec', 'torch', 'datasets', 'asyncio']\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)\n"
    )
    for args in (["--help"], ["list"], ["version"]):
        done = subprocess.run(
            [sys.executable, "-c", code.format(args=args)], capture_output=True, text=True, check=True
        )
        assert done.stderr.splitlines()[-1] == "[]", args


class TestList:
    def test_all_kinds(self) -> None:
        result = run("list")
        assert result.exit_code == 0
        assert "dataset:\n" in result.stdout
        assert "  humaneval+ " in result.stdout

    @pytest.mark.parametrize("kind", ["dataset", "datasets", "tasks", "Dataset"])
    def test_one_kind(self, kind: str) -> None:
        result = run("list", kind)
        assert result.stdout.startswith("dataset:\n")
        assert "sandbox:" not in result.stdout

    def test_no_such_kind(self) -> None:
        result = run("list", "thing")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("codegym: no kind of plugin is called 'thing'; known: environment,")


class TestEval:
    def samples(self, tmp_path: Path, *codes: str) -> Path:
        rows = [{"task_id": f"T/{number}", "solution": code} for number, code in enumerate(codes)]
        path = tmp_path / "mine.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def test_figures_and_files(self, tmp_path: Path, source: Path) -> None:
        samples = self.samples(tmp_path, "'base plus'", "'base'")
        args = ["eval", "--dataset", DATASET, "--samples", samples, "--source", source]
        result = run(*args, "--output", tmp_path / "out", "--k", "1")
        assert result.exit_code == 0, result.output
        lines = result.stdout.splitlines()
        assert lines[0] == f"{DATASET}: 2 samples of 2 tasks"
        assert lines[1].split() == [
            "base",
            "pass@1",
            "1.000",
            "(95",
            "%:",
            "0.342",
            "to",
            "1.000,",
            "wilson)",
        ]
        assert lines[2].split()[:3] == ["plus", "pass@1", "0.500"]
        assert lines[3] == "Failed: 1 wrong"
        assert result.stderr == ""
        names = {path.name for path in (tmp_path / "out").iterdir()}
        assert names == {"results.jsonl", "summary.json", "leaderboard.json", "report.html"}

        again = run("report", tmp_path / "out", "--to", tmp_path / "again.html")
        assert again.exit_code == 0
        assert (tmp_path / "again.html").read_text() == (tmp_path / "out/report.html").read_text()

    def test_the_default_output(self, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        samples = self.samples(tmp_path, "'base'")
        result = run("eval", "--dataset", DATASET, "--samples", samples, "--source", source)
        assert result.exit_code == 0
        assert (tmp_path / f"runs/{DATASET}-mine/summary.json").exists()
        assert "Tasks without a sample: 1, such as T/1" in result.stderr

    def test_what_could_not_be_judged_is_said(self, tmp_path: Path, source: Path) -> None:
        samples = self.samples(tmp_path, "'infra'", "'base plus'")
        args = ["eval", "--dataset", DATASET, "--samples", samples, "--source", source]
        result = run(*args, "--output", tmp_path / "out", "--sandbox", "weak")
        assert result.exit_code == 3
        assert "Not judged, and left out: 1" in result.stderr
        assert "the sandbox is weak here; it lacks: net, pid" in result.stderr

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"--dataset": "humanevil+"}, "No dataset is called 'humanevil+'. Did you mean 'humaneval+'"),
            ({"--k": "1,x"}, "--k: expected numbers separated by commas, got '1,x'"),
            ({"--k": "10"}, "pass@10 needs 10 samples of each task, but 'T/0' has only 1"),
            ({"--samples": "none.jsonl"}, "none.jsonl: cannot be read: No such file or directory"),
            ({"--source": "none.jsonl"}, "none.jsonl: cannot be read: No such file or directory"),
        ],
    )
    def test_errors_are_one_message(
        self, tmp_path: Path, source: Path, change: dict[str, str], message: str
    ) -> None:
        options = {"--dataset": DATASET, "--samples": str(self.samples(tmp_path, "'base'"))}
        options |= {"--source": str(source), "--output": str(tmp_path / "out")} | change
        result = run("eval", *[part for pair in options.items() for part in pair])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"codegym: {message}")
        assert "Traceback" not in result.stderr

    def test_a_wrong_command_line(self) -> None:
        for args in (["eval"], ["eval", "--workers", "0"], ["nothing"]):
            assert run(*args).exit_code == 2


class TestScore:
    def test_verdicts(self, tmp_path: Path, source: Path) -> None:
        program = tmp_path / "p.py"
        task = ["--dataset", DATASET, "--source", source, "--task", "T/1"]
        program.write_text("'base plus'")
        result = run("score", program, *task)
        assert result.exit_code == 0
        assert result.stdout.splitlines() == [
            "T/1: passed",
            "  base     1 of 1 passed, 0.250 CPU seconds",
            "  plus     30 of 30 passed, 7.500 CPU seconds",
        ]
        program.write_text("'base'")
        result = run("score", program, *task)
        assert result.exit_code == 1
        lines = result.stdout.splitlines()
        assert lines[0] == "T/1: wrong: another value"
        assert lines[3] == "  test 1: plus wrong, 0.250 s: another value"
        assert lines[-1] == "  and 10 more"
        assert run("score", "-", *task, stdin="'infra'").exit_code == 3

    def test_a_file_of_tests(self, tmp_path: Path) -> None:
        program, tests = tmp_path / "p.py", tmp_path / "t.py"
        program.write_text("def f(): 'None'")
        tests.write_text("assert f() is None")
        result = run("score", program, "--tests", tests, "--entry-point", "f")
        assert result.exit_code == 0
        assert result.stdout.startswith("t.py: passed\n  tests    1 of 1 passed")

    def test_errors(self, tmp_path: Path, source: Path) -> None:
        program = tmp_path / "p.py"
        program.write_bytes(b"\xff")
        task = ["--dataset", DATASET, "--source", source, "--task"]
        for args, message in (
            ([program, *task, "T/0"], "not UTF-8: invalid start byte at byte 0"),
            ([tmp_path / "none.py", *task, "T/0"], "none.py: cannot be read: No such file"),
            ([program, *task, "T/11"], "has no task 'T/11'; did you mean 'T/1'"),
            ([program, *task, "other"], "has no task 'other'; it begins with ['T/0', 'T/1']"),
            ([program], "expected --dataset and --task, or --tests"),
            ([program, *task, "T/0", "--tests", program], "give one or the other"),
        ):
            result = run("score", *args)
            assert result.exit_code == 2
            assert message in result.stderr


def test_a_report_of_nothing(tmp_path: Path) -> None:
    result = run("report", tmp_path)
    assert result.exit_code == 2
    assert "results.jsonl: cannot be read" in result.stderr
    (tmp_path / "results.jsonl").touch()
    assert "was the evaluation interrupted?" in run("report", tmp_path).stderr


class TestPluginCommands:
    def app(self, *plugins: Any) -> tuple[typer.Typer, PluginRegistry]:
        registry = PluginRegistry()
        for number, plugin in enumerate(plugins):
            registry.add(plugin, f"plugin{number}")
        return make_app(registry), registry

    def test_plugins_add_commands(self) -> None:
        class Plugin:
            @hookimpl
            def codegym_register_commands(self, cli: typer.Typer) -> None:
                @cli.command()
                def greet_all(name: str) -> None:
                    typer.echo(f"hello {name}")

        app, registry = self.app(Plugin())
        assert run("greet-all", "you", app=app).stdout == "hello you\n"
        assert "plugin0" not in registry.broken

    def test_a_broken_one_breaks_only_itself(self) -> None:
        class Broken:
            @hookimpl
            def codegym_register_commands(self, cli: typer.Typer) -> None:
                cli.command("half")(lambda: None)
                raise RuntimeError("no")

        class Thief:
            @hookimpl
            def codegym_register_commands(self, cli: typer.Typer) -> None:
                cli.add_typer(typer.Typer(), name="mine")
                cli.command("eval")(lambda: typer.echo("mine"))

        app, registry = self.app(Broken(), Thief())
        assert registry.broken["plugin0"] == "codegym_register_commands: RuntimeError: no"
        assert "there is a command 'eval' already" in registry.broken["plugin1"]
        text = run("--help", app=app).stdout
        assert "half" not in text
        assert "mine" not in text
        assert run("version", app=app).exit_code == 0

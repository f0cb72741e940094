"""Generating samples for a benchmark, and going on where it was interrupted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from codegym.core import Task
from codegym.errors import DataError
from codegym.evaluation.progress import progress_bar
from codegym.evaluation.stream import StreamedFile
from codegym.generation.base import Completion, Generator, Prompt, Sampling
from codegym.generation.prompts import Style, prompt_for

__all__ = ["Generated", "SampleRow", "generate"]

Key = tuple[str, int]


class SampleRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a samples file."""

    task_id: str
    sample_index: int
    model: str
    settings: str
    """What the text was drawn with."""
    completion: str | None = None
    """Continues the prompt."""
    solution: str | None = None
    """Stands for itself: an answer, with the code in it."""
    finish_reason: str = ""

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.task_id, self.sample_index


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """What came of a run."""

    path: Path
    written: int
    """Samples that this run added."""
    found: int
    """Samples that the file held already."""
    failures: tuple[Completion, ...]
    """Prompts for which there is no text. Running it again asks for them again."""


def generate(
    tasks: Sequence[Task],
    generator: Generator,
    path: str | Path,
    sampling: Sampling | None = None,
    *,
    style: Style = "chat",
    system: str | None = None,
    progress: bool | None = None,
) -> Generated:
    """Draw samples for all tasks, or the rest of them, and write them to a file as they come.

    Args:
        tasks: The benchmark.
        generator: Draws.
        path: The file of samples. What it holds already is not drawn again.
        sampling: How many, and how. None: one, the most likely.
        style: How tasks are put to the model; see `prompt_for`.
        system: A system message in front of all.
        progress: Whether to show a progress bar on standard error. None: if that is a terminal.

    Raises:
        DataError: The file is damaged, or holds samples that were drawn otherwise.
        ConfigError: The model cannot be used, or a task cannot be put in that style.
    """
    sampling = sampling or Sampling()
    settings = _settings(sampling, style, system)
    failures, written = [], 0
    with StreamedFile(Path(path), SampleRow) as file:
        _check(file.rows, generator.model, settings, Path(path))
        done = {row.key for row in file.rows}
        prompts = list(_missing(tasks, done, sampling, style, system))
        with progress_bar("Generating", progress, len(prompts) + len(done), len(done)) as advance:
            for completion in generator.generate(prompts, sampling):
                if completion.text is None:
                    failures.append(completion)
                else:
                    file.append(_row(completion, generator.model, settings))
                    written += 1
                advance()
    return Generated(path=Path(path), written=written, found=len(done), failures=tuple(failures))


def _settings(sampling: Sampling, style: Style, system: str | None) -> str:
    """All that a text depends on besides its prompt, but for how many there are."""
    parts = [
        f"temperature {sampling.temperature:g}",
        f"top_p {sampling.top_p:g}",
        f"{sampling.max_tokens} tokens",
    ]
    parts += [f"seed {sampling.seed}", style, *([f"system {system!r}"] if system else [])]
    return ", ".join(parts)


def _check(rows: Iterable[SampleRow], model: str, settings: str, path: Path) -> None:
    """Make sure that what a file holds belongs to this run."""
    for number, row in enumerate(rows, 1):
        if (row.model, row.settings) != (model, settings):
            raise DataError(
                f"holds a sample of {row.model!r} ({row.settings}), this run is of {model!r} ({settings}). "
                "Choose another file, or delete this one",
                path=path,
                line=number,
            )


def _missing(
    tasks: Iterable[Task], done: set[Key], sampling: Sampling, style: Style, system: str | None
) -> Iterator[Prompt]:
    """The prompts of samples that are not there; the first of every task before the second of any."""
    for index in range(sampling.samples):
        for task in tasks:
            if (task.id, index) not in done:
                yield prompt_for(task, index, sampling, style, system)


def _row(completion: Completion, model: str, settings: str) -> SampleRow:
    prompt = completion.prompt
    return SampleRow(
        task_id=prompt.task_id,
        sample_index=prompt.index,
        model=model,
        settings=settings,
        completion=completion.text if prompt.messages is None else None,
        solution=completion.text if prompt.messages is not None else None,
        finish_reason=completion.finish_reason,
    )

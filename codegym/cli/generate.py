"""The command ``codegym generate``, and the options that it shares with ``codegym eval``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from codegym.errors import ConfigError

if TYPE_CHECKING:
    from codegym.core import Task
    from codegym.generation import Generated

__all__ = [
    "Backend",
    "MaxTokens",
    "Options",
    "Samples",
    "Seed",
    "Style",
    "System",
    "Temperature",
    "generate",
    "write",
]

NOT_ALL: Final = 3

Backend = Annotated[str, typer.Option("--backend", help="What generates: openai (any compatible server), …")]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="An option of the backend: KEY=VALUE, such as base_url=http://localhost:8000/v1."
    ),
]
Samples = Annotated[int, typer.Option("-n", min=1, help="Samples for each task.")]
Temperature = Annotated[float, typer.Option(min=0.0)]
MaxTokens = Annotated[int, typer.Option(min=1, help="Where a sample is cut off.")]
Seed = Annotated[int, typer.Option(help="A sample depends on this, its task and its number.")]
Style = Annotated[str, typer.Option(help="chat, or completion for base models.")]
System = Annotated[str | None, typer.Option(help="A system message; with the style chat.")]


def generate(
    dataset: Annotated[str, typer.Option(help="Name of the dataset, such as humaneval+.")],
    model: Annotated[str, typer.Option(help="What the backend calls the model.")],
    output: Annotated[Path, typer.Option(help="The file of samples; what it holds is not generated again.")],
    source: Annotated[str | None, typer.Option(help="File, folder or hub id of the dataset.")] = None,
    backend: Backend = "openai",
    options: Options = None,
    samples: Samples = 1,
    temperature: Temperature = 0.0,
    max_tokens: MaxTokens = 1024,
    seed: Seed = 0,
    style: Style = "chat",
    system: System = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The first so many tasks only.")] = None,
) -> None:
    """Let a model write samples for the tasks of a dataset.

    Started again with the same arguments, it goes on where it was interrupted.
    """
    from itertools import islice

    from codegym.datasets import load_tasks

    tasks = list(islice(load_tasks(dataset, source=source), limit))
    sampling = {"samples": samples, "temperature": temperature, "max_tokens": max_tokens, "seed": seed}
    done = write(tasks, output, model, backend, options or (), sampling, style, system)
    typer.echo(f"{done.path}: {done.written} samples written, {done.found} were there")
    if done.failures:
        first = done.failures[0]
        typer.echo(
            f"{len(done.failures)} samples are missing, such as {first.prompt.index} of "
            f"{first.prompt.task_id}: {first.error}. Run it again to retry.",
            err=True,
        )
        raise typer.Exit(NOT_ALL)


def write(
    tasks: Sequence[Task],
    path: Path,
    model: str,
    backend: str,
    options: Sequence[str],
    sampling: dict[str, Any],
    style: str,
    system: str | None,
) -> Generated:
    """Generate samples as the options say."""
    from codegym.generation import STYLES, Sampling, make_generator
    from codegym.generation import generate as run

    chosen = next((known for known in STYLES if known == style), None)
    if chosen is None:
        raise ConfigError(f"--style: expected {' or '.join(STYLES)}, got {style!r}")
    generator = make_generator(backend, model, **dict(map(_option, options)))
    return run(tasks, generator, path, Sampling(**sampling), style=chosen, system=system)


def _option(text: str) -> tuple[str, Any]:
    """One ``KEY=VALUE``; the value is read as JSON where it is JSON."""
    import json

    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise ConfigError(f"--set: expected KEY=VALUE, got {text!r}")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value

"""The command ``codegym train``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from codegym.errors import ConfigError

__all__ = ["train_command"]


def train_command(
    model: Annotated[
        str | None,
        typer.Option(help="tiny (made on the spot), smollm2, a folder, or an id on the hub. Default: tiny."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the dataset. Default: listfuncs.")] = None,
    source: Annotated[str | None, typer.Option(help="File, folder or hub id of the dataset.")] = None,
    split: Annotated[str | None, typer.Option(help="Split to train on.")] = None,
    reward: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME or NAME=WEIGHT; may be repeated. Default: fraction_passed=0.5, all_passed=0.5."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Optimiser steps. Default: 40.")] = None,
    batch: Annotated[int | None, typer.Option(help="Completions in a step. Default: 64.")] = None,
    generations: Annotated[int | None, typer.Option(help="Completions of one prompt. Default: 8.")] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Default: 2e-4 for the tiny policy, else 1e-5.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Of a completion. Default: 64 for the tiny policy, else 256.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Tasks to train on, from the first. Default: all.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Default: 0.")] = None,
    sandbox: Annotated[str | None, typer.Option(help="Name of the sandbox. Default: local.")] = None,
    workers: Annotated[int | None, typer.Option(help="Programs to judge at one time.")] = None,
    output: Annotated[str | None, typer.Option(help="Folder for the results. Default: runs/train.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file; options and --set override it.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Any setting, dotted, such as grpo.beta=0.04; may be repeated."
        ),
    ] = None,
) -> None:
    """Train a model with TRL's GRPO, rewarded by running what it writes."""
    from codegym_trl.config import load_config

    options: dict[str, Any] = {
        "model": model,
        "dataset": dataset,
        "source": source,
        "split": split,
        "rewards": read_rewards(reward) if reward else None,
        "steps": steps,
        "batch": batch,
        "generations": generations,
        "learning_rate": learning_rate,
        "max_tokens": max_tokens,
        "limit": limit,
        "seed": seed,
        "sandbox": sandbox,
        "workers": workers,
        "output": output,
    }
    settings = load_config(config, options, set_ or ())
    from codegym_trl.train import train

    summary = train(settings)
    typer.echo(
        f"Held-out greedy pass rate: {summary['before']['pass_rate']:.3f} before, "
        f"{summary['after']['pass_rate']:.3f} after ({summary['tasks']['test']} tasks, weights of step "
        f"{summary['selected_step']})"
    )
    typer.echo(f"Report: {Path(settings.output) / 'report.html'}")


def read_rewards(texts: Sequence[str]) -> dict[str, float]:
    """Rewards with their weights; one without a weight gets the one that it declares.

    Raises:
        ConfigError: A weight is no number.
        NotFoundError: There is no such reward.
    """
    from codegym.rewards import resolve_rewards

    rewards = {}
    for text in texts:
        name, equals, weight = text.partition("=")
        try:
            rewards[name] = float(weight) if equals else resolve_rewards(name)[0].weight
        except ValueError:
            raise ConfigError(f"--reward {text!r}: the weight must be a number, got {weight!r}") from None
    return rewards

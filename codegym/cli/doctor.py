"""The command ``codegym doctor``."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

__all__ = ["doctor"]

WEAK = 1


def doctor(
    sandbox: Annotated[str, typer.Option("--sandbox", help="Name of the sandbox to examine.")] = "local",
) -> None:
    """Start a sandbox, say which layers of isolation stand, and how to get those that are missing.

    Exits with 1 where isolation is not strong.
    """
    from rich.console import Console
    from rich.table import Table

    from codegym.sandbox import make_sandbox
    from codegym.sandbox.advice import findings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all of it is in the table
        with make_sandbox(sandbox, workers=1) as box:
            isolation = box.isolation
    table = Table("layer", "here", "keeps programs from, or limits", box=None, pad_edge=False)
    advice: dict[str, list[str]] = {}
    for found in findings(isolation):
        word = "stands" if found.stands else "missing" if found.needed else "missing, not needed"
        table.add_row(found.layer, word, found.meaning)
        if not found.stands:
            advice.setdefault(found.advice, []).append(found.layer)
    console = Console()
    console.print(table)
    for text, layers in advice.items():
        console.print(f"\nTo get {', '.join(layers)}: {text}.")
    console.print(f"\n{sandbox}: isolation is {'strong' if isolation.strong else 'not strong'}.")
    if not isolation.strong:
        raise typer.Exit(WEAK)

"""What this distribution adds to codegym: the command ``codegym train`` and the trainer ``trl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegym.hookspecs import Register, hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def codegym_register_trainers(register: Register) -> None:
    """Add the trainer."""
    register("trl", "codegym_trl.train:train")


@hookimpl
def codegym_register_commands(cli: typer.Typer) -> None:
    """Add the command."""
    from codegym_trl.command import train_command

    cli.command("train")(train_command)

"""The sandbox ``docker``: the workers of `local`, each in a container.

Nothing of Docker is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegym import hookimpl
from codegym.hookspecs import Register

if TYPE_CHECKING:
    import typer

__all__ = ["codegym_register_commands", "codegym_register_sandboxes"]


@hookimpl
def codegym_register_sandboxes(register: Register) -> None:
    """Add the sandbox."""
    register("docker", "codegym_docker.sandbox:DockerSandbox")


@hookimpl
def codegym_register_commands(cli: typer.Typer) -> None:
    """Add ``codegym docker``."""
    from codegym_docker.command import app

    cli.add_typer(app, name="docker")

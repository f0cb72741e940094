"""The commands ``codegym docker build`` and ``codegym docker status``."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    help="Images and containers of the sandbox docker.", no_args_is_help=True, rich_markup_mode=None
)


@app.command()
def build(
    tag: Annotated[str, typer.Option(help="What the image is called.")] = "codegym/python:latest",
    base: Annotated[
        str | None, typer.Option("--from", help="The image to start from. Default: this interpreter.")
    ] = None,
    package: Annotated[
        list[str] | None, typer.Option("--package", help="A distribution to put into it; several times.")
    ] = None,
) -> None:
    """Make an image with Python, from another image or from this interpreter, which needs no registry."""
    from codegym_docker.daemon import connect
    from codegym_docker.images import build_from, build_local

    with contextlib.closing(connect()) as client:
        made = (
            build_from(client, base, tag, package or ()) if base else build_local(client, tag, package or ())
        )
    typer.echo(f"{tag}: {made}")


@app.command()
def status() -> None:
    """Say which daemon is used, which containers run, and remove those whose makers are gone."""
    from codegym_docker.daemon import connect, translated
    from codegym_docker.sandbox import LABEL, reap

    with contextlib.closing(connect()) as client, translated("look at containers"):
        removed = reap(client)
        running = client.containers.list(filters={"label": LABEL})
        info = client.info()
    typer.echo(f"Docker {info['ServerVersion']} on {info['KernelVersion']}, storage {info['Driver']}")
    typer.echo(f"{len(running)} containers of codegym run, {removed} stale ones were removed")

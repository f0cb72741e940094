"""The daemon, and what goes wrong with it."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Any

import docker
import requests

from codegym.errors import SandboxUnavailableError

__all__ = ["connect", "translated"]


def connect() -> Any:
    """A client of the daemon that ``DOCKER_HOST`` names, or of the one on this machine.

    Raises:
        SandboxUnavailableError: There is none, or it does not answer.
    """
    with translated("reach the Docker daemon"):
        knock(docker.utils.parse_host(os.environ.get("DOCKER_HOST")))
        return docker.from_env(timeout=60)  # asks the daemon for its version


def knock(address: str) -> None:
    """Connect to a daemon's socket, where that is a file, and close: where nobody listens, the SDK would
    leave its own open.

    Raises:
        OSError: Nobody listens.
    """
    scheme, _, path = address.partition("://")
    if scheme == "http+unix":
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
            connection.connect(path)


@contextlib.contextmanager
def translated(what: str, image: str = "") -> Iterator[None]:
    """Say what was tried, and what to do, where the daemon refuses or is not there.

    Raises:
        SandboxUnavailableError: In place of whatever the SDK raised.
    """
    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise SandboxUnavailableError(
            f"cannot {what}: there is no image {image!r} here; make one with `codegym docker build`, "
            f"or get it with `docker pull {image}`"
        ) from error
    except docker.errors.APIError as error:
        raise SandboxUnavailableError(
            f"cannot {what}: the daemon says: {error.explanation or error}"
        ) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        raise SandboxUnavailableError(
            f"cannot {what}: {error}; is the Docker daemon running, and DOCKER_HOST right?"
        ) from error

"""Places of the host where the expected answers lie about, for hostile programs to look for."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from codegym.audit.tests import WANTED

__all__ = ["set_traps", "with_traps"]

VARIABLE: Final = "CODEGYM_AUDIT_TOKENS"


@contextlib.contextmanager
def set_traps() -> Iterator[Mapping[str, str]]:
    """Put the answers into a file, servers and the environment of this process.

    Start the sandbox that is to be audited after this, so that it could have inherited them.

    Yields:
        Where they are: what the placeholders in programs stand for.
    """
    text = " ".join(WANTED.values())
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="codegym-audit-")))
        (folder / "expected.txt").write_text(text)
        places = {
            "@FILE@": str(folder / "expected.txt"),
            "@SOCKET@": str(folder / "socket"),
            "@ABSTRACT@": f"codegym-audit-{os.getpid()}",
            "@PID@": str(os.getpid()),
            "@TOKEN@": WANTED[1],
        }
        tcp = socket.create_server(("127.0.0.1", 0))
        places["@PORT@"] = str(tcp.getsockname()[1])
        for server in (tcp, listening(places["@SOCKET@"]), listening("\0" + places["@ABSTRACT@"])):
            stack.enter_context(serving(server, text.encode()))
        os.environ[VARIABLE] = text
        stack.callback(os.environ.pop, VARIABLE, None)
        yield places


def with_traps(code: str, places: Mapping[str, str]) -> str:
    """A program with the places filled in."""
    for name, value in places.items():
        code = code.replace(name, value)
    return code


def listening(address: str) -> socket.socket:
    """A Unix socket that listens."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()
    return server


@contextlib.contextmanager
def serving(server: socket.socket, answer: bytes) -> Iterator[None]:
    """Tell everybody who connects."""
    thread = threading.Thread(target=serve, args=(server, answer), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        server.close()


def serve(server: socket.socket, answer: bytes) -> None:
    """Answer connections until the server is shut down."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            connection.sendall(answer)

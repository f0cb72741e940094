"""The frames that a host and its worker exchange: a length, a type and a payload.

The host speaks first, in frames of a length, a type and a payload; the worker answers each RUN with one DONE:

    host to worker   RUN   a plan, followed by one request for each guest, outside of the frame
                     SEND  bytes for the guest's link
                     STOP  end the run
    worker to host   HELLO what the wall is made of, once
                     ANSWERS, LINK  bytes from the guest, unread
                     FIRST what the program in a check said of itself
                     STDOUT, STDERR  what was printed, or the two ends of it
                     DONE  how the run ended

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

__all__ = [
    "ANSWERS",
    "CHUNK",
    "DONE",
    "FIRST",
    "FRAME",
    "HELLO",
    "LINK",
    "RUN",
    "SEND",
    "STDERR",
    "STDOUT",
    "STOP",
    "Disconnected",
    "receive_exactly",
]

FRAME: Final = struct.Struct("<Ic")
HELLO, ANSWERS, LINK, FIRST, STDOUT, STDERR, DONE = b"h", b"a", b"l", b"f", b"o", b"e", b"d"
RUN, SEND, STOP = b"r", b"s", b"x"
CHUNK: Final = 1 << 20
"""Bytes that are moved at once."""


class Disconnected(Exception):
    """The other end has closed the connection."""


def receive_exactly(source: socket.socket, count: int) -> bytes:
    """Receive that many bytes.

    Raises:
        Disconnected: The connection ended before.
    """
    data = bytearray()
    while len(data) < count:
        part = source.recv(min(count - len(data), CHUNK))
        if not part:
            raise Disconnected
        data += part
    return bytes(data)

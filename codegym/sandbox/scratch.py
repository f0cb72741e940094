"""The scratch folder of guests, emptied after each run whatever a program has left there.

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["sweep"]

MODE: Final = 0o1777


def sweep(scratch: str) -> None:
    """Empty a scratch folder.

    Raises:
        OSError: It cannot be done. A worker then ends, and the host starts another.
    """
    if os.stat(scratch).st_mode & 0o7777 != MODE:
        os.chmod(scratch, MODE)
    number = 0
    while names := os.listdir(scratch):
        for name in names:
            path = os.path.join(scratch, name)
            if os.path.islink(path) or not os.path.isdir(path):
                os.unlink(path)
            else:
                number = flatten(path, scratch, number)


def flatten(folder: str, scratch: str, number: int) -> int:
    """Remove a folder, and move the folders in it up: so depth costs nothing. Returns the next free
    number.
    """
    os.chmod(folder, 0o700)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
        else:
            while os.path.lexists(target := os.path.join(scratch, f"swept-{number}")):
                number += 1
            os.chmod(path, 0o700)
            os.rename(path, target)
    os.rmdir(folder)
    return number

"""What a worker does once so that its guests need not: imports, and the interpreter's warming up.

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import linecache
import marshal
import site
import sys
from collections.abc import Iterable
from typing import Final

from codegym.sandbox import guest, linux

__all__ = ["preload"]

ADAPTED: Final = 24
"""Runs after which CPython has specialised a function."""


def preload(names: Iterable[str], path: Iterable[str]) -> None:
    """Import what programs are likely to import, once for all of them."""
    site.setquit()  # the interpreter runs without site, which has more to it
    site.sethelper()
    sys.path += path
    for name in names:
        with contextlib.suppress(ImportError):  # a version may lack a module, a sandbox a package
            importlib.import_module(name)
    warm_up()
    gc.collect()
    linux.libc.malloc_trim(0)
    gc.freeze()


def warm_up() -> None:
    """Run a program here, so often that the interpreter has adapted its own code to it: later it would do so
    in each guest, and a page that is written to has to be copied. The answers go nowhere.
    """
    inputs = [marshal.dumps(((1,), {}), 2)]
    request = {"entry_point": "f", "inputs": inputs, "argument_answers": False, "inline_bytes": 1024}
    for _ in range(ADAPTED):
        guest.MODES["calls"]({"code": "def f(x):\n    return x\n", **request})
    del sys.modules["solution"]
    linecache.clearcache()

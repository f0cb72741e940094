"""The driver as one program text that can be sent to any guest.

The modules of the driver travel compiled, so that a guest of the same Python loads them in a millisecond, and
as source for all others.
"""

from __future__ import annotations

import functools
import importlib.resources
import importlib.util
import marshal
from typing import Final

__all__ = ["MODULES", "driver_program", "guest_modules"]

MODULES: Final = (
    *("driver_compile", "driver_processes", "driver_program", "driver_trace", "driver_guard", "driver_state"),
    *("driver_session", "driver_suite", "driver_original", "driver_warm", "driver"),
)
"""What runs inside, in the order of import."""

BOOT: Final = """
import importlib.util, linecache, marshal, sys, types
def load_modules(names, magic, codes, sources):
    package = "codegym.mutation"
    sys.modules[package] = types.ModuleType(package)
    sys.modules[package].__path__ = []
    same = magic == importlib.util.MAGIC_NUMBER
    loaded = {}
    for name, code in zip(names, marshal.loads(codes) if same else sources):
        loaded[name] = module = types.ModuleType(package + "." + name)
        sys.modules[module.__name__] = module
        exec(code if same else compile(code, "driver/" + name, "exec", dont_inherit=True), module.__dict__)
    for module in loaded.values():
        del sys.modules[module.__name__]
    del sys.modules[package]
    linecache.clearcache()
    return loaded
"""


@functools.cache
def guest_modules(names: tuple[str, ...]) -> str:
    """A program text that loads modules of this package, in this order, as the dictionary ``MODULES``."""
    folder = importlib.resources.files("codegym.mutation")
    sources = [folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in names]
    codes = [
        compile(source, f"driver/{name}", "exec", dont_inherit=True)
        for name, source in zip(names, sources, strict=True)
    ]
    arguments = f"{names!r}, {importlib.util.MAGIC_NUMBER!r}, {marshal.dumps(codes)!r}, {sources!r}"
    return f"{BOOT}\nMODULES = load_modules({arguments})\n"


def driver_program() -> str:
    """The driver's program text; its entry point is ``run_chunk``."""
    return guest_modules(MODULES) + 'run_chunk = MODULES["driver"].run_chunk\n'

"""The program under test, as importable modules that lie nowhere on disk.

Runs inside the guest: standard library only.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

__all__ = ["FOLDER", "Finder", "Source", "filename_of"]

FOLDER: Final = "/program"
"""Where the program's modules claim to lie; there is no such folder."""


class Source(NamedTuple):
    """One module."""

    text: str
    is_package: bool


def filename_of(name: str, source: Source) -> str:
    """The file that a module claims to come from."""
    path = name.replace(".", "/")
    return f"{FOLDER}/{path}/__init__.py" if source.is_package else f"{FOLDER}/{path}.py"


class Finder:
    """Finds the program's modules in memory, before anything else is looked for.

    Attributes:
        loaded: How often each was executed.
    """

    def __init__(
        self, sources: Mapping[str, Source], target: str, execute: Callable[[ModuleType], None]
    ) -> None:
        """Serve these modules.

        Args:
            sources: By name.
            target: The one that is mutated. Its text is not kept: tests can get at a finder.
            execute: Runs its code in it.
        """
        self.loaded: dict[str, int] = {}
        kept = {target: Source("", sources[target].is_package)}
        self._sources, self._target, self._execute = {**sources, **kept}, target, execute

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module."""
        source = self._sources.get(name)
        if source is None:
            return None
        filename = filename_of(name, source)
        loader: Any = self
        spec = importlib.util.spec_from_loader(name, loader, origin=filename, is_package=source.is_package)
        assert spec is not None
        spec.has_location = True
        if source.is_package:
            spec.submodule_search_locations = [os.path.dirname(filename)]
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The usual kind of module will do."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's code in it."""
        name = module.__spec__.name if module.__spec__ else module.__name__
        self.loaded[name] = self.loaded.get(name, 0) + 1
        if name == self._target:
            self._execute(module)
        else:
            filename = filename_of(name, self._sources[name])
            exec(compile(self._sources[name].text, filename, "exec", dont_inherit=True), vars(module))

    def install(self) -> None:
        """Be the first to be asked."""
        sys.meta_path.insert(0, self)

"""The environments' ids in Gymnasium's registry.

``import codegym`` makes ``gymnasium.make("codegym/Solver-v0")`` work, yet does not pay for importing
Gymnasium: where that is not imported yet, the ids are registered as soon as it is.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["register_environments", "register_when_imported"]


def register_environments(*, installed: bool = False) -> None:
    """Register the environments with Gymnasium, those that are not registered yet.

    Args:
        installed: Also those of installed plugins, which are imported for it.
    """
    import gymnasium

    for name, target, spec in _installed() if installed else _first_party():
        if name not in gymnasium.registry:
            gymnasium.register(name, target, **spec)


def _installed() -> Iterator[tuple[str, str, dict[str, Any]]]:
    from codegym.plugins import registry

    for entry in registry().entries("environment"):
        yield entry.name, entry.target, dict(entry.spec)


def _first_party() -> list[tuple[str, str, dict[str, Any]]]:
    from codegym.plugins import FIRST_PARTY, KINDS

    found: list[tuple[str, str, dict[str, Any]]] = []
    plugin = importlib.import_module(FIRST_PARTY["envs"])
    getattr(plugin, KINDS["environment"])(
        register=lambda name, target, **spec: found.append((name, target, spec))
    )
    return found


def register_when_imported() -> None:
    """Register the environments that come with codegym: now, or when Gymnasium is first imported."""
    if "gymnasium" in sys.modules:
        register_environments()
    elif not any(isinstance(finder, _GymnasiumFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _GymnasiumFinder())


class _GymnasiumFinder(importlib.abc.MetaPathFinder):
    """Finds Gymnasium as the other finders do, once, and has the environments registered after its import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _GymnasiumLoader(spec.loader)
        return spec


class _GymnasiumLoader(importlib.abc.Loader):
    """Loads Gymnasium with the loader that was found, and leaves that one in its place."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        register_environments()

"""The promises of a plugin; see docs/plugins.md."""

from __future__ import annotations

import difflib
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from codegym import hookspecs
from codegym.errors import CodegymError
from codegym.plugins import KINDS, Entry, PluginRegistry, load_target
from codegym.testing.checks import require

__all__ = ["PluginSubject"]

HOOKS = {name for name in vars(hookspecs) if name.startswith("codegym_")}
HEAVY = ("torch", "transformers", "trl", "docker", "ray", "datasets", "vllm")


class PluginSubject:
    """A plugin under test.

    Args:
        plugin: The module, or its name.
    """

    def __init__(self, plugin: ModuleType | str) -> None:
        """Import it."""
        self.module = importlib.import_module(plugin) if isinstance(plugin, str) else plugin

    def functions(self) -> Iterator[tuple[str, Any]]:
        """The functions that look like hooks."""
        for name, value in vars(self.module).items():
            if name.startswith("codegym_") and inspect.isfunction(value):
                yield name, value

    def registry(self) -> PluginRegistry:
        """A registry that knows codegym's own plugins and this one."""
        made = PluginRegistry()
        if not any(plugin is self.module for plugin in made.manager.get_plugins()):
            made.add(self.module, "under-test")
        return made

    def entries(self) -> list[Entry]:
        """What it registers."""
        made = self.registry()
        named = made.manager.list_name_plugin()
        name = next(name for name, plugin in named if plugin is self.module)
        return [entry for kind in KINDS for entry in made.entries(kind) if entry.plugin == name]


def check_hooks_exist(subject: PluginSubject) -> None:
    """Every function called ``codegym_…`` is one of the hooks."""
    for name, _ in subject.functions():
        close = difflib.get_close_matches(name, HOOKS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        require(name in HOOKS, f"there is no hook {name!r}{hint}")


def check_hooks_are_marked(subject: PluginSubject) -> None:
    """Every hook carries the mark `codegym.hookimpl`, without which it is not called."""
    for name, function in subject.functions():
        require(hasattr(function, "codegym_impl"), f"{name} is not marked")


def check_arguments_exist(subject: PluginSubject) -> None:
    """A hook takes no argument that its specification lacks."""
    for name, function in subject.functions():
        if name in HOOKS:
            wanted = set(inspect.signature(function).parameters)
            extra = wanted - set(inspect.signature(getattr(hookspecs, name)).parameters)
            require(not extra, f"{name} takes {', '.join(sorted(extra))}")


def check_it_registers_without_error(subject: PluginSubject) -> None:
    """All names are registered: none is taken, none is malformed."""
    try:
        made = subject.registry()
        list(made.entries("reward"))
    except CodegymError as error:
        require(False, str(error))
    require("under-test" not in made.broken, made.broken.get("under-test", ""))


def check_targets_can_be_imported(subject: PluginSubject) -> None:
    """Each target names something that is there."""
    for entry in subject.entries():
        try:
            load_target(entry.target)
        except CodegymError as error:
            require(False, f"{entry.kind} {entry.name!r}: {error}")


def check_importing_it_is_light(subject: PluginSubject) -> None:
    """Importing the plugin's module loads none of the heavy libraries."""
    code = f"import sys, {subject.module.__name__}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().rpartition("\n")[2]
    require(done.returncode == 0, f"it does not import: {last}")
    require(not done.stdout.strip(), f"it loads {done.stdout.strip()}")

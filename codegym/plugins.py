"""Discovery of plugins, and the names that they register.

A plugin is an entry point in the group ``codegym``. What comes with codegym is registered through the same
hooks. Plugins are imported on the first look-up of a name that codegym itself does not have; one that is
broken breaks only itself, and its error is part of every "not found" message.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pluggy

from codegym import hookspecs
from codegym.errors import DuplicateError, NotFoundError, PluginError

__all__ = ["GROUP", "KINDS", "Entry", "NamedPlugins", "PluginRegistry", "load_target", "registry"]

GROUP: Final = "codegym"
"""The entry-point group."""

KINDS: Final[Mapping[str, str]] = {
    "environment": "codegym_register_envs",
    "dataset": "codegym_register_tasks",
    "generator": "codegym_register_generators",
    "sandbox": "codegym_register_sandboxes",
    "operator": "codegym_register_operators",
    "reward": "codegym_register_rewards",
    "curriculum": "codegym_register_curricula",
    "trainer": "codegym_register_trainers",
}
"""What can be registered, and the hook that registers it."""

TARGET: Final = re.compile(r"[\w.]+:[\w.]+")
FIRST_PARTY: Final = {"builtin": "codegym.builtin", "envs": "codegym_envs"}
"""Plugins that come with codegym: known without a look at what is installed."""


def load_target(target: str) -> Any:
    """Import what a ``"module:attr"`` string names.

    Args:
        target: The string; ``attr`` may be dotted.

    Returns:
        The object.

    Raises:
        PluginError: The string has another form, the module does not import, or has no such attribute.
    """
    module_name, colon, attr = target.partition(":")
    if not (module_name and colon and attr):
        raise PluginError(f"Expected a target of the form 'module:attr', got {target!r}.")
    try:
        found = importlib.import_module(module_name)
    except Exception as error:
        raise PluginError(f"Target {target!r}: {module_name!r} does not import: {describe(error)}") from error
    try:
        return functools.reduce(getattr, attr.split("."), found)
    except AttributeError as error:
        raise PluginError(f"Target {target!r}: {error}") from error


def describe(error: BaseException) -> str:
    """An exception in one line, type first."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One registered name."""

    kind: str
    name: str
    target: str
    plugin: str
    spec: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Any:
        """Import the target.

        Raises:
            PluginError: It cannot be imported; names the plugin.
        """
        try:
            return load_target(self.target)
        except PluginError as error:
            raise PluginError(f"Plugin {self.plugin!r}, {self.kind} {self.name!r}: {error}") from error


class PluginRegistry:
    """The names that plugins have registered.

    Attributes:
        manager: pluggy's plugin manager; holds every plugin that loaded.
        broken: Plugins that did not load, with the reason in one line.
    """

    def __init__(self) -> None:
        """Start empty; nothing is imported yet."""
        self.manager = pluggy.PluginManager(GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.broken: dict[str, str] = {}
        self._entries: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
        self._registering: str | None = None
        self._discovered = False
        for kind, hook in KINDS.items():
            register = functools.partial(self._register, kind)
            getattr(self.manager.hook, hook).call_historic(kwargs={"register": register})
        for name, module in FIRST_PARTY.items():
            self._add(name, functools.partial(importlib.import_module, module))

    def add(self, plugin: object, name: str) -> None:
        """Register a plugin that is not installed, such as one made in a notebook or a test.

        Args:
            plugin: A module or an object with hook implementations.
            name: What messages call it.

        Raises:
            PluginError: The plugin is broken; nothing of it stays registered.
        """
        self._add(name, lambda: plugin)
        if name in self.broken:
            raise PluginError(f"Plugin {name!r} failed to load: {self.broken.pop(name)}")

    def discover(self) -> None:
        """Load every installed plugin that is not loaded yet. Done once, on the first miss."""
        if self._discovered:
            return
        self._discovered = True
        for entry_point in importlib.metadata.entry_points(group=GROUP):
            if entry_point.name not in FIRST_PARTY and not self.manager.has_plugin(entry_point.name):
                self._add(entry_point.name, entry_point.load)

    def get(self, kind: str, name: str) -> Entry:
        """Look a name up.

        Args:
            kind: One of `KINDS`.
            name: The registered name.

        Returns:
            The entry; its `Entry.load` imports the code.

        Raises:
            NotFoundError: No plugin registered it.
        """
        names = self._entries[kind]
        if name not in names:
            self.discover()
        if name not in names:
            raise NotFoundError(kind, name, names, self.broken.items())
        return names[name]

    def entries(self, kind: str) -> Iterator[Entry]:
        """All entries of a kind, from every installed plugin, by name."""
        self.discover()
        return iter(sorted(self._entries[kind].values(), key=lambda entry: entry.name))

    def resolve(self, kind: str, what: Any) -> Any:
        """The object that a user means: a registered name, a ``"module:attr"`` string, or the object itself.

        Raises:
            NotFoundError: A name that no plugin registered.
            PluginError: What it names cannot be imported.
        """
        if not isinstance(what, str):
            return what
        return load_target(what) if ":" in what else self.get(kind, what).load()

    def _add(self, name: str, load: Callable[[], object]) -> None:
        """Load and register one plugin; whatever goes wrong, roll back and remember why."""
        self._registering = name
        try:
            plugin = load()
            self.manager.register(plugin, name)
            self.manager.check_pending()
        except Exception as error:
            self.broken[name] = describe(error)
            self._roll_back(name)
        finally:
            self._registering = None

    def _roll_back(self, name: str) -> None:
        if self.manager.has_plugin(name):
            self.manager.unregister(name=name)
        for names in self._entries.values():
            for entry in [entry for entry in names.values() if entry.plugin == name]:
                del names[entry.name]

    def _register(self, kind: str, name: str, target: str, **spec: Any) -> None:
        plugin = self._registering
        if plugin is None:
            raise PluginError(f"{kind} {name!r} was registered outside of its register hook")
        if not (isinstance(target, str) and TARGET.fullmatch(target)):
            raise PluginError(f"{kind} {name!r}: the target must be a 'module:attr' string, got {target!r}")
        taken = self._entries[kind].get(name)
        if taken is not None:
            raise DuplicateError(f"{kind} {name!r} is already registered by plugin {taken.plugin!r}")
        self._entries[kind][name] = Entry(kind=kind, name=name, target=target, plugin=plugin, spec=spec)


@functools.cache
def registry() -> PluginRegistry:
    """The registry of this process."""
    return PluginRegistry()


class NamedPlugins:
    """Calls hooks of the plugins that a run names, and of no others.

    Attributes:
        plugins: Their names.
    """

    def __init__(self, plugins: Sequence[str]) -> None:
        """Look the plugins up.

        Raises:
            NotFoundError: One is not installed, or failed to load.
        """
        self.plugins = (plugins,) if isinstance(plugins, str) else tuple(plugins)
        self._registry = registry()
        if self.plugins:
            self._registry.discover()
        loaded = dict(self._registry.manager.list_name_plugin())
        for name in self.plugins:
            if name not in loaded:
                raise NotFoundError("plugin", name, loaded, self._registry.broken.items())
        self._others = [plugin for name, plugin in loaded.items() if name not in self.plugins]

    def call(self, hook: str, **arguments: Any) -> Any:
        """Call a hook.

        Returns:
            What pluggy returns: the results that are not None, or the first of them. None where no plugin is
            named.

        Raises:
            PluginError: A plugin raised.
        """
        if not self.plugins:
            return None
        try:
            return self._registry.manager.subset_hook_caller(hook, self._others)(**arguments)
        except Exception as error:
            raise PluginError(f"{self.whose(hook)} raised {describe(error)}") from error

    def whose(self, hook: str) -> str:
        """What messages call a hook."""
        return f"Hook {hook!r} of one of the plugins {', '.join(map(repr, self.plugins))}"

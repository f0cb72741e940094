"""The promises of a plugin; see docs/plugins.md."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from codegym import hookspecs
from codegym.errors import ConfigError, NotFoundError, PluginError
from codegym.plugins import FIRST_PARTY, GROUP, KINDS, TARGET, Entry, PluginRegistry, describe, load_target
from codegym.testing.checks import not_applicable, promised, require
from codegym.testing.datasets import DatasetSubject
from codegym.testing.environments import EnvironmentSubject
from codegym.testing.rewards import RewardSubject
from codegym.testing.sandboxes import SandboxSubject

__all__ = ["PluginSubject"]

HOOKS: Final = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("codegym_")}
HEAVY: Final = ("datasets", "docker", "ray", "torch", "transformers", "trl", "vllm")
"""Libraries that are loaded when something that needs them is used, and not before."""
MADE: Final = {"environment": EnvironmentSubject, "sandbox": SandboxSubject, "dataset": DatasetSubject}
"""Kinds of which a registered one is checked where it is told how to make it."""

Part = tuple[Literal["reward", "environment", "sandbox", "dataset"], Any, str]
"""Kind, subject and name of something that a plugin registers."""


@dataclass(frozen=True, slots=True)
class Registered:
    """What a plugin did when it was asked to register its names."""

    entries: tuple[Entry, ...]
    errors: Mapping[str, str]
    """By hook: what it raised."""


class PluginSubject:
    """A plugin under test.

    Args:
        plugin: The name of an entry point or of a module, or the plugin itself.
    """

    def __init__(self, plugin: Any) -> None:
        """Import it.

        Raises:
            PluginError: It does not import.
            NotFoundError: There is no such entry point or module.
        """
        if isinstance(plugin, str):
            self.name, self.target = plugin, target_of(plugin)
            self.plugin = load(self.target)
        else:
            self.plugin = plugin
            self.name = self.target = getattr(plugin, "__name__", type(plugin).__name__)

    @functools.cached_property
    def hooks(self) -> dict[str, Any]:
        """Its functions that look like hooks."""
        return {
            name: function
            for name, function in inspect.getmembers(self.plugin, inspect.isroutine)
            if name.startswith("codegym_")
        }

    @functools.cached_property
    def registered(self) -> Registered:
        """What its register hooks register, called without a registry that would refuse some of it."""
        entries: list[Entry] = []
        errors: dict[str, str] = {}
        for kind, hook in KINDS.items():
            if hook not in self.hooks:
                continue

            def register(name: str, target: Any, *, _kind: str = kind, **spec: Any) -> None:
                entries.append(Entry(kind=_kind, name=name, target=target, plugin=self.name, spec=spec))

            try:
                self.hooks[hook](register=register)
            except Exception as error:
                errors[hook] = describe(error)
        return Registered(tuple(entries), errors)

    @functools.cached_property
    def others(self) -> PluginRegistry:
        """A registry of what is installed besides."""
        made = PluginRegistry()
        made.discover()
        return made

    @functools.cached_property
    def report(self) -> dict[str, list[str]]:
        """What importing and registering does in an interpreter of its own; see `watching.report`."""
        if not importable(self.target):
            not_applicable(f"{self.target} cannot be imported by its name")
        code = (
            f"from codegym.testing.watching import report; report({self.target!r}, {list(KINDS.values())!r})"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        require(done.returncode == 0, f"it does not import: {done.stderr.strip().rpartition(chr(10))[2]}")
        found: dict[str, list[str]] = json.loads(done.stdout.rpartition("\n")[2])
        return found

    def parts(self, made_with: Mapping[str, Mapping[str, Any]]) -> Iterator[Part]:
        """What it registers and can be checked.

        Args:
            made_with: By name, the options of what is made to be checked.

        Raises:
            ConfigError: It names something that is not registered.
        """
        entries = [entry for entry in self.registered.entries if loadable(entry)]
        checked = {entry.name for entry in entries if entry.kind in MADE}
        if unknown := sorted(made_with.keys() - checked):
            raise ConfigError(
                f"made_with: {self.name!r} registers no {', '.join(MADE)} called {unknown[0]!r} that can be "
                f"imported; known: {', '.join(sorted(checked)) or 'none'}"
            )
        for entry in entries:
            if entry.kind == "reward":
                yield "reward", RewardSubject(entry), entry.name
            elif entry.kind in MADE and entry.name in made_with:
                subject = MADE[entry.kind](entry.name, **made_with[entry.name])
                yield entry.kind, subject, entry.name  # type: ignore[misc]

    def close(self) -> None:
        """Nothing to end."""


@promised("codegym.hookspecs")
def check_hooks_exist(subject: PluginSubject) -> None:
    """Every function called ``codegym_…`` is one of the hooks."""
    for name in subject.hooks:
        close = difflib.get_close_matches(name, HOOKS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        require(name in HOOKS, f"there is no hook {name!r}{hint}")


@promised("codegym.hookspecs:hookimpl")
def check_hooks_are_marked(subject: PluginSubject) -> None:
    """Every hook carries the mark `codegym.hookimpl`, without which it is not called."""
    unmarked = [name for name, function in subject.hooks.items() if not hasattr(function, "codegym_impl")]
    require(not unmarked, f"not marked: {', '.join(unmarked)}")


@promised("codegym.hookspecs")
def check_arguments_exist(subject: PluginSubject) -> None:
    """A hook takes no argument that its specification lacks."""
    for name, function in subject.hooks.items():
        if name in HOOKS:
            known = list(inspect.signature(HOOKS[name]).parameters)
            needed = inspect.signature(function).parameters.values()
            extra = [each.name for each in needed if each.name not in known and each.default is each.empty]
            require(
                not extra, f"{name} takes {', '.join(extra)}, and there is {', '.join(known) or 'nothing'}"
            )


@promised("codegym.hookspecs:Register")
def check_registering_raises_nothing(subject: PluginSubject) -> None:
    """The register hooks raise nothing."""
    errors = {hook: why for hook, why in subject.registered.errors.items() if well_called(subject, hook)}
    require(not errors, "; ".join(f"{hook} raised {why}" for hook, why in errors.items()))


@promised("codegym.errors:DuplicateError")
def check_names_are_free(subject: PluginSubject) -> None:
    """No name is registered twice, or taken by another plugin that is installed."""
    seen: set[tuple[str, str]] = set()
    for entry in subject.registered.entries:
        key = entry.kind, entry.name
        require(key not in seen, f"{entry.kind} {entry.name!r} is registered twice")
        seen.add(key)
        taken = {other.name: other for other in subject.others.entries(entry.kind)}.get(entry.name)
        if taken is not None and taken.target != entry.target:
            require(False, f"{entry.kind} {entry.name!r} is taken by the plugin {taken.plugin!r}")


@promised("codegym.hookspecs:Register")
def check_targets_are_strings(subject: PluginSubject) -> None:
    """Code is named as ``"module:attr"``, so that nothing is imported before it is used."""
    odd = [entry for entry in subject.registered.entries if not well_formed(entry)]
    require(
        not odd, "; ".join(f"{each.kind} {each.name!r}: the target is {each.target!r:.100}" for each in odd)
    )


@promised("codegym.plugins:load_target")
def check_targets_can_be_imported(subject: PluginSubject) -> None:
    """Each target names something that is there."""
    broken = []
    for entry in filter(well_formed, subject.registered.entries):
        try:
            load_target(entry.target)
        except PluginError as error:
            broken.append(f"{entry.kind} {entry.name!r}: {error}")
    require(not broken, "; ".join(broken))


@promised("codegym.plugins")
def check_importing_it_is_light(subject: PluginSubject) -> None:
    """Importing the plugin loads none of the heavy libraries: everybody who has it installed does so."""
    loaded = sorted(set(HEAVY) & set(subject.report["imported"]))
    require(not loaded, f"it loads {', '.join(loaded)}")


@promised("codegym.hookspecs:Register")
def check_registering_does_nothing_else(subject: PluginSubject) -> None:
    """The register hooks register: they import no target, start no program, write no file, open no socket."""
    targets = {entry.target.partition(":")[0] for entry in filter(well_formed, subject.registered.entries)}
    loaded = sorted(targets & set(subject.report["loaded"]))
    did = [f"imported {name}" for name in loaded] or sorted(set(subject.report["did"]))
    require(not did, f"they also did this: {', '.join(did)}")


def target_of(name: str) -> str:
    """What the name of an entry point, or of a module, stands for."""
    entry_points = {each.name: each.value for each in importlib.metadata.entry_points(group=GROUP)}
    found = FIRST_PARTY.get(name) or entry_points.get(name)
    if found is None and not importable(name):
        raise NotFoundError("plugin", name, {*FIRST_PARTY, *entry_points})
    return found or name


def importable(target: str) -> bool:
    """Whether there is a module of a name."""
    module = target.partition(":")[0]
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def load(target: str) -> Any:
    """Import a plugin."""
    if ":" in target:
        return load_target(target)
    try:
        return importlib.import_module(target)
    except Exception as error:
        raise PluginError(f"Plugin {target!r} does not import: {describe(error)}") from error


def well_formed(entry: Entry) -> bool:
    """Whether its target looks like one."""
    return isinstance(entry.target, str) and TARGET.fullmatch(entry.target) is not None


def loadable(entry: Entry) -> bool:
    """Whether its target can be imported; that one cannot is told by a check of its own."""
    try:
        return well_formed(entry) and load_target(entry.target) is not None
    except PluginError:
        return False


def well_called(subject: PluginSubject, hook: str) -> bool:
    """Whether it could be called at all; that one cannot is told by a check of its own."""
    needed = inspect.signature(subject.hooks[hook]).parameters.values()
    return not [each for each in needed if each.name != "register" and each.default is each.empty]

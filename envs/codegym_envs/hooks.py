"""The hooks of an episode, for the plugins that a run names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from codegym.core import Outcome, Program, Task
from codegym.errors import NotFoundError, PluginError
from codegym.plugins import describe, registry

__all__ = ["EpisodeHooks"]

_T = TypeVar("_T")


class EpisodeHooks:
    """Calls the hooks of some plugins, and of no others.

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

    def started(self, task: Task, seed: int | None) -> None:
        """Tell that an episode begins."""
        self._call("codegym_episode_started", task=task, seed=seed)

    def extract(self, completion: str, task: Task) -> Program | None:
        """Ask for the program in a completion."""
        found = self._call("codegym_extract", completion=completion, task=task)
        return self._checked("codegym_extract", found, Program)

    def execute(self, task: Task, program: Program) -> Outcome | None:
        """Ask for a verdict in place of running the program."""
        found = self._call("codegym_execute", task=task, program=program)
        return self._checked("codegym_execute", found, Outcome)

    def finished(self, task: Task, outcome: Outcome, reward: float | None) -> None:
        """Tell that an episode has ended."""
        self._call("codegym_episode_finished", task=task, outcome=outcome, reward=reward)

    def _call(self, hook: str, **arguments: Any) -> Any:
        if not self.plugins:
            return None
        try:
            return self._registry.manager.subset_hook_caller(hook, self._others)(**arguments)
        except Exception as error:
            raise PluginError(f"{self._whose(hook)} raised {describe(error)}") from error

    def _checked(self, hook: str, found: Any, kind: type[_T]) -> _T | None:
        if found is None or isinstance(found, kind):
            return found
        raise PluginError(f"{self._whose(hook)} must return a {kind.__name__} or None, got {found!r:.200}")

    def _whose(self, hook: str) -> str:
        return f"Hook {hook!r} of one of the plugins {', '.join(map(repr, self.plugins))}"

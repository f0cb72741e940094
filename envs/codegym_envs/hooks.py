"""The hooks of an episode, for the plugins that a run names."""

from __future__ import annotations

from typing import Any, TypeVar

from codegym.core import Outcome, Program, Task
from codegym.errors import PluginError
from codegym.plugins import NamedPlugins

__all__ = ["EpisodeHooks"]

_T = TypeVar("_T")


class EpisodeHooks(NamedPlugins):
    """Calls the hooks of an episode."""

    def started(self, task: Task, seed: int | None) -> None:
        """Tell that an episode begins."""
        self.call("codegym_episode_started", task=task, seed=seed)

    def extract(self, completion: str, task: Task) -> Program | None:
        """Ask for the program in a completion."""
        found = self.call("codegym_extract", completion=completion, task=task)
        return self._checked("codegym_extract", found, Program)

    def execute(self, task: Task, program: Program) -> Outcome | None:
        """Ask for a verdict in place of running the program."""
        found = self.call("codegym_execute", task=task, program=program)
        return self._checked("codegym_execute", found, Outcome)

    def finished(self, task: Task, outcome: Outcome, reward: float | None) -> None:
        """Tell that an episode has ended."""
        self.call("codegym_episode_finished", task=task, outcome=outcome, reward=reward)

    def _checked(self, hook: str, found: Any, kind: type[_T]) -> _T | None:
        if found is None or isinstance(found, kind):
            return found
        raise PluginError(f"{self.whose(hook)} must return a {kind.__name__} or None, got {found!r:.200}")

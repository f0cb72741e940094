"""Every exception that codegym raises.

    CodegymError
    ├── ConfigError (ValueError)          an argument or a configuration value makes no sense
    ├── DataError (ValueError)            a row or a file is malformed; names file and line
    ├── PluginError                       a plugin, or what it registered, is broken
    │   ├── NotFoundError (LookupError)   no such name; lists what exists and what failed to load
    │   ├── DuplicateError                the name is taken
    │   └── RewardError                   a reward function raised or returned something else than a number
    └── SandboxError
        ├── SandboxUnavailableError       the sandbox cannot start here at all
        ├── IsolationError                it can, but with less isolation than was required
        └── InfraError                    a request failed through no fault of the program, after retries

What a *candidate* does wrong is never one of these: it is a `codegym.core.Outcome`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "CodegymError",
    "ConfigError",
    "DataError",
    "DuplicateError",
    "InfraError",
    "IsolationError",
    "NotFoundError",
    "PluginError",
    "RewardError",
    "SandboxError",
    "SandboxUnavailableError",
]


class CodegymError(Exception):
    """Base of all errors raised by codegym."""


class ConfigError(CodegymError, ValueError):
    """An argument or a configuration value makes no sense."""


class DataError(CodegymError, ValueError):
    """A row or a file is malformed.

    Args:
        message: What is wrong, with the value that was found.
        path: The file, where there is one.
        line: The 1-based line or row number, where there is one.
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        """Prefix the message with its place, as compilers do."""
        self.path, self.line = path, line
        place = "" if path is None else f"{path}:"
        if line is not None:
            place += f"{line}:" if path is not None else f"row {line}:"
        super().__init__(f"{place} {message}" if place else message)


class PluginError(CodegymError):
    """A plugin, or what it registered, is broken."""


class NotFoundError(PluginError, LookupError):
    """No such name.

    Args:
        kind: What was looked for, in the singular: "reward", "sandbox", "dataset".
        name: The name asked for.
        known: The names that exist.
        broken: Plugins that failed to load, with the reason: the name may have been theirs.
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], broken: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Say what was asked, what exists, and what to do."""
        self.kind, self.name, self.known = kind, name, sorted(known)
        close = difflib.get_close_matches(name, self.known, n=3, cutoff=0.6)
        lines = [f"No {kind} is called {name!r}."]
        if close:
            lines.append("Did you mean " + " or ".join(map(repr, close)) + "?")
        lines.append(f"Known: {', '.join(self.known) or 'none'}.")
        lines.append("Is the plugin that brings it installed in this environment? `codegym list` shows all.")
        lines += [f"Plugin {plugin!r} failed to load: {reason}" for plugin, reason in broken]
        super().__init__(" ".join(lines[:4]) + "".join("\n  " + line for line in lines[4:]))


class DuplicateError(PluginError):
    """The name is taken by another plugin."""


class RewardError(PluginError):
    """A reward function raised, or returned something else than a number or None."""


class SandboxError(CodegymError):
    """The sandbox failed, not the program in it."""


class SandboxUnavailableError(SandboxError):
    """The sandbox cannot start here at all."""


class IsolationError(SandboxError):
    """The sandbox can start, but with less isolation than was required."""


class InfraError(SandboxError):
    """A request failed through no fault of the program, also after retries."""

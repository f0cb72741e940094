"""The command ``codegym``.

Exit codes: 0, done (``score``: the program passed); 1, ``score``: the program did not pass; 2, the command
line or its data make no sense, or something is missing, with one message on standard error; 3, something
could not be judged through no fault of a program; 130, interrupted.

Nothing heavier than this package is imported until a command needs it.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from codegym.cli import commands
from codegym.errors import CodegymError, DuplicateError
from codegym.plugins import PluginRegistry, describe, registry

__all__ = ["main", "make_app"]

EPILOG = (
    "Exit codes: 0 done or passed, 1 not passed (score), 2 an error in the command line or its data, "
    "3 something could not be judged, 130 interrupted."
)


class Group(TyperGroup):
    """The commands; turns codegym's own errors into one message and exit code 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line."""
        try:
            return super().main(*args, **kwargs)
        except CodegymError as error:
            typer.echo(f"codegym: {error}", err=True)
            raise SystemExit(2) from None


def make_app(plugins: PluginRegistry | None = None) -> typer.Typer:
    """Make the application, with the commands of installed plugins.

    Args:
        plugins: Where to look for commands. None: the registry of this process.
    """
    app = typer.Typer(
        cls=Group,
        name="codegym",
        help="A gym for reinforcement learning on code and on tests.",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        # help without rich: it would take as long to import as everything else together
        rich_markup_mode=None,
    )
    app.callback()(commands.options)
    for command, name in commands.NAMES.items():
        app.command(name)(command)
    _add_plugin_commands(app, plugins or registry())
    return app


def _add_plugin_commands(app: typer.Typer, plugins: PluginRegistry) -> None:
    """Let every plugin add commands; one that fails, or takes a name that is taken, adds none."""
    plugins.discover()
    for hook in plugins.manager.hook.codegym_register_commands.get_hookimpls():
        before = len(app.registered_commands), len(app.registered_groups)
        taken = _names(app)
        try:
            hook.function(*[app for name in hook.argnames if name == "cli"])
            added = _names(app)[len(taken) :]
            double = next((name for name in added if name in taken), None)
            if double is not None:
                raise DuplicateError(f"there is a command {double!r} already")
        except Exception as error:
            plugins.broken[hook.plugin_name] = f"codegym_register_commands: {describe(error)}"
            del app.registered_commands[before[0] :], app.registered_groups[before[1] :]


def _names(app: typer.Typer) -> list[str]:
    """The names of commands; a group is one too."""
    commands_ = [
        info.name or (info.callback.__name__.replace("_", "-") if info.callback else "")
        for info in app.registered_commands
    ]
    groups = [info.name or getattr(info.typer_instance, "info", info).name for info in app.registered_groups]
    return [*commands_, *(name for name in groups if isinstance(name, str))]


def main() -> None:
    """Run the command line of this process."""
    make_app()()

"""Every extension point, in the order of a run.

A plugin is a module (or any object) named by an entry point in the group ``codegym``. It implements any of
these hooks with `codegym.hookimpl`. The register hooks are called once, when a name is first looked up; the
others only for plugins that the run names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pluggy

if TYPE_CHECKING:
    import typer

    from codegym.core import Outcome, Program, Task

__all__ = ["Register", "hookimpl", "hookspec"]

hookspec = pluggy.HookspecMarker("codegym")
hookimpl = pluggy.HookimplMarker("codegym")


class Register(Protocol):
    """What the register hooks are given: a function that adds one name."""

    def __call__(self, name: str, target: str, **spec: Any) -> None:
        """Add `name`, without importing anything.

        Args:
            name: What users will write.
            target: Where the code is: ``"module:attr"``.
            **spec: What the kind wants to know besides, such as a reward's weight and range.
        """


# Called once, before anything is looked up.


@hookspec(historic=True)
def codegym_register_envs(register: Register) -> None:
    """Add environments: ``register("codegym/Solver-v0", "module:Env")``.

    Args:
        register: Adds one environment id. Extra arguments go to `gymnasium.register`.
    """


@hookspec(historic=True)
def codegym_register_tasks(register: Register) -> None:
    """Add datasets: ``register("humaneval", "module:load")``.

    Args:
        register: Adds one dataset. The target is called with the keyword arguments ``source`` (a path, a hub
            id or None) and ``split`` and returns an iterable of tasks.
    """


@hookspec(historic=True)
def codegym_register_generators(register: Register) -> None:
    """Add generators: ``register("openai", "module:OpenAIGenerator")``.

    Args:
        register: Adds one generator. The target is a subclass of `codegym.generation.Generator`; it is called
            with the model's name and keyword arguments.
    """


@hookspec(historic=True)
def codegym_register_sandboxes(register: Register) -> None:
    """Add sandboxes: ``register("local", "module:LocalSandbox")``.

    Args:
        register: Adds one sandbox. The target is a subclass of `codegym.sandbox.Sandbox`.
    """


@hookspec(historic=True)
def codegym_register_operators(register: Register) -> None:
    """Add mutation operators: ``register("arithmetic", "module:Arithmetic")``.

    Args:
        register: Adds one operator.
    """


@hookspec(historic=True)
def codegym_register_rewards(register: Register) -> None:
    """Add rewards: ``register("all_passed", "module:all_passed", weight=1.0, range=(0.0, 1.0))``.

    Args:
        register: Adds one reward. The target is a function or a module-level class whose arguments are filled
            by name (see `codegym.rewards`); ``weight`` and ``range`` declare its default weight and its
            bounds.
    """


@hookspec(historic=True)
def codegym_register_curricula(register: Register) -> None:
    """Add curricula: ``register("uniform", "module:Uniform")``.

    Args:
        register: Adds one curriculum. The target is called with its options and returns a
            `codegym.curricula.Curriculum`; extra arguments are the options' defaults.
    """


@hookspec(historic=True)
def codegym_register_trainers(register: Register) -> None:
    """Add trainers: ``register("trl", "module:train")``.

    Args:
        register: Adds one trainer. The target is called with the parsed training configuration.
    """


# Called when the command line or a run starts.


@hookspec
def codegym_register_commands(cli: typer.Typer) -> None:
    """Add commands to ``codegym``.

    Args:
        cli: The application; add to it with ``cli.command()``.
    """


@hookspec
def codegym_configure(config: dict[str, Any]) -> None:
    """Read or change the configuration of a run before it is used.

    Args:
        config: The run's configuration; changes are seen by the plugins called later and by the run.
    """


# Called in each episode.


@hookspec
def codegym_episode_started(task: Task, seed: int | None) -> None:
    """An episode begins.

    Args:
        task: The problem.
        seed: The seed that ``reset`` was given.
    """


@hookspec(firstresult=True)
def codegym_extract(completion: str, task: Task) -> Program | None:
    """Find the program in a completion. Stops at the first result that is not None.

    Args:
        completion: What the policy wrote.
        task: The problem.
    """


@hookspec(firstresult=True)
def codegym_execute(task: Task, program: Program) -> Outcome | None:
    """Judge a program otherwise than by running it. Stops at the first result that is not None.

    Args:
        task: The problem.
        program: The answer.
    """


@hookspec
def codegym_episode_finished(task: Task, outcome: Outcome, reward: float | None) -> None:
    """An episode has ended.

    Args:
        task: The problem.
        outcome: The last verdict.
        reward: The sum of rewards, or None where there was none.
    """


@hookspec
def codegym_provenance() -> dict[str, str] | None:
    """Name what a run's results depend on, for its record: versions, digests of data.

    Returns:
        Names and values, merged into the run's record.
    """

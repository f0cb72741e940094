"""For authors of plugins: does it keep the promises of its contract?

All checks at once, with one error that lists what is broken:

    from codegym.testing import check_reward, check_sandbox

    def test_my_reward():
        check_reward("brevity")

    def test_my_sandbox():
        check_sandbox(lambda: MySandbox(workers=2))

Or each check as a test of its own:

    from codegym.testing import parametrize_with_checks

    @parametrize_with_checks("reward", ["brevity", "my_module:other"])
    def test_rewards(subject, check):
        check(subject)

A check's docstring is the promise; `codegym.testing.sandboxes`, `rewards`, `environments`, `plugins` and
`datasets` hold them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal

from codegym.errors import ConfigError
from codegym.testing.checks import Check, ConformanceError, checks_in, parametrize, run_checks

if TYPE_CHECKING:
    import gymnasium

    from codegym.core import Task
    from codegym.grading import Grader
    from codegym.sandbox import Sandbox

__all__ = [
    "Check",
    "ConformanceError",
    "Kind",
    "check_dataset",
    "check_env",
    "check_plugin",
    "check_reward",
    "check_sandbox",
    "checks_of",
    "parametrize_with_checks",
]

Kind = Literal["sandbox", "reward", "environment", "plugin", "dataset"]
SUBJECTS: Final[Mapping[str, str]] = {
    "sandbox": "sandboxes:SandboxSubject",
    "reward": "rewards:RewardSubject",
    "environment": "environments:EnvironmentSubject",
    "plugin": "plugins:PluginSubject",
    "dataset": "datasets:DatasetSubject",
}
Known = Mapping[str, str] | None


def checks_of(kind: Kind) -> list[Check]:
    """The checks of a kind of thing, in the order in which they are run.

    Raises:
        ConfigError: There is no such kind.
    """
    if kind not in SUBJECTS:
        raise ConfigError(f"kind: expected one of {', '.join(SUBJECTS)}, got {kind!r}")
    module, _, _ = SUBJECTS[kind].partition(":")
    return checks_in(importlib.import_module(f"codegym.testing.{module}"))


def check_sandbox(make: Callable[[], Sandbox], known_failures: Known = None) -> None:
    """Check a kind of sandbox.

    Args:
        make: Makes a new one, not yet started.
        known_failures: Names of checks that are known to fail, with the reason.

    Raises:
        ConformanceError: It breaks promises; lists all.
    """
    subject = _subject("sandbox", make)
    try:
        run_checks(checks_of("sandbox"), subject, "the sandbox", known_failures)
    finally:
        subject.close()


def check_reward(reward: Any, known_failures: Known = None) -> None:
    """Check a reward: a registered name, a ``"module:attr"`` string, or a function.

    Raises:
        ConformanceError: It breaks promises; lists all.
    """
    run_checks(checks_of("reward"), _subject("reward", reward), f"the reward {reward!r}", known_failures)


def check_env(make: Callable[[], gymnasium.Env[str, str]], known_failures: Known = None) -> None:
    """Check a kind of environment; `make` makes a new one.

    Raises:
        ConformanceError: It breaks promises; lists all.
    """
    run_checks(checks_of("environment"), _subject("environment", make), "the environment", known_failures)


def check_plugin(plugin: ModuleType | str, known_failures: Known = None) -> None:
    """Check a plugin's module, and every reward that it registers.

    Raises:
        ConformanceError: It breaks promises; lists all of one part.
    """
    subject = _subject("plugin", plugin)
    run_checks(checks_of("plugin"), subject, f"the plugin {subject.module.__name__}", known_failures)
    for entry in subject.entries():
        if entry.kind == "reward":
            check_reward(entry.target)


def check_dataset(
    load: Callable[[], Iterable[Task]], grader: Grader, limit: int | None = None, known_failures: Known = None
) -> None:
    """Check a dataset, with its reference solutions run on a grader.

    Args:
        load: Loads it anew.
        grader: Grades the solutions.
        limit: How many tasks are looked at. None: all.
        known_failures: Names of checks that are known to fail, with the reason.

    Raises:
        ConformanceError: It breaks promises; lists all.
    """
    subject = _subject("dataset", load, grader, limit)
    run_checks(checks_of("dataset"), subject, "the dataset", known_failures)


def parametrize_with_checks(kind: Kind, subjects: Iterable[Any], known_failures: Known = None) -> Any:
    """A pytest decorator that makes each check of each subject a test of its own.

    Args:
        kind: What the subjects are.
        subjects: Whatever the function ``check_…`` of that kind takes first.
        known_failures: Names of checks that are known to fail, with the reason; they must fail.

    Returns:
        A decorator of a test with the arguments ``subject`` and ``check``.
    """
    checks = checks_of(kind)
    cases = [(_name(given), _subject(kind, given), checks) for given in subjects]
    return parametrize(cases, known_failures)


def _subject(kind: Kind, *arguments: Any) -> Any:
    module, _, name = SUBJECTS[kind].partition(":")
    return getattr(importlib.import_module(f"codegym.testing.{module}"), name)(*arguments)


def _name(given: Any) -> str:
    return given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)

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

A check is a function of a subject. Its docstring is the promise, and it names the part of the contract that
makes it; `checks_of` lists them. To add a contract: a class that holds what is under test, a module of
functions marked with `codegym.testing.checks.promised`, and an entry in `CONTRACTS`.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from codegym.errors import ConfigError
from codegym.testing.checks import Check, ConformanceError, checks_in, failures_of, parametrize

if TYPE_CHECKING:
    import gymnasium

    from codegym.core import Task
    from codegym.sandbox import Sandbox
    from codegym.testing.sandboxes.subject import Fault

__all__ = [
    "CONTRACTS",
    "Check",
    "ConformanceError",
    "Contract",
    "Kind",
    "check_dataset",
    "check_env",
    "check_plugin",
    "check_reward",
    "check_sandbox",
    "checks_of",
    "parametrize_with_checks",
    "subject_of",
]

Kind = Literal["sandbox", "reward", "environment", "plugin", "dataset"]
Known = Mapping[str, str] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """Where the checks of a kind of thing are."""

    subject: str
    """The class that holds what is under test: ``"module:attr"``."""
    checks: tuple[str, ...]
    """The modules that hold its checks."""


SANDBOXES: Final = "codegym.testing.sandboxes"
CONTRACTS: Final[Mapping[Kind, Contract]] = {
    "sandbox": Contract(
        subject=f"{SANDBOXES}.subject:SandboxSubject",
        checks=tuple(
            f"{SANDBOXES}.{topic}" for topic in ("life", "calls", "endings", "sessions", "together", "wall")
        ),
    ),
    "reward": Contract(subject="codegym.testing.rewards:RewardSubject", checks=("codegym.testing.rewards",)),
    "environment": Contract(
        subject="codegym.testing.environments:EnvironmentSubject", checks=("codegym.testing.environments",)
    ),
    "plugin": Contract(subject="codegym.testing.plugins:PluginSubject", checks=("codegym.testing.plugins",)),
    "dataset": Contract(
        subject="codegym.testing.datasets:DatasetSubject", checks=("codegym.testing.datasets",)
    ),
}


def checks_of(kind: Kind) -> list[Check]:
    """The checks of a kind of thing, in the order in which they are run.

    Raises:
        ConfigError: There is no such kind.
    """
    modules = map(importlib.import_module, _contract(kind).checks)
    return list(itertools.chain.from_iterable(map(checks_in, modules)))


def subject_of(kind: Kind, given: Any, **options: Any) -> Any:
    """What the checks of a kind look at.

    Args:
        kind: The kind.
        given: What the function ``check_…`` of that kind takes first.
        **options: What it takes besides, but for `known_failures`.

    Raises:
        ConfigError: There is no such kind.
    """
    module, _, name = _contract(kind).subject.partition(":")
    subject = getattr(importlib.import_module(module), name)
    return given if isinstance(given, subject) else subject(given, **options)


def check_sandbox(
    sandbox: str | Callable[[], Sandbox],
    *,
    fault: Fault | None = None,
    known_failures: Known = None,
    **options: Any,
) -> None:
    """Check a kind of sandbox.

    Args:
        sandbox: A registered name, or a function that makes a new one, not yet started, at each call.
        fault: Given a started sandbox, returns a ``with`` block in which none of its requests can be run.
            None: there is one for every `codegym.sandbox.pool.WorkerSandbox`; others are not asked how they
            meet trouble.
        known_failures: Names of checks that are known to fail, with the reason.
        **options: What a sandbox of that name takes.

    Raises:
        ConformanceError: It breaks promises; lists all.
        ConfigError: There is no check of a name in `known_failures`.
    """
    subject = subject_of("sandbox", sandbox, fault=fault, **options)
    try:
        _check("sandbox", sandbox, subject, known_failures)
    finally:
        subject.close()


def check_reward(reward: Any, *, known_failures: Known = None) -> None:
    """Check a reward.

    Args:
        reward: A registered name, a ``"module:attr"`` string, a function, or an entry of the registry.
        known_failures: Names of checks that are known to fail, with the reason.

    Raises:
        ConformanceError: It breaks promises; lists all.
        ConfigError: There is no check of a name in `known_failures`.
    """
    _check("reward", reward, subject_of("reward", reward), known_failures)


def check_env(
    env: str | Callable[[], gymnasium.Env[str, str]],
    *,
    make_failing: Callable[[], gymnasium.Env[str, str]] | None = None,
    make_vector: Callable[[int], gymnasium.vector.VectorEnv[Any, Any, Any]] | None = None,
    known_failures: Known = None,
    **options: Any,
) -> None:
    """Check a kind of environment.

    Args:
        env: A registered id, or a function that makes a new one at each call.
        make_failing: Makes one whose sandbox fails, such as `codegym.testing.faults.FailingSandbox`. None:
            an id is made with that sandbox, and others are not asked how they meet trouble.
        make_vector: Makes so many of them as a vector environment. None: an id is made by
            `gymnasium.make_vec`, and others are not compared.
        known_failures: Names of checks that are known to fail, with the reason.
        **options: What an environment of that id takes.

    Raises:
        ConformanceError: It breaks promises; lists all.
        ConfigError: There is no check of a name in `known_failures`.
    """
    subject = subject_of("environment", env, make_failing=make_failing, make_vector=make_vector, **options)
    _check("environment", env, subject, known_failures)


def check_dataset(
    dataset: str | Callable[[], Iterable[Task]],
    *,
    source: Any = None,
    split: str | None = None,
    limit: int | None = None,
    sandbox: str | Sandbox = "local",
    known_failures: Known = None,
) -> None:
    """Check a dataset, with the solutions that it brings.

    Args:
        dataset: A registered name, or a function that loads the tasks anew at each call.
        source: Where the rows of a dataset of that name are. None: where it is published.
        split: Which part of it.
        limit: How many tasks are looked at. None: all.
        sandbox: Where the solutions are run: a registered name, or a sandbox, which stays the caller's to
            close.
        known_failures: Names of checks that are known to fail, with the reason.

    Raises:
        ConformanceError: It breaks promises; lists all.
        ConfigError: There is no check of a name in `known_failures`.
    """
    subject = subject_of("dataset", dataset, source=source, split=split, limit=limit, sandbox=sandbox)
    try:
        _check("dataset", dataset, subject, known_failures)
    finally:
        subject.close()


def check_plugin(
    plugin: Any,
    *,
    made_with: Mapping[str, Mapping[str, Any]] | None = None,
    known_failures: Known = None,
) -> None:
    """Check a plugin, and what it registers.

    Its rewards are checked too. Its environments, sandboxes and datasets are if `made_with` names them: to
    make one may cost a download, or need what only its author knows.

    Args:
        plugin: The name of an entry point or of a module, or the plugin itself.
        made_with: By registered name: options of `check_env`, `check_sandbox` or `check_dataset`.
        known_failures: Names of checks of the plugin itself that are known to fail, with the reason.

    Raises:
        ConformanceError: It or what it registers breaks promises; lists all.
        ConfigError: `made_with` names what it does not register, or `known_failures` no check.
    """
    subject = subject_of("plugin", plugin)
    checks = checks_of("plugin")
    count, failures = len(checks), failures_of(checks, subject, known_failures)
    for kind, part, name in subject.parts(made_with or {}):
        checks = checks_of(kind)
        count += len(checks)
        try:
            found = failures_of(checks, part)
        finally:
            part.close()
        failures |= {f"{kind} {name}: {check}": reason for check, reason in found.items()}
    if failures:
        raise ConformanceError(f"the plugin {subject.name!r}", failures, count)


def parametrize_with_checks(kind: Kind, subjects: Iterable[Any], known_failures: Known = None) -> Any:
    """A pytest decorator that makes each check of each subject a test of its own.

    Args:
        kind: What the subjects are.
        subjects: Whatever the function ``check_…`` of that kind takes first; where it needs options, what
            `subject_of` returns.
        known_failures: Names of checks that are known to fail, with the reason; they must fail.

    Returns:
        A decorator of a test with the arguments ``subject`` and ``check``.

    Raises:
        ConfigError: There is no such kind, or no check of a name in `known_failures`.
    """
    cases = [(_name(given), subject_of(kind, given)) for given in subjects]
    return parametrize(cases, checks_of(kind), known_failures)


def _contract(kind: Kind) -> Contract:
    if kind not in CONTRACTS:
        raise ConfigError(f"kind: expected one of {', '.join(CONTRACTS)}, got {kind!r}")
    return CONTRACTS[kind]


def _check(kind: Kind, given: Any, subject: Any, known_failures: Known) -> None:
    checks = checks_of(kind)
    if failures := failures_of(checks, subject, known_failures):
        raise ConformanceError(f"the {kind} {_name(given)!r}", failures, len(checks))


def _name(given: Any) -> str:
    if isinstance(given, str):
        return given
    own = getattr(given, "name", None)
    return own if isinstance(own, str) else getattr(given, "__name__", type(given).__name__)

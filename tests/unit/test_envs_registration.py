"""When and how the environments' ids get into Gymnasium's registry."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import gymnasium
import pytest

from codegym import envs_registration, plugins
from codegym.hookspecs import hookimpl
from codegym.plugins import PluginRegistry


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


HOOK = "from codegym.envs_registration import register_when_imported as hook; import sys; hook()\n"
SHOW = "print('codegym/Solver-v0' in gymnasium.registry)\n"


def test_registered_when_gymnasium_is_imported_later() -> None:
    assert run(f"{HOOK}print('gymnasium' in sys.modules)\nimport gymnasium\n{SHOW}") == "False\nTrue"


def test_registered_when_gymnasium_is_imported_already() -> None:
    assert run(f"import gymnasium\n{HOOK}{SHOW}") == "True"


def test_registered_when_a_part_of_gymnasium_is_imported_first() -> None:
    assert run(f"{HOOK}hook()\nfrom gymnasium.spaces import Text\nimport gymnasium\n{SHOW}") == "True"


def test_the_import_leaves_no_trace() -> None:
    code = "import gymnasium, inspect\nassert inspect.getsource(gymnasium)\n"
    assert run(f"{HOOK}before = len(sys.meta_path)\n{code}print(before - len(sys.meta_path))") == "1"
    assert run(f"{HOOK}import gymnasium\nprint(type(gymnasium.__loader__).__name__)") == "SourceFileLoader"
    assert (
        run(f"{HOOK}import gymnasium\nprint(type(gymnasium.__spec__.loader).__name__)") == "SourceFileLoader"
    )


class Stranger:
    @hookimpl
    def codegym_register_envs(self, register: Callable[..., None]) -> None:
        register("stranger/Env-v0", "stranger:Env", max_episode_steps=3)


def test_installed_plugins_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = PluginRegistry()
    registry._discovered = True
    registry.add(Stranger(), "stranger")
    monkeypatch.setattr(plugins, "registry", lambda: registry)
    monkeypatch.setattr(gymnasium, "registry", known := dict(gymnasium.registry))
    monkeypatch.setattr("gymnasium.envs.registration.registry", known)
    envs_registration.register_environments()
    assert "stranger/Env-v0" not in known
    envs_registration.register_environments(installed=True)
    envs_registration.register_environments(installed=True)
    assert known["stranger/Env-v0"].max_episode_steps == 3
    assert known["codegym/Solver-v0"].entry_point == "codegym_envs.solver.env:SolverEnv"

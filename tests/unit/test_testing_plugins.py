"""The kit for plugins: for each check there is one that breaks a promise, and fails exactly that check."""

import importlib
import sys
import textwrap

import pytest

from codegym import hookimpl
from codegym.errors import ConfigError, NotFoundError, PluginError
from codegym.testing import ConformanceError, check_plugin, checks_of

GOOD = """
from codegym import hookimpl

@hookimpl
def codegym_register_rewards(register):
    register("kit_brevity", "{name}:brevity", weight=0.5, range=(0.0, 1.0))

@hookimpl
def codegym_configure(config):
    pass

def brevity(completion):
    return 1.0 / (1 + completion.count("\\n"))
"""
SPOILT = [
    ("check_hooks_exist", """
        @hookimpl
        def codegym_register_reward(register):
            pass
    """),
    ("check_hooks_are_marked", """
        def codegym_provenance():
            return {}
    """),
    ("check_arguments_exist", """
        @hookimpl
        def codegym_episode_started(task, sede):
            pass
    """),
    ("check_registering_raises_nothing", """
        @hookimpl
        def codegym_register_tasks(register):
            raise RuntimeError("no licence")
    """),
    ("check_names_are_free", """
        @hookimpl
        def codegym_register_sandboxes(register):
            register("local", "{name}:brevity")
    """),
    ("check_names_are_free", """
        @hookimpl
        def codegym_register_trainers(register):
            register("kit_trainer", "{name}:brevity")
            register("kit_trainer", "{name}:GOOD")
        GOOD = 1
    """),
    ("check_targets_are_strings", """
        @hookimpl
        def codegym_register_trainers(register):
            register("kit_trainer", brevity)
    """),
    ("check_targets_can_be_imported", """
        @hookimpl
        def codegym_register_operators(register):
            register("kit_operator", "{name}:Operator")
            register("kit_other", "{name}_that_is_not_there:Operator")
    """),
    ("check_importing_it_is_light", """
        import vllm
    """),
    ("check_registering_does_nothing_else", """
        @hookimpl
        def codegym_register_trainers(register):
            import {name}_target
            register("kit_trainer", "{name}_target:train")
    """),
    ("check_registering_does_nothing_else", """
        @hookimpl
        def codegym_register_trainers(register):
            import os
            with open(os.devnull, "w") as file:
                file.write("registered")
            register("kit_trainer", "{name}:brevity")
    """),
]  # fmt: skip


@pytest.fixture
def write(tmp_path, monkeypatch, request):
    """Write a plugin, and its modules, into a folder that modules are imported from while the test runs."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "vllm.py").write_text("")
    before = set(sys.modules)

    def write(more=""):
        name = f"kit_plugin_{abs(hash(request.node.name))}"
        (tmp_path / f"{name}_target.py").write_text("def train(config): pass\n")
        source = (GOOD + textwrap.dedent(more)).replace("{name}", name)
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        return name

    yield write
    for name in {*sys.modules} - before:
        if getattr(sys.modules[name], "__file__", None) and sys.modules[name].__file__.startswith(
            str(tmp_path)
        ):
            del sys.modules[name]


@pytest.mark.parametrize(("name", "more"), SPOILT)
def test_a_spoilt_plugin_fails_exactly_one_check(write, name, more):
    with pytest.raises(ConformanceError) as caught:
        check_plugin(write(more))
    assert set(caught.value.failures) == {name}, caught.value


def test_every_check_has_something_that_fails_it():
    assert {name for name, _ in SPOILT} == {check.name for check in checks_of("plugin")}


def test_all_broken_targets_are_named(write):
    with pytest.raises(ConformanceError, match=r"kit_operator.*kit_other"):
        check_plugin(write(dict(reversed(SPOILT))["check_targets_can_be_imported"]))


def test_a_hook_that_nearly_exists_is_named(write):
    with pytest.raises(ConformanceError, match="did you mean 'codegym_register_rewards'"):
        check_plugin(write(dict(SPOILT)["check_hooks_exist"]))


def test_good_plugins(write):
    check_plugin(write())
    check_plugin("builtin")
    check_plugin("codegym_envs")


def test_a_plugin_that_is_no_module():
    class Plugin:
        @hookimpl
        def codegym_register_rewards(self, register):
            register("kit_parses", "codegym.rewards:parses", range=(0.0, 1.0))

    check_plugin(Plugin())


def test_its_rewards_are_checked_as_they_are_registered(write):
    with pytest.raises(ConformanceError) as caught:
        check_plugin(
            write("""
            @hookimpl
            def codegym_register_operators(register):
                raise RuntimeError("no licence")

            def brevity(completion):
                return 2.0
        """)
        )
    assert set(caught.value.failures) == {
        "check_registering_raises_nothing",
        "reward kit_brevity: check_values_are_in_the_declared_range",
    }


def test_what_it_is_told_how_to_make_is_checked():
    check_plugin(
        "codegym_envs", made_with={"codegym/Solver-v0": {"tasks": "listfuncs", "sandbox": "subprocess"}}
    )
    with pytest.raises(ConformanceError) as caught:
        check_plugin("builtin", made_with={"jsonl": {}, "listfuncs": {"limit": 2, "sandbox": "subprocess"}})
    assert set(caught.value.failures) == {"dataset jsonl: check_it_has_tasks"}
    with pytest.raises(
        ConfigError, match=r"no environment, sandbox, dataset called 'locale'.*known: .*local"
    ):
        check_plugin("builtin", made_with={"locale": {}})


def test_plugins_that_are_not_there_or_do_not_import(write, tmp_path):
    with pytest.raises(NotFoundError, match="builtin"):
        check_plugin("kit_no_such_plugin")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        check_plugin(write("1 / 0"))

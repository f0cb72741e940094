"""Discovery, registration, and what becomes of broken plugins."""

import importlib.metadata
import types

import pytest

import codegym
from codegym.errors import DuplicateError, NotFoundError, PluginError
from codegym.plugins import KINDS, PluginRegistry, load_target


def plugin(**hooks):
    return types.SimpleNamespace(**{name: codegym.hookimpl(function) for name, function in hooks.items()})


def rewards(function):
    return plugin(codegym_register_rewards=function)


class EntryPoint:
    def __init__(self, name, loaded):
        self.name, self.loaded = name, loaded

    def load(self):
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


@pytest.fixture
def installed(monkeypatch):
    """Pretend that plugins are installed."""

    def install(**plugins):
        points = [EntryPoint(name, loaded) for name, loaded in plugins.items()]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
        return PluginRegistry()

    return install


def test_built_in_names_are_found_without_looking_at_what_is_installed(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: pytest.fail("looked"))
    assert PluginRegistry().get("reward", "all_passed").plugin == "builtin"


def test_every_built_in_target_loads():
    registry = PluginRegistry()
    for kind in KINDS:
        for entry in registry.entries(kind):
            assert entry.load() is not None


def test_a_plugin_is_loaded_on_the_first_miss_and_its_name_found(installed):
    registry = installed(mine=rewards(lambda register: register("mine", "json:dumps", weight=0.5)))
    assert not registry.manager.has_plugin("mine")
    entry = registry.get("reward", "mine")
    assert (entry.plugin, entry.target, dict(entry.spec)) == ("mine", "json:dumps", {"weight": 0.5})
    assert entry.load() is __import__("json").dumps


def test_a_broken_plugin_breaks_only_itself_and_is_named_in_the_message(installed):
    registry = installed(
        broken=ImportError("no module named nothing"),
        mine=rewards(lambda register: register("mine", "json:dumps")),
    )
    assert registry.get("reward", "mine")
    with pytest.raises(NotFoundError) as caught:
        registry.get("reward", "other")
    assert "Plugin 'broken' failed to load: ImportError: no module named nothing" in str(caught.value)


def test_not_found_lists_what_exists_and_what_is_close():
    with pytest.raises(NotFoundError) as caught:
        PluginRegistry().get("reward", "all_pased")
    message = str(caught.value)
    assert "No reward is called 'all_pased'." in message
    assert "Did you mean 'all_passed'" in message
    assert "fraction_passed" in message


def test_a_registration_that_fails_half_way_leaves_nothing_behind(installed):
    def register_two(register):
        register("first", "json:dumps")
        raise RuntimeError("half way")

    registry = installed(half=rewards(register_two))
    with pytest.raises(NotFoundError, match="RuntimeError: half way"):
        registry.get("reward", "first")
    assert not registry.manager.has_plugin("half")


@pytest.mark.parametrize("target", ["json", "json:", ":dumps", 3, None, "a:b:c"])
def test_a_target_of_another_form_is_refused(installed, target):
    registry = installed(mine=rewards(lambda register: register("mine", target)))
    with pytest.raises(NotFoundError, match="must be a 'module:attr' string"):
        registry.get("reward", "mine")


def test_a_name_that_is_taken_is_refused(installed):
    registry = installed(thief=rewards(lambda register: register("all_passed", "json:dumps")))
    registry.discover()
    assert "already registered by plugin 'builtin'" in registry.broken["thief"]
    assert registry.get("reward", "all_passed").plugin == "builtin"


def test_a_hook_that_does_not_exist_is_refused(installed):
    registry = installed(wrong=plugin(codegym_register_reward=lambda register: None))
    registry.discover()
    assert "codegym_register_reward" in registry.broken["wrong"]


def test_a_plugin_that_is_not_installed_can_be_added():
    registry = PluginRegistry()
    registry.add(rewards(lambda register: register("mine", "json:dumps")), "notebook")
    assert registry.get("reward", "mine").plugin == "notebook"
    with pytest.raises(PluginError, match="notebook2"):
        registry.add(rewards(lambda register: register("mine", "json:loads")), "notebook2")


def test_resolve_takes_names_targets_and_objects():
    registry = PluginRegistry()
    assert registry.resolve("reward", "all_passed") is registry.get("reward", "all_passed").load()
    assert registry.resolve("reward", "json:dumps") is __import__("json").dumps
    assert registry.resolve("reward", len) is len


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("nothing_here:x", "does not import: ModuleNotFoundError"),
        ("json:nothing", "no attribute 'nothing'"),
        ("json", "form 'module:attr'"),
    ],
)
def test_a_target_that_cannot_be_loaded_says_why(target, reason):
    with pytest.raises(PluginError, match=reason):
        load_target(target)


def test_an_entry_that_cannot_be_loaded_names_its_plugin():
    registry = PluginRegistry()
    registry.add(rewards(lambda register: register("mine", "json:nothing")), "notebook")
    with pytest.raises(PluginError, match="Plugin 'notebook', reward 'mine'"):
        registry.get("reward", "mine").load()


def test_errors_are_of_one_tree():
    assert issubclass(DuplicateError, PluginError)
    assert issubclass(PluginError, codegym.CodegymError)

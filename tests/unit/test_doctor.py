"""``codegym doctor``: what stands, what is missing, and how to get it."""

import re

import pytest
from typer.testing import CliRunner

from codegym.cli import make_app
from codegym.sandbox import Isolation
from codegym.sandbox.advice import LAYERS, findings

runner = CliRunner(env={"COLUMNS": "200"})


class Box:
    def __init__(self, layers):
        self.isolation = Isolation(frozenset(layers))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_every_layer_that_strong_isolation_needs_is_explained():
    assert set(LAYERS) >= Isolation.STRONG
    assert all(meaning and advice for meaning, advice in LAYERS.values())


def test_every_layer_that_a_sandbox_may_declare_is_explained(local):
    assert local.isolation.layers <= set(LAYERS)


def test_advice_is_given_for_what_is_missing_only():
    found = {one.layer: one for one in findings(Isolation(Isolation.STRONG - {"net"}))}
    assert found["net"].needed
    assert not found["net"].stands
    assert "user namespaces" in found["net"].advice
    assert found["pid"].stands
    assert found["pid"].advice == ""
    assert not found["cgroup"].needed


@pytest.mark.parametrize(("layers", "code", "verdict"), [
    (Isolation.STRONG, 0, "is strong"), (Isolation.STRONG - {"seccomp"}, 1, "is not strong"),
])  # fmt: skip
def test_the_exit_code_tells_whether_isolation_is_strong(monkeypatch, layers, code, verdict):
    monkeypatch.setattr("codegym.sandbox.make_sandbox", lambda name, workers: Box(layers))
    result = runner.invoke(make_app(), ["doctor"])
    assert result.exit_code == code
    assert verdict in result.output
    assert ("To get seccomp: install libseccomp" in result.output) == bool(code)
    assert re.search(r"cgroup +missing, not needed", result.output)


def test_a_sandbox_that_is_none_is_named_with_those_that_are():
    result = runner.invoke(make_app(), ["doctor", "--sandbox", "locl"])
    assert result.exit_code == 2
    assert "'local'" in result.output

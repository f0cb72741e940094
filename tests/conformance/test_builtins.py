"""Everything that is registered keeps the promises of its contract."""

import os

import gymnasium
import pytest

import codegym  # noqa: F401 (registers environments)
from codegym.core import Task, TestCase
from codegym.plugins import registry
from codegym.sandbox import make_sandbox
from codegym.testing import check_dataset, check_plugin, checks_of, parametrize_with_checks
from codegym.testing.sandboxes import SandboxSubject

PRODUCT = Task(
    id="product", prompt="Multiply.", entry_point="f", hidden_tests=(TestCase.call(2, 3, expected=6),),
    reference_solutions=("def f(a, b): return a * b",), wrong_solutions=("def f(a, b): return a + b",),
)  # fmt: skip


@pytest.fixture(scope="module", params=["local", "subprocess", "docker"])
def sandbox(request):
    if request.param == "docker" and "DOCKER_HOST" not in os.environ:
        pytest.skip("DOCKER_HOST names no daemon; the plugin's own tests start one")
    subject = SandboxSubject(lambda: make_sandbox(request.param, workers=2))
    yield subject
    subject.close()


@pytest.mark.parametrize("check", checks_of("sandbox"), ids=lambda check: check.name)
def test_sandboxes(sandbox, check):
    check(sandbox)


@parametrize_with_checks("reward", [entry.name for entry in registry().entries("reward")])
def test_rewards(subject, check):
    check(subject)


def solver(**options):
    return lambda: gymnasium.make("codegym/Solver-v0", tasks="listfuncs", rewards=["all_passed"], **options)


@parametrize_with_checks("environment", [solver(), solver(max_turns=3)])
def test_environments(subject, check):
    check(subject)


@pytest.mark.parametrize(
    "name",
    ["codegym.builtin", "codegym_envs", "codegym_trl.plugin", "codegym_docker", "codegym_transformers"],
)
def test_plugins(name):
    pytest.importorskip(name)
    check_plugin(name)


def test_a_dataset(local):
    from codegym.datasets import load_tasks
    from codegym.grading import Grader

    check_dataset(lambda: load_tasks("listfuncs"), Grader(local), limit=20)
    check_dataset(lambda: [PRODUCT], Grader(local))

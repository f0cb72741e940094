"""The conformance kit: what a check is, the two ways to run checks, and trouble on purpose."""

import random
import re
import subprocess
import sys
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest

import codegym
from codegym.errors import ConfigError, InfraError
from codegym.plugins import load_target
from codegym.sandbox import CallBatch, Ending, make_sandbox
from codegym.sandbox.plain import encode
from codegym.testing import (
    CONTRACTS,
    ConformanceError,
    check_reward,
    checks_of,
    parametrize_with_checks,
    subject_of,
)
from codegym.testing.checks import checks_in, failures_of, global_seeds, not_applicable, promised, require
from codegym.testing.faults import FailingSandbox, without_workers
from codegym.testing.watching import watch

# A contract of our own: numbers that are even and small


@promised("codegym.core:Limits")
def check_it_is_even(subject):
    """The number
    is even.
    """
    require(subject % 2 == 0, f"the number is {subject}")


@promised("codegym.core")
def check_it_is_small(subject):
    """The number is small, where it is positive."""
    if subject < 0:
        not_applicable("it is negative")
    require(subject < 100, "x" * 5000)


def check_nothing(subject):
    """A function that is not marked is no check."""


CHECKS = checks_in(sys.modules[__name__])


def test_marked_functions_are_checks_in_the_order_of_the_text():
    assert [(each.name, each.promise, each.contract) for each in CHECKS] == [
        ("check_it_is_even", "The number is even.", "codegym.core:Limits"),
        ("check_it_is_small", "The number is small, where it is positive.", "codegym.core"),
    ]


def test_failures_say_what_was_promised_and_where_and_what_was_seen():
    reason = failures_of(CHECKS, 3)["check_it_is_even"]
    promise, seen, *places = reason.splitlines()
    assert promise == "promised: The number is even. [codegym.core:Limits]"
    assert seen == "seen: the number is 3"
    assert places[-1].startswith("at test_testing.py:")
    assert "in check_it_is_even: require(" in places[-1]


def test_what_a_check_raises_is_a_failure_too():
    failures = failures_of(CHECKS, "a text")
    assert "raised TypeError: not all arguments converted" in failures["check_it_is_even"]
    assert set(failures) == {"check_it_is_even", "check_it_is_small"}


def test_what_was_seen_is_shortened():
    assert len(failures_of(CHECKS, 1000)["check_it_is_small"]) < 1500


def test_checks_that_do_not_apply_are_left_out():
    assert failures_of(CHECKS, -2) == {}
    with pytest.raises(SkipTest, match="negative"):
        CHECKS[1](-2)


def test_known_failures_must_happen():
    assert set(failures_of(CHECKS, 103)) == {"check_it_is_even", "check_it_is_small"}
    assert set(failures_of(CHECKS, 103, {"check_it_is_even": "odd"})) == {"check_it_is_small"}
    found = failures_of(CHECKS, 2, {"check_it_is_even": "odd"})
    assert found == {"check_it_is_even": "was known to fail (odd), and does not any more"}
    assert failures_of(CHECKS, -1, {"check_it_is_even": "odd", "check_it_is_small": "no"}) == {}
    with pytest.raises(ConfigError, match="no check is called 'check_nothing'; known: check_it_is_even"):
        failures_of(CHECKS, 2, {"check_nothing": "?"})


# The two ways to run checks


def loud(outcome):
    return "much"


def test_one_error_lists_everything():
    class Both:
        name, range = "both", (0.0, 1.0)

        def __call__(self, outcome):
            return 2.0

    with pytest.raises(ConformanceError) as caught:
        check_reward(Both())
    assert set(caught.value.failures) == {"check_it_can_be_pickled", "check_values_are_in_the_declared_range"}
    message = str(caught.value)
    assert message.startswith("the reward 'both' fails 2 of ")
    assert message.index("check_values_are_in") < message.index("check_it_can_be_pickled")
    assert "promised: No value is outside of the range that was declared. [codegym" in message
    check_reward(loud, known_failures={"check_values_are_numbers_or_none": "it is a text"})
    with pytest.raises(ConfigError, match="known_failures"):
        check_reward(loud, known_failures={"check_nonsense": "?"})


def test_each_check_has_an_id_and_known_failures_are_expected_strictly():
    mark = parametrize_with_checks("reward", ["parses", loud], {"check_it_is_pure": "why"})
    names = [check.name for check in checks_of("reward")]
    assert mark.args[0] == ("subject", "check")
    parameters = mark.args[1]
    assert [each.id for each in parameters] == [
        f"{who}-{name}" for who in ("parses", "loud") for name in names
    ]
    marked = {each.id: each.marks[0] for each in parameters if each.marks}
    assert set(marked) == {"parses-check_it_is_pure", "loud-check_it_is_pure"}
    assert {(each.name, *each.kwargs.values()) for each in marked.values()} == {("xfail", True, "why")}
    assert len({id(each.values[0]) for each in parameters}) == 2, "a subject for each reward"
    with pytest.raises(ConfigError, match="known_failures"):
        parametrize_with_checks("reward", ["parses"], {"check_nonsense": "?"})


TESTS = """
from codegym.testing import parametrize_with_checks

def loud(outcome):
    return "much"

@parametrize_with_checks("reward", [loud], {"check_values_are_numbers_or_none": "a text", "check_it_is_pure": "?"})
def test_rewards(subject, check):
    check(subject)
"""


def test_under_pytest(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rsxX", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    count = len(checks_of("reward"))
    assert f"1 failed, {count - 3} passed, 1 skipped, 1 xfailed" in done.stdout, done.stdout
    assert "it is not registered" in done.stdout
    assert "[XPASS(strict)] ?" in done.stdout


def test_subjects_are_made_once():
    subject = subject_of("reward", "parses")
    assert subject_of("reward", subject) is subject
    with pytest.raises(ConfigError, match=r"expected one of sandbox, .*, got 'sandwich'"):
        subject_of("sandwich", "parses")
    with pytest.raises(ConfigError, match="sandwich"):
        checks_of("sandwich")


# All contracts


@pytest.mark.parametrize("kind", CONTRACTS)
def test_every_check_says_what_is_promised_and_where(kind):
    checks = checks_of(kind)
    assert len(checks) >= 7
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        assert check.name.startswith("check_")
        assert check.promise.endswith(".")
        assert check.promise.count(". ") == 0, f"{check.name}: one sentence"
        module, _, attr = check.contract.partition(":")
        assert load_target(f"{module}:{attr or '__doc__'}"), check.contract


DOCS = (Path(codegym.__file__).parent.parent / "docs" / "testing.md").read_text(encoding="utf-8")


def test_the_docs_name_every_kind_and_every_module_of_checks():
    for kind, contract in CONTRACTS.items():
        assert f"| {kind} | " in DOCS
        assert all(f"`{module.rpartition('.')[2]}`" in DOCS for module in contract.checks), contract.checks


def test_the_code_in_the_docs_runs(tmp_path):
    """Each block of the page is a file of tests, but for those that are about somebody's own sandbox."""
    blocks = re.findall(r"^```python\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE)
    for number, block in enumerate(blocks):
        (tmp_path / f"test_{number}.py").write_text(
            block.replace('"mine"', '"subprocess"').replace("brevity", "parses")
        )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_kit_imports_pytest_only_where_it_is_asked_for():
    code = (
        "import sys, codegym.testing as t; loaded = set(sys.modules)\n"
        "[t.checks_of(kind) for kind in t.CONTRACTS]; print({'pytest', 'gymnasium'} & loaded or 'light')\n"
        "sys.exit('pytest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "light\n"), done.stderr


# Seeds, watching, trouble


def test_global_seeds_are_put_back():
    random.seed(5)
    np.random.seed(5)
    expected = random.random(), np.random.random()
    random.seed(5)
    np.random.seed(5)
    with global_seeds(1):
        inside = random.random(), np.random.random()
    with global_seeds(1):
        assert (random.random(), np.random.random()) == inside
    assert (random.random(), np.random.random()) == expected


def test_watching_sees_this_thread_while_it_lasts(tmp_path):
    path = tmp_path / "file"
    with watch() as seen:
        path.write_text("x")
        path.read_text()
        exec("1")
    path.write_text("y")
    assert seen == [f"open {str(path)!r} for writing", "exec"]


def double(x):
    return CallBatch(code="def f(x): return 2 * x", entry_point="f", inputs=[encode(((x,), {}))])


def test_a_sandbox_without_workers_runs_nothing_and_recovers():
    with make_sandbox("subprocess", workers=1) as sandbox:
        assert sandbox.execute(double(1)).ending == Ending.DONE
        with without_workers(sandbox), pytest.raises(InfraError, match="on purpose"):
            sandbox.execute(double(2))
        assert sandbox.execute(double(3)).ending == Ending.DONE


def test_a_failing_sandbox_fails():
    with FailingSandbox() as sandbox:
        for ask in (
            lambda: sandbox.execute(double(1)),
            lambda: sandbox.submit(double(1)).result(),
            lambda: sandbox.session("def f(x): return x", "f"),
        ):
            with pytest.raises(InfraError):
                ask()

"""Rewards for suites: the worked numbers of the papers' formulas, and what a whole suite earns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codegym.core import Outcome, Program, Status, Task, TestCase, TestResult
from codegym.errors import ConfigError, SandboxUnavailableError
from codegym.plugins import registry
from codegym.rewards import SuiteScorer
from codegym.selfplay import suite_rewards as rewards
from codegym.testquality import Coverage, Fate, JudgedTest, SuiteOutcome, WrittenSuite


def verdict(row: str) -> Outcome:
    """``1`` for a test that is passed, ``0`` for one that is not."""
    tests = tuple(
        TestResult(index=i, status=Status.PASSED if cell == "1" else Status.WRONG)
        for i, cell in enumerate(row)
    )
    return Outcome(status=Status.PASSED if "0" not in row else Status.WRONG, tests=tests)


def outcome(
    fates: str = "", *, unreadable: int = 0, asked: int | None = None, **evidence: Any
) -> SuiteOutcome:
    """``k`` for a test that is kept, ``c`` corrected, ``w`` wrong, ``r`` repeated."""
    meant = {"k": Fate.KEPT, "c": Fate.CORRECTED, "w": Fate.WRONG, "r": Fate.REPEATED}
    tests = tuple(
        JudgedTest(test=TestCase.call(i, expected=i), fate=meant[letter]) for i, letter in enumerate(fates)
    )
    suite = WrittenSuite(form="asserts", tests=tuple(one.test for one in tests), unreadable=unreadable)
    return SuiteOutcome(suite=suite, tests=tests, asked=asked, **evidence)


@pytest.mark.parametrize(
    ("fates", "unreadable", "k", "expected"),
    [
        ("kkkkkkkk", 0, 8, 1.0),
        ("kkkkkkcc", 0, 8, 0.75),
        ("kkkkkkww", 0, 8, 0.75),
        ("kkkkk", 0, 8, 0.625),
        ("", 8, 8, 0.0),
        ("cccccccc", 2, 8, 0.0),
        ("kkkkc", 0, 5, 0.8),
        ("kkkkr", 0, 5, 0.8),
        ("kkk", 0, 5, 0.6),
        ("", 0, 5, 0.0),
        ("kkkw", 0, None, 0.75),
        ("", 0, None, 0.0),
    ],
)
def test_validity_of_worked_numbers(fates: str, unreadable: int, k: int | None, expected: float) -> None:
    assert rewards.validity(outcome(fates, unreadable=unreadable, asked=k)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("sound", "copied", "wrong_fails", "first", "second"),
    [(1, 0, 1, 1, 1), (1, 0, 0, 1, 0), (1, 1, 1, 0, 0), (0, 0, 1, 0, 0)],
)
def test_the_truth_table_of_tcs(sound: int, copied: int, wrong_fails: int, first: int, second: int) -> None:
    suite = outcome(
        "k" if sound else "w", copied=bool(copied), candidate=verdict("0" if wrong_fails else "1")
    )
    assert rewards.soundness(suite) == first
    assert rewards.counterexample(suite) == second


@pytest.mark.parametrize("status", [Status.ERROR, Status.TIMEOUT, Status.MEMORY])
def test_a_candidate_that_breaks_is_counterexampled(status: Status) -> None:
    assert rewards.counterexample(outcome("k", candidate=Outcome(status=status))) == 1.0


def test_without_a_candidate_there_is_no_counterexample() -> None:
    assert rewards.counterexample(outcome("k")) is None
    assert rewards.counterexample(outcome("w")) == 0.0


def test_a_corrected_test_is_not_sound() -> None:
    assert rewards.soundness(outcome("kc")) == 0.0


def test_utrl_of_worked_numbers() -> None:
    suite = outcome("k" * 9 + "w", wrong=(verdict("0" * 9), verdict("1" * 8 + "0"), verdict("01" * 4 + "1"), verdict("1" * 9)))  # fmt: skip
    assert rewards.discrimination(suite) == 0.75
    text = "<reasoning></reasoning>\n" * 10 + "```"
    assert rewards.utrl(suite, text) == pytest.approx(0.775)


def test_discrimination_without_valid_tests_or_wrong_programs() -> None:
    assert rewards.discrimination(outcome("w")) == 0.0
    assert rewards.discrimination(outcome("k")) is None


def test_cure_of_worked_numbers() -> None:
    suite = outcome(
        "kkkk", right=(verdict("1101"), verdict("1100")), wrong=(verdict("0110"), verdict("1010"))
    )
    assert rewards.cure(suite) == pytest.approx((0.5 + 0.5 - 1 + 0) / 4)


def test_cgft_of_worked_numbers() -> None:
    cgft = rewards.CgftReward()
    assert cgft.combined(8 / 20, 1.0, 6 / 10) == 0.6
    assert cgft.combined(None, 1.0, 6 / 10) == pytest.approx((0.2 + 0.24) / 0.6)
    assert cgft.combined(None, None, None) is None
    assert cgft(outcome("kw")) == 0.0
    for weights in ((-1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, 1.0, float("nan"))):
        with pytest.raises(ConfigError, match="weights"):
            rewards.CgftReward(*weights)


def test_coverage_delta_counts_what_is_new_of_what_was_missing() -> None:
    statements, branches = frozenset(range(20)), frozenset({(1, 2), (1, 3)})
    before = Coverage(
        statements=statements, branches=branches, executed=frozenset(range(2)), taken=frozenset()
    )
    now = Coverage(
        statements=statements, branches=branches, executed=frozenset(range(9)), taken=frozenset({(1, 2)})
    )
    assert rewards.coverage_delta(outcome("k", coverage=now, before=before)) == pytest.approx(8 / 20)
    assert rewards.coverage_delta(outcome("w", coverage=now, before=before)) == 0.0
    full = Coverage(statements=statements, branches=branches, executed=statements, taken=branches)
    assert rewards.coverage_delta(outcome("k", coverage=full, before=full)) is None
    assert rewards.coverage_delta(outcome("k")) is None


def test_no_suite_is_no_reward() -> None:
    names = [name for name in rewards.__all__ if name not in ("CgftReward", "Redundancy", "utrl")]
    assert [getattr(rewards, name)(None) for name in names] == [None] * len(names)
    assert rewards.utrl(None, "") is None
    assert rewards.CgftReward()(None) is None
    assert rewards.Redundancy()(None) is None


# Whole suites


@pytest.fixture(scope="module")
def score(clamp: Task) -> Iterator[Any]:
    names = ["validity", "mutation_score", "incremental_mutation", "redundancy", "assertion_quality", "cgft"]
    with (
        SuiteScorer(names, form="asserts", workers=1) as asserts,
        SuiteScorer(names, form="module", workers=1) as modules,
    ):
        scorers = {"asserts": asserts, "module": modules}

        def score(code: str, form: str = "asserts", candidate: str | None = None) -> Any:
            shown = None if candidate is None else [Program(candidate)]
            try:
                return scorers[form].score([code], [clamp], shown)[0].components
            except SandboxUnavailableError as error:
                pytest.skip(str(error))

        yield score


BOTH = "assert clamp(-1, 0, 3) == 0\nassert clamp(9, 0, 3) == 3"


def test_kills_are_counted_once_and_idle_tests_cost(score: Any) -> None:
    alone, both = score("assert clamp(-1, 0, 3) == 0"), score(BOTH)
    again = score(f"{BOTH}\nassert clamp(-2, 0, 3) == 0\nassert clamp(10, 0, 3) == 3")
    assert alone["mutation_score"] < both["mutation_score"] == again["mutation_score"]
    assert both["incremental_mutation"] == pytest.approx(both["mutation_score"])
    assert (both["redundancy"], again["redundancy"]) == (0.0, -0.5)


def module(*bodies: str) -> str:
    tests = "\n".join(f"def test_{i}():\n    {body}\n" for i, body in enumerate(bodies))
    return f"import solution\nfrom solution import clamp\n\n{tests}"


def test_a_module_earns_what_its_asserts_earn(score: Any) -> None:
    earned = score(module(*BOTH.split("\n")), "module")
    assert earned["mutation_score"] == pytest.approx(score(BOTH)["mutation_score"])
    assert earned["cgft"] > 0.5


@pytest.mark.parametrize(
    "body",
    [
        "assert clamp.__code__.co_code",
        "import gc; assert gc.get_objects()",
        "import sys; assert sys._getframe()",
        "import inspect; assert 'low' in inspect.getsource(clamp)",
        "assert open(solution.__file__).read()",
    ],
)
def test_suites_that_look_instead_of_running_earn_nothing(score: Any, body: str) -> None:
    earned = score(module(body, *BOTH.split("\n")), "module")
    assert earned["mutation_score"] == 0.0
    assert earned["cgft"] == 0.0


def test_a_test_that_ends_its_process_makes_the_suite_unsound(score: Any) -> None:
    earned = score(module("import os; os._exit(0)", *BOTH.split("\n")), "module")
    assert earned["validity"] == pytest.approx(2 / 3)
    assert earned["cgft"] == 0.0


def test_infrastructure_trouble_is_no_reward(clamp: Task) -> None:
    with SuiteScorer("validity", workers=1) as scorer:
        scored = scorer.worth("", clamp, SuiteOutcome(suite=WrittenSuite(form="asserts"), infra="disk full"))
    assert scored.value is None


def test_as_many_tasks_as_completions(clamp: Task) -> None:
    with SuiteScorer("validity", workers=1) as scorer, pytest.raises(ConfigError, match="got 2, 1 and 2"):
        scorer.score(["", ""], [clamp])


PAGE = (Path(__file__).parents[2] / "docs" / "suites.md").read_text(encoding="utf-8")


def test_the_page_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    try:
        exec(compile(program, "suites.md", "exec"), {"__name__": "suites"})
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", program)


def test_the_page_has_every_reward_for_tests() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|", PAGE.partition("## Rewards")[2], re.MULTILINE)
    known = {e.name for e in registry().entries("reward") if e.target.startswith(rewards.__name__)}
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == known

"""The kit for rewards: for each check there is a reward that breaks one promise, and fails exactly that check."""

import os
import random

import pytest

from codegym.core import Score, Status
from codegym.plugins import Entry
from codegym.rewards import Scorer
from codegym.testing import ConformanceError, check_reward, checks_of
from codegym.testing.rewards import RewardSubject, evidence


def good(outcome):
    return outcome.fraction_passed


good.range = (0.0, 1.0)


def wants_more(outcome, tokenizer):
    return 0.0


class Nameless:
    name = " "

    def __call__(self, outcome):
        return 0.0


def unbounded(completion):
    return float(len(completion))


def needs_a_program(program, outcome):
    return float(len(program.code))


def is_a_text(outcome):
    return str(outcome.passed)


def not_a_number(outcome):
    return float("nan") if outcome.status == Status.MEMORY else 0.0


class Outside:
    name, range = "outside", (0.0, 1.0)

    def __call__(self, outcome):
        return 1.5 if outcome.passed else 0.0


class Counts:
    name, seen = "counts", []

    def __call__(self, completion):
        first = completion not in self.seen
        self.seen.append(completion)
        return float(first)


def throws_dice(outcome):
    return random.random()


def notes_what_it_saw(task, outcome):
    task.meta["tags"].append("seen")
    task.meta["tags"][1:] = ["seen"]
    return 0.0


def runs_the_program(program):
    names = {}
    if program is not None and "return" in program.code:
        exec(program.code, names)
    return float(names["f"](2) == 4) if names else 0.0


def keeps_a_log(outcome):
    with open(os.devnull, "a") as file:
        file.write("seen")
    return 0.0


def shells_out(outcome):
    return float(os.system("true") == 0)


class Forgets:
    """Its copy is another."""

    name = "forgets"

    def __init__(self, best=1.0):
        self.best = best

    def __call__(self, outcome):
        return self.best if outcome.passed else 0.0

    def __reduce__(self):
        return Forgets, ()


SPOILT = [
    ("check_it_is_a_reward", wants_more),
    ("check_it_is_a_reward", "codegym.rewards:none_of_that_name"),
    ("check_it_is_a_reward", 7),
    ("check_it_has_a_name", Nameless()),
    ("check_its_range_is_declared", Entry(
        kind="reward", name="unbounded", target="tests_of_the_kit:unbounded", plugin="kit", spec={"weight": 2.0}
    )),
    ("check_it_raises_nothing", needs_a_program),
    ("check_values_are_numbers_or_none", is_a_text),
    ("check_values_are_numbers_or_none", not_a_number),
    ("check_values_are_in_the_declared_range", Outside()),
    ("check_it_is_pure", Counts()),
    ("check_it_is_pure", throws_dice),
    ("check_it_changes_nothing", notes_what_it_saw),
    ("check_it_runs_nothing", runs_the_program),
    ("check_it_runs_nothing", keeps_a_log),
    ("check_it_runs_nothing", shells_out),
    ("check_it_can_be_pickled", lambda outcome: 0.0),
    ("check_it_can_be_pickled", Forgets(best=2.0)),
]  # fmt: skip


@pytest.fixture
def importable(monkeypatch):
    """Rewards named by a target are in a module that can be imported."""
    import sys
    import types

    module = types.ModuleType("tests_of_the_kit")
    module.unbounded = unbounded
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize(("name", "reward"), SPOILT)
def test_a_spoilt_reward_fails_exactly_one_check(name, reward):
    with pytest.raises(ConformanceError) as caught:
        check_reward(reward)
    assert set(caught.value.failures) == {name}, caught.value


@pytest.mark.parametrize("component", [0.0, None])
def test_a_scorer_that_pays_for_trouble_fails_exactly_one_check(monkeypatch, component):
    value = 0.0 if component is None else None
    score = Score(value=value, components={"good": component})
    monkeypatch.setattr(Scorer, "judge", lambda *_: score)
    with pytest.raises(ConformanceError) as caught:
        check_reward(good)
    assert set(caught.value.failures) == {"check_trouble_is_no_reward"}


def test_every_check_has_something_that_fails_it():
    failed = {name for name, _ in SPOILT} | {"check_trouble_is_no_reward"}
    assert failed == {check.name for check in checks_of("reward")}


def test_good_rewards():
    check_reward(good)
    check_reward("all_passed")
    check_reward("codegym.rewards:Format")


def test_an_entry_is_taken_with_what_it_declares():
    declared = {"weight": 0.5, "range": (-1.0, 0.0)}
    entry = Entry(kind="reward", name="n", target="codegym.rewards:parses", plugin="p", spec=declared)
    reward = RewardSubject(entry).resolved
    assert (reward.name, reward.weight, reward.range, reward.plugin) == ("n", 0.5, (-1.0, 0.0), "p")


def test_evidence_is_of_every_kind():
    statuses = {given["outcome"].status for _, given in evidence()}
    assert statuses == {*Status} - {Status.INFRA, Status.SKIPPED}
    assert {given["program"] is None for _, given in evidence()} == {True, False}
    names = [name for name, _ in evidence()]
    assert len(names) == len(set(names))

"""The promises of a reward; see `codegym.rewards`."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Iterator, Mapping
from typing import Any

from codegym.core import Outcome, Program, Status, Task, TestCase, TestResult
from codegym.rewards import Scorer
from codegym.rewards.composition import Reward, resolve_rewards
from codegym.testing.checks import require

__all__ = ["RewardSubject", "evidence"]

TASK = Task(
    id="kit/double",
    prompt="Write a function f(x) that doubles a number.",
    entry_point="f",
    hidden_tests=tuple(TestCase.call(n, expected=2 * n, tier=("basic", "edge")[n % 2]) for n in range(4)),
)
COMPLETION = "Here it is:\n```python\ndef f(x):\n    return 2 * x\n```\n"


def outcome(*statuses: Status) -> Outcome:
    """An outcome of the task's tests."""
    tests = [
        TestResult(index=i, status=status, tier=TASK.tests[i].tier, cpu_s=0.001, message=status)
        for i, status in enumerate(statuses)
    ]
    return Outcome.of(tests, cpu_s=0.01, wall_s=0.02)


def evidence() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What rewards are called with, by name: every kind of outcome, and completions of several kinds."""
    program = Program("def f(x):\n    return 2 * x\n")
    kinds = (Status.PASSED, Status.WRONG, Status.ERROR, Status.TIMEOUT, Status.MEMORY)
    outcomes = {str(kind): outcome(*[kind] * 4) for kind in kinds}
    outcomes["mixed"] = outcome(Status.PASSED, Status.WRONG, Status.PASSED, Status.SKIPPED)
    outcomes["invalid"] = Outcome.unrunnable("no program", TASK.tests)
    outcomes["no_tests"] = Outcome(status=Status.PASSED)
    for name, judged in outcomes.items():
        found = None if name == "invalid" else program
        yield name, {"task": TASK, "completion": COMPLETION, "program": found, "outcome": judged}
    for name, text in {"empty": "", "long": "x" * 100_000, "odd": "\ud800\x00```"}.items():
        yield name, {"task": TASK, "completion": text, "program": None, "outcome": outcomes["invalid"]}


class RewardSubject:
    """A reward under test.

    Args:
        reward: A registered name, a ``"module:attr"`` string, or a function.
    """

    def __init__(self, reward: Any) -> None:
        """Resolve it."""
        (self.reward,) = resolve_rewards(reward)
        self.given = reward

    def values(self) -> Iterator[tuple[str, float | None]]:
        """What it says of each piece of evidence."""
        for name, given in evidence():
            yield name, self.reward(given)


def check_it_has_a_name_and_a_weight(subject: RewardSubject) -> None:
    """A reward has a name, and a finite weight."""
    reward: Reward = subject.reward
    require(isinstance(reward.name, str) and reward.name, f"name {reward.name!r}")
    require(math.isfinite(reward.weight), f"weight {reward.weight!r}")


def check_values_are_numbers_or_none(subject: RewardSubject) -> None:
    """On every kind of outcome and completion, a reward returns a finite number or None."""
    for name, value in subject.values():
        fits = value is None or (isinstance(value, (int, float)) and math.isfinite(value))
        require(fits, f"{value!r} for evidence {name!r}")


def check_values_are_in_the_declared_range(subject: RewardSubject) -> None:
    """No value is outside of the range that was declared."""
    bounds = subject.reward.range
    if bounds is not None:
        for name, value in subject.values():
            fits = value is None or bounds[0] <= value <= bounds[1]
            require(fits, f"{value} for evidence {name!r}, the range is {bounds}")


def check_it_is_pure(subject: RewardSubject) -> None:
    """The same evidence has the same value, whatever was judged between."""
    first, again = dict(subject.values()), dict(subject.values())
    differing = [name for name in first if first[name] != again[name]]
    require(not differing, f"other values the second time for {differing}")


def check_it_changes_nothing(subject: RewardSubject) -> None:
    """A reward leaves its evidence as it is."""
    for name, given in evidence():
        before = copy.deepcopy(dict(given))
        subject.reward(given)
        require(dict(given) == before, f"evidence {name!r} was changed")


def check_it_can_be_pickled(subject: RewardSubject) -> None:
    """A reward travels to other processes: it can be pickled, and says the same there."""
    copied = pickle.loads(pickle.dumps(subject.reward))
    for name, given in evidence():
        require(copied(given) == subject.reward(given), f"the copy differs on evidence {name!r}")


def check_trouble_is_no_reward(subject: RewardSubject) -> None:
    """Where a program could not be judged through no fault of its own, the score is None."""
    with Scorer([subject.given], sandbox="subprocess") as scorer:
        trouble = Outcome.infrastructure("the sandbox is gone", TASK.tests)
        score = scorer.judge(COMPLETION, TASK, Program("pass"), trouble)
    require(score.value is None, f"the score is {score.value}")

"""The promises of a reward; see `codegym.rewards`."""

from __future__ import annotations

import copy
import math
import numbers
import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from codegym.core import Outcome, Program, Score, Status, Task, TestCase, TestResult
from codegym.errors import CodegymError
from codegym.plugins import Entry
from codegym.rewards import Reward, Scorer, resolve_rewards
from codegym.rewards.composition import UNBOUNDED
from codegym.testing.checks import global_seeds, not_applicable, promised, require
from codegym.testing.watching import watch
from codegym.testquality.suites import Fate, JudgedTest, SuiteOutcome
from codegym.testquality.written import WrittenSuite

__all__ = ["RewardSubject", "evidence"]

TIERS: Final = ("basic", "edge")
TASK: Final = Task(
    id="kit/double",
    prompt="Write a function f(x) that doubles a number.",
    entry_point="f",
    public_tests=(TestCase.call(0, expected=0, tier="basic"),),
    hidden_tests=tuple(TestCase.call(n, expected=2 * n, tier=TIERS[n % 2]) for n in range(1, 4)),
    reference_solutions=("def f(x):\n    return 2 * x\n",),
    meta={"tags": ["arithmetic"]},
)
PROGRAM: Final = Program("def f(x):\n    return 2 * x\n")
COMPLETION: Final = f"Here it is:\n```python\n{PROGRAM.code}```\n"


def outcome(*statuses: Status) -> Outcome:
    """An outcome of the task's tests."""
    tests = [
        TestResult(index=i, status=status, tier=test.tier, cpu_s=0.001, message=str(status))
        for i, (status, test) in enumerate(zip(statuses, TASK.tests, strict=True))
    ]
    return Outcome.of(tests, cpu_s=0.01, wall_s=0.02)


def evidence(arguments: Collection[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """What rewards are called with, made anew each time: every kind of outcome, several kinds of completions.

    Args:
        arguments: Those that the reward wants; suites are for those only that want them.

    Yields:
        A name, and a value for each argument that a reward may ask for.
    """
    kinds = (Status.PASSED, Status.WRONG, Status.ERROR, Status.TIMEOUT, Status.MEMORY)
    outcomes = {str(kind): outcome(*[kind] * 4) for kind in kinds}
    outcomes["mixed"] = outcome(Status.PASSED, Status.WRONG, Status.PASSED, Status.SKIPPED)
    outcomes["no tests"] = Outcome(status=Status.PASSED)
    invalid = Outcome.unrunnable("it does not parse", TASK.tests)
    texts = {"no program": "I can't.", "empty": "", "long": "x" * 99_999, "odd": "\ud800\0```"}
    found = [
        *((name, COMPLETION, PROGRAM, judged) for name, judged in outcomes.items()),
        ("invalid", "```\ndef f(\n```", Program("def f("), invalid),
        *((name, text, None, invalid) for name, text in texts.items()),
    ]
    for name, completion, program, judged in found:
        given = {"task": TASK, "completion": completion, "program": program, "outcome": judged, "suite": None}
        yield name, copy.deepcopy(given)
    for name, suite in suites() if "suite" in arguments else ():
        given = {"task": TASK, "completion": COMPLETION, "program": None, "outcome": None, "suite": suite}
        yield f"suite: {name}", copy.deepcopy(given)


def suites() -> Iterator[tuple[str, SuiteOutcome]]:
    """Suites of all kinds: good, wrong, empty, without anything to tell apart."""
    tests = TASK.tests[1:3]
    kept = tuple(JudgedTest(test=test, fate=Fate.KEPT) for test in tests)
    written = WrittenSuite(form="asserts", tests=tests)
    right, wrong = ((Outcome.of(_results(status)),) for status in (Status.PASSED, Status.WRONG))
    good = SuiteOutcome(suite=written, asked=2, tests=kept, candidate=wrong[0], right=right, wrong=wrong)
    yield "good", good
    yield "nothing to tell apart", replace(good, candidate=None, right=(), wrong=())
    yield "copied", replace(good, copied=True)
    corrected = JudgedTest(test=tests[0], fate=Fate.CORRECTED, replayable=False)
    yield "corrected", replace(good, tests=(corrected, kept[1]))
    yield (
        "wrong",
        replace(
            good, tests=(JudgedTest(test=tests[0], fate=Fate.WRONG),), candidate=None, right=(), wrong=()
        ),
    )
    yield "empty", SuiteOutcome(suite=WrittenSuite(form="json", unreadable=1))
    yield (
        "a module",
        replace(good, suite=WrittenSuite(form="module", code="def test():\n    assert f(1) == 2\n")),
    )


def _results(status: Status) -> list[TestResult]:
    return [TestResult(index=i, status=status) for i in range(2)]


class RewardSubject:
    """A reward under test.

    Args:
        reward: A registered name, a ``"module:attr"`` string, a function, or an entry of the registry.
    """

    def __init__(self, reward: Any) -> None:
        """Look nothing up yet."""
        self.given = reward
        self._first: dict[str, str] = {}

    @cached_property
    def resolved(self) -> Reward:
        """What the reward is, with all that is declared of it.

        Raises:
            CodegymError: It is none.
        """
        if not isinstance(self.given, Entry):
            (found,) = resolve_rewards(self.given)
            return found
        (found,) = resolve_rewards(self.given.target)
        declared = {key: self.given.spec[key] for key in ("weight", "range") if key in self.given.spec}
        return replace(found, name=self.given.name, plugin=self.given.plugin, **declared)

    @property
    def reward(self) -> Reward:
        """The same for the checks that need one; they are left out where there is none."""
        try:
            return self.resolved
        except Exception as error:
            not_applicable(f"it is no reward: {error}")

    def value(self, given: Mapping[str, Any]) -> Any:
        """What its function itself returns: unchecked, and the exception in place of a value."""
        reward = self.reward
        try:
            return reward.function(**{name: given[name] for name in reward.arguments})
        except Exception as error:
            return error

    def values(self) -> dict[str, Any]:
        """What it says of each piece of evidence."""
        values = {name: self.value(given) for name, given in evidence(self.reward.arguments)}
        self._first = self._first or {name: told(value) for name, value in values.items()}
        return values

    @property
    def first(self) -> dict[str, str]:
        """What it said when it was first asked."""
        if not self._first:
            self.values()
        return self._first

    def close(self) -> None:
        """Nothing to end."""


@promised("codegym.rewards.composition:resolve_rewards")
def check_it_is_a_reward(subject: RewardSubject) -> None:
    """A reward is a function, or a module-level class, whose arguments are among those filled by name."""
    try:
        require(isinstance(subject.resolved, Reward), f"{subject.resolved!r}")
    except CodegymError as error:
        require(False, str(error))


@promised("codegym.rewards.composition:Reward")
def check_it_has_a_name(subject: RewardSubject) -> None:
    """A reward has a name, which its value is called by in a score."""
    name = subject.reward.name
    require(isinstance(name, str) and name.isprintable() and name.strip(), f"the name is {name!r}")


@promised("codegym.hookspecs:codegym_register_rewards")
def check_its_range_is_declared(subject: RewardSubject) -> None:
    """A reward that is registered declares its range, by its registration or by an attribute."""
    if subject.reward.plugin is None:
        not_applicable("it is not registered")
    require(subject.reward.range != UNBOUNDED, "neither says which values it may return")


@promised("codegym.rewards")
def check_it_raises_nothing(subject: RewardSubject) -> None:
    """A reward raises nothing, whatever became of the program and whatever the completion is."""
    raised = {name: value for name, value in subject.values().items() if isinstance(value, Exception)}
    require(not raised, "; ".join(f"{error!r} for evidence {name!r}" for name, error in raised.items()))


@promised("codegym.rewards")
def check_values_are_numbers_or_none(subject: RewardSubject) -> None:
    """A reward returns a finite number, or None where it does not apply."""
    for name, value in subject.values().items():
        fits = value is None or isinstance(value, Exception) or is_number(value)
        require(fits, f"{value!r:.200} for evidence {name!r}")


@promised("codegym.rewards.composition:Reward")
def check_values_are_in_the_declared_range(subject: RewardSubject) -> None:
    """No value is outside of the range that was declared."""
    least, greatest = subject.reward.range
    for name, value in subject.values().items():
        fits = not is_number(value) or least <= value <= greatest
        require(fits, f"{value} for evidence {name!r}, and the range is from {least} to {greatest}")


@promised("codegym.rewards")
def check_it_is_pure(subject: RewardSubject) -> None:
    """The same evidence has the same value, whatever was judged before and whatever the seeds are."""
    first, wanted = subject.first, subject.reward.arguments
    for seed, order in ((1, list(evidence(wanted))), (2, list(evidence(wanted))[::-1])):
        with global_seeds(seed):
            again = {name: told(subject.value(given)) for name, given in order}
        differing = [
            f"{name!r}: {first[name]}, then {again[name]}" for name in first if first[name] != again[name]
        ]
        require(not differing, f"evidence {'; '.join(differing)}")


@promised("codegym.rewards")
def check_it_changes_nothing(subject: RewardSubject) -> None:
    """A reward leaves its evidence as it is."""
    wanted = subject.reward.arguments
    for (name, given), (_, kept) in zip(evidence(wanted), evidence(wanted), strict=True):
        subject.value(given)
        changed = [key for key in kept if given[key] != kept[key]]
        require(not changed, f"{', '.join(changed)} changed, for evidence {name!r}")


@promised("codegym.rewards")
def check_it_runs_nothing(subject: RewardSubject) -> None:
    """A reward looks at evidence: it starts no program, runs no code, writes no file, opens no socket."""
    subject.values()  # what it imports on its first call is not meant
    with watch() as did:
        subject.values()
    require(not did, f"it did {', '.join(sorted(set(did)))}")


@promised("codegym.rewards:Scorer")
def check_it_can_be_pickled(subject: RewardSubject) -> None:
    """A reward travels to other processes: it can be pickled, and says the same there."""
    reward = subject.reward
    try:
        copied: Callable[..., Any] = pickle.loads(pickle.dumps(reward.function))
    except Exception as error:
        require(False, f"{type(error).__name__}: {error}")
    for name, given in evidence(reward.arguments):
        with global_seeds(1):
            value = subject.value(given)
        if not isinstance(value, Exception):
            with global_seeds(1):
                same = told(copied(**{key: given[key] for key in reward.arguments})) == told(value)
            require(same, f"the copy says something else of evidence {name!r}")


@promised("codegym.rewards.scorer:Scorer.judge")
def check_trouble_is_no_reward(subject: RewardSubject) -> None:
    """Where a program could not be judged through no fault of its own, the score is None, and no number."""
    score = judged(subject.reward, Outcome.infrastructure("the sandbox is gone", TASK.tests))
    require(score.value is None, f"the score is {score.value}")
    if "outcome" in subject.reward.arguments:
        (component,) = score.components.values()
        require(component is None, f"its component is {component}")


def judged(reward: Reward, outcome: Outcome) -> Score:
    """What a scorer with this reward alone makes of an outcome."""
    with Scorer(reward.function, sandbox="subprocess") as scorer:  # it starts no sandbox
        return scorer.judge(COMPLETION, TASK, PROGRAM, outcome)


def is_number(value: Any) -> bool:
    """Whether something is a finite number."""
    return isinstance(value, numbers.Real) and math.isfinite(value)


def told(value: Any) -> str:
    """A value, so that the same is equal to itself, be it not a number or an exception."""
    return f"{type(value).__name__} {value!r}"

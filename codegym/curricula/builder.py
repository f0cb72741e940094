"""Building tiered tests for a task: new inputs, the reference's answers to them, and what they catch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from codegym.core import Limits, Outcome, Program, Status, Task, TestCase
from codegym.curricula.dials import SUITE_RATIO
from codegym.curricula.inputs import draw_inputs, input_key, vary_inputs
from codegym.curricula.suites import assign_tiers, rank_tests, tier_features
from codegym.errors import ConfigError, DataError, InfraError
from codegym.grading import Grader
from codegym.objectives.groups import Mask
from codegym.sandbox import AnswerKind, CallBatch, Ending, Script
from codegym.sandbox.plain import decode, encode, is_plain
from codegym.tiers import TIERS

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["build_tiers", "kill_table"]

ANSWER_BYTES: Final = 1 << 16
"""Longer answers make no good tests."""
SHARE_OF_TIME: Final = 0.1
"""Of the time that a program may take, the reference gets so much: slower inputs make no good tests."""


def build_tiers(
    task: Task,
    grader: Grader,
    *,
    inputs: Iterable[Any] | None = None,
    strategy: SearchStrategy[Any] | None = None,
    count: int = 60,
    size: int | None = None,
    ratio: Mapping[str, float] = SUITE_RATIO,
    seed: int = 0,
) -> Task:
    """Give a task hidden tests of all four tiers.

    The first reference solution answers the inputs, inside the sandbox. Inputs on which it fails, or on which
    the reference solutions do not agree, are left out. What remains is ranked by `rank_tests`, with the
    task's known-wrong solutions.

    Args:
        task: A task with an entry point or with standard streams, and a reference solution. What its tests
            compare, and how, holds for the new ones too.
        grader: Runs programs; not one that stops early.
        inputs: Tuples of arguments, or texts for standard input. None: drawn from `strategy`, or else
            variations of the task's own inputs.
        strategy: A Hypothesis strategy of inputs.
        count: Inputs that are drawn or varied.
        size: Tests to keep, spread evenly over the ranking. None: all.
        ratio: How the tiers relate.
        seed: The same one gives the same inputs.

    Returns:
        The task with the new hidden tests, from easy to hard. Its own tests stay, for validation, with the
        label ``original``.

    Raises:
        ConfigError: There is no reference solution, there are no inputs, or an argument makes no sense.
        DataError: The reference does not load, or fewer inputs than tiers are left.
        SandboxError: The sandbox failed.
    """
    template = _template(task)
    if grader.stop_early:
        raise ConfigError("building tiers needs a grader that runs every test: make it without stop_early")
    if size is not None and size < len(TIERS):
        raise ConfigError(f"size must be at least the {len(TIERS)} tiers, got {size!r}")
    wanted = _inputs(task, template, inputs, strategy, count, seed)
    tests = _agreed(task, grader, list(_answered(task, grader, template, wanted)))
    if len(tests) < len(TIERS):
        raise DataError(
            f"task {task.id!r}: only {len(tests)} of {len(wanted)} inputs make a test, fewer than tiers"
        )
    candidate = replace(task, public_tests=(), hidden_tests=tuple(tests))
    kills = kill_table(grader, candidate, [Program(code) for code in task.wrong_solutions])
    ranking = rank_tests([tier_features(test) for test in tests], kills)
    chosen = [tests[i] for i in _spread(ranking, size)]
    labels = assign_tiers(range(len(chosen)), ratio)
    tiered = [replace(test, tier=tier) for test, tier in zip(chosen, labels, strict=True)]
    return replace(
        task,
        public_tests=tuple(replace(test, tier="original") for test in task.public_tests),
        hidden_tests=(*(replace(test, tier="original") for test in task.hidden_tests), *tiered),
    )


def kill_table(grader: Grader, task: Task, programs: Sequence[Program]) -> Mask:
    """Which of the task's tests catch which programs.

    Returns:
        Shape ``[tests, programs]``: whether the program ran on the test and did not pass.

    Raises:
        InfraError: A program could not be judged.
    """
    table = np.zeros((len(task.tests), len(programs)), np.bool_)
    for column, outcome in enumerate(grader.grade_many((program, task) for program in programs)):
        _check(outcome)
        table[:, column] = [test.status not in (Status.PASSED, Status.SKIPPED) for test in outcome.tests]
    return table


def _check(outcome: Outcome) -> None:
    if outcome.status == Status.INFRA:
        raise InfraError(outcome.message)


def _template(task: Task) -> TestCase:
    """What the new tests have in common."""
    if not task.reference_solutions:
        raise ConfigError(f"task {task.id!r} has no reference solution, which is needed to answer inputs")
    style = "stdio" if task.entry_point is None else "call"
    own = next((test for test in task.tests if test.style == style), None)
    return own or (TestCase.stdio("") if style == "stdio" else TestCase.call())


def _inputs(
    task: Task,
    template: TestCase,
    inputs: Iterable[Any] | None,
    strategy: SearchStrategy[Any] | None,
    count: int,
    seed: int,
) -> list[Any]:
    """Different inputs of the right form, without those that the task has already."""
    if inputs is not None and strategy is not None:
        raise ConfigError("give inputs or a strategy, not both")
    own = [_input_of(test) for test in task.tests if test.style == template.style and not test.kwargs]
    if inputs is None:
        inputs = vary_inputs(own, count, seed) if strategy is None else draw_inputs(strategy, count, seed)
    form = tuple if template.style == "call" else str
    found: dict[str, Any] = {}
    for value in inputs:
        if not isinstance(value, form) or not is_plain(value):
            kind = "tuples of plain data" if form is tuple else "texts"
            raise ConfigError(f"inputs of task {task.id!r} must be {kind}, got {value!r:.200}")
        found.setdefault(input_key(value), value)
    for value in own:
        found.pop(input_key(value), None)
    return list(found.values())


def _input_of(test: TestCase) -> Any:
    return test.args if test.style == "call" else test.stdin


def _answered(task: Task, grader: Grader, template: TestCase, inputs: Sequence[Any]) -> Iterator[TestCase]:
    """A test for each input that the reference answers."""
    grader.sandbox.start()
    limits = template.limits or task.limits
    brief = replace(limits, cpu_s=limits.cpu_s * SHARE_OF_TIME)
    if template.style == "stdio":
        yield from _printed(task, grader, template, inputs, brief)
    else:
        yield from _returned(task, grader, template, inputs, brief)


def _printed(
    task: Task, grader: Grader, template: TestCase, inputs: Sequence[str], limits: Limits
) -> Iterator[TestCase]:
    code = task.reference_solutions[0]
    requests = [
        Script(code=code, stdin=text.encode("utf-8", "surrogatepass"), limits=limits) for text in inputs
    ]
    for text, execution in zip(inputs, grader.sandbox.run(requests), strict=True):
        if execution.ending == Ending.DONE and len(execution.stdout) <= ANSWER_BYTES:
            printed = execution.stdout.decode("utf-8", "replace")
            yield replace(template, stdin=text, expected=printed)


def _returned(
    task: Task, grader: Grader, template: TestCase, inputs: Sequence[tuple[Any, ...]], limits: Limits
) -> Iterator[TestCase]:
    pending = list(inputs)
    while pending:
        request = CallBatch(
            code=task.reference_solutions[0],
            entry_point=task.entry_point or "",
            inputs=[encode((list(args), {})) for args in pending],
            argument_answers=template.answer == "argument",
            limits=limits,
            inline_bytes=ANSWER_BYTES,
        )
        execution = grader.sandbox.execute(request)
        if not execution.loaded:
            raise DataError(f"task {task.id!r}: the reference solution does not load: {execution.message}")
        for args, answer in zip(pending, execution.answers, strict=False):
            value = decode(answer.payload) if answer.kind == AnswerKind.VALUE else NotImplemented
            if is_plain(value):
                yield replace(template, args=args, kwargs={}, expected=value)
        # the one at which the process ended, if it did, makes no test
        pending = pending[len(execution.answers) + 1 :]


def _agreed(task: Task, grader: Grader, tests: Sequence[TestCase]) -> list[TestCase]:
    """The tests that all reference solutions pass; the first one again, which may answer by chance."""
    kept = list(tests)
    for code in task.reference_solutions:
        outcome = grader.grade(Program(code), replace(task, public_tests=(), hidden_tests=tuple(kept)))
        _check(outcome)
        kept = [kept[result.index] for result in outcome.tests if result.status == Status.PASSED]
    return kept


def _spread(ranking: Sequence[int], size: int | None) -> list[int]:
    """So many of the ranked tests, evenly, with the first and the last."""
    if size is None or size >= len(ranking):
        return list(ranking)
    return [ranking[i] for i in np.linspace(0, len(ranking) - 1, size).round().astype(int).tolist()]

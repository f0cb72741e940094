"""A procedural family of small list functions, for demonstrations, tests and smoke runs.

Each function chains two list operations and a reduction: "keep the even numbers, reverse the list, return
the sum". There are 1,092 of them. A fifth is held out for testing and a tenth for validation, by a split
that depends on nothing but their names. The family also has a corpus: solutions as people write them who
never run their code, in which twelve of the twenty operations carry a typical bug. A policy that imitates
the corpus is fluent and often wrong; only execution can tell it so.

Every item is a function of (seed, index).
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from codegym.core import Comparison, Limits, Task, TestCase
from codegym.errors import ConfigError

__all__ = ["ENTRY_POINT", "OPERATIONS", "REDUCTIONS", "Operation", "Sample", "Split", "corpus", "load"]

Split = Literal["train", "validation", "test"]

ENTRY_POINT: Final = "solve"
"""The name of the function that every task asks for."""

TESTS: Final = 6
PUBLIC_TESTS: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One step of a function."""

    name: str
    phrase: str
    """What the prompt says."""
    code: str
    """An expression in the list ``xs``."""
    bug: str | None = None
    """What the corpus says in its place, some of the time."""
    bug_rate: float = 0.0
    """How often, in [0, 1]."""


OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        name="double", phrase="double each number", code="[x * 2 for x in xs]", bug="xs * 2", bug_rate=0.6
    ),
    Operation(
        name="square",
        phrase="square each number",
        code="[x ** 2 for x in xs]",
        bug="[x ^ 2 for x in xs]",
        bug_rate=0.45,
    ),
    Operation(name="increment", phrase="add one to each number", code="[x + 1 for x in xs]"),
    Operation(name="absolute", phrase="take absolute values", code="[abs(x) for x in xs]"),
    Operation(
        name="evens",
        phrase="keep the even numbers",
        code="[x for x in xs if x % 2 == 0]",
        bug="[x for x in xs if x % 2]",
        bug_rate=0.35,
    ),
    Operation(name="odds", phrase="keep the odd numbers", code="[x for x in xs if x % 2 == 1]"),
    Operation(name="reverse", phrase="reverse the list", code="xs[::-1]", bug="xs.reverse()", bug_rate=0.4),
    Operation(name="sort", phrase="sort the list", code="sorted(xs)", bug="xs.sort()", bug_rate=0.55),
    Operation(name="unique", phrase="drop repeated numbers", code="list(dict.fromkeys(xs))"),
    Operation(name="tail", phrase="drop the first number", code="xs[1:]", bug="xs.pop(0)", bug_rate=0.5),
    Operation(name="front", phrase="drop the last number", code="xs[:-1]", bug="xs[-1:]", bug_rate=0.65),
    Operation(
        name="alternate", phrase="keep every second number", code="xs[::2]", bug="xs[1::2]", bug_rate=0.3
    ),
    Operation(
        name="totals",
        phrase="take running totals",
        code="[sum(xs[:i + 1]) for i in range(len(xs))]",
        bug="[sum(xs[:i]) for i in range(len(xs))]",
        bug_rate=0.6,
    ),
)

REDUCTIONS: Final[tuple[Operation, ...]] = (
    Operation(name="sum", phrase="return the sum", code="sum(xs)"),
    Operation(
        name="largest",
        phrase="return the largest, or 0 if there is none",
        code="max(xs, default=0)",
        bug="max(xs)",
        bug_rate=0.5,
    ),
    Operation(
        name="smallest", phrase="return the smallest, or 0 if there is none", code="min(xs, default=0)"
    ),
    Operation(name="count", phrase="return how many there are", code="len(xs)"),
    Operation(
        name="last",
        phrase="return the last, or None if there is none",
        code="xs[-1] if xs else None",
        bug="xs[-1]",
        bug_rate=0.45,
    ),
    Operation(
        name="mean",
        phrase="return the mean, or 0 if there is none",
        code="sum(xs) / len(xs) if xs else 0",
        bug="sum(xs) // len(xs) if xs else 0",
        bug_rate=0.55,
    ),
    Operation(name="text", phrase="return them as text, joined by commas", code='",".join(map(str, xs))'),
)


class Sample(NamedTuple):
    """One text of the corpus."""

    prompt: str
    completion: str
    """A solution, right or wrong."""


Recipe = tuple[Operation, Operation, Operation]


def load(source: str | Path | None = None, split: str | None = None, seed: int = 0) -> Iterator[Task]:
    """The tasks of one split.

    Args:
        source: Not used: the tasks are made, not read. Must be None.
        split: ``train``, ``validation`` or ``test``; None: all three.
        seed: Decides the inputs of the tests; which functions there are, and their split, never change.

    Yields:
        One task for each function, with six tests (two of them public), a right solution, and wrong ones.

    Raises:
        ConfigError: Another split, or a source was given.
    """
    if source is not None:
        raise ConfigError(f"listfuncs is made by rule and reads no source, got {source!r}")
    splits = get_args(Split) if split is None else (split,)
    for name in splits:
        if name not in get_args(Split):
            raise ConfigError(f"listfuncs has the splits {', '.join(get_args(Split))}, got {split!r}")
    return (_task(recipe, name, seed) for name in splits for recipe in _recipes(name))


def corpus(seed: int, index: int) -> Sample:
    """One text of the corpus: a training function with its solution as somebody wrote it who did not run it.

    Args:
        seed: The corpus.
        index: The text in it; the corpus has no end.
    """
    rng = random.Random(f"corpus/{seed}/{index}")
    recipe = rng.choice(_recipes("train"))
    steps = [
        operation.bug if operation.bug is not None and rng.random() < operation.bug_rate else operation.code
        for operation in recipe
    ]
    return Sample(_prompt(recipe), _solution(steps))


@functools.cache
def _recipes(split: str) -> tuple[Recipe, ...]:
    """The functions of a split, in an order that depends on their names only."""
    pairs = itertools.permutations(OPERATIONS, 2)
    everything: list[Recipe] = [
        (first, second, last) for (first, second), last in itertools.product(pairs, REDUCTIONS)
    ]
    everything.sort(key=lambda recipe: hashlib.sha256(_name(recipe).encode()).digest())
    fifth, tenth = len(everything) // 5, len(everything) // 10
    bounds = {"test": (0, fifth), "validation": (fifth, fifth + tenth), "train": (fifth + tenth, None)}
    return tuple(everything[slice(*bounds[split])])


def _name(recipe: Recipe) -> str:
    return "-".join(operation.name for operation in recipe)


def _prompt(recipe: Recipe) -> str:
    steps = ", ".join(operation.phrase for operation in recipe[:-1])
    return f"Write a Python function {ENTRY_POINT}(xs): {steps}, and {recipe[-1].phrase}.\n"


def _solution(steps: Sequence[str]) -> str:
    *lines, last = steps
    body = [*(f"xs = {line}" for line in lines), f"return {last}"]
    return f"def {ENTRY_POINT}(xs):\n" + "".join(f"    {line}\n" for line in body)


def _task(recipe: Recipe, split: str, seed: int) -> Task:
    rng = random.Random(f"task/{seed}/{_name(recipe)}")
    right = [operation.code for operation in recipe]
    wrong = [
        [*right[:place], operation.bug, *right[place + 1 :]]
        for place, operation in enumerate(recipe)
        if operation.bug is not None
    ]
    inputs, caught = _telling_inputs(rng, right, wrong)
    tests = [TestCase.call(xs, expected=_answer(right, xs)) for xs in inputs]
    return Task(
        id=f"listfuncs/{_name(recipe)}",
        prompt=_prompt(recipe),
        entry_point=ENTRY_POINT,
        public_tests=tuple(tests[:PUBLIC_TESTS]),
        hidden_tests=tuple(tests[PUBLIC_TESTS:]),
        reference_solutions=(_solution(right),),
        wrong_solutions=tuple(_solution(steps) for steps in caught),
        compare=Comparison(rule="float", rtol=1e-9),
        limits=Limits(cpu_s=1.0, total_cpu_s=3.0),
        meta={"split": split, "operations": [operation.name for operation in recipe]},
    )


def _telling_inputs(
    rng: random.Random, right: Sequence[str], wrong: Sequence[Sequence[str]]
) -> tuple[list[list[int]], list[Sequence[str]]]:
    """Inputs that tell the right solution from the wrong ones, and the wrong ones that they catch.

    Some bugs do no harm in some functions (doubling a list in place of its numbers doubles the sum too), so
    the best of a few draws is taken.
    """
    best: tuple[list[list[int]], list[Sequence[str]]] = ([], [])
    for _ in range(8):
        inputs = [*([rng.randint(-9, 9) for _ in range(rng.randint(3, 7))] for _ in range(TESTS - 1)), []]
        caught = [steps for steps in wrong if any(_differs(right, steps, xs) for xs in inputs)]
        if not best[0] or len(caught) > len(best[1]):
            best = (inputs, caught)
        if len(caught) == len(wrong):
            break
    return best


def _differs(right: Sequence[str], wrong: Sequence[str], xs: Sequence[int]) -> bool:
    try:
        return bool(_answer(right, xs) != _answer(wrong, xs))
    except (AttributeError, IndexError, TypeError, ValueError):
        return True  # the bugs of the corpus raise nothing else


def _answer(steps: Sequence[str], xs: Sequence[int]) -> Any:
    value: Any = list(xs)
    for step in steps:
        value = _function(step)(value)
    return value


@functools.cache
def _function(expression: str) -> Callable[[Any], Any]:
    """The function that an expression of this module stands for: what is asked and what is checked agree."""
    function: Callable[[Any], Any] = eval(f"lambda xs: {expression}")
    return function

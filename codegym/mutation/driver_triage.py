"""Calling a function and its mutants on the same inputs, inside a guest.

Runs inside the guest: standard library, and what the sandbox brings to encode values.
"""

from __future__ import annotations

import random
import types
from collections.abc import Iterator, Sequence
from typing import Any, Final

from codegym.mutation.driver_compile import NOT_COMPILED, StepBudgetExceeded, Steps, instrumented
from codegym.mutation.driver_processes import Child, Send, limit_cpu
from codegym.sandbox.plain import decode, encode

__all__ = ["compare"]

FILENAME: Final = "/program/solution.py"
LEAST_STEPS, STEP_FACTOR = 20_000, 10
MOST_STEPS: Final = 2_000_000
CPU_S, WALL_S = 5.0, 20.0
VALUE, EXCEPTION, MESSAGE = "value", "exception", "message"
TIMEOUT: Final = "timeout"
SHOWN: Final = 200

Outcome = tuple[str, Any, Any]
"""What a call did: ``value``, with the encoded answer and the encoded arguments after it; ``exception``, with
the name of its type and its message; or ``timeout``.
"""


def compare(
    source: str, mutants: Sequence[tuple[int, int, int, str]], calls: Sequence[tuple[str, bytes]]
) -> list[tuple[int, int, str | None, int, str, str]]:
    """Run all calls on the original, and on each mutant until one of its answers differs.

    Args:
        source: The original.
        mutants: Numbers, where they start and end in the source, and what is there instead.
        calls: The name of a function, and the encoded arguments, positional and by name.

    Returns:
        For each mutant: its number, how many calls were compared, on which level one differs (None: none
        does), the index of that call (-1: none), and what the original and the mutant did, for people.
    """
    steps = Steps()
    steps.ignore_entries()
    expected, budgets = [], []
    namespace = load(source, steps)
    for name, arguments in calls:
        expected.append(outcome(namespace, name, arguments, steps, MOST_STEPS))
        budgets.append(LEAST_STEPS + STEP_FACTOR * (MOST_STEPS - max(steps.left(), 0)))
    results = []
    for number, start, end, replacement in mutants:
        mutated = source[:start] + replacement + source[end:]
        results.append((number, *compare_one(mutated, calls, expected, budgets, steps)))
    return results


def load(source: str, steps: Steps) -> dict[str, Any]:
    """The namespace of a module."""
    steps.grant(MOST_STEPS)
    module = types.ModuleType("solution")
    exec(instrumented(source, FILENAME, 0), vars(module))
    return vars(module)


def outcome(namespace: dict[str, Any], name: str, arguments: bytes, steps: Steps, budget: int) -> Outcome:
    """What a call does."""
    args, kwargs = decode(arguments)
    random.seed(0)
    steps.grant(budget)
    try:
        answer = encode(namespace[name](*args, **kwargs))
        after = encode((args, kwargs))
    except StepBudgetExceeded:
        return TIMEOUT, None, None
    except BaseException as error:
        if steps.left() < 0:
            return TIMEOUT, None, None
        return EXCEPTION, type(error).__name__, shown(error)
    return VALUE, answer, after


def shown(value: object) -> str:
    """A value or an exception's message, cut."""
    try:
        return str(value)[:SHOWN]
    except Exception as error:
        return f"(its text raised {type(error).__name__})"


def compare_one(
    mutated: str,
    calls: Sequence[tuple[str, bytes]],
    expected: Sequence[Outcome],
    budgets: Sequence[int],
    steps: Steps,
) -> tuple[int, str | None, int, str, str]:
    """Compare one mutant in a process of its own."""

    def body(send: Send) -> None:
        for message in differences(mutated, calls, expected, budgets, steps):
            send(message)

    child = Child(body)
    tried, level, index, theirs, found = 0, None, -1, "", ""
    over = False
    for count, *rest in child.messages(WALL_S):
        tried = count
        if len(rest) == 1:
            over = True
        elif rest:
            level, index, theirs, found = rest
    status = child.end()
    child.close()
    if not over and level != VALUE:  # it ended in the middle of a call
        what = text(expected[tried]) if tried < len(expected) else ""
        return tried + 1, VALUE, tried, what, "too long" if child.silent else f"ended the process ({status})"
    return tried, level, index, theirs, found


def differences(
    mutated: str,
    calls: Sequence[tuple[str, bytes]],
    expected: Sequence[Outcome],
    budgets: Sequence[int],
    steps: Steps,
) -> Iterator[tuple[Any, ...]]:
    """After each call that matters: how many were made and, where it differs more than before, how."""
    worst = 0
    try:
        namespace = load(mutated, steps)
    except (*NOT_COMPILED, StepBudgetExceeded, Exception) as error:
        yield 0, VALUE, 0, "loads", f"does not load: {type(error).__name__}"
        yield 0, "over"
        return
    for index, ((name, arguments), original, budget) in enumerate(zip(calls, expected, budgets, strict=True)):
        if original[0] == TIMEOUT:
            continue
        yield (index,)
        limit_cpu(CPU_S)
        mine = outcome(namespace, name, arguments, steps, budget)
        limit_cpu(0)
        level, rank = difference(original, mine)
        if rank > worst:
            worst = rank
            yield index + 1, level, index, text(original), text(mine)
        if level == VALUE:
            break
    yield len(calls) if worst < RANKS[VALUE] else index + 1, "over"


RANKS: Final = {MESSAGE: 1, EXCEPTION: 2, VALUE: 3}


def difference(original: Outcome, mutant: Outcome) -> tuple[str | None, int]:
    """On which level two outcomes differ, and how much that counts."""
    if original == mutant:
        return None, 0
    level = VALUE
    if original[0] == mutant[0] == EXCEPTION:
        level = MESSAGE if original[1] == mutant[1] else EXCEPTION
    return level, RANKS[level]


def text(one: Outcome) -> str:
    """An outcome for people."""
    kind, what, more = one
    if kind == VALUE:
        return f"{decode(what)!r}"[:SHOWN]
    return kind if kind == TIMEOUT else f"{what}: {more}"

"""New inputs for a function: variations of known ones, or draws from a Hypothesis strategy."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from codegym.errors import ConfigError
from codegym.values import to_jsonable

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["draw_inputs", "input_key", "vary_inputs"]

ATTEMPTS: Final = 20
"""Variations that are tried for each one that is wanted: many are not new."""


def vary_inputs(known: Sequence[Any], count: int, seed: int = 0) -> list[Any]:
    """Variations of known inputs that keep their types: EvalPlus's type-aware mutation (2305.01210, 2.2).

    Numbers move, flip and jump to boundaries; sequences lose, repeat and swap elements, or vary one; the
    numbers in a text move. Variations are varied in turn.

    Args:
        known: Plain data: tuples of arguments, or texts for standard input.
        count: How many are wanted.
        seed: The same one gives the same inputs.

    Returns:
        Different inputs, none of them among the known; fewer than `count` where there are no more.

    Raises:
        ConfigError: There are no known inputs, or `count` is negative.
    """
    if not known or count < 0:
        raise ConfigError(f"varying inputs needs known ones, and a count, got {len(known)} and {count!r}")
    rng = random.Random(seed)
    pool, seen = list(known), {input_key(value) for value in known}
    found: list[Any] = []
    for _ in range(ATTEMPTS * count):
        if len(found) == count:
            break
        value = _vary(rng.choice(pool), rng)
        if (key := input_key(value)) not in seen:
            seen.add(key)
            pool.append(value)
            found.append(value)
    return found


def draw_inputs(strategy: SearchStrategy[Any], count: int, seed: int = 0) -> list[Any]:
    """Draws from a Hypothesis strategy, as its tests would get them: boundaries come up often.

    Args:
        strategy: Of tuples of arguments, or of texts for standard input.
        count: How many are wanted.
        seed: The same one gives the same inputs, for one version of Hypothesis.

    Returns:
        At most `count` different inputs.

    Raises:
        ConfigError: The package hypothesis is not installed.
    """
    try:
        import hypothesis
    except ImportError as error:
        raise ConfigError(
            "drawing inputs needs the package hypothesis: pip install 'codegym[curricula]'"
        ) from error
    drawn: dict[str, Any] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=2 * count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(value: Any) -> None:
        drawn.setdefault(input_key(value), value)

    collect()
    return list(drawn.values())[:count]


def input_key(value: Any) -> str:
    """A text that is the same for equal inputs of equal types, and only for these.

    Raises:
        DataError: The input is not plain data.
    """
    return json.dumps(to_jsonable(value))


# One step


def _vary(value: Any, rng: random.Random) -> Any:
    change = _CHANGES.get(type(value))
    return value if change is None else change(value, rng)


def _vary_int(value: int, rng: random.Random) -> int:
    longer = value * 10 + rng.randrange(10)
    return rng.choice([value + 1, value - 1, -value, 0, value * 2, value // 2, longer])


def _vary_float(value: float, rng: random.Random) -> float:
    if not math.isfinite(value):
        return rng.choice([-value, 0.0])
    return rng.choice([value + rng.uniform(-1, 1), -value, 0.0, value * 10, value / 10, float(round(value))])


def _vary_bool(value: bool, rng: random.Random) -> bool:
    return not value


_NUMBER: Final = re.compile(r"-?\d+")


def _vary_text(value: str, rng: random.Random) -> str:
    """Move a number where there is one, for the lines of standard input; else change characters."""
    numbers = list(_NUMBER.finditer(value))
    if numbers and rng.random() < 0.7:
        chosen = rng.choice(numbers)
        # more digits than Python reads stay as they are
        moved = str(_vary_int(int(chosen[0]), rng)) if len(chosen[0]) < 1000 else chosen[0]
        return value[: chosen.start()] + moved + value[chosen.end() :]
    return "".join(_vary_items(list(value), rng, lambda c: rng.choice(value)))


def _vary_items(items: list[Any], rng: random.Random, vary: Callable[[Any], Any] | None = None) -> list[Any]:
    """Lose, repeat, swap, reverse or vary elements; an empty list has no type to go by, and stays empty."""
    if not items:
        return []
    i, j = rng.randrange(len(items)), rng.randrange(len(items))
    changed = list(items)
    match rng.randrange(6):
        case 0:
            del changed[i]
        case 1:
            changed.insert(j, items[i])
        case 2:
            changed[i], changed[j] = changed[j], changed[i]
        case 3:
            changed.reverse()
        case 4 if rng.random() < 0.3:
            changed = []
        case _:
            changed[i] = vary(items[i]) if vary else _vary(items[i], rng)
    return changed


def _vary_tuple(value: tuple[Any, ...], rng: random.Random) -> tuple[Any, ...]:
    """As many elements as before: a tuple is a record, or the arguments of a call."""
    if not value:
        return value
    i = rng.randrange(len(value))
    return (*value[:i], _vary(value[i], rng), *value[i + 1 :])


def _vary_dict(value: dict[Any, Any], rng: random.Random) -> dict[Any, Any]:
    items = _vary_items(list(value.items()), rng)
    return dict(items)


def _vary_set(value: set[Any], rng: random.Random) -> set[Any]:
    # in a fixed order: that of a set differs between processes
    return set(_vary_items(sorted(value, key=repr), rng))


_CHANGES: Final[dict[type, Callable[[Any, random.Random], Any]]] = {
    bool: _vary_bool,
    int: _vary_int,
    float: _vary_float,
    str: _vary_text,
    list: _vary_items,
    tuple: _vary_tuple,
    dict: _vary_dict,
    set: _vary_set,
    frozenset: lambda value, rng: frozenset(_vary_set(set(value), rng)),
}

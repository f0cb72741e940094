"""Inputs for differential testing: from the calls that tests make, from type hints, from a declared domain.

No program is run to find them: all is read from source text.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from codegym.errors import ConfigError

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["calls_in", "from_strategy", "functions_of", "perturbed", "strategy_of"]

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
SHUFFLED: Final = 20
"""Variations of each call that tests make."""


def functions_of(source: str) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """The public functions at the top level of a module."""
    return {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_")
    }


def calls_in(tests: str, name: str) -> list[Arguments]:
    """The calls of a function in test code whose arguments are literals, each once."""
    found: dict[str, Arguments] = {}
    try:
        nodes = list(ast.walk(ast.parse(tests)))
    except (SyntaxError, ValueError, RecursionError):
        return []
    for node in nodes:
        if isinstance(node, ast.Call) and called_name(node.func) == name:
            try:
                args = tuple(ast.literal_eval(argument) for argument in node.args)
                kwargs = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords if k.arg}
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
            found[ast.dump(node)] = args, kwargs
    return list(found.values())


def called_name(node: ast.expr) -> str | None:
    """The last name of what is called."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def perturbed(calls: Sequence[Arguments], seed: int) -> Iterator[Arguments]:
    """Calls with one argument changed a little, of the same type; each call's first variation first."""
    rng = random.Random(seed)
    for _ in range(SHUFFLED):
        for args, kwargs in calls:
            position = rng.randrange(len(args) + len(kwargs)) if args or kwargs else -1
            if 0 <= position < len(args):
                changed = (*args[:position], vary(args[position], rng), *args[position + 1 :])
                yield changed, kwargs
            elif position >= 0:
                name = list(kwargs)[position - len(args)]
                yield args, {**kwargs, name: vary(kwargs[name], rng)}


def vary(value: Any, rng: random.Random) -> Any:
    """A value of the same type, not far away."""
    match value:
        case bool():
            return not value
        case int():
            return rng.choice([value + 1, value - 1, -value, 0, 2 * value, value + rng.randint(-10, 10)])
        case float():
            return rng.choice([value + 1, value - 1, -value, 0.0, value / 2, value + rng.uniform(-10, 10)])
        case str():
            return vary_text(value, rng)
        case list() | tuple():
            return type(value)(vary_sequence(list(value), rng))
        case set() | frozenset():
            return type(value)(vary_sequence(sorted(value, key=repr), rng))
        case dict():
            return dict(vary_sequence(list(value.items()), rng, pairs=True))
    return value


def vary_text(value: str, rng: random.Random) -> str:
    """A text with a part left out, doubled, moved or changed."""
    at = rng.randint(0, len(value))
    letters = value or "a"
    return rng.choice(
        [
            value[:at] + value[at + 1 :],
            value[:at] + rng.choice(letters + " aZ0") + value[at:],
            value[::-1],
            value + value,
            value.swapcase(),
            "",
        ]
    )


def vary_sequence(value: list[Any], rng: random.Random, *, pairs: bool = False) -> list[Any]:
    """A list with an element left out, doubled or changed, or in another order."""
    if not value:
        return value
    at = rng.randrange(len(value))
    one = (value[at][0], vary(value[at][1], rng)) if pairs else vary(value[at], rng)
    choices = [
        value[:at] + value[at + 1 :],
        [*value[:at], one, *value[at + 1 :]],
        value[::-1],
        rng.sample(value, len(value)),
        [],
    ]
    if not pairs:
        choices.append([*value, value[at]])
    return rng.choice(choices)


# Hypothesis -------------------------------------------------------------------------------------------------


def hypothesis() -> Any:
    """The library, which not everybody needs.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        import hypothesis as library
        import hypothesis.strategies
    except ImportError:
        raise ConfigError(
            "inputs from type hints and domains need hypothesis: pip install 'codegym[testquality]'"
        ) from None
    return library


def strategy_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> SearchStrategy[Any] | None:
    """A strategy for the positional arguments of a function, by its type hints; None where one is missing, or
    is not a type of plain data.
    """
    strategies = [
        strategy_for(argument.annotation) for argument in [*function.args.posonlyargs, *function.args.args]
    ]
    if any(strategy is None for strategy in strategies):
        return None
    return hypothesis().strategies.tuples(*strategies)  # type: ignore[no-any-return]


def strategy_for(hint: ast.expr | None) -> Any:
    """A strategy for one type hint, or None."""
    st = hypothesis().strategies
    match hint:
        case ast.Constant(value=None):
            return st.none()
        case ast.Constant(value=str() as text):
            return strategy_for(ast.parse(text, mode="eval").body)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return one_of([left, right])
        case ast.Subscript(value=value, slice=inner):
            parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
            return generic(called_name(value), parts)
        case ast.Name() | ast.Attribute():
            return simple(called_name(hint))
    return None


def simple(name: str | None) -> Any:
    """A strategy for a type without parameters, or None."""
    st = hypothesis().strategies
    scalars = {
        "int": st.one_of(st.integers(-10, 10), st.integers(-(2**31), 2**31)),
        "float": st.one_of(st.floats(-100, 100), st.floats(allow_nan=False)),
        "bool": st.booleans(),
        "str": st.one_of(st.text("abcAB 01,.-()[]{}", max_size=12), st.text(max_size=20)),
        "bytes": st.binary(max_size=20),
        "Any": st.one_of(st.none(), st.booleans(), st.integers(-10, 10), st.text(max_size=5)),
    }
    if name in scalars:
        return scalars[name]
    return generic(name, [ast.Name("int")]) if name in SEQUENCES or name in ("set", "Set") else None


SEQUENCES: Final = frozenset({"list", "List", "Sequence", "Iterable", "Collection", "MutableSequence"})


def generic(name: str | None, parts: Sequence[ast.expr]) -> Any:
    """A strategy for a type with parameters, or None."""
    st = hypothesis().strategies
    if name == "Optional":
        return one_of([ast.Constant(None), *parts])
    if name == "Union":
        return one_of(parts)
    if name in ("tuple", "Tuple") and len(parts) == 2 and isinstance(parts[1], ast.Constant):
        first = strategy_for(parts[0])
        return None if first is None else st.lists(first, max_size=8).map(tuple)
    inner = [strategy_for(part) for part in parts]
    if any(strategy is None for strategy in inner):
        return None
    if name in SEQUENCES:
        return st.lists(inner[0], max_size=8)
    if name in ("set", "Set", "frozenset", "FrozenSet"):
        return (
            st.sets(inner[0], max_size=8) if name in ("set", "Set") else st.frozensets(inner[0], max_size=8)
        )
    if name in ("dict", "Dict", "Mapping") and len(inner) == 2:
        return st.dictionaries(*inner, max_size=6)
    return st.tuples(*inner) if name in ("tuple", "Tuple") else None


def one_of(hints: Iterable[ast.expr]) -> Any:
    """A strategy for any of several hints, or None."""
    strategies = [strategy_for(hint) for hint in hints]
    if any(strategy is None for strategy in strategies):
        return None
    return hypothesis().strategies.one_of(*strategies)


def from_strategy(strategy: SearchStrategy[Any], count: int, seed: int) -> list[Arguments]:
    """Arguments that a strategy makes: the same for the same seed.

    Args:
        strategy: Makes tuples of positional arguments, or mappings of named ones.
        count: How many at most.
        seed: Decides which.
    """
    library = hypothesis()
    made: list[Arguments] = []

    def collect(value: Any) -> None:
        made.append(((), dict(value)) if isinstance(value, Mapping) else (tuple(value), {}))

    settings = library.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[library.Phase.generate],
        suppress_health_check=list(library.HealthCheck),
    )
    library.seed(seed)(settings(library.given(strategy)(collect)))()
    return made

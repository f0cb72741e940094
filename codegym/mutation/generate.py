"""From a source text to its mutants, and to the controls that are put among them."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from codegym.errors import ConfigError
from codegym.mutation.mutant import Control, Mutant
from codegym.mutation.operators import Edit, Operator, whole
from codegym.mutation.signature import signature
from codegym.mutation.source import Place, Source

__all__ = ["GROUPS", "Generated", "generate", "must_die", "shams"]

GROUPS: Final = ("defaults", "stronger", "all")
"""``stronger`` has the defaults too, and ``all`` whatever plugins have registered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Generated:
    """Mutants, and what was not worth being one.

    Attributes:
        mutants: In the order of the text.
        invalid: Those that do not compile.
        equivalent: Those that compile to the code of the original.
        duplicates: Those that compile to the code of another mutant.
        unmutated: The lines with statements in functions that have no mutant.
    """

    mutants: tuple[Mutant, ...]
    invalid: tuple[Mutant, ...] = ()
    equivalent: tuple[Mutant, ...] = ()
    duplicates: tuple[Mutant, ...] = ()
    unmutated: tuple[int, ...] = ()

    def __iter__(self) -> Iterator[Mutant]:
        """The mutants."""
        return iter(self.mutants)

    def __len__(self) -> int:
        """How many mutants there are."""
        return len(self.mutants)


def generate(
    source: str,
    *,
    operators: str | Sequence[str] = "defaults",
    lines: Collection[int] | None = None,
    seed: int = 0,
    limit: int | None = None,
) -> Generated:
    """Make all mutants of a source, or a fair sample of them.

    Args:
        source: The text of a module.
        operators: Names of operators and groups; a name with ``-`` in front takes one out again.
        lines: Only mutants of these lines. None: all.
        seed: Of the sample.
        limit: How many, at most: of each operator alike, spread by the seed. None: all.

    Raises:
        ConfigError: The source does not parse, or there is no such group.
        NotFoundError: There is no such operator.
    """
    parsed = Source(source)
    made = sorted(_all(parsed, _resolve(operators), lines), key=lambda mutant: (mutant.start, mutant.id))
    kept: dict[Any, Mutant] = {}
    invalid, equivalent, duplicates = [], [], []
    original = _signature(source)
    for mutant in made:
        found = _signature(mutant.apply(source))
        if found is None:
            invalid.append(mutant)
        elif found == original:
            equivalent.append(mutant)
        elif kept.setdefault(found, mutant) is not mutant:
            duplicates.append(mutant)
    mutants = list(kept.values())
    return Generated(
        mutants=tuple(mutants if limit is None else _sample(mutants, seed, limit)),
        invalid=tuple(invalid),
        equivalent=tuple(equivalent),
        duplicates=tuple(duplicates),
        unmutated=_unmutated(parsed, mutants),
    )


def _resolve(operators: str | Sequence[str]) -> dict[str, Operator]:
    """The operators that names and groups mean."""
    from codegym.plugins import registry

    entries = list(registry().entries("operator"))
    chosen: dict[str, Operator] = {}
    for word in [operators] if isinstance(operators, str) else operators:
        name = word.removeprefix("-")
        if name in GROUPS:
            found = {entry.name: entry.load()() for entry in entries}
            wanted = {"defaults": ("defaults",), "stronger": ("defaults", "stronger")}.get(name)
            named = {key: one for key, one in found.items() if wanted is None or one.group in wanted}
        else:
            named = {name: registry().resolve("operator", name)()}
        if word == name:
            chosen |= named
        else:
            chosen = {key: one for key, one in chosen.items() if key not in named}
    if not chosen:
        raise ConfigError(f"no operator is left of {operators!r}")
    return chosen


def _all(source: Source, operators: dict[str, Operator], lines: Collection[int] | None) -> Iterator[Mutant]:
    counts: defaultdict[str, int] = defaultdict(int)
    for place in source.places():
        for name, operator in operators.items():
            for edit in operator.edits(place, source):
                mutant = _mutant(source, place, name, operator.group, edit, counts)
                if lines is None or any(line in lines for line in range(mutant.line, mutant.end_line + 1)):
                    yield mutant


def _mutant(
    source: Source,
    place: Place,
    name: str,
    group: str,
    edit: Edit,
    counts: defaultdict[str, int],
    control: Control = "real",
) -> Mutant:
    before = source.text[: edit.start]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)
    key = f"{name}:{line}:{column}"
    counts[key] += 1
    old = source.text[edit.start : edit.end]
    return Mutant(
        id=f"{key}:{counts[key]}",
        operator=name,
        group=group,
        start=edit.start,
        end=edit.end,
        replacement=edit.replacement,
        line=line,
        end_line=line + old.count("\n"),
        function=place.function,
        at_import=place.at_import,
        control=control,
        description=f"{' '.join(old.split())} → {' '.join(edit.replacement.split()) or 'nothing'}",
    )


def _signature(text: str) -> Any:
    """What a text compiles to; None where it does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return signature(compile(text, "<mutant>", "exec", dont_inherit=True))
        except (SyntaxError, ValueError, OverflowError, RecursionError):
            return None


def _sample(mutants: Sequence[Mutant], seed: int, limit: int) -> list[Mutant]:
    """So many mutants, of each operator alike, in the order of the text."""

    def rank(mutant: Mutant) -> bytes:
        return hashlib.blake2b(f"{seed}\0{mutant.id}".encode(), digest_size=8).digest()

    turns: defaultdict[str, int] = defaultdict(int)
    ordered: list[tuple[int, bytes, Mutant]] = []
    for mutant in sorted(mutants, key=rank):
        ordered.append((turns[mutant.operator], rank(mutant), mutant))
        turns[mutant.operator] += 1
    chosen = {mutant.id for _, _, mutant in sorted(ordered, key=lambda item: item[:2])[:limit]}
    return [mutant for mutant in mutants if mutant.id in chosen]


def _unmutated(source: Source, mutants: Iterable[Mutant]) -> tuple[int, ...]:
    """The lines on which a statement of a function begins that no mutant touches."""
    touched = {line for mutant in mutants for line in range(mutant.line, mutant.end_line + 1)}
    inside = (place.node for place in source.places() if not place.at_import)
    begun = {node.lineno for node in inside if isinstance(node, ast.stmt)}
    return tuple(sorted(begun - touched))


# Controls


def shams(source: str, *, seed: int = 0, count: int = 12) -> list[Mutant]:
    """Mutants that behave like the original and compile to other code.

    Tests that kill them look at the code instead of at what it does. A comparison of two names is turned
    around; what is returned or assigned goes through one more store.

    Args:
        source: The text of a module.
        seed: Which ones, where there are more.
        count: How many, at most.
    """
    parsed = Source(source)
    counts: defaultdict[str, int] = defaultdict(int)
    original = _signature(source)
    made = [
        _mutant(parsed, place, "sham", "controls", edit, counts, "sham")
        for place in parsed.places()
        if not place.at_import
        for edit in _sham(place, parsed)
    ]
    good = [one for one in made if _signature(one.apply(source)) not in (None, original)]
    return _sample(good, seed, count)


TURNED: Final[dict[type[ast.cmpop], str]] = {ast.Lt: ">", ast.Gt: "<", ast.LtE: ">=", ast.GtE: "<="}


def _sham(place: Place, source: Source) -> Iterator[Edit]:
    match place.node:
        case ast.Compare(left=ast.Name() as left, ops=[op], comparators=[right]):
            if type(op) in TURNED and isinstance(right, (ast.Name, ast.Constant)):
                yield whole(source, place.node, f"{source.of(right)} {TURNED[type(op)]} {source.of(left)}")
        case ast.Return(value=ast.expr() as value):
            yield whole(source, place.node, f"_value = {grouped_text(source, value)}; return _value")
        case ast.Assign(targets=[ast.Name(id=name)]):
            yield whole(source, place.node, f"{source.of(place.node)}; {name} = {name}")


def grouped_text(source: Source, value: ast.expr) -> str:
    """The text of an expression that stands by itself."""
    text = source.of(value)
    return f"({text})" if "\n" in text or isinstance(value, (ast.Yield, ast.YieldFrom, ast.Tuple)) else text


def must_die(source: str) -> list[Mutant]:
    """For each function a mutant that fails as soon as it is called.

    A test that runs the function and passes all the same proves that mutants are not in force.
    """
    parsed = Source(source)
    counts: defaultdict[str, int] = defaultdict(int)
    made = []
    for place in parsed.places():
        if isinstance(place.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = next((one for one in place.node.body if not is_docstring(one)), None)
            edit = None if first is None else _fatal(first, parsed)
            if edit is not None:
                inside = Place(place.node, place.parent, place.node.name, False)
                made.append(_mutant(parsed, inside, "must_die", "controls", edit, counts, "must_die"))
    return [one for one in made if _signature(one.apply(source)) is not None]


def is_docstring(node: ast.stmt) -> bool:
    """Whether a statement is a text by itself."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _fatal(first: ast.stmt, source: Source) -> Edit | None:
    """A change that makes a statement fail; None where there is no simple one."""
    match first:
        case ast.If(test=value) | ast.While(test=value) | ast.For(iter=value):
            return whole(source, value, "(1 / 0)")
        case ast.With(items=[item, *_]):
            return whole(source, item.context_expr, "(1 / 0)")
        case ast.Try() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Match():
            return None
        case ast.AsyncFor() | ast.AsyncWith() | ast.Global() | ast.Nonlocal():
            return None
    start, _ = source.span(first)
    return Edit(start, start, "1 / 0; ")

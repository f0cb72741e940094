"""The mutation operators that come with codegym.

An operator looks at one node of the syntax tree and says by what parts of its text could be replaced. Its
``examples`` are its documentation, and the suite's tests.
"""

from __future__ import annotations

import abc
import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from codegym.mutation.source import Place, Source

__all__ = [
    "Arithmetic",
    "Boundary",
    "BreakContinue",
    "Conditional",
    "Constant",
    "Edit",
    "Logical",
    "MethodPair",
    "Negation",
    "Operator",
    "Relational",
    "ReturnNone",
    "SliceBound",
    "StatementDeletion",
    "Text",
]


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement in a source."""

    start: int
    end: int
    replacement: str


class Operator(abc.ABC):
    """One way to change code.

    Set in a subclass: `group`, `examples`. Implement: `edits`.

    Attributes:
        group: ``defaults`` or ``stronger``: what a user gets by those names.
        examples: Source texts, and all that the operator makes of them, in order.
    """

    group: ClassVar[str] = "defaults"
    examples: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]] = ()

    @abc.abstractmethod
    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """The changes that this operator makes to a node itself, and not to what is below it."""


def whole(source: Source, node: ast.AST, replacement: str) -> Edit:
    """Replace a node."""
    start, end = source.span(node)
    return Edit(start, end, replacement)


ARITHMETIC: Final[dict[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "/"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}


class Arithmetic(Operator):
    """Another arithmetic operator (AOR), also in augmented assignments."""

    examples = (
        ("x = a + b", ("x = a - b",)),
        ("x //= (2)", ("x /= (2)",)),
        ("x = (a)*(# b * c\n b)", ("x = (a)/(# b * c\n b)",)),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Swap the operator."""
        match place.node:
            case ast.BinOp(left=left, op=op, right=right) if not is_format(left, op):
                suffix = ""
            case ast.AugAssign(target=left, op=op, value=right):
                suffix = "="
            case _:
                return
        old, new = ARITHMETIC.get(type(op), ("", ""))
        if old and (found := source.between(left, right, escaped(old + suffix))):
            yield Edit(*found, new + suffix)


def is_format(left: ast.expr, op: ast.operator) -> bool:
    """Whether it is text that is formatted by ``%``."""
    return isinstance(op, ast.Mod) and isinstance(left, ast.Constant) and isinstance(left.value, (str, bytes))


def escaped(symbol: str) -> str:
    """A pattern for an operator, which does not match a longer one."""
    return re.escape(symbol) if not symbol.isalpha() else rf"\b{symbol}\b"


NEGATED: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
}
BOUNDARY: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}


def comparisons(
    node: ast.AST, source: Source, table: dict[type[ast.cmpop], tuple[str, str]]
) -> Iterator[Edit]:
    """Replace each comparison of a chain by what the table says."""
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands[:-1], node.ops, operands[1:], strict=True):
            pattern, new = table.get(type(op), ("", ""))
            if pattern and (found := source.between(left, right, pattern)):
                yield Edit(*found, new)


class Relational(Operator):
    """The opposite comparison (ROR)."""

    examples = (
        ("x = a < b <= c", ("x = a >= b <= c", "x = a < b > c")),
        ("x = a is  not None", ("x = a is None",)),
        ("x = a in b", ("x = a not in b",)),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Negate each comparison of a chain."""
        yield from comparisons(place.node, source, NEGATED)


class Boundary(Operator):
    """A comparison that includes its boundary, or does not (CBO)."""

    examples = (("x = a < b >= c", ("x = a <= b >= c", "x = a < b > c")), ("x = a == b", ()))

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Move the boundary."""
        yield from comparisons(place.node, source, BOUNDARY)


class Logical(Operator):
    """``and`` for ``or``, and one operand alone (LCR)."""

    examples = (
        ("x = a and b", ("x = a or b", "x = a", "x = b")),
        ("x = a or(b)", ("x = a and(b)", "x = a", "x = b")),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Swap the operator, or leave one of two operands out."""
        if not isinstance(place.node, ast.BoolOp):
            return
        old, new = ("and", "or") if isinstance(place.node.op, ast.And) else ("or", "and")
        values = place.node.values
        for left, right in itertools.pairwise(values):
            if found := source.between(left, right, escaped(old)):
                yield Edit(*found, new)
        if len(values) == 2:
            for value in values:
                yield whole(source, place.node, grouped(source.of(value), value))


def grouped(text: str, node: ast.expr) -> str:
    """An expression's text, in brackets where something else might take it apart, or lines end in it."""
    simple = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Dict, ast.Set)
    return text if isinstance(node, simple) and "\n" not in text else f"({text})"


class Negation(Operator):
    """``not`` and unary minus dropped (UOD)."""

    examples = (("x = not a", ("x = a",)), ("x = -(a + b)", ("x = (a + b)",)))

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Drop the operator."""
        if isinstance(place.node, ast.UnaryOp) and isinstance(place.node.op, (ast.Not, ast.USub)):
            operand = place.node.operand
            if not isinstance(operand, ast.Constant) or isinstance(place.node.op, ast.Not):
                yield whole(source, place.node, grouped(source.of(operand), operand))


class Conditional(Operator):
    """A condition that is always true, or never (PIT: REMOVE_CONDITIONALS)."""

    examples = (
        ("if a:\n    b()", ("if True:\n    b()", "if False:\n    b()")),
        ("while a: b()", ("while False: b()",)),
        ("x = a if b else c", ("x = a if True else c", "x = a if False else c")),
        ("x = [i for i in a if i]", ("x = [i for i in a if True]", "x = [i for i in a if False]")),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Replace the condition; a loop is only left out, for it would not end."""
        match place.parent:
            case ast.If(test=test) | ast.IfExp(test=test) if test is place.node:
                values: tuple[str, ...] = ("True", "False")
            case ast.While(test=test) if test is place.node:
                values = ("False",)
            case ast.comprehension(ifs=tests) if any(test is place.node for test in tests):
                values = ("True", "False")
            case _:
                return
        text = source.of(place.node)
        for value in values:
            if text != value:
                yield whole(source, place.node, value)


class Constant(Operator):
    """Other numbers and truth values (CRP)."""

    examples = (
        ("x = 3", ("x = 4", "x = 2")),
        ("x = 0.5", ("x = 1.5",)),
        ("x = True", ("x = False",)),
        ("x = 'a'", ()),
        ("def f(n: 3 = 1): pass", ("def f(n: 3 = 2): pass", "def f(n: 3 = 0): pass")),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """A little more, a little less, the opposite."""
        if not isinstance(place.node, ast.Constant):
            return
        value = place.node.value
        if value is True or value is False:
            yield whole(source, place.node, str(not value))
        elif type(value) is int:
            yield whole(source, place.node, str(value + 1))
            yield whole(source, place.node, str(value - 1) if value else "(-1)")
        elif type(value) is float:
            yield whole(source, place.node, repr(value + 1.0))


class Text(Operator):
    """Other text: marked, or none (but for what is only a message of an exception)."""

    group = "stronger"
    examples = (
        ("x = 'a'", ("x = 'XXaXX'", "x = ''")),
        ("raise E('a')", ()),
        ("x = ''", ("x = 'XXXX'",)),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Mark it, and empty it."""
        value = getattr(place.node, "value", None)
        if not isinstance(place.node, ast.Constant) or type(value) is not str or is_message(place.parent):
            return
        yield whole(source, place.node, repr(f"XX{value}XX"))
        if value:
            yield whole(source, place.node, "''")


def is_message(parent: ast.AST) -> bool:
    """Whether a text is given to something that is called like an exception."""
    match parent:
        case ast.Call(func=ast.Name(id=name)):
            return name.endswith(("Error", "Exception", "Warning")) or name in ("E", "Exception")
    return False


class ReturnNone(Operator):
    """``None`` in place of what is returned (PIT: RETURNS)."""

    examples = (
        ("def f():\n    return a + b", ("def f():\n    return None",)),
        ("def f():\n    return", ()),
        ("def f():\n    return None", ()),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Return nothing."""
        if isinstance(place.parent, ast.Return) and source.of(place.node) != "None":
            yield whole(source, place.node, "None")


class BreakContinue(Operator):
    """``break`` for ``continue``, and the other way round."""

    examples = (
        ("for i in a: break", ("for i in a: continue",)),
        ("for i in a: continue", ("for i in a: break",)),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Swap them."""
        if isinstance(place.node, ast.Break):
            yield whole(source, place.node, "continue")
        elif isinstance(place.node, ast.Continue):
            yield whole(source, place.node, "break")


class StatementDeletion(Operator):
    """A statement left out (SDL)."""

    group = "stronger"
    examples = (
        (
            "def f():\n    a.b()\n    x += 1",
            ("def f():\n    pass\n    x += 1", "def f():\n    a.b()\n    pass"),
        ),
        ("raise E", ("pass",)),
        ("x = 1", ()),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Leave out calls, augmented assignments, deletions, raises, and stores into objects."""
        node = place.node
        stores = isinstance(node, ast.Assign) and all(
            isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets
        )
        if stores or isinstance(node, (ast.Expr, ast.AugAssign, ast.Delete, ast.Raise)):
            yield whole(source, node, "pass")


class SliceBound(Operator):
    """A bound of a slice left out, and an index moved by one."""

    group = "stronger"
    examples = (
        ("x = a[1:n]", ("x = a[:n]", "x = a[1:]")),
        ("x = a[i]", ("x = a[i + 1]", "x = a[i - 1]")),
        ("x = a['k']", ()),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Drop the bound, or move the index."""
        if not isinstance(place.node, ast.Subscript) or not isinstance(place.node.ctx, ast.Load):
            return
        index = place.node.slice
        if isinstance(index, ast.Slice):
            for bound in filter(None, (index.lower, index.upper)):
                yield whole(source, bound, "")
        elif isinstance(index, (ast.Name, ast.BinOp)):
            for change in ("+ 1", "- 1"):
                yield whole(source, index, f"{source.of(index)} {change}")


PAIRS: Final = (
    *(("lower", "upper"), ("lstrip", "rstrip"), ("find", "rfind"), ("index", "rindex"), ("ljust", "rjust")),
    *(
        ("removeprefix", "removesuffix"),
        ("partition", "rpartition"),
        ("split", "rsplit"),
        ("startswith", "endswith"),
    ),
    *(("append", "extend"), ("any", "all"), ("min", "max"), ("union", "intersection"), ("keys", "values")),
)
OTHER: Final = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}


class MethodPair(Operator):
    """The opposite of a method or built-in function: ``lower`` and ``upper``, ``min`` and ``max``."""

    examples = (
        ("x = a.lower()", ("x = a.upper()",)),
        ("x = min(a, b)", ("x = max(a, b)",)),
        ("x = a.min", ()),
    )

    def edits(self, place: Place, source: Source) -> Iterator[Edit]:
        """Call the other one."""
        if not isinstance(place.node, ast.Call):
            return
        match place.node.func:
            case ast.Attribute(attr=name) as called if name in OTHER:
                end = source.span(called)[1]
            case ast.Name(id=name) as called if name in OTHER:
                end = source.span(called)[1]
            case _:
                return
        yield Edit(end - len(name), end, OTHER[name])

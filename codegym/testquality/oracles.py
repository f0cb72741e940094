"""What an oracle asks of an answer: whether any answer will do, and how much it says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final

from codegym.testquality.reading import Oracle, called, last_name

__all__ = [
    "compares_itself",
    "is_always_true",
    "is_constant",
    "is_weak",
    "strength",
    "truth_of",
    "truths",
]

WEAK_CALLS: Final = frozenset({"isinstance", "hasattr", "callable", "bool", "type", "issubclass"})
EQUALS: Final = frozenset(
    {"assertEqual", "assertEquals", "assertIs", "assertListEqual", "assertDictEqual", "assertTupleEqual"}
    | {
        "assertSetEqual",
        "assertCountEqual",
        "assertSequenceEqual",
        "assertMultiLineEqual",
        "assertAlmostEqual",
    }
    | {"assert_equal", "assert_array_equal", "assert_allclose", "assert_frame_equal", "assertIsNone"}
    | {"assertFalse", "assertRegex"}
)

WEAK_UNITTEST: Final = frozenset({"assertTrue", "assertIsNotNone", "assertIsInstance", "assertNotIsInstance"})


def truths(oracle: Oracle) -> Iterator[ast.expr]:
    """The expressions of an oracle that have to be true."""
    if oracle.kind == "assert" or last_name(oracle.node) == "assertTrue":
        yield from oracle.values[:1]


def is_constant(node: ast.expr) -> bool:
    """Whether an expression has one value always, which needs no program to know."""
    return all(isinstance(inner, CONSTANT) for inner in ast.walk(node))


CONSTANT: Final = (
    ast.Constant, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.operator, ast.unaryop, ast.boolop,
    ast.cmpop, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.expr_context,
)  # fmt: skip


def truth_of(node: ast.expr) -> bool:
    """The truth of a constant expression; True where it cannot be told."""
    try:
        return bool(eval(compile(ast.Expression(node), "<constant>", "eval"), {"__builtins__": {}}))
    except Exception:
        return True


def is_always_true(node: ast.expr) -> bool:
    """Whether no answer makes an expression false."""
    match node:
        case ast.Tuple(elts=[_, *_]) | ast.List(elts=[_, *_]) | ast.Dict(keys=[_, *_]):
            return True
        case ast.Lambda() | ast.GeneratorExp() | ast.JoinedStr():
            return True
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(is_constant(value) and safe(value) and truth_of(value) for value in values)
        case ast.Compare(left=ast.Call() as call, ops=[op], comparators=[ast.Constant(value=bound)]):
            if called(call) in ("len", "abs"):
                return (isinstance(op, ast.GtE) and bound == 0) or (isinstance(op, ast.Gt) and _minus(bound))
            return False
        case ast.Compare(left=ast.Call() as call, ops=[ast.Gt()], comparators=[ast.UnaryOp(op=ast.USub())]):
            return called(call) in ("len", "abs")
        case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.List(elts=elts) | ast.Tuple(elts=elts)]):
            constants = [element.value for element in elts if isinstance(element, ast.Constant)]
            both = any(v is True for v in constants) and any(v is False for v in constants)
            return both or any(ast.dump(left) == ast.dump(element) for element in elts)
    return is_constant(node) and safe(node) and truth_of(node)


def _minus(bound: Any) -> bool:
    return isinstance(bound, (int, float)) and bound < 0


def safe(node: ast.expr) -> bool:
    """Whether a constant expression is small enough to be worked out."""
    powers = any(isinstance(inner, (ast.Pow, ast.LShift, ast.Mult)) for inner in ast.walk(node))
    return not powers and sum(1 for _ in ast.walk(node)) < 50


def compares_itself(oracle: Oracle) -> bool:
    """Whether both sides are the same code, and no constant."""
    match oracle.values:
        case (
            ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]),
            *_,
        ):
            return not is_constant(left) and ast.dump(left) == ast.dump(right)
        case (left, right, *_) if oracle.kind == "unittest" and last_name(oracle.node) in EQUALS:
            return not is_constant(left) and ast.dump(left) == ast.dump(right)
    return False


def is_weak(oracle: Oracle) -> bool:
    """Whether nearly any answer will do."""
    if oracle.kind == "unittest":
        name = last_name(oracle.node)
        if name == "assertTrue" and oracle.values:
            return is_weak_expression(oracle.values[0])
        return name in WEAK_UNITTEST
    return oracle.kind == "assert" and is_weak_expression(oracle.values[0])


def is_weak_expression(node: ast.expr) -> bool:
    """Whether an expression is true of nearly any answer."""
    match node:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return True
        case ast.Call():
            return last_name(node) in WEAK_CALLS
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
        case ast.Compare(left=ast.Call() as call, ops=[ast.Is() | ast.Eq()], comparators=[_]):
            return last_name(call) == "type"
        case ast.Compare(left=ast.Call() as call, ops=[ast.Gt()], comparators=[ast.Constant(value=0)]):
            return last_name(call) == "len"
    return False


# How much an assertion says


def strength(oracle: Oracle) -> float:
    """What one oracle is worth, from 0 to 1.

    0 for what holds of any answer; .25 for types, truth and exceptions; .6 for membership and order; 1 for
    equality with a value; of mocks .4 for having been called and .8 for what with.
    """
    if oracle.kind == "raises":
        return 0.25
    if oracle.kind == "fail":
        return 0.25
    if oracle.kind == "mock":
        return 0.8 if "_with" in last_name(oracle.node) or "calls" in last_name(oracle.node) else 0.4
    if compares_itself(oracle) or any(is_always_true(value) for value in truths(oracle)):
        return 0.0
    if oracle.kind == "unittest":
        return strength_of_method(oracle)
    return strength_of(oracle.values[0])


def strength_of_method(oracle: Oracle) -> float:
    """Of one of unittest's assertions, or numpy's."""
    name = last_name(oracle.node)
    if name == "assertTrue" and oracle.values:
        return strength_of(oracle.values[0])
    if name in EQUALS:
        return 1.0
    if name == "assertIsNotNone":
        return 0.0
    return 0.25 if name in WEAK_UNITTEST else 0.6


def strength_of(node: ast.expr) -> float:
    """Of an expression that has to be true."""
    match node:
        case ast.Compare(ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return 0.0
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            if any(
                isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n).endswith("ANY")
                for n in (left, right)
            ):
                return 0.25
            return 0.25 if last_name(left) == "type" else 1.0
        case ast.Compare():
            return 0.6
        case ast.BoolOp(values=values):
            return (
                max(map(strength_of, values))
                if isinstance(node.op, ast.And)
                else min(map(strength_of, values))
            )
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return 1.0 if isinstance(operand, (ast.Call, ast.Name)) else strength_of(operand)
        case ast.Call():
            return (
                0.25 if last_name(node) in WEAK_CALLS else 0.6 if last_name(node) in ("all", "any") else 0.25
            )
    return 0.25

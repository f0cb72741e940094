"""Detectors of what is weak or wrong about a test, each a function of one test. They only read code."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from codegym.testquality.oracles import (
    compares_itself,
    is_always_true,
    is_constant,
    is_weak,
    truth_of,
    truths,
)
from codegym.testquality.reading import (
    MOCK_ASSERTS,
    RAISES,
    Oracle,
    TestModule,
    Unit,
    called,
    last_name,
    walk,
)

__all__ = ["DETECTORS", "GATES"]

Detector = Callable[[Unit, TestModule], bool]
BROAD: Final = frozenset({"Exception", "BaseException"})
SWALLOWING: Final = BROAD | {"AssertionError"}
PEEKING: Final = frozenset(
    {"getsource", "getsourcelines", "getsourcefile", "_getframe", "settrace", "setprofile", "reload"}
    | {"get_objects", "get_referrers", "get_referents", "currentframe", "stack", "dis", "disassemble"}
)
RANDOM: Final = frozenset(
    {
        "time.time",
        "time.sleep",
        "time.time_ns",
        "uuid.uuid4",
        "uuid4",
        "datetime.now",
        "datetime.datetime.now",
    }
    | {
        "datetime.utcnow",
        "datetime.datetime.utcnow",
        "os.urandom",
        "urandom",
        "date.today",
        "datetime.date.today",
    }
)
MOCK_METHODS: Final = frozenset(
    {
        "called_with",
        "called_once_with",
        "called_once",
        "has_calls",
        "not_called",
        "assert_called_one",
        "any_call",
    }
)
CLONE: Final = 0.6
"""The share of common pieces of code from which on a helper is a copy."""
GRAM: Final = 5


# Oracles


def no_oracle(unit: Unit, module: TestModule) -> bool:
    """Nothing in it can fail because an answer is wrong."""
    return not unit.oracles


def always_true(unit: Unit, module: TestModule) -> bool:
    """An assertion that no answer can fail."""
    return any(is_always_true(value) for oracle in unit.own for value in truths(oracle))


def self_compare(unit: Unit, module: TestModule) -> bool:
    """An assertion that compares something with itself."""
    return any(compares_itself(oracle) for oracle in unit.own)


def weak_only(unit: Unit, module: TestModule) -> bool:
    """All of its oracles are truthiness, types or ``is not None``."""
    return bool(unit.oracles) and all(is_weak(oracle) for oracle in unit.oracles)


def broad_raises(unit: Unit, module: TestModule) -> bool:
    """It expects any exception whatever."""
    return any(
        oracle.kind == "raises"
        and isinstance(oracle.node, ast.Call)
        and any(isinstance(arg, ast.Name) and arg.id in BROAD for arg in oracle.node.args[:1])
        and not any(keyword.arg == "match" for keyword in oracle.node.keywords)
        for oracle in unit.own
    )


def raises_multi(unit: Unit, module: TestModule) -> bool:
    """More than one statement may raise what is expected."""
    return any(len(block.body) > 1 for block in raises_blocks(unit.body))


def assert_in_raises(unit: Unit, module: TestModule) -> bool:
    """An assertion where an exception is expected: it may be that exception, or never run."""
    return any(
        isinstance(node, ast.Assert) for block in raises_blocks(unit.body) for node in walk(block.body)
    )


def swallowed_oracle(unit: Unit, module: TestModule) -> bool:
    """An assertion whose failure is caught."""
    return any(
        any(isinstance(inner, ast.Assert) for inner in walk(node.body))
        and any(swallows(handler) for handler in node.handlers)
        for node in walk(unit.body)
        if isinstance(node, ast.Try)
    )


def discarded_compare(unit: Unit, module: TestModule) -> bool:
    """A comparison that nobody looks at."""
    return any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare) for node in walk(unit.body))


def dead_oracle(unit: Unit, module: TestModule) -> bool:
    """An assertion that never runs."""
    return any(
        isinstance(node, ast.Assert) for block in blocks(unit.body) for node in walk(dead_part(block))
    ) or any(
        isinstance(node, (ast.If, ast.While))
        and is_constant(node.test)
        and not truth_of(node.test)
        and any(isinstance(inner, ast.Assert) for inner in walk(node.body))
        for node in walk(unit.body)
    )


def conditional_oracle(unit: Unit, module: TestModule) -> bool:
    """All of its oracles may be left out, on some path."""
    if not unit.own or len(unit.own) < len(unit.oracles):
        return False
    sure = {id(node) for node in unconditional(unit.body)}
    return not any(id(oracle.node) in sure for oracle in unit.own)


def mock_only(unit: Unit, module: TestModule) -> bool:
    """It looks at mocks only."""
    return bool(unit.oracles) and all(
        oracle.kind == "mock" or looks_at_mock(oracle) for oracle in unit.oracles
    )


def duplicate_assert(unit: Unit, module: TestModule) -> bool:
    """The same assertion twice."""
    seen = [ast.dump(oracle.node) for oracle in unit.own if oracle.kind in ("assert", "unittest")]
    return len(set(seen)) < len(seen)


# The program under test


def no_sut_call(unit: Unit, module: TestModule) -> bool:
    """It uses nothing of the program under test."""
    bodies = [unit.body, *(helper.body for helper in unit.helpers)]
    used = {node.id for body in bodies for node in walk(body) if isinstance(node, ast.Name)}
    used |= {a.arg for a in unit.node.args.args} if unit.node else set()
    decorated = unit.node.decorator_list if unit.node else []
    used |= {node.id for one in decorated for node in ast.walk(one) if isinstance(node, ast.Name)}
    return bool(module.subject) and not used & module.subject


def oracle_independent_of_sut(unit: Unit, module: TestModule) -> bool:
    """No oracle looks at anything that came from the program under test."""
    if not unit.own or len(unit.own) < len(unit.oracles) or no_sut_call(unit, module):
        return False
    if any(oracle.kind in ("raises", "mock", "fail") for oracle in unit.oracles):
        return False
    if any(fixture in OUTPUTS for fixture in arguments(unit)):
        return False
    tainted = tainted_names(unit, module)
    return not any(touches(value, tainted) for oracle in unit.own for value in oracle.values)


def introspection(unit: Unit, module: TestModule) -> bool:
    """It looks at how the program is made."""
    for node in walk(unit.body):
        if isinstance(node, ast.Attribute) and (node.attr == "__code__" or node.attr.startswith("co_")):
            return True
        if last_name(node) in PEEKING:
            return True
        if last_name(node) == "open" and "__file__" in ast.unparse(node):
            return True
    return False


def sut_patched(unit: Unit, module: TestModule) -> bool:
    """It replaces what it is to test."""
    nodes = [*walk(unit.body), *(walk_all(unit.node.decorator_list) if unit.node else ())]
    for node in nodes:
        name = called(node)
        if not isinstance(node, ast.Call) or not name:
            continue
        targets = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        if targets and name.split(".")[-1] in ("patch", "setattr", "object"):
            target = targets[0] if name.endswith("patch") else targets[-1]
            if target.rpartition(".")[2] in called_of_subject(unit, module):
                return True
    return False


def oracle_clone(unit: Unit, module: TestModule) -> bool:
    """Its expected values come from a helper that computes instead of stating them, as a copy would."""
    for oracle in unit.own:
        for value in oracle.values:
            for node in ast.walk(value):
                helper = module.functions.get(last_name(node))
                if helper is not None and computes(helper):
                    return True
    return False


# Habits


def nondeterminism(unit: Unit, module: TestModule) -> bool:
    """Chance or the clock decides what it does."""
    names = [called(node) for node in walk(unit.body)]
    seeded = any(name.endswith("seed") or name in ("random.Random", "default_rng") for name in names)
    drawn = any(name.startswith("random.") and not name.endswith("seed") for name in names)
    drawn |= any(name.startswith(("np.random.", "numpy.random.", "secrets.")) for name in names)
    return (drawn and not seeded) or any(name in RANDOM for name in names)


def mock_typo(unit: Unit, module: TestModule) -> bool:
    """Looks like an assertion of a mock, and is none."""
    for node in walk(unit.body):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr in MOCK_ASSERTS
        ):
            return True
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in MOCK_METHODS
        ):
            return True
    return False


def shadowed_test(unit: Unit, module: TestModule) -> bool:
    """Another test of this name comes later, so one of them never runs."""
    return unit.name in module.twice


def skipped(unit: Unit, module: TestModule) -> bool:
    """It does not run, or may fail."""
    marks = {"skip", "skipif", "xfail", "skipIf", "skipUnless", "expectedFailure"}
    decorators = unit.node.decorator_list if unit.node else []
    return any(ast.unparse(one).partition("(")[0].split(".")[-1] in marks for one in decorators)


def duplicate_test(unit: Unit, module: TestModule) -> bool:
    """It does what an earlier test does."""
    own = normal_form(unit)
    for other in module.units:
        if other is unit:
            return False
        if normal_form(other) == own:
            return True
    return False


DETECTORS: Final[dict[str, Detector]] = {
    detector.__name__: detector
    for detector in (
        no_oracle, always_true, self_compare, weak_only, broad_raises, raises_multi, assert_in_raises,
        swallowed_oracle, discarded_compare, introspection, nondeterminism, mock_typo, sut_patched,
        dead_oracle, conditional_oracle, no_sut_call, oracle_independent_of_sut, mock_only, duplicate_assert,
        shadowed_test, skipped, duplicate_test, oracle_clone,
    )
}  # fmt: skip
"""By name."""
GATES: Final = frozenset(
    {"no_oracle", "always_true", "self_compare", "swallowed_oracle", "shadowed_test", "introspection"}
)
"""Those that are wrong for sure; the others are features, and fire on tests that people wrote."""


# What detectors have in common

OUTPUTS: Final = frozenset(
    {"capsys", "capfd", "caplog", "tmp_path", "tmpdir", "recwarn", "capsysbinary", "monkeypatch"}
)
"""Fixtures through which what a program does can be seen."""


def raises_blocks(body: Sequence[ast.stmt]) -> Iterator[ast.With | ast.AsyncWith]:
    """The blocks in which an exception is expected."""
    for node in walk(body):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            names = {last_name(item.context_expr) for item in node.items}
            if names & (RAISES - {"warns", "deprecated_call", "assertWarns", "assertLogs"}):
                yield node


def swallows(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches failed assertions, and lets them pass."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    catches = any(kind is None or (isinstance(kind, ast.Name) and kind.id in SWALLOWING) for kind in kinds)
    ends = any(isinstance(node, ast.Raise) or last_name(node) == "fail" for node in walk(handler.body))
    return catches and not ends


def blocks(body: Sequence[ast.stmt]) -> Iterator[Sequence[ast.stmt]]:
    """A block of statements, and all blocks inside it."""
    yield body
    for node in walk(body):
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(node, name, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                yield inner


def dead_part(block: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements behind one that always leaves the block."""
    for index, statement in enumerate(block):
        leaves = isinstance(statement, (ast.Return, ast.Raise, ast.Continue, ast.Break))
        skips = isinstance(statement, ast.Expr) and called(statement.value) in (
            "pytest.skip",
            "self.skipTest",
        )
        if leaves or skips:
            return block[index + 1 :]
    return []


def unconditional(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes that run on every path; loops over literals that are not empty count as run."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from both_sides(statement)
            yield from ast.walk(statement.test)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            if runs(statement.iter):
                yield from unconditional(statement.body)
        elif isinstance(statement, ast.Try):
            for part in (statement.body, statement.orelse, statement.finalbody):
                yield from unconditional(part)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                yield from ast.walk(item.context_expr)
            yield from unconditional(statement.body)
        elif not isinstance(statement, (ast.While, ast.Match, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from ast.walk(statement)


def both_sides(statement: ast.If) -> Iterator[ast.AST]:
    """The nodes of a condition whose both sides have an assertion."""
    sides = [list(unconditional(side)) for side in (statement.body, statement.orelse)]
    if all(any(isinstance(node, (ast.Assert, ast.Call)) for node in side) for side in sides):
        for side in sides:
            yield from side


def runs(iterated: ast.expr) -> bool:
    """Whether a loop over it runs at least once."""
    if isinstance(iterated, (ast.List, ast.Tuple, ast.Set)):
        return bool(iterated.elts)
    return not (isinstance(iterated, ast.Call) and not iterated.args)


def looks_at_mock(oracle: Oracle) -> bool:
    """Whether an assertion is about what a mock was called with."""
    names = {"called", "call_count", "call_args", "call_args_list", "mock_calls", "method_calls"}
    return bool(oracle.values) and any(
        isinstance(node, ast.Attribute) and node.attr in names for node in ast.walk(oracle.values[0])
    )


def arguments(unit: Unit) -> list[str]:
    """The arguments of a test: fixtures and parameters."""
    return (
        [argument.arg for argument in unit.node.args.args if argument.arg not in ("self", "cls")]
        if unit.node
        else []
    )


def called_of_subject(unit: Unit, module: TestModule) -> frozenset[str]:
    """Names of the program under test that the test calls, also as attributes of its modules."""
    names = set(module.subject)
    for node in walk(unit.body):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            root = called(node).partition(".")[0]
            if root in module.subject:
                names.add(node.func.attr)
    return frozenset(names)


def tainted_names(unit: Unit, module: TestModule) -> set[str]:
    """Names that hold something which came from the program under test, or which it was given to change."""
    tainted = set(module.subject) | set(arguments(unit)) | set(module.functions)
    statements = list(walk(unit.body))
    size = -1
    while size != len(tainted):
        size = len(tainted)
        for node in statements:
            tainted |= newly_tainted(node, tainted)
    return tainted


def newly_tainted(node: ast.AST, tainted: set[str]) -> set[str]:
    """What one statement passes on."""
    match node:
        case ast.Assign(targets=targets, value=value) if touches(value, tainted):
            return names_in(*targets)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
        ):
            return names_in(target) if touches(value, tainted) else set()
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            return names_in(target) if touches(value, tainted) else set()
        case ast.NamedExpr(target=target, value=value) if touches(value, tainted):
            return names_in(target)
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target) if touches(value, tainted):
            return names_in(target)
        case ast.Call() if touches(node.func, tainted):
            return names_in(*node.args, *(keyword.value for keyword in node.keywords))
        case ast.ExceptHandler(name=str() as name):
            return {name}
    return set()


def names_in(*nodes: ast.AST) -> set[str]:
    """All names in expressions."""
    return {inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def touches(node: ast.AST, names: set[str]) -> bool:
    """Whether an expression uses one of the names."""
    return bool(names_in(node) & names)


def walk_all(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of several."""
    for node in nodes:
        yield from ast.walk(node)


def computes(helper: ast.AST) -> bool:
    """Whether a function of the test file computes with loops, and asserts nothing, as a model does."""
    nodes = list(ast.walk(helper))
    loops = any(isinstance(node, (ast.For, ast.While, ast.comprehension)) for node in nodes)
    branches = any(isinstance(node, (ast.If, ast.IfExp)) for node in nodes)
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
    return loops and branches and returns and not any(isinstance(node, ast.Assert) for node in nodes)


class _Renamer(ast.NodeTransformer):
    """Gives local names numbers, and drops messages of assertions."""

    def __init__(self, locals_: set[str]) -> None:
        self.names = {name: f"v{number}" for number, name in enumerate(sorted(locals_))}
        self.order: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self.names:
            node.id = self.order.setdefault(node.id, f"v{len(self.order)}")
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.msg = None
        return self.generic_visit(node)


def normal_form(unit: Unit) -> str:
    """A test without its names, docstring and messages; parameters and decorators count."""
    body = [copy.deepcopy(statement) for statement in unit.body]
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    stored = {n.id for n in walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    renamer = _Renamer(stored)
    decorators = [ast.dump(one) for one in unit.node.decorator_list] if unit.node else []
    return "\n".join(
        [*decorators, *arguments(unit), *(ast.dump(renamer.visit(statement)) for statement in body)]
    )

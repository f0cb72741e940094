"""Test code as what it is made of: tests, oracles, and names that belong to the program under test."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = ["Function", "Oracle", "TestModule", "Unit", "called", "last_name", "read_tests", "walk"]

Function = ast.FunctionDef | ast.AsyncFunctionDef
Kind = Literal["assert", "raises", "unittest", "mock", "fail"]
TOOLS: Final = frozenset(
    {"pytest", "unittest", "hypothesis", "numpy", "mock", "typing_extensions", "_pytest", "pandas"}
)
"""Modules of others that tests use."""
RAISES: Final = frozenset(
    {"raises", "warns", "deprecated_call", "assertRaises", "assertRaisesRegex", "assertWarns", "assertLogs"}
)
MOCK_ASSERTS: Final = frozenset(
    {
        "assert_called",
        "assert_called_once",
        "assert_called_with",
        "assert_called_once_with",
        "assert_any_call",
    }
    | {
        "assert_has_calls",
        "assert_not_called",
        "assert_awaited",
        "assert_awaited_once",
        "assert_awaited_with",
    }
    | {"assert_awaited_once_with", "assert_any_await", "assert_has_awaits", "assert_not_awaited"}
)
OTHER_ASSERTS: Final = frozenset(
    {"assert_allclose", "assert_array_equal", "assert_equal", "assert_frame_equal"}
)
FAILS: Final = frozenset({"pytest.fail", "self.fail", "fail"})


@dataclass(frozen=True, slots=True)
class Oracle:
    """A place where a test can fail because an answer is wrong."""

    node: ast.AST
    kind: Kind
    values: tuple[ast.expr, ...] = ()
    """What is looked at."""


@dataclass(slots=True)
class Unit:
    """One test.

    Attributes:
        name: The function's name, with its class; ``<module>`` for statements outside of functions.
        body: Its statements.
        node: The function, if it is one.
        oracles: Its own oracles, in order, and those of the helpers that it calls.
        helpers: The functions of the same file that it calls, and those that these call.
    """

    name: str
    body: Sequence[ast.stmt]
    node: Function | None = None
    oracles: list[Oracle] = field(default_factory=list)
    helpers: list[Function] = field(default_factory=list)

    @property
    def own(self) -> list[Oracle]:
        """The oracles in its own body."""
        inside = {id(node) for statement in self.body for node in ast.walk(statement)}
        return [oracle for oracle in self.oracles if id(oracle.node) in inside]

    @property
    def line(self) -> int:
        """Where it starts."""
        return self.node.lineno if self.node else self.body[0].lineno if self.body else 1


@dataclass(slots=True)
class TestModule:
    """A file of tests.

    Attributes:
        tree: All of it.
        units: Its tests.
        subject: Names that mean something of the program under test.
        functions: Functions of the file that are no tests, by name; fixtures are among them.
        twice: Tests that a later one of the same name hides.
    """

    __test__ = False

    tree: ast.Module
    units: list[Unit]
    subject: frozenset[str]
    functions: dict[str, Function]
    twice: list[str]


def walk(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of statements."""
    for statement in body:
        yield from ast.walk(statement)


def called(node: ast.AST) -> str:
    """What a call calls, with dots; empty for what is no call of a name."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) and _is_name(node.func) else ""


def _is_name(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def last_name(node: ast.AST) -> str:
    """The last part of what a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def read_tests(code: str, module: str | None = None, functions: Collection[str] = ()) -> TestModule:
    """Read a file of tests.

    Args:
        code: Its text.
        module: The module under test. None: whatever is imported and is neither of the standard library nor a
            tool of testers.
        functions: Names of the program under test that are there without an import.

    Raises:
        SyntaxError: It is no Python.
        ValueError: It holds a null byte.
    """
    tree = ast.parse(code)
    units, helpers, twice = _collect(tree)
    found = TestModule(tree, units, frozenset(), helpers, twice)
    found.subject = _subject(tree, module, functions)
    for unit in units:
        unit.helpers = list(_reached(unit, helpers))
        unit.oracles = [oracle for body in _bodies(unit) for oracle in _oracles(body)]
    return found


def _bodies(unit: Unit) -> Iterator[Sequence[ast.stmt]]:
    yield unit.body
    for helper in unit.helpers:
        yield helper.body


def _collect(tree: ast.Module) -> tuple[list[Unit], dict[str, Function], list[str]]:
    """Tests, other functions by name, and hidden tests."""
    units: list[Unit] = []
    helpers: dict[str, Function] = {}
    twice: list[str] = []
    scopes: list[tuple[str, Sequence[ast.stmt]]] = [("", tree.body)]
    for prefix, body in scopes:
        seen: set[str] = set()
        for node in body:
            if isinstance(node, ast.ClassDef):
                scopes.append((f"{prefix}{node.name}.", node.body))
            elif isinstance(node, Function):
                if not node.name.startswith("test") or _is_fixture(node):
                    helpers[node.name] = node
                    continue
                if node.name in seen:
                    twice.append(prefix + node.name)
                seen.add(node.name)
                units.append(Unit(prefix + node.name, node.body, node))
    loose = [
        node
        for node in tree.body
        if not isinstance(node, (Function, ast.ClassDef, ast.Import, ast.ImportFrom))
    ]
    if not units and any(isinstance(node, ast.Assert) for node in walk(loose)):
        units.append(Unit("<module>", loose))
    return units, helpers, twice


def _is_fixture(node: Function) -> bool:
    return any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)


def _subject(tree: ast.Module, module: str | None, functions: Collection[str]) -> frozenset[str]:
    """Names of the program under test; where none is imported, those that nobody defines."""
    names: set[str] = set(functions)
    defined: set[str] = set(dir(builtins)) | {"self", "cls"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            defined |= bound
            if any(_is_subject(path, module) for path in _paths(node)):
                names |= bound
        elif isinstance(node, (*(ast.FunctionDef, ast.AsyncFunctionDef), ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.arg):
            defined.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            defined.add(node.id)
    if names:
        return frozenset(names)
    loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(loaded - defined - TOOLS - sys.stdlib_module_names - {"Mock", "MagicMock", "patch"})


def _paths(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return ["." * node.level + (node.module or "")]


def _is_subject(path: str, module: str | None) -> bool:
    if module is not None:
        return path == module or path.startswith(module + ".") or path.endswith("." + module)
    top = path.partition(".")[0]
    return top not in sys.stdlib_module_names and top not in TOOLS


def _reached(unit: Unit, helpers: dict[str, Function]) -> Iterator[Function]:
    """The helpers and fixtures that a test uses, directly or not."""
    pending: list[Sequence[ast.stmt]] = [unit.body]
    wanted = [] if unit.node is None else [argument.arg for argument in unit.node.args.args]
    seen: set[str] = set()
    while pending or wanted:
        names = [last_name(node) for node in walk(pending.pop())] if pending else [wanted.pop()]
        for name in names:
            if name in helpers and name not in seen:
                seen.add(name)
                pending.append(helpers[name].body)
                wanted += [argument.arg for argument in helpers[name].args.args]
                yield helpers[name]


def _oracles(body: Sequence[ast.stmt]) -> Iterator[Oracle]:
    for node in walk(body):
        if isinstance(node, ast.Assert):
            yield Oracle(node, "assert", (node.test,))
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if last_name(item.context_expr) in RAISES:
                    yield Oracle(item.context_expr, "raises")
        elif isinstance(node, ast.Call):
            yield from _oracle_of(node)


def _oracle_of(node: ast.Call) -> Iterator[Oracle]:
    name = last_name(node)
    if name in MOCK_ASSERTS:
        yield Oracle(node, "mock", tuple(node.args))
    elif called(node) in FAILS:
        yield Oracle(node, "fail")
    elif name in RAISES:
        if len(node.args) > 1:  # the form without a block
            yield Oracle(node, "raises")
    elif name in OTHER_ASSERTS or (name.startswith("assert") and name[6:7].isupper()):
        yield Oracle(node, "unittest", tuple(node.args))

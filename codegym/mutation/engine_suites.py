"""Test suites of all kinds, brought into one form: files that pytest collects, and modules under test."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal

from codegym.errors import ConfigError

__all__ = ["Style", "SuiteFiles", "UnreadableError", "as_sources", "as_suite", "check_source", "style_of"]

Style = Literal["auto", "pytest", "asserts", "check"]
"""``pytest`` (functions and classes that pytest collects, `unittest` included), ``asserts`` (plain
statements, each with an assertion being a test), ``check`` (a function ``check(candidate)``, likewise).
"""

DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
TEST_FILE: Final = "test_suite.py"


class UnreadableError(Exception):
    """Tests are not what their style says. Of whoever wrote them: a value for others, not an error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteFiles:
    """A module under test and its tests, ready to send.

    Attributes:
        modules: Name to source and whether it is a package.
        target: The module that is mutated.
        files: Path to text, of all files of the tests.
        tests: The paths to collect.
    """

    modules: Mapping[str, tuple[str, bool]]
    target: str
    files: Mapping[str, str]
    tests: Sequence[str]

    @property
    def source(self) -> str:
        """The source that is mutated."""
        return self.modules[self.target][0]

    def specification(self, **limits: Any) -> dict[str, Any]:
        """What the driver is sent."""
        return {
            "modules": {name: tuple(module) for name, module in self.modules.items()},
            "target": self.target,
            "files": dict(self.files),
            "tests": list(self.tests),
            **limits,
        }


def as_suite(
    source: str | Mapping[str, str],
    tests: str | Mapping[str, str],
    *,
    target: str = "solution",
    style: Style = "auto",
    entry_point: str | None = None,
) -> SuiteFiles:
    """Bring source and tests into the form that the engine runs.

    Args:
        source: One module's text, or the files of a package: path to text.
        tests: One file's text, or several: path to text. Of several, those whose name starts with ``test_``
            or ends with ``_test.py`` are collected.
        target: The name of the module that is mutated, as tests import it.
        style: How to read tests that come as one text.
        entry_point: The function that ``check`` is called with.

    Raises:
        ConfigError: The arguments do not fit each other, or the source does not compile.
    """
    modules = {target: (source, False)} if isinstance(source, str) else modules_of(source)
    if target not in modules:
        raise ConfigError(f"target {target!r} is not among the modules: {', '.join(sorted(modules))}")
    check_source(modules[target][0], target)
    if not isinstance(tests, str):
        collected = [path for path in sorted(tests) if is_test_file(path)]
        return SuiteFiles(modules=modules, target=target, files=dict(tests), tests=collected)
    text = as_pytest(tests, modules[target][0], target, style, entry_point)
    return SuiteFiles(modules=modules, target=target, files={TEST_FILE: text}, tests=[TEST_FILE])


def modules_of(files: Mapping[str, str]) -> dict[str, tuple[str, bool]]:
    """The modules that files of a package are.

    Raises:
        ConfigError: A path is no module's.
    """
    modules = {}
    for path, text in files.items():
        parts = PurePosixPath(path).with_suffix("").parts
        if not path.endswith(".py") or path.startswith("/") or not all(part.isidentifier() for part in parts):
            raise ConfigError(f"{path!r} is not the relative path of a Python module")
        is_package = parts[-1] == "__init__"
        modules[".".join(parts[:-1] if is_package else parts)] = (text, is_package)
    return modules


def is_test_file(path: str) -> bool:
    """Whether pytest would collect a file by its name."""
    name = PurePosixPath(path).name
    return name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))


def as_pytest(tests: str, source: str, target: str, style: Style, entry_point: str | None) -> str:
    """One text of tests as a module that pytest collects; what cannot be read is left for pytest to complain.

    Raises:
        ConfigError: An entry point is needed.
    """
    style = style_of(tests) if style == "auto" else style
    if style == "check" and entry_point is None:
        raise ConfigError("tests in the style 'check' need an entry_point")
    try:
        if style == "asserts":
            return from_asserts(tests, source, target)
        return from_check(tests, source, target, str(entry_point)) if style == "check" else tests
    except UnreadableError:
        return tests


def style_of(tests: str) -> Style:
    """The style of a text of tests; ``pytest`` where it cannot be read."""
    try:
        body = statements(tests)
    except UnreadableError:
        return "pytest"
    names = {
        node.name for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    if any(
        name.startswith(("test", "Test")) or name.endswith(("Test", "Tests", "TestCase")) for name in names
    ):
        return "pytest"
    if "check" in names:
        return "check"
    return (
        "asserts"
        if any(has_assertion(node) for node in body if not isinstance(node, DEFINITIONS))
        else "pytest"
    )


def from_asserts(tests: str, source: str, target: str) -> str:
    """Plain statements as test functions.

    Each statement with an assertion is a test; it runs after all statements without one that stand before it.
    Imports and definitions are made once.

    Raises:
        UnreadableError: It does not compile.
    """
    shared, bodies = plain_tests(tests)
    stored = {
        n.id for body in bodies for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and is_stored(n)
    }
    prefix: list[ast.stmt] = [ast.Global(sorted(stored))] if stored else []
    return unparse([*imports(source, target), *shared, *functions([[*prefix, *body] for body in bodies])])


def from_check(tests: str, source: str, target: str, entry_point: str) -> str:
    """A function ``check(candidate)`` as test functions, one for each statement with an assertion.

    Raises:
        UnreadableError: There is no such function, or it does not compile.
    """
    shared, bodies = checks(tests, entry_point)
    return unparse([*imports(source, target), *shared, *functions(bodies)])


def as_sources(tests: str, style: Style, entry_point: str) -> list[str]:
    """Tests in the styles ``asserts`` and ``check`` as texts that each are one test, for a tester of their
    own.

    Raises:
        UnreadableError: They are in another style, or do not compile.
    """
    style = style_of(tests) if style == "auto" else style
    if style not in ("asserts", "check"):
        raise UnreadableError(f"wall='split' needs tests in the styles 'asserts' or 'check', not {style!r}")
    shared, bodies = plain_tests(tests) if style == "asserts" else checks(tests, entry_point)
    return [unparse([*shared, *body]) for body in bodies]


def statements(text: str) -> list[ast.stmt]:
    """What a text consists of.

    Raises:
        UnreadableError: It does not compile.
    """
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadableError(f"{type(error).__name__}: {error}") from error


def check_source(source: str, target: str) -> None:
    """Make sure that there is a program to mutate.

    Raises:
        ConfigError: It does not compile.
    """
    try:
        statements(source)
    except UnreadableError as error:
        raise ConfigError(f"the source of {target!r} does not compile: {error}") from error


def plain_tests(tests: str) -> tuple[list[ast.stmt], list[list[ast.stmt]]]:
    """Imports and definitions, and the statements of each test.

    Raises:
        UnreadableError: It does not compile.
    """
    body = statements(tests)
    shared: list[ast.stmt] = [node for node in body if isinstance(node, DEFINITIONS)]
    return shared, split([node for node in body if not isinstance(node, DEFINITIONS)])


def checks(tests: str, entry_point: str) -> tuple[list[ast.stmt], list[list[ast.stmt]]]:
    """What stands beside a function ``check(candidate)``, and the statements of each test in it.

    Raises:
        UnreadableError: There is no such function, or it does not compile.
    """
    body = statements(tests)
    found = [node for node in body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    if not found or len(found[-1].args.args) != 1:
        raise UnreadableError("no function check(candidate)")
    check = found[-1]
    name = check.args.args[0].arg
    bind: list[ast.stmt] = []
    if name != entry_point:
        bind.append(ast.Assign([ast.Name(name, ast.Store())], ast.Name(entry_point, ast.Load())))
    bodies = split(check.body) or [check.body]  # it may assert in helpers of its own
    return [node for node in body if node is not check], [[*bind, *inner] for inner in bodies]


def split(steps: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """For each statement with an assertion: those without one that stand before it, and itself."""
    bodies: list[list[ast.stmt]] = []
    before: list[ast.stmt] = []
    for step in steps:
        if has_assertion(step):
            bodies.append([*before, step])
        else:
            before.append(step)
    return bodies


def functions(bodies: Sequence[list[ast.stmt]]) -> list[ast.stmt]:
    """One test function for each body."""
    made = []
    for number, body in enumerate(bodies):
        function = ast.parse(f"def test_{number}(): pass").body[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = body
        made.append(function)
    return list(made)


def has_assertion(node: ast.AST) -> bool:
    """Whether there is an ``assert`` anywhere in a statement."""
    return any(isinstance(inner, ast.Assert) for inner in ast.walk(node))


def is_stored(name: ast.Name) -> bool:
    """Whether a name is assigned to there."""
    return isinstance(name.ctx, (ast.Store, ast.Del))


def imports(source: str, target: str) -> list[ast.stmt]:
    """An import of all that the module under test defines."""
    names: dict[str, None] = {}
    for node in statements(source):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = None
        elif isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= dict.fromkeys(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= dict.fromkeys((alias.asname or alias.name.split(".")[0]) for alias in node.names)
    kept = [ast.alias(name) for name in names if name != "*" and not name.startswith("__")]
    return [ast.ImportFrom(target, kept, 0)] if kept else []


def unparse(body: Sequence[ast.stmt]) -> str:
    """Statements as text; ``from __future__`` first."""
    future = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    rest = [node for node in body if node not in future]
    return ast.unparse(ast.fix_missing_locations(ast.Module([*future, *rest], [])))

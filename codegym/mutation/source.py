"""A source text with its syntax tree: places in characters, what may not be mutated, where functions are."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from codegym.errors import ConfigError

__all__ = ["Place", "Source"]

PRAGMA: Final = re.compile(r"#\s*pragma:\s*no mutate\b", re.IGNORECASE)
LOGGING: Final = re.compile(r"^(log|logger|logging|_log|_logger|LOG|LOGGER|warnings)$")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Place:
    """A node that may be mutated, and where it is."""

    node: ast.AST
    parent: ast.AST
    function: str | None
    at_import: bool


class Source:
    """A text of Python, parsed once."""

    def __init__(self, text: str) -> None:
        """Parse it.

        Raises:
            ConfigError: It is no Python.
        """
        self.text = text
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            raise ConfigError(f"the source to mutate does not parse: {error}") from error

    @cached_property
    def _lines(self) -> list[tuple[int, bytes]]:
        """Of each line, where it begins, and its bytes, in which the parser counts columns."""
        found, start = [], 0
        for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", self.text):
            found.append((start, line.encode("utf-8", "surrogatepass")))
            start += len(line)
        return found

    def offset(self, line: int, column: int) -> int:
        """A place that the parser tells, in characters."""
        start, data = self._lines[line - 1]
        return start + len(data[:column].decode("utf-8", "surrogatepass"))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def between(self, left: ast.AST, right: ast.AST, pattern: str) -> tuple[int, int] | None:
        """Where an operator stands between its operands; what else may be there is brackets and comments."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), self.text[start:end])
        found = re.search(pattern, gap)
        return None if found is None else (start + found.start(), start + found.end())

    def places(self) -> Iterator[Place]:
        """All nodes that may be mutated, in the order of the text."""
        yield from self._walk(self.tree, (), False)

    @cached_property
    def _excluded(self) -> frozenset[int]:
        """The lines that carry the pragma."""
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(self.text).readline))
        except (tokenize.TokenError, SyntaxError):
            return frozenset()
        return frozenset(
            token.start[0]
            for token in tokens
            if token.type == tokenize.COMMENT and PRAGMA.search(token.string)
        )

    def _walk(self, node: ast.AST, names: tuple[str, ...], inside: bool) -> Iterator[Place]:
        """The places below a node.

        Args:
            node: Where to look.
            names: Of the classes and functions around it.
            inside: Whether it is in the body of a function, which does not run at import.
        """
        body_names, body_inside = names, inside
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            body_names = (*names, node.name)
            body_inside = inside or isinstance(node, FUNCTIONS)
        for field, child in self._children(node):
            in_body = field == "body" or not isinstance(node, (*FUNCTIONS, ast.ClassDef))
            where, runs_later = (body_names, body_inside) if in_body else (names, inside)
            if isinstance(node, ast.Lambda) and field == "body":
                runs_later = True
            if hasattr(child, "lineno"):
                yield Place(child, node, ".".join(where) if runs_later and where else None, not runs_later)
            yield from self._walk(child, where, runs_later)

    def _children(self, node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
        """The fields of a node that may be mutated."""
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "type_params", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not self._is_kept(child, node):
                    yield field, child

    def _is_kept(self, node: ast.AST, parent: ast.AST) -> bool:
        """Whether a node is never mutated, with all that is below it."""
        if getattr(node, "lineno", None) in self._excluded:
            return True
        match node:
            case (
                ast.JoinedStr()
                | ast.Assert()
                | ast.Import()
                | ast.ImportFrom()
                | ast.Global()
                | ast.Nonlocal()
            ):
                return True
            case ast.FunctionDef(name="__repr__"):
                return True
            case ast.Expr(value=ast.Constant()):
                return True  # a docstring, or an ellipsis
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                return bool(LOGGING.match(name))
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                return True
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                return True
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                return True
        return False

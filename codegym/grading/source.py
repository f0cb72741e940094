"""Python source, read without running it.

The source is what a policy wrote, so it may be anything: too long, nested too deeply, no text at all. All
functions here take linear time and raise nothing but `SyntaxError`.
"""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Final

__all__ = [
    "acts",
    "bound_names",
    "defines",
    "free_names",
    "has_loose_return",
    "parse",
    "readings",
    "with_plain_characters",
    "with_preamble",
    "without_idle_end",
]


def parse(code: str) -> ast.Module:
    """The syntax tree of a program. String literals in it may hold more backslashes than were written.

    Raises:
        SyntaxError: It does not parse; `lineno` is 0 where no line can be blamed.
    """
    try:
        return ast.parse(_without_warnings(code))
    except SyntaxError:
        raise
    except (ValueError, MemoryError, RecursionError) as error:  # null bytes, surrogates; nesting
        raise SyntaxError(str(error) or "too deeply nested", ("<program>", 0, 0, "")) from None


_ESCAPE: Final = re.compile(r"\\([\s\S])")
_KEPT_ESCAPES: Final = frozenset("\n\\'\"abfnrtvx0123")
_NUMBER_AND_WORD: Final = re.compile(
    r"(?<![\w.])[0-9][0-9_.]*+(?=(?:and|else|for|if|in|is|not|or)\b)",
)


def _without_warnings(code: str) -> str:
    r"""The same program without what Python's parser warns about: ``"\d"`` and ``1if x``.

    Warnings can be errors, and switching them off is no option: their filters belong to the whole process,
    not to a thread.
    """
    if "\\" in code:
        code = _ESCAPE.sub(lambda m: m[0] if m[1] in _KEPT_ESCAPES else "\\" + m[0], code)
    return _NUMBER_AND_WORD.sub(lambda m: m[0] + " ", code)


# What a program does


def defines(tree: ast.Module, entry_point: str) -> bool:
    """Whether a program binds ``name``, or a class with the method of ``Class.method``, at its top level."""
    name, _, method = entry_point.partition(".")
    if name not in bound_names(tree.body):
        return False
    if not method:
        return True
    classes = [
        node for node in _statements(tree.body) if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return not classes or any(
        node.bases or node.keywords or method in bound_names(node.body) for node in classes
    )


def bound_names(body: Iterable[ast.stmt]) -> set[str]:
    """The names that statements bind, without what is inside of functions and classes."""
    names: set[str] = set()
    for statement in _statements(body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names.update(_imported(alias) for alias in statement.names)
        else:
            names.update(_stored(statement))
    return names


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements, also those inside of ``if``, ``try``, ``with`` and loops."""
    pending = list(body)
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.stmt):
                pending.append(child)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                pending.extend(child.body)


def _imported(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _stored(statement: ast.stmt) -> Iterator[str]:
    """The names assigned to in a statement's own expressions."""
    pending: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr | ast.withitem)
    ]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if not isinstance(node, ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))


def free_names(tree: ast.Module) -> set[str]:
    """The names that a program reads and binds nowhere."""
    read: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add(_imported(node))
    return read - bound


def acts(statement: ast.stmt) -> bool:
    """Whether a statement does more than a lone word, a number or a text would."""
    if isinstance(statement, ast.Pass | ast.Break | ast.Continue):
        return False
    if not isinstance(statement, ast.Expr):
        return True
    if isinstance(statement.value, ast.Name | ast.Constant):
        return False
    return any(isinstance(node, ast.Call) for node in ast.walk(statement))


def without_idle_end(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements up to the last one that does something."""
    return body[: max((i for i, statement in enumerate(body, 1) if acts(statement)), default=0)]


def has_loose_return(tree: ast.Module) -> bool:
    """Whether there is a ``return`` outside of functions: then it is the body of one."""
    return any(isinstance(statement, ast.Return) for statement in _statements(tree.body))


# What else the same characters may have meant


def readings(code: str) -> Iterator[str]:
    """A program as it stands, then as it may have been meant.

    Args:
        code: What stood in a block.

    Yields:
        The code; the code out-dented; what was typed at the prompts of an interactive session; what a diff
        results in; and each of these with look-alike characters and tabs put right. Nothing twice in a row.
    """
    seen: str | None = None
    for text in _layouts(code):
        for reading in (text, plain := with_plain_characters(text), *_expand_tabs(plain)):
            if reading != seen:
                yield reading
                seen = reading


def _layouts(code: str) -> Iterator[str]:
    yield code
    if code[:1].isspace():
        yield textwrap.dedent(code)
    if code.lstrip().startswith(">>>"):
        yield _typed(code)
    if _looks_like_a_diff(code):
        yield _patched(code)


def _typed(code: str) -> str:
    """What was typed into an interactive session."""
    lines = (line.lstrip() for line in code.split("\n"))
    return "\n".join(line[4:] for line in lines if line.startswith((">>>", "...")))


_DIFF_HEADERS: Final = ("+++", "---", "@@", "diff ", "index ", "\\ ")


def _looks_like_a_diff(code: str) -> bool:
    lines = [line for line in code.split("\n") if line.strip()]
    return any(line.startswith("+") for line in lines) and all(
        line.startswith(("+", "-", " ", *_DIFF_HEADERS)) for line in lines
    )


def _patched(code: str) -> str:
    """What a diff leaves in the file."""
    lines = (line for line in code.split("\n") if not line.startswith(_DIFF_HEADERS))
    return "\n".join(line[1:] for line in lines if not line.startswith("-"))


_LITERAL: Final = re.compile(
    r'''\#[^\n]*+
    | """(?:[^"\\]|\\[\s\S]|"(?!""))*+(?:"""|\Z) | "(?:[^"\\\n]|\\[\s\S])*+"?
    | \'\'\'(?:[^'\\]|\\[\s\S]|'(?!\'\'))*+(?:\'\'\'|\Z) | '(?:[^'\\\n]|\\[\s\S])*+'?''',
    re.VERBOSE,
)
"""A comment or a string literal, also one that never ends."""

_LOOK_ALIKES: Final[dict[int, str | None]] = {
    **{0xFF01 + i: chr(0x21 + i) for i in range(94)},  # full-width forms
    **dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
    **dict.fromkeys((0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF)),
}


def with_plain_characters(code: str) -> str:
    """The code with full-width forms and odd spaces written plainly, and without what has no width."""
    return code if code.isascii() else _outside_literals(code, lambda text: text.translate(_LOOK_ALIKES))


def _outside_literals(code: str, change: Callable[[str], str]) -> str:
    """Change a program everywhere but in comments and string literals."""
    parts: list[str] = []
    position = 0
    for literal in _LITERAL.finditer(code):
        parts += change(code[position : literal.start()]), literal[0]
        position = literal.end()
    return "".join([*parts, change(code[position:])])


def _expand_tabs(code: str) -> Iterator[str]:
    """The code indented by spaces: tabs are eight wide, as Python once took them, then four."""
    if "\t" in code:
        for width in (8, 4):
            yield _outside_literals("\n" + code, functools.partial(_expand, width=width))[1:]


def _expand(text: str, width: int) -> str:
    return re.sub(r"(?<=\n)[ \t]+", lambda m: m[0].expandtabs(width), text)


# Putting programs together


def with_preamble(code: str, tree: ast.Module, preamble: str) -> str:
    """The program with other code before it, yet after its docstring and its imports from ``__future__``."""
    line = 0
    for i, statement in enumerate(tree.body):
        docstring = i == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (docstring or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")):
            break
        line = statement.end_lineno or 0
    lines = code.split("\n")
    return "\n".join([*lines[:line], preamble, *lines[line:]])

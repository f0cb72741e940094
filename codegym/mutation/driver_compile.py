"""Source text to code objects that count their steps, and a mutant to the code objects that it changes.

A *step* is the entry of a function, or a turn of a loop or of a comprehension. Counting them makes an
infinite loop end after the same number of steps on any machine. The count is kept by calls that are inserted
into the syntax tree, of mutants and of the original alike, so that line numbers, frames and kinds of
functions stay. The same calls tell which functions run while tests and program are imported.

Only the top-level statement that holds a mutant is compiled again, padded to its place in the file.

Runs inside the guest: standard library only.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import functools
import io
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType
from typing import Any, Final, NamedTuple

__all__ = [
    "STEPS_STATUS",
    "CannotSwap",
    "Change",
    "Slice",
    "SourceMap",
    "StepBudgetExceeded",
    "Steps",
    "nested",
]

STEP, ENTER = " step", " enter"
"""The names of the counters among the built-ins; no program can write them."""
STEPS_STATUS: Final = 97
"""The exit status of a process whose code caught the exception and went on."""
STUBBORN: Final = 1000
"""Steps beyond the budget after which the process ends."""
UNLIMITED: Final = 1 << 60

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS: Final = (ast.For, ast.AsyncFor, ast.While)
BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")
COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CO_OPTIMIZED: Final = 1
FUTURES: Final = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
NOT_COMPILED: Final = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)


class StepBudgetExceeded(BaseException):
    """The code under test took more steps than it may."""


class CannotSwap(Exception):
    """The mutant changes more than the code of functions that have not run yet."""


class Steps:
    """Counts the steps of instrumented code, and ends it when there are too many.

    Attributes:
        grant: Set how many steps may follow.
        left: Steps that may still follow; negative once there were too many.
        entered: The first lines of the functions and comprehensions that were entered while that was noted.
    """

    def __init__(self) -> None:
        """Become the counter of this process."""
        left = UNLIMITED

        def step() -> bool:
            nonlocal left
            left -= 1
            if left < 0:
                if left < -STUBBORN:
                    os._exit(STEPS_STATUS)
                raise StepBudgetExceeded
            return True

        def grant(count: int) -> None:
            nonlocal left
            left = count

        self.grant: Callable[[int], None] = grant
        self.left: Callable[[], int] = lambda: left
        self.entered: set[int] = set()
        self._step = step
        vars(builtins)[STEP] = step
        self.note_entries()

    def note_entries(self) -> None:
        """Note which functions are entered, from now on."""
        step, note = self._step, self.entered.add

        def enter(line: int) -> bool:
            note(line)
            return step()

        vars(builtins)[ENTER] = enter

    def ignore_entries(self) -> None:
        """Only count steps, from now on."""
        step = self._step
        vars(builtins)[ENTER] = lambda line: step()


# Instrumenting ----------------------------------------------------------------------------------------------


def instrumented(text: str, filename: str, flags: int) -> CodeType:
    """Compile source, with a step counted where one is taken.

    Raises:
        SyntaxError: It does not compile (and the others of `NOT_COMPILED`).
    """
    tree: ast.Module = compile(text, filename, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    loops = count_in(tree.body)
    if "lambda" in text or len(re.findall(r"\bfor\b", text)) > loops:
        count_in_expressions(tree)
    code: CodeType = compile(tree, filename, "exec", flags, dont_inherit=True)
    return code


def step_at(line: int, column: int, entry: int | None = None) -> ast.Call:
    """The call that counts one step; `entry` is the first line of the function that is entered by it."""
    place: dict[str, Any] = {
        "lineno": line,
        "col_offset": column,
        "end_lineno": line,
        "end_col_offset": column,
    }
    if entry is None:
        return ast.Call(ast.Name(STEP, ast.Load(), **place), [], [], **place)
    return ast.Call(ast.Name(ENTER, ast.Load(), **place), [ast.Constant(entry, **place)], [], **place)


def count_in(statements: list[Any]) -> int:
    """Count the turns of loops and the entries of functions, however deep; returns the number of ``for``
    loops.
    """
    loops = 0
    for statement in statements:
        for block in BLOCKS:
            inner = getattr(statement, block, None)
            if inner:
                loops += count_in(inner)
        if isinstance(statement, LOOPS):
            loops += not isinstance(statement, ast.While)
            insert_step(statement.body, None)
        elif isinstance(statement, FUNCTIONS):
            insert_step(statement.body, first_line(statement))
    return loops


def insert_step(body: list[ast.stmt], entry: int | None) -> None:
    """Count a step before the first statement that has code, on its line, so that no line is added to those
    that run.
    """
    index = next((i for i, statement in enumerate(body) if has_code(statement)), len(body))
    place = body[min(index, len(body) - 1)]
    line = first_line(place)
    call = step_at(line, place.col_offset, entry)
    ends = {"end_lineno": line, "end_col_offset": place.col_offset}
    body.insert(index, ast.Expr(call, lineno=line, col_offset=place.col_offset, **ends))


def has_code(statement: ast.stmt) -> bool:
    """Whether a statement of a function leaves anything in its bytecode."""
    match statement:
        case ast.Global() | ast.Nonlocal() | ast.Expr(value=ast.Constant()):
            return False
        case ast.AnnAssign(target=ast.Name(), value=None):
            return False
    return True


def count_in_expressions(tree: ast.AST) -> None:
    """Count the turns of comprehensions and the calls of lambdas."""
    for node in ast.walk(tree):
        if isinstance(node, COMPREHENSIONS):
            for number, generator in enumerate(node.generators):
                target, entry = generator.target, None if number else node.lineno
                generator.ifs.insert(0, step_at(target.lineno, target.col_offset, entry))
        elif isinstance(node, ast.Lambda):
            body = node.body
            call = step_at(body.lineno, body.col_offset, node.lineno)
            node.body = ast.copy_location(ast.BoolOp(ast.And(), [call, body]), body)


# Code objects -----------------------------------------------------------------------------------------------


def nested(code: CodeType) -> list[CodeType]:
    """The code objects among the constants of another."""
    return [constant for constant in code.co_consts if type(constant) is CodeType]


def family(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are nested in it."""
    yield code
    for inner in nested(code):
        yield from family(inner)


def constant_key(constant: object) -> object:
    """What tells constants apart: ``1``, ``True`` and ``1.0`` are equal, ``0.0`` and ``-0.0`` too."""
    if type(constant) is CodeType:
        return constant.co_name
    if type(constant) is tuple:
        return tuple(map(constant_key, constant))
    return type(constant), repr(constant)


@functools.lru_cache(maxsize=1024)
def shape(code: CodeType) -> tuple[Any, ...]:
    """What a code object does, without the code objects nested in it, and without line numbers. Those of the
    original are asked for again and again.
    """
    return (
        code.co_code,
        tuple(map(constant_key, code.co_consts)),
        code.co_names,
        *signature(code),
        code.co_exceptiontable,
    )


def signature(code: CodeType) -> tuple[Any, ...]:
    """The kind of a function, its parameters, and the scopes of its names."""
    return (
        code.co_flags,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_varnames,
        code.co_cellvars,
        code.co_freevars,
    )


class Slice(NamedTuple):
    """Whole lines that are compiled by themselves: a function, or top-level statements."""

    first: int
    """The first line, from 1."""
    last: int
    start: int
    """Where it starts in the source, in characters."""
    end: int
    headers: tuple[str, ...] = ()
    """What has to stand above a function, for names to mean what they mean in its place: its classes."""
    function: str | None = None
    """The name of the function; None for statements."""


class Change(NamedTuple):
    """What a mutant does to the code objects that live in a process."""

    swaps: list[tuple[CodeType, CodeType]]
    """Living code objects and what to put in their place. Empty: nothing changes."""
    own: list[CodeType]
    """The living ones that change in themselves, not only in what is nested in them."""
    same_scopes: bool
    """Whether all names keep their scopes, and functions their kinds: else more than the mutated lines act
    otherwise."""


class SourceMap:
    """One module's source: where its statements lie, and what a change to its text changes in code objects.

    Attributes:
        code: The module, compiled with steps counted. Functions live with the code objects in it.
    """

    def __init__(self, source: str, filename: str) -> None:
        """Compile the original.

        Raises:
            SyntaxError: It does not compile (and the others of `NOT_COMPILED`).
        """
        self.source, self.filename = source, filename
        self.code = instrumented(source, filename, 0)
        self.flags = self.code.co_flags & FUTURES
        tree = ast.parse(source)
        self.line_starts = [0]
        for line in io.StringIO(source, newline=""):  # `str.splitlines` knows more ends of lines than Python
            self.line_starts.append(self.line_starts[-1] + len(line))
        self.slices = [*self._functions(tree.body, ()), *self._statements(tree.body)]
        self.ranges = dict(statement_ranges(tree.body))
        self._originals: dict[Slice, tuple[CodeType, list[CodeType]]] = {}

    def _functions(self, body: Iterable[Any], classes: tuple[str, ...]) -> Iterator[Slice]:
        """The functions that are in no other, however deep in classes and blocks."""
        for statement in body:
            if getattr(statement, "type_params", None):
                continue  # names in it may mean its parameters
            if isinstance(statement, FUNCTIONS):
                headers = classes or (("if 1:",) if statement.col_offset else ())
                if len(headers) < first_line(statement):
                    piece = self._slice(first_line(statement), statement.end_lineno or statement.lineno)
                    yield piece._replace(headers=headers, function=statement.name)
                continue
            inside = (
                (*classes, f"class {statement.name}:") if isinstance(statement, ast.ClassDef) else classes
            )
            for block in BLOCKS:
                yield from self._functions(getattr(statement, block, ()), inside)

    def _statements(self, body: Iterable[ast.stmt]) -> Iterator[Slice]:
        first = last = 0
        for statement in body:
            start, end = first_line(statement), statement.end_lineno or statement.lineno
            if start > last:
                if last:
                    yield self._slice(first, last)
                first = start
            last = max(last, end)
        if last:
            yield self._slice(first, last)

    def _slice(self, first: int, last: int) -> Slice:
        return Slice(first, last, self.line_starts[first - 1], self.line_starts[last])

    def line_of(self, offset: int) -> int:
        """The line, from 1, that holds a character."""
        return min(bisect_right(self.line_starts, offset), len(self.line_starts) - 1)

    def lines_of(self, start: int, end: int) -> set[int]:
        """The lines of all statements that a piece of the source belongs to; a compound statement counts with
        its header.
        """
        lines: set[int] = set()
        for line in range(self.line_of(start), self.line_of(max(start, end - 1)) + 1):
            first, last = self.ranges.get(line, (line, line))
            lines.update(range(first, last + 1))
        return lines

    def mutated(self, start: int, end: int, replacement: str) -> str:
        """The whole source with a piece replaced."""
        return self.source[:start] + replacement + self.source[end:]

    def change(self, start: int, end: int, replacement: str) -> Change:
        """Work out what replacing a piece of the source changes.

        Raises:
            CannotSwap: More than the code of functions.
            SyntaxError: The mutant does not compile (and the others of `NOT_COMPILED`).
        """
        piece = next((s for s in self.slices if s.start <= start and end <= s.end), None)
        if piece is None:
            raise CannotSwap
        text = self.source[piece.start : start] + replacement + self.source[end : piece.end]
        try:
            mutant = self._compile_slice(text, piece)
        except NOT_COMPILED:
            instrumented(self.mutated(start, end, replacement), self.filename, 0)
            raise CannotSwap from None
        original, living = self._original(piece)
        around, before = parts_of(original, piece)
        around_mutant, after = parts_of(mutant, piece)
        if around != around_mutant or len(before) != len(after):
            raise CannotSwap
        change = Change([], [], True)
        for three in zip(living, before, after, strict=True):
            change = compare(*three, change)
        return change

    def _compile_slice(self, text: str, piece: Slice) -> CodeType:
        headers = "".join(" " * depth + header + "\n" for depth, header in enumerate(piece.headers))
        padding = "\n" * (piece.first - 1 - len(piece.headers))
        return instrumented(padding + headers + text, self.filename, self.flags)

    def _original(self, piece: Slice) -> tuple[CodeType, list[CodeType]]:
        """The original of a slice compiled by itself, and the code objects of it that live.

        Raises:
            CannotSwap: These are not found.
        """
        if piece not in self._originals:
            alone = self._compile_slice(self.source[piece.start : piece.end], piece)
            if piece.function is None:
                living = [c for c in nested(self.code) if piece.first <= c.co_firstlineno <= piece.last]
            else:
                wanted = piece.function, piece.first
                living = [c for c in family(self.code) if (c.co_name, c.co_firstlineno) == wanted]
            if [c.co_name for c in living] != [c.co_name for c in parts_of(alone, piece)[1]]:
                raise CannotSwap
            self._originals[piece] = alone, living
        return self._originals[piece]


def parts_of(code: CodeType, piece: Slice) -> tuple[list[tuple[Any, ...]], list[CodeType]]:
    """The shapes of what a slice has run when it was imported, and the code objects that may be called."""
    around = [shape(code)]
    if piece.function is None:
        return around, nested(code)
    for header in piece.headers:
        if header.startswith("class "):
            code = next(iter(nested(code)), code)
            around.append(shape(code))
    *beside, function = nested(code) or [code]  # lambdas of decorators and defaults come first
    return [*around, *(shape(inner) for one in beside for inner in family(one))], [function]


def compare(living: CodeType, original: CodeType, mutant: CodeType, change: Change) -> Change:
    """Add to a change what is different in one code object.

    Args:
        living: The one that lives. Its bytecode may differ from that of `original`: what the compiler knows
            of imports, it does not know when it sees a part of a file.
        original: The same, compiled as the mutant is.
        mutant: What to put in its place.
        change: What is known to change already.

    Raises:
        CannotSwap: What is different is the body of a class.
    """
    same = shape(original) == shape(mutant)
    if not living.co_flags & CO_OPTIMIZED and not same:
        raise CannotSwap  # it has run
    swaps, own = list(change.swaps), list(change.own)
    same_scopes = change.same_scopes and signature(original) == signature(mutant)
    count = len(swaps)
    inner, before, after = nested(living), nested(original), nested(mutant)
    if [c.co_name for c in before] == [c.co_name for c in after]:
        for parts in zip(inner, before, after, strict=True):
            swaps, own, same_scopes = compare(*parts, Change(swaps, own, same_scopes))
    else:
        own += [code for one in inner for code in family(one)]  # those that live already cannot be changed
        same_scopes = False
    if not same:
        own.append(living)
    if living.co_flags & CO_OPTIMIZED and (not same or len(swaps) > count):
        swaps.append((living, mutant))
    return Change(swaps, own, same_scopes)


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement starts, decorators included."""
    decorators = getattr(statement, "decorator_list", None)
    return decorators[0].lineno if decorators else statement.lineno


def statement_ranges(body: Iterable[Any]) -> Iterator[tuple[int, tuple[int, int]]]:
    """For each line of a statement, the first and the last of those that belong to it; of a compound
    statement, of its header.
    """
    for statement in body:
        blocks = [inner for block in BLOCKS if (inner := getattr(statement, block, None))]
        if hasattr(statement, "lineno"):
            first, last = first_line(statement), statement.end_lineno
            if blocks:
                last = max(first, first_line_of(blocks[0][0]) - 1)
            for line in range(first, last + 1):
                yield line, (first, last)
        for block in blocks:
            yield from statement_ranges(block)


def first_line_of(node: Any) -> int:
    """The line on which a statement, a handler or a case starts."""
    return node.pattern.lineno if isinstance(node, ast.match_case) else first_line(node)


def find_functions(objects: Iterable[Any], codes: Iterable[CodeType]) -> Mapping[int, list[Any]]:
    """The functions among objects, by the identity of their code object."""
    kind = type(find_functions)
    found: dict[int, list[Any]] = {id(code): [] for code in codes}
    for candidate in objects:
        if type(candidate) is kind and id(candidate.__code__) in found:
            found[id(candidate.__code__)].append(candidate)
    return found

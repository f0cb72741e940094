"""From what a policy wrote to the program in it.

A completion is prose with a program somewhere: in a fence, several of them, none; after thoughts, between
tags, as a diff, or as the continuation of the prompt's last line. The places where a program may be are
looked at in turn, and the first that parses and defines the task's entry point is taken. Nothing is
executed, and however long and hostile the completion is, the time is linear in its length: each place is
read a bounded number of times, and all parsing together has a budget.
"""

from __future__ import annotations

import ast
import builtins
import enum
import functools
import itertools
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, get_args

from codegym.core import Program, Task
from codegym.errors import ConfigError
from codegym.grading import source

__all__ = ["Policy", "extract_code"]

_Item = TypeVar("_Item")
Policy = Literal["last", "first", "whole"]
"""Which of several programs counts: the ``last`` or ``first`` one, or the ``whole`` completion."""

BUDGET: Final = 500_000
"""Characters that are parsed for one completion."""
PIECE: Final = 200_000
"""Characters that a program outside of fences may have."""
BLOCKS: Final = 100
"""Blocks that are looked at."""
STARTS: Final = 8
"""Places outside of fences where a program may start that are tried."""
CUTS: Final = 8
"""How often a text is cut before the line that does not parse."""
REACH: Final = 6
"""Fences that are tried as the end of a block, when it does not parse up to the first."""


def extract_code(completion: str, task: Task | None = None, *, policy: Policy = "last") -> Program | None:
    """Find the program in a completion.

    A program that lacks names which the task's starter code brings (imports, helpers) is completed with
    them; one that continues the starter code is joined to it. Where a task has no starter code, its prompt
    stands in if it is Python itself.

    Args:
        completion: What the policy wrote.
        task: The problem. None: any program will do.
        policy: Which of several programs counts.

    Returns:
        The program. Of several, the one chosen by `policy` among the whole ones that parse and define the
        entry point; else an unfinished one that does; else one that parses; else what stood in a fence,
        though it does not parse. None where there is nothing like a program.

    Raises:
        ConfigError: There is no such policy.
    """
    if policy not in get_args(Policy):
        raise ConfigError(f"policy must be one of {', '.join(get_args(Policy))}, got {policy!r}")
    text = _normalized(completion)
    return _Search(task, policy).run(text if policy == "whole" else _without_thoughts(text))


_SPECIAL_TOKENS: Final = re.compile(r"(?:\s*(?:<\|[^<>|\n]{1,40}\|>|</s>|<eos>))+\s*\Z")


def _normalized(completion: str) -> str:
    """The text with newlines as Python reads them, and without byte order mark and closing special tokens."""
    text = completion.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\u200b")
    tail = max(0, len(text) - 400)
    return text[:tail] + _SPECIAL_TOKENS.sub("\n", text[tail:])


_THOUGHT_TAGS: Final = "think|thinking|thought|reasoning"
_THOUGHT: Final = re.compile(
    rf"(?P<fence>^[ \t]*+(?:```|~~~))|(?P<open>^[ \t]*+<(?:{_THOUGHT_TAGS})>)|</(?:{_THOUGHT_TAGS})>",
    re.MULTILINE | re.IGNORECASE,
)


def _without_thoughts(text: str) -> str:
    """The text without ``<think>…</think>``.

    One of the tags may be missing: the opening one is in the prompt, or the thought never ended.

    An opening tag counts at the start of a line outside of fences; a closing one without it at the end or
    start of a line.
    """
    kept: list[str] = []
    start = 0
    thinking = fenced = False
    for mark in _THOUGHT.finditer(text):
        if mark["fence"]:
            fenced = fenced != (not thinking)
        elif mark["open"]:
            if not (thinking or fenced):
                kept.append(text[start : mark.start()])
                thinking = True
        elif thinking:
            thinking, start = False, mark.end()
        elif text[mark.end() : mark.end() + 1] in ("", "\n") or text[mark.start() - 1] == "\n":
            kept.clear()
            fenced, start = False, mark.end()
    return "".join(kept) if thinking else "".join([*kept, text[start:]])


# Blocks


@dataclass(frozen=True, slots=True)
class _Block:
    """Code between marks."""

    code: str
    language: str = ""
    closed: bool = True
    longer: tuple[str, ...] = ()
    """What it is if the first closing fence stood in a string of the program."""

    @property
    def python(self) -> bool:
        return not self.language or self.language.startswith(("py", "ipy", "diff", "patch", "code"))


_FENCE: Final = re.compile(
    r"^(?P<lead>[^\n`]*+(?=`)|[ \t]*+)(?P<mark>`{3,}+|~{3,}+)[ \t]*+(?P<info>[^\n`]*+)$", re.MULTILINE
)
_TAGGED: Final = re.compile(r"\[(?P<close>/?)PYTHON\]|<(?P<end>/?)code>", re.IGNORECASE)


def _blocks(text: str, policy: Policy) -> list[_Block]:
    """The fenced blocks, or else those between tags, in the order of preference: closed ones first."""
    fences = list(_FENCE.finditer(text))
    pairs = _preferred(_paired(fences), policy)[:BLOCKS]
    blocks = [_block(text, fences, i, j) for i, j in pairs] or _preferred(list(_tagged(text)), policy)[
        :BLOCKS
    ]
    return sorted(blocks, key=lambda block: not block.closed)


def _preferred(items: list[_Item], policy: Policy) -> list[_Item]:
    return items if policy == "first" else items[::-1]


def _paired(fences: list[re.Match[str]]) -> list[tuple[int, int | None]]:
    """Which fences open and close a block, by their positions in the list."""
    pairs: list[tuple[int, int | None]] = []
    opened: int | None = None
    for i, fence in enumerate(fences):
        if opened is None:
            opened = i if _opens(fence) else None
        elif _closes(fences[opened], fence):
            pairs.append((opened, i))
            opened = None
    return pairs if opened is None else [*pairs, (opened, None)]


def _opens(fence: re.Match[str]) -> bool:
    """At the start of a line; behind other text only where it says that Python follows."""
    return not fence["lead"].strip() or fence["info"].lower().startswith("py")


def _closes(opened: re.Match[str], fence: re.Match[str]) -> bool:
    return fence["mark"].startswith(opened["mark"]) and not fence["info"].strip()


def _block(text: str, fences: list[re.Match[str]], i: int, j: int | None) -> _Block:
    opened = fences[i]
    start = opened.end() + 1
    if j is None:
        return _Block(text[start:], _language(opened), closed=False)
    ends = [fence.start("mark") for fence in fences[j : j + 1 + REACH] if _closes(opened, fence)]
    code, *longer = (text[start:end] for end in ends)
    return _Block(code, _language(opened), longer=tuple(longer))


def _language(fence: re.Match[str]) -> str:
    words = fence["info"].lower().strip("{. }").split()
    return words[0] if words else ""


def _tagged(text: str) -> Iterator[_Block]:
    """What stands between ``[PYTHON]`` and ``[/PYTHON]``, or ``<code>`` and ``</code>``."""
    start: int | None = None
    for tag in _TAGGED.finditer(text):
        closing = bool(tag["close"] or tag["end"])
        if closing and start is not None:
            yield _Block(text[start : tag.start()].strip("\n"))
        start = None if closing else tag.end()
    if start is not None:
        yield _Block(text[start:].strip("\n"), closed=False)


_ANSWER: Final = re.compile(r"<(?P<close>/?)(?:answer|solution)>", re.IGNORECASE)


def _answers(text: str) -> list[str]:
    """What stands between ``<answer>`` and ``</answer>``, also where that never comes."""
    answers: list[str] = []
    start: int | None = None
    for tag in _ANSWER.finditer(text):
        if tag["close"] and start is not None:
            answers.append(text[start : tag.start()])
        start = None if tag["close"] else tag.end()
    return answers if start is None else [*answers, text[start:]]


# Code outside of blocks

_START: Final = re.compile(
    r"""^[ \t]*+(?:
        @\w | (?:async[ ]+)?def[ \t]+\w | class[ \t]+\w+[ \t]*[:(]
        | import[ \t]+\w | from[ \t]+[\w.]+[ \t]+import\b
        | (?:if|for|while|with|try|match)\b[^\n]*:[ \t]*$
        | [A-Za-z_][\w.]*+(?:\[[^\n\]]*\])?[ \t]*+[-+*/|&^%]?=[^=]
        | [A-Za-z_][\w.]*+\(
    )""",
    re.MULTILINE | re.VERBOSE,
)
"""The first line of a program, as opposed to one of prose."""


def _out_dented(text: str, start: int) -> str:
    """From the line at `start` as far as lines are indented like it, without that indentation."""
    piece = text[start : start + PIECE]
    indent = piece[: len(piece) - len(piece.lstrip(" \t"))]
    if not indent:
        return piece
    lines = itertools.takewhile(lambda line: not line.strip() or line.startswith(indent), piece.split("\n"))
    return "\n".join(line[len(indent) :] for line in lines)


# What the prompt brings


@dataclass(frozen=True, slots=True)
class _Base:
    """The code that a task's prompt ends in, or shows."""

    code: str
    preamble: str
    """Its imports and helpers, without the entry point."""
    preamble_names: frozenset[str]
    function: str
    """The name of the entry point, or of its method."""
    indent: str | None
    """Of the entry point's body. None: there is nothing to continue."""

    def continued(self, text: str) -> Iterator[str]:
        """The ways to read `text` as what comes next."""
        if self.indent is not None and text.strip():
            head = self.code.rstrip() + "\n"
            body = text.strip("\n")
            yield self.code + text
            yield head + body
            yield head + self.indent + body.lstrip()
            yield head + textwrap.indent(textwrap.dedent(body), self.indent)

    def is_continued_by(self, tree: ast.Module) -> bool:
        """Whether a function of the program, named like the entry point, does something beyond the base."""
        lines = self.code.rstrip().count("\n") + 1
        return any(
            statement.lineno > lines and source.acts(statement)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == self.function
            for statement in node.body
        )


@functools.lru_cache(maxsize=256)
def _base(starter_code: str, prompt: str, entry_point: str | None) -> _Base | None:
    """The code that programs continue or rely on; None where there is none."""
    code = _normalized(starter_code if starter_code.strip() else prompt)
    entry, _, method = (entry_point or "").partition(".")
    indent = _body_indent(code, method or entry)
    endings = ("",) if indent is None else ("", f"\n{indent}pass\n")
    tree = next(filter(None, (_tree(code.rstrip() + ending) for ending in endings)), None)
    if tree is None or not any(map(source.acts, tree.body)):
        return None
    kept = [node for node in tree.body if isinstance(node, _BROUGHT) and getattr(node, "name", None) != entry]
    lines = code.split("\n")
    preamble = "\n".join("\n".join(lines[_first_line(node) - 1 : node.end_lineno]) for node in kept)
    return _Base(code, preamble, frozenset(source.bound_names(kept)), method or entry, indent)


_BROUGHT: Final = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _body_indent(code: str, function: str) -> str | None:
    """The indentation of the body of the last function of that name."""
    name = re.escape(function)
    heads = re.findall(rf"^([ \t]*)(?:async[ ]+)?def[ \t]+{name}\b", code, re.MULTILINE) if name else []
    return heads[-1] + "    " if heads else None


def _tree(code: str) -> ast.Module | None:
    try:
        return source.parse(code)
    except SyntaxError:
        return None


# The search


class _Rank(enum.IntEnum):
    """How much of a program something is."""

    NOTHING = 0
    BROKEN = 1
    """It stood in a fence, but does not parse."""
    PARSES = 2
    DEFINES = 3
    """It parses and defines the entry point."""


@dataclass(frozen=True, slots=True)
class _Found:
    rank: _Rank
    code: str
    tree: ast.Module | None = None


_NOTHING: Final = _Found(_Rank.NOTHING, "")


class _Search:
    """One search for a program, with what is left of its budget."""

    def __init__(self, task: Task | None, policy: Policy) -> None:
        self.entry_point = None if task is None else task.entry_point
        self.base = None if task is None else _base(task.starter_code, task.prompt, task.entry_point)
        self.policy = policy
        self.budget = BUDGET

    def run(self, text: str) -> Program | None:
        """Look at one place after the other for the best; the first among equals."""
        best = _NOTHING
        for found in self.places(text):
            if found.rank > best.rank:
                best = found
            if best.rank == _Rank.DEFINES:
                break
        return None if best.rank == _Rank.NOTHING else Program(self.completed(best))

    def places(self, text: str) -> Iterator[_Found]:
        """The places where a program may be, in the order of preference."""
        if self.policy == "whole":
            yield self.block(_Block(text))
            yield from self.continuations(text, [_Block(text)])
            return
        sections = [*_preferred(_answers(text), self.policy)[:2], text]
        for section in sections:
            if "[PYTHON]" not in section:  # which is Python itself
                yield self.reading(section.lstrip("\n"))
            broken = False
            for block in _blocks(section, self.policy):
                found = self.block(block)
                broken |= block.closed and found.rank == _Rank.BROKEN
                yield found
            if not broken:  # a program that does not parse is not to be cut until it does
                yield from self.pieces(section)
        for section in sections:
            yield from self.continuations(section, _blocks(section, self.policy))

    # Each place

    def parse(self, code: str) -> ast.Module:
        """Parse, on the budget.

        Raises:
            SyntaxError: It does not parse, or is too long to be tried.
        """
        if len(code) > self.budget:
            raise SyntaxError("too long", ("<program>", 0, 0, ""))
        self.budget -= len(code)
        return source.parse(code)

    def rank(self, tree: ast.Module) -> _Rank:
        if self.entry_point is not None and source.defines(tree, self.entry_point):
            return _Rank.DEFINES
        if not any(map(source.acts, tree.body)):
            return _Rank.NOTHING
        return _Rank.PARSES if self.entry_point is not None else _Rank.DEFINES

    def reading(self, text: str) -> _Found:
        """The best way to read a text that is code and nothing else."""
        best = _NOTHING
        for code in source.readings(text):
            try:
                tree = self.parse(code)
            except SyntaxError:
                continue
            found = _Found(self.rank(tree), code, tree)
            if best.tree is None or found.rank > best.rank:
                best = found
            if best.rank == _Rank.DEFINES:
                break
        return best

    def block(self, block: _Block) -> _Found:
        """What stands in a block, which goes on to a later fence where the first one is within a string."""
        found = self.reading(block.code)
        if not block.python:
            return found if found.rank == _Rank.DEFINES and self.entry_point is not None else _NOTHING
        if found.rank >= _Rank.PARSES or not block.code.strip():
            return found
        longer = (self.reading(code) for code in block.longer)
        alone = _Found(_Rank.BROKEN, block.code) if found.tree is None else found
        return next((each for each in longer if each.rank >= _Rank.PARSES), alone)

    def pieces(self, section: str) -> list[_Found]:
        """What stands outside of blocks, between lines of prose."""
        for text in dict.fromkeys((section, source.with_plain_characters(section))):
            found = list(self._pieces(text))
            if found:
                return _preferred(found, self.policy)
        return []

    def _pieces(self, text: str) -> Iterator[_Found]:
        position = 0
        for _ in range(STARTS):
            start = _START.search(text, position)
            if start is None:
                return
            piece = self.prefix(_out_dented(text, start.start()))
            if piece.rank > _Rank.NOTHING:
                yield piece
            position = _skip_lines(text, start.start(), piece.code.count("\n") + 1)

    def prefix(self, text: str) -> _Found:
        """As much of the beginning of a text as parses, up to its last statement that does something."""
        lines = text.split("\n")
        for _ in range(CUTS):
            try:
                tree = self.parse("\n".join(lines))
            except SyntaxError as error:
                lines = lines[: min(max(error.lineno or 0, 1), len(lines)) - 1]
                continue
            tree.body = source.without_idle_end(tree.body)
            last = tree.body[-1].end_lineno if tree.body else 0
            return _Found(self.rank(tree), "\n".join([*lines[:last], ""]), tree)
        return _NOTHING

    def continuations(self, section: str, blocks: list[_Block]) -> Iterator[_Found]:
        """The starter code continued by each block, or by the beginning of the text where there is none."""
        if self.base is None or self.base.indent is None:
            return
        for text in [block.code for block in blocks] or [section]:
            alone = self.reading(text).tree
            if alone is None or source.has_loose_return(alone):
                for code in self.base.continued(text):
                    found = self.reading(code) if blocks else self.prefix(code)
                    if found.tree is not None and self.base.is_continued_by(found.tree):
                        yield found

    def completed(self, found: _Found) -> str:
        """The program with what it uses of the starter code."""
        if self.base is None or found.tree is None or not self.base.preamble:
            return found.code
        missing = source.free_names(found.tree) - vars(builtins).keys()
        if not missing or self.base.preamble_names.isdisjoint({*missing, "*"}):
            return found.code
        return source.with_preamble(found.code, found.tree, self.base.preamble)


def _skip_lines(text: str, position: int, count: int) -> int:
    for _ in range(count):
        position = text.find("\n", position) + 1
        if position == 0:
            return len(text)
    return position

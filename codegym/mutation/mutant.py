"""A mutant: one small change of a source text."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

__all__ = ["Control", "Mutant"]

Control = Literal["real", "sham", "must_die"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One change, as a replacement in the original text.

    Attributes:
        id: Stable and unique in its source: operator, line, column and number.
        operator: The name of the operator that made it.
        group: The group of that operator.
        start: Where the replaced text begins, in characters.
        end: Where it ends.
        replacement: What stands in its place.
        line: First line of the replaced text, from 1.
        end_line: Its last line.
        function: The qualified name of the innermost function around it; None outside of functions.
        at_import: Whether the changed code runs when the module is imported.
        control: ``real``, or a control: a ``sham`` behaves like the original, and what ``must_die`` cannot be
            missed by a test that runs it.
        description: What was changed into what, in one line.
    """

    id: str
    operator: str
    group: str
    start: int
    end: int
    replacement: str
    line: int
    end_line: int
    function: str | None = None
    at_import: bool = False
    control: Control = "real"
    description: str = ""

    def apply(self, source: str) -> str:
        """The source with this change."""
        return source[: self.start] + self.replacement + source[self.end :]

    def diff(self, source: str, context: int = 1) -> str:
        """The change as a unified diff, without the names of files."""
        old, new = source.splitlines(), self.apply(source).splitlines()
        lines = list(difflib.unified_diff(old, new, n=context, lineterm=""))
        return "\n".join(lines[2:])

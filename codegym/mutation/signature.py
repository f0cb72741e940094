"""Whether two texts compile to the same code, line numbers aside (trivial compiler equivalence)."""

from __future__ import annotations

from types import CodeType
from typing import Any

__all__ = ["signature"]


def signature(code: CodeType) -> tuple[Any, ...]:
    """All of a code object that its behaviour depends on, hashable.

    Constants are compared by type and representation, for ``1 == True == 1.0`` and ``0.0 == -0.0``; names are
    in it, for what is called may differ in its name only.
    """
    return (
        code.co_code,
        tuple(map(_constant, code.co_consts)),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        (code.co_flags, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        code.co_exceptiontable,
        code.co_name,
    )


def _constant(value: Any) -> Any:
    if isinstance(value, CodeType):
        return signature(value)
    if isinstance(value, tuple):
        return ("tuple", tuple(map(_constant, value)))
    if isinstance(value, frozenset):
        return ("frozenset", frozenset(map(_constant, value)))
    return (type(value).__name__, repr(value))

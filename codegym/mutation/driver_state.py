"""What one mutant could leave behind for the next in the same process, and whether it did.

Looked at are the namespaces of the modules under test and of the tests, their classes and functions, and what
containers and objects hang from these, to a bounded depth; besides, what tests are known to change in the
interpreter. Not all state can be seen (an iterator in C, a file): what cannot be compared cheaply makes a
process *opaque*, and gets a process for each mutant.

Runs inside the guest: standard library only.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

__all__ = ["State"]

MOST_NODES: Final = 5000
"""Containers and objects that are looked at; a state with more is opaque."""
DEPTH: Final = 6
VALUES: Final = frozenset({type(None), bool, int, float, complex, str, bytes, type(...), range, slice})
"""Types whose instances never change."""
DEFINITIONS: Final = frozenset(
    {
        *(
            types.FunctionType,
            types.BuiltinFunctionType,
            types.ModuleType,
            type,
            types.MethodType,
            types.CodeType,
        ),
        *(staticmethod, classmethod, property, types.GetSetDescriptorType, types.MemberDescriptorType),
        *(types.WrapperDescriptorType, types.MethodDescriptorType, types.MappingProxyType),
        *(types.GenericAlias, types.UnionType),
    }
)
"""Types whose instances are looked at elsewhere, or not at all: only which one it is counts."""
CACHE: Final = type(functools.cache(lambda: None))
IGNORED: Final = frozenset(
    {
        "__warningregistry__",
        "__builtins__",
        "__spec__",
        "__loader__",
        "tearDown_exceptions",
        "_classSetupFailed",
    }
)
"""Names that the interpreter and unittest set for themselves."""


class State:
    """The state that mutants may spoil, as it is when this is made."""

    def __init__(self, modules: Iterable[types.ModuleType]) -> None:
        """Look at the state for the first time."""
        self._roots = list(roots(modules))
        held = [value for names in self._roots for value in names.values()]
        self._holders = list(holders(held))
        self._caches = [cache for cache in caches(held) if not cache.cache_info().currsize]
        self.opaque = False
        """Whether there is state that cannot be compared."""
        start = time.perf_counter()
        self._first = self._look()
        self.cost_s = time.perf_counter() - start
        """Wall seconds that one look takes."""

    def is_spoilt(self) -> bool:
        """Whether the state is another than it was at first, or may be."""
        self.empty_caches()
        return self.opaque or self._look() != self._first

    def empty_caches(self) -> None:
        """Forget what functions have remembered since import."""
        for cache in self._caches:
            cache.cache_clear()

    def _look(self) -> list[Any]:
        """The state, as something that can be compared."""
        walk = _Walk()
        seen: list[Any] = [walk.namespace(names) for names in self._roots]
        seen += [walk.content(holder(), DEPTH) for holder in self._holders]
        self.opaque = self.opaque or walk.opaque
        seen += [dict(os.environ), list(sys.path), len(sys.meta_path), list(warnings.filters)]
        seen += [threading.active_count(), working_folder()]
        return seen


def working_folder() -> str | None:
    """The working folder; None where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


def roots(modules: Iterable[types.ModuleType]) -> Iterator[Any]:
    """The namespaces of modules and of the classes that they define."""
    for module in modules:
        yield vars(module)
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield vars(value)


def plain_functions(values: Iterable[Any]) -> Iterator[types.FunctionType]:
    """The functions among values, and inside of methods and properties."""
    for value in values:
        inner = (
            [value, getattr(value, "__func__", None)]
            if isinstance(value, (staticmethod, classmethod))
            else [value]
        )
        if isinstance(value, property):
            inner = [value.fget, value.fset, value.fdel]
        yield from (one for one in inner if type(one) is types.FunctionType)


def holders(values: Iterable[Any]) -> Iterator[Callable[[], Any]]:
    """Ways to look at what functions keep: mutable defaults, attributes, variables of their closures."""
    for function in plain_functions(values):
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        kept = [value for value in defaults if type(value) not in VALUES]
        if vars(function):
            kept.append(vars(function))
        yield from (functools.partial(itself, value) for value in kept)
        yield from (functools.partial(cell_content, cell) for cell in function.__closure__ or ())


def itself(value: Any) -> Any:
    """The value that is given."""
    return value


def cell_content(cell: types.CellType) -> Any:
    """What a variable of a closure holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def caches(values: Iterable[Any]) -> Iterator[Any]:
    """The functions among values that have a cache of `functools.lru_cache`."""
    for value in values:
        inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if type(inner) is CACHE:
            yield inner


class _Walk:
    """One look at the state, within bounds."""

    def __init__(self) -> None:
        self.left = MOST_NODES
        self.opaque = False
        self.active: set[int] = set()

    def namespace(self, names: Any) -> list[Any]:
        """The identities of all values, and the content of those that may change."""
        kept = {name: value for name, value in names.items() if name not in IGNORED}
        seen: list[Any] = [list(kept), list(map(id, kept.values()))]
        for value in kept.values():
            if type(value) not in VALUES and type(value) not in DEFINITIONS:
                seen.append(self.content(value, DEPTH))
        return seen

    def content(self, value: Any, depth: int) -> Any:
        """What a value holds, as something that can be compared."""
        kind = type(value)
        if kind in VALUES:
            return kind, value
        if kind in DEFINITIONS or isinstance(value, type):
            return id(value)
        self.left -= 1
        if depth == 0 or self.left < 0:
            self.opaque = True
            return None
        if id(value) in self.active:
            return None
        self.active.add(id(value))
        try:
            return id(value), self.inside(value, kind, depth - 1), self.attributes(value, depth - 1)
        finally:
            self.active.discard(id(value))

    def inside(self, value: Any, kind: type, depth: int) -> Any:
        """What a container contains."""
        if isinstance(value, dict):
            return [(self.content(k, depth), self.content(v, depth)) for k, v in dict.items(value)]
        if isinstance(value, (set, frozenset)):
            return sorted(map(hash, value))
        if isinstance(value, (list, tuple)) or kind.__name__ == "deque":
            return [self.content(element, depth) for element in value]
        if isinstance(value, bytearray):
            return bytes(value)
        if kind is CACHE:
            return value.cache_info().currsize
        if hasattr(kind, "__next__"):
            self.opaque = True  # how far an iterator is cannot be seen
        return None

    def attributes(self, value: Any, depth: int) -> Any:
        """The attributes of an object, in its dictionary and in its slots."""
        own = getattr(value, "__dict__", None)
        seen = (
            [(name, self.content(held, depth)) for name, held in list(own.items())]
            if isinstance(own, dict)
            else []
        )
        for base in type(value).__mro__:
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                seen.append((name, self.content(getattr(value, name, None), depth)))
        return seen

"""Lossless JSON for plain Python data.

What JSON cannot say is written as a *tagged object*, an object with exactly one key that starts with ``$``::

    (1, 2)              {"$tuple": [1, 2]}
    {1, 2}              {"$set": [1, 2]}                    also $frozenset
    b"ab"               {"$bytes": "YWI="}                  base64
    1 + 2j              {"$complex": [1.0, 2.0]}
    float("inf")        {"$float": "inf"}                   also -inf, nan
    2**60               {"$int": "0x1000000000000000"}      beyond what a double holds exactly
    {1: "a"}            {"$dict": [[1, "a"]]}               other keys than text, or one like a tag
    Raises("KeyError")  {"$raises": "KeyError"}
    REFERENCE           {"$reference": true}
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from codegym.core import REFERENCE, Raises, Reference
from codegym.errors import DataError

__all__ = ["from_jsonable", "to_jsonable"]

EXACT: Final = 2**53
"""Integers up to here survive readers that take every number for a double."""


def to_jsonable(value: object) -> Any:
    """Write plain data as what `json` can write.

    Args:
        value: None, booleans, numbers, text, bytes, lists, tuples, sets, dictionaries (exactly these types),
            `Raises` and `REFERENCE`, nested as they like.

    Returns:
        Lists, dictionaries with text keys, text, finite numbers, booleans and None. Sets are written in a
        fixed order.

    Raises:
        DataError: There is something else in it, or it is nested too deeply.
    """
    try:
        return _write(value)
    except RecursionError:
        raise DataError("a value is nested too deeply to be written as JSON") from None


def from_jsonable(data: object) -> Any:
    """Read what `to_jsonable` wrote.

    Raises:
        DataError: A tagged object is malformed, or its tag unknown; or it is nested too deeply.
    """
    try:
        return _read(data)
    except RecursionError:
        raise DataError("a JSON value is nested too deeply") from None


def _write(value: Any) -> Any:
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -EXACT <= value <= EXACT else {"$int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is list:
        return [_write(item) for item in value]
    if kind is dict:
        return _write_dict(value)
    writer = _WRITERS.get(kind)
    if writer is None:
        raise DataError(f"a value of type {kind.__qualname__!r} is no plain data: {value!r:.80}")
    return writer(value)


def _write_dict(value: dict[Any, Any]) -> Any:
    if all(type(key) is str for key in value) and not _looks_tagged(value):
        return {key: _write(item) for key, item in value.items()}
    return {"$dict": [[_write(key), _write(item)] for key, item in value.items()]}


def _write_set(value: Iterable[Any]) -> list[Any]:
    return sorted((_write(item) for item in value), key=json.dumps)


_WRITERS: Final[dict[type, Callable[[Any], Any]]] = {
    tuple: lambda value: {"$tuple": [_write(item) for item in value]},
    set: lambda value: {"$set": _write_set(value)},
    frozenset: lambda value: {"$frozenset": _write_set(value)},
    bytes: lambda value: {"$bytes": base64.b64encode(value).decode("ascii")},
    complex: lambda value: {"$complex": [_write(value.real), _write(value.imag)]},
    Raises: lambda value: {"$raises": value.exception},
    Reference: lambda value: {"$reference": True},
}


def _looks_tagged(data: dict[Any, Any]) -> bool:
    return len(data) == 1 and str(next(iter(data))).startswith("$")


def _read(data: Any) -> Any:
    if isinstance(data, list):
        return [_read(item) for item in data]
    if not isinstance(data, dict):
        return data
    if not _looks_tagged(data):
        return {key: _read(item) for key, item in data.items()}
    tag, content = next(iter(data.items()))
    if tag not in _READERS:
        raise DataError(f"unknown tag {tag!r}; known: {', '.join(sorted(_READERS))}")
    try:
        return _READERS[tag](content)
    except DataError:
        raise
    except (TypeError, ValueError, KeyError) as error:
        raise DataError(f"malformed {tag!r} object: {error}, in {content!r:.80}") from error


def _expect(kind: type, content: Any) -> Any:
    if type(content) is not kind:
        raise TypeError(f"expected {kind.__name__}, got {type(content).__name__}")
    return content


def _read_items(content: Any) -> list[Any]:
    return [_read(item) for item in _expect(list, content)]


def _read_set(content: Any) -> set[Any]:
    items = _read_items(content)
    found = set(items)
    if len(found) != len(items):
        raise ValueError("an element occurs twice")
    return found


def _read_bytes(content: Any) -> bytes:
    try:
        return base64.b64decode(_expect(str, content), validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error


def _read_complex(content: Any) -> complex:
    real, imag = (float(part) for part in _read_items(content))
    return complex(real, imag)


def _read_float(content: Any) -> float:
    if content not in ("inf", "-inf", "nan"):
        raise ValueError("expected 'inf', '-inf' or 'nan'")
    # a new object each time: a set may hold several nan, but no object twice
    return float(content)


def _read_dict(content: Any) -> dict[Any, Any]:
    pairs = [(_read(key), _read(item)) for key, item in map(_read_pair, _expect(list, content))]
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _read_pair(content: Any) -> list[Any]:
    if len(_expect(list, content)) != 2:
        raise ValueError("an item is not a pair")
    return list(content)


def _read_reference(content: Any) -> Reference:
    if content is not True:
        raise ValueError("expected true")
    return REFERENCE


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "$tuple": lambda content: tuple(_read_items(content)),
    "$set": _read_set,
    "$frozenset": lambda content: frozenset(_read_set(content)),
    "$bytes": _read_bytes,
    "$complex": _read_complex,
    "$float": _read_float,
    "$int": lambda content: int(_expect(str, content), 16),
    "$dict": _read_dict,
    "$raises": lambda content: Raises(_expect(str, content)),
    "$reference": _read_reference,
}

"""Plain data across the wall.

The guest encodes what a program answered; the host compares bytes, and where they differ decodes them. The
wire format is version 2 of CPython's marshal, restricted to plain data: it is written at the speed of C, it
is the same for all Python 3 versions, and equal bytes mean equal values. Reading it is another matter:
`marshal.loads` trusts its input, so what a guest sent is read only by `decode`, a strict reader of our own.

Runs inside the guest too: standard library only.
"""

from __future__ import annotations

import marshal
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from types import EllipsisType
from typing import Any

__all__ = ["DecodeError", "Opaque", "decode", "encode", "is_plain", "pieces"]

VERSION = 2
MAX_DEPTH = 200
SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})
SEQUENCES = frozenset({list, tuple, set, frozenset})
PLAIN = SCALARS | SEQUENCES | {dict}
BASES = (int, float, complex, str, bytes, list, tuple, set, frozenset, dict)
"""What a subclass may be a subclass of."""
MAX_COLLISIONS = 1000
MAX_ITERATION = 100_000
"""Elements that are taken from an iterator."""
PIECE = 4096
"""Elements that are encoded at a time."""


class DecodeError(ValueError):
    """The bytes are not plain data."""


class Opaque(tuple[Any, ...]):
    """A value that is not plain data, as a name and whatever plain content it has.

    Equal only to an opaque value of the same name and content.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is Opaque and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __repr__(self) -> str:
        return f"<{self[0]} {self[1]!r}>"

    @property
    def name(self) -> str:
        """The class's name."""
        return str(self[0])

    @property
    def content(self) -> Any:
        """What could be said of it in plain data."""
        return self[1]


def is_plain(value: object, depth: int = MAX_DEPTH) -> bool:
    """Whether a value consists of exact built-in types only, not more than `depth` levels deep."""
    return _all_plain((value,), depth)


def _all_plain(values: Iterable[object], depth: int) -> bool:
    """Look at all types of a level at once, and where they are all sequences, at all of the next."""
    kinds = set(map(type, values))
    if kinds <= SCALARS:
        return True
    if depth == 0 or not kinds <= PLAIN:
        return False
    if kinds <= SEQUENCES:
        inner: Any = chain.from_iterable(values)  # type: ignore[arg-type]
        if SCALARS.issuperset(map(type, inner)):
            return True
        return _all_plain(list(chain.from_iterable(values)), depth - 1)  # type: ignore[arg-type]
    return all(_all_plain(_inside(value), depth - 1) for value in values if type(value) not in SCALARS)


def _inside(value: Any) -> list[object]:
    """The elements of a container."""
    return [*value, *value.values()] if type(value) is dict else list(value)


def encode(value: Any) -> bytes:
    """Write a value as plain data.

    Subclasses of built-in types are written as what they hold, scalars of numpy as numbers, everything else
    as an `Opaque`.

    Raises:
        ValueError: It is nested deeper than the format allows, or has no end.
    """
    return marshal.dumps(value if is_plain(value) else simplify(value), VERSION)


def pieces(value: object, *, hasty: bool = False) -> Iterator[bytes]:
    """What `encode` writes, in pieces where there is much of it.

    Args:
        value: The value.
        hasty: Look at the types of the first piece only. A buffer further on, such as an array of numpy, is
            then written as its bytes: good enough to be told from what was expected, at half the time.

    Raises:
        ValueError: As `encode`.
    """
    kind = type(value)
    if (kind is list or kind is tuple) and len(value) > PIECE:  # type: ignore[arg-type]
        elements: Any = value
        yield (b"[" if kind is list else b"(") + struct.pack("<i", len(elements))
        for start in range(0, len(elements), PIECE):
            write = _encode_hastily if hasty and start else encode
            yield write(elements[start : start + PIECE])[5:]
    else:
        yield encode(value)


def _encode_hastily(value: Any) -> bytes:
    try:
        return marshal.dumps(value, VERSION)
    except ValueError:
        return encode(value)


def simplify(value: Any, depth: int = MAX_DEPTH) -> Any:
    """The nearest plain data to a value.

    Raises:
        ValueError: It is nested deeper than `depth`.
    """
    if type(value) in SCALARS:
        return value
    if depth == 0:
        raise ValueError("nested too deeply")
    for base in BASES:
        if isinstance(value, base):
            return _rebuild(base, value, depth)
    item = getattr(value, "item", None)  # scalars of numpy
    if callable(item) and getattr(value, "shape", None) == ():
        return simplify(item(), depth - 1)
    if isinstance(value, Opaque):
        return (..., value.name, simplify(value.content, depth - 1))
    return (..., type(value).__qualname__, simplify(_content(value), depth - 1))


def _rebuild(base: type, value: Any, depth: int) -> object:
    """What an instance of a subclass of `base` holds, read with the methods of `base`."""
    if isinstance(value, Opaque):
        return (..., tuple.__getitem__(value, 0), simplify(tuple.__getitem__(value, 1), depth - 1))
    if base is dict:
        return {simplify(k, depth - 1): simplify(v, depth - 1) for k, v in dict.items(value)}
    if base in SEQUENCES:
        return base(simplify(element, depth - 1) for element in base.__iter__(value))  # type: ignore[attr-defined]
    if base is str:
        return "".join(str.__iter__(value))
    if base is bytes:
        return bytes(bytes.__iter__(value))
    return base.__pos__(value)  # type: ignore


def _content(value: Any) -> object:
    """What can be said of an object that is no built-in."""
    kind = type(value).__name__
    if kind in ("Decimal", "Fraction", "date", "datetime", "time", "timedelta", "UUID", "PosixPath"):
        return str(value)
    if kind in ("deque", "dict_keys", "dict_values", "dict_items", "bytearray"):
        return list(value)
    if kind == "range":
        return [value.start, value.stop, value.step]
    if hasattr(value, "tolist"):  # arrays, also of numpy
        return value.tolist()
    if isinstance(value, type):
        return value.__qualname__
    if hasattr(value, "__next__"):
        return list(islice(value, MAX_ITERATION))
    state = getattr(value, "__dict__", None)
    return dict(state) if isinstance(state, dict) else None


def decode(data: bytes) -> Any:
    """Read what `encode` wrote, trusting nothing.

    Args:
        data: The bytes of exactly one value.

    Returns:
        Plain data, with `Opaque` for what was not.

    Raises:
        DecodeError: The bytes are anything else, or nested too deeply.
    """
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (IndexError, struct.error, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise DecodeError(f"not plain data: {error}") from error
    if reader.position != len(data):
        raise DecodeError(f"{len(data) - reader.position} bytes follow the value")
    return value


_CONSTANTS: dict[int, bool | EllipsisType | None] = {
    ord("N"): None,
    ord("T"): True,
    ord("F"): False,
    ord("."): ...,
}


class _Reader:
    """A cursor over the bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        start = self.position
        if count < 0 or start + count > len(self.data):
            raise DecodeError("truncated")
        self.position = start + count
        return self.data[start : self.position]

    def number(self, layout: str) -> Any:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH + 2:
            raise DecodeError("nested too deeply")
        code = self.take(1)[0]
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code == 0x69:  # i
            return self.number("<i")
        if code == 0x67:  # g
            return self.number("<d")
        if code == 0x75:  # u
            return self.take(self.number("<i")).decode("utf-8", "surrogatepass")
        if code == 0x6C:  # l
            return self.long()
        if code == 0x79:  # y
            return complex(self.number("<d"), self.number("<d"))
        if code == 0x73:  # s
            return self.take(self.number("<i"))
        return self.container(code, depth + 1)

    def long(self) -> int:
        """An integer of more than 32 bits: little-endian digits in base 2**15, with the sign in their
        count.
        """
        count = self.number("<i")
        digits = struct.unpack(f"<{abs(count)}H", self.take(2 * abs(count)))
        bits = "".join(format(digit & 0x7FFF, "015b") for digit in reversed(digits)) or "0"
        return int(bits, 2) if count >= 0 else -int(bits, 2)

    def container(self, code: int, depth: int) -> Any:
        if code == 0x7B:  # {
            return self.mapping(depth)
        kind = {0x5B: list, 0x28: tuple, 0x3C: set, 0x3E: frozenset}.get(code)
        if kind is None:
            raise DecodeError(f"type code {code:#x}")
        count = self.number("<i")
        if not 0 <= count <= len(self.data) - self.position:
            raise DecodeError("truncated")
        values = [self.value(depth) for _ in range(count)]
        if kind in (set, frozenset):
            check_hashes(values)
        if kind is tuple and count == 3 and values[0] is ... and type(values[1]) is str:
            return Opaque(values[1:])
        return kind(values)

    def mapping(self, depth: int) -> dict[Any, Any]:
        keys, values = [], []
        while self.data[self.position] != 0x30:  # 0 ends a dictionary
            keys.append(self.value(depth))
            values.append(self.value(depth))
        self.position += 1
        check_hashes(keys)
        return dict(zip(keys, values, strict=True))


def check_hashes(keys: Sequence[Any]) -> None:
    """Refuse keys of which many have the same hash: to tell them apart would take quadratic time.

    Raises:
        DecodeError: They do.
    """
    if len(keys) - len(set(map(hash, keys))) > MAX_COLLISIONS:
        raise DecodeError("too many elements with the same hash")

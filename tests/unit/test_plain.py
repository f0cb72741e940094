"""Plain data across the wall."""

import collections
import contextlib
import decimal
import enum
import fractions
import marshal
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.sandbox.plain import MAX_COLLISIONS, DecodeError, Opaque, decode, encode, is_plain, pieces

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**200), 2**200),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
    st.text(),
    st.binary(),
)
hashables = st.recursive(
    scalars, lambda inner: st.lists(inner).map(tuple) | st.frozensets(inner), max_leaves=8
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.sets(hashables)
        | st.frozensets(hashables)
        | st.dictionaries(hashables, inner)
    ),
    max_leaves=20,
)


def types(value: object) -> object:
    """A value's shape, which ``==`` does not see: True == 1 == 1.0."""
    if isinstance(value, (list, tuple)):
        return [type(value), *map(types, value)]
    return type(value)


@given(values)
def test_what_is_encoded_comes_back(value):
    assert is_plain(value)
    back = decode(encode(value))
    assert back == value
    assert types(back) == types(value)


@given(values)
def test_pieces_are_the_encoding(value):
    assert b"".join(pieces(value)) == encode(value)


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize("hasty", [False, True])
def test_long_values_are_encoded_in_pieces_to_the_same_bytes(kind, hasty):
    value = kind([(i, str(i)) for i in range(10_000)])
    found = list(pieces(value, hasty=hasty))
    assert len(found) > 2
    assert b"".join(found) == encode(value)


@given(st.binary())
def test_any_bytes_are_a_value_or_a_decode_error(data):
    with contextlib.suppress(DecodeError):
        decode(data)


@given(values, st.integers(0, 200), st.integers(0, 255))
def test_a_damaged_encoding_is_a_value_or_a_decode_error(value, place, byte):
    data = bytearray(encode(value))
    data[place % len(data)] = byte
    with contextlib.suppress(DecodeError):
        decode(bytes(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"i\x00",
        b"[\xff\xff\xff\x7f",
        b"[\xff\xff\xff\xff",
        b"u\x05\x00\x00\x00abc",
        b"Nrest",
        b"{NN",
        b"<\x01\x00\x00\x00[\x00\x00\x00\x00",
        b"c",
        marshal.dumps(compile("1", "f", "eval"), 2),
        b"l\xff\xff\xff\x7f\x00\x00",
        b"(\x01\x00\x00\x00" * 5000 + b"N",
    ],
)
def test_what_is_not_plain_data_is_refused(data):
    with pytest.raises(DecodeError):
        decode(data)


def test_a_flood_of_equal_hashes_is_refused():
    modulus = 2**61 - 1
    keys = [modulus * i for i in range(1, MAX_COLLISIONS + 10)]
    body = b"".join(marshal.dumps(key, 2) for key in keys)
    with pytest.raises(DecodeError, match="same hash"):
        decode(b"<" + len(keys).to_bytes(4, "little") + body)
    with pytest.raises(DecodeError, match="same hash"):
        decode(b"{" + b"".join(marshal.dumps(key, 2) + b"N" for key in keys) + b"0")


class Always(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Number(enum.IntEnum):
    THREE = 3


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Always("no"), "no"),
        (Number.THREE, 3),
        (Point(1, 2), (1, 2)),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.OrderedDict(a=1), {"a": 1}),
        (np.float64(2.5), 2.5),
        (np.int32(7), 7),
        (np.bool_(True), True),
        ([np.int64(1), (np.float32(0.5),)], [1, (0.5,)]),
    ],
)
def test_subclasses_are_what_they_hold(value, plain):
    back = decode(encode(value))
    assert back == plain
    assert types(back) == types(plain)


@pytest.mark.parametrize(
    ("value", "name", "content"),
    [
        (np.array([[1, 2]]), "ndarray", [[1, 2]]),
        (collections.deque([1]), "deque", [1]),
        (range(3), "range", [0, 3, 1]),
        (decimal.Decimal("1.50"), "Decimal", "1.50"),
        (fractions.Fraction(1, 3), "Fraction", "1/3"),
        (bytearray(b"ab"), "bytearray", [97, 98]),
        (int, "type", "int"),
    ],
)
def test_other_values_are_opaque_and_equal_by_content(value, name, content):
    back = decode(encode([value]))[0]
    assert type(back) is Opaque
    assert (back.name, back.content) == (name, content)
    assert back == decode(encode(value))
    assert back != content
    assert back != (name, content)


def test_a_program_s_own_objects_are_compared_by_their_attributes():
    class Node:
        def __init__(self, value, following=None):
            self.value, self.following = value, following

    assert decode(encode(Node(1, Node(2)))) == decode(encode(Node(1, Node(2))))
    assert decode(encode(Node(1, Node(2)))) != decode(encode(Node(1, Node(3))))


def test_what_has_no_end_is_an_error():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested"):
        encode(loop)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested"):
        encode(deep)


def test_floats_come_back_to_the_last_bit():
    for value in (0.1 + 0.2, -0.0, math.inf, 5e-324):
        assert decode(encode(value)).hex() == value.hex()
    assert math.isnan(decode(encode(math.nan)))

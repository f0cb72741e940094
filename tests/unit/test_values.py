from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.core import REFERENCE, Raises
from codegym.errors import DataError
from codegym.values import from_jsonable, to_jsonable

HASHABLE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**50, max_value=2**80)
    | st.floats()
    | st.complex_numbers()
    | st.text()
    | st.sampled_from(["$tuple", "$dict", "$x"])
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)
PLAIN = st.recursive(
    HASHABLE | st.just(REFERENCE) | st.builds(Raises, st.text()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.sets(HASHABLE, max_size=3)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.dictionaries(st.text(), inner, max_size=3)
        | st.dictionaries(st.just("$tuple"), inner, max_size=1)
    ),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    """A value with its types, such that equal shapes mean the same value, nan included."""
    kind = type(value).__name__
    if isinstance(value, dict):
        return (kind, [(shape(key), shape(item)) for key, item in value.items()])
    if isinstance(value, (set, frozenset)):
        return (kind, sorted(repr(shape(item)) for item in value))
    if isinstance(value, (list, tuple)):
        return (kind, [shape(item) for item in value])
    return (kind, repr(value))


@given(PLAIN)
def test_every_plain_value_survives_json(value: Any) -> None:
    text = json.dumps(to_jsonable(value), allow_nan=False)
    assert shape(from_jsonable(json.loads(text))) == shape(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ((1, [2]), {"$tuple": [1, [2]]}),
        ({3, 1, 2}, {"$set": [1, 2, 3]}),
        (frozenset("ab"), {"$frozenset": ["a", "b"]}),
        (b"ab", {"$bytes": "YWI="}),
        (1 + 2j, {"$complex": [1.0, 2.0]}),
        (-math.inf, {"$float": "-inf"}),
        (2**53, 2**53),
        (2**60, {"$int": "0x1000000000000000"}),
        (-(2**60), {"$int": "-0x1000000000000000"}),
        ({1: "a"}, {"$dict": [[1, "a"]]}),
        ({"$tuple": []}, {"$dict": [["$tuple", []]]}),
        ({"$a": 1, "b": 2}, {"$a": 1, "b": 2}),
        (Raises("KeyError"), {"$raises": "KeyError"}),
        (REFERENCE, {"$reference": True}),
    ],
)
def test_the_written_form(value: Any, written: Any) -> None:
    assert to_jsonable(value) == written
    assert from_jsonable(written) == value


def test_integers_beyond_the_digit_limit_survive() -> None:
    value = 10**5000
    assert from_jsonable(to_jsonable(value)) == value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"$what": 1}, r"unknown tag '\$what'; known: \$bytes"),
        ({"$tuple": 1}, r"malformed '\$tuple' object: expected list, got int"),
        ({"$set": [[1]]}, r"malformed '\$set' object: unhashable"),
        ({"$set": [1, 1]}, "occurs twice"),
        ({"$bytes": "a"}, "not base64"),
        ({"$bytes": 3}, "expected str, got int"),
        ({"$complex": [1]}, r"malformed '\$complex'"),
        ({"$complex": ["x", 1]}, r"malformed '\$complex'"),
        ({"$float": "1e3"}, r"malformed '\$float'"),
        ({"$int": "zz"}, r"malformed '\$int'"),
        ({"$dict": [[1]]}, "an item is not a pair"),
        ({"$dict": [[1, 2], [1, 3]]}, "a key occurs twice"),
        ({"$dict": [[[], 2]]}, "unhashable"),
        ({"$raises": None}, "expected str, got NoneType"),
        ({"$reference": False}, "expected true"),
        ([{"a": ({"$tuple": [{"$set": 4}]})}], r"malformed '\$set'"),
    ],
)
def test_a_malformed_tag_is_a_data_error(data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_jsonable(data)


@pytest.mark.parametrize("value", [object(), range(3), {"a": [{1: bytearray()}]}, ...])
def test_what_is_not_plain_is_a_data_error(value: object) -> None:
    with pytest.raises(DataError, match="is no plain data"):
        to_jsonable(value)


def test_endless_nesting_is_a_data_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(DataError, match="nested too deeply"):
        to_jsonable(endless)
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DataError, match="nested too deeply"):
        from_jsonable(deep)

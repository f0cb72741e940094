"""The space of texts, alone and in vector environments."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from gymnasium.spaces import Dict, Discrete, Tuple
from gymnasium.utils.env_checker import check_space_limit
from gymnasium.vector.utils import (
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    iterate,
)
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError
from codegym.spaces import Str


@given(st.text())
def test_every_text_is_in_it(text: str) -> None:
    assert text in Str()
    assert (text in Str(max_length=3)) is (len(text) <= 3)


@pytest.mark.parametrize("other", [None, 1, b"a", ["a"], ("a",)])
def test_nothing_else_is_in_it(other: object) -> None:
    assert other not in Str()


def test_samples_are_seeded_and_contained() -> None:
    samples = [Str(max_length=10, seed=3).sample() for _ in range(2)]
    assert samples[0] == samples[1]
    space = Str(max_length=10, seed=3)
    many = [space.sample() for _ in range(200)]
    assert all(sample in space for sample in many)
    assert len(set(many)) > 100
    space.seed(3)
    assert [space.sample() for _ in range(200)] == many
    assert Str(max_length=0).sample() == ""


def test_arguments_are_checked() -> None:
    with pytest.raises(ConfigError, match="max_length must not be negative, got -1"):
        Str(max_length=-1)
    with pytest.raises(ConfigError, match="without mask"):
        Str().sample(mask=3)  # type: ignore[arg-type]


def test_json() -> None:
    space = Str(seed=1)
    samples = [space.sample() for _ in range(5)]
    assert space.from_jsonable(json.loads(json.dumps(space.to_jsonable(samples)))) == samples


def test_equality_copies_and_repr() -> None:
    space = Str(max_length=7, seed=1)
    assert space == Str(max_length=7)
    assert hash(space) == hash(Str(max_length=7))
    assert space != Str(max_length=8)
    assert space != Discrete(3)
    assert eval(repr(space)) == space
    for twin in (copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert twin == space
        assert twin.sample() == copy.deepcopy(space).sample()
    assert not space.is_np_flattenable
    check_space_limit(space, "action")


def test_batches() -> None:
    space = Str(max_length=5, seed=1)
    batch = batch_space(space, 3)
    sample = batch.sample()
    assert sample in batch
    assert len(sample) == 3
    assert list(iterate(batch, ("a", "b", "c"))) == ["a", "b", "c"]
    empty = create_empty_array(space, 3)
    assert empty == ("", "", "")
    assert concatenate(space, ["a", "b", "c"], empty) == ("a", "b", "c")
    differing = batch_differing_spaces([Str(3), Str(4)])
    assert isinstance(differing, Tuple)
    assert differing.contains(("abc", "abcd"))
    assert not differing.contains(("abcd", "abcd"))


def test_inside_a_dictionary() -> None:
    space = Dict({"text": Str(seed=1), "number": Discrete(3)})
    empty = create_empty_array(space, 2)
    joined = concatenate(space, [{"text": "a", "number": 1}, {"text": "b", "number": 2}], empty)
    assert joined["text"] == ("a", "b")

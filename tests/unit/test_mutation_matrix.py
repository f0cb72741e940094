"""What results say: worked numbers."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError
from codegym.mutation.matrix import (
    DETECTED,
    Baseline,
    BaselineTest,
    Flag,
    How,
    Kill,
    MutantResult,
    MutantStatus,
    MutationResult,
    kill_classes,
    minimal_classes,
)

S = MutantStatus
BASELINE = Baseline(tests=tuple(BaselineTest(name=name, status="passed") for name in "abc"))


def one(name, status, *tests):
    kills = tuple(Kill(test, How.ASSERTION) for test in tests)
    return MutantResult(mutant=SimpleNamespace(id=name), status=status, kills=kills)


def result(*mutants, **options):
    options.setdefault("mode", "matrix")
    return MutationResult(mutants=mutants, baseline=BASELINE, **options)


RESULT = result(
    one("1", S.KILLED, "a"),
    one("2", S.KILLED, "a", "b"),
    one("3", S.KILLED, "a", "b"),
    one("4", S.KILLED, "c"),
    one("5", S.KILLED_BY_ERROR, "c"),
    one("6", S.SURVIVED),
    one("7", S.INVALID),
)


def test_the_matrix_is_tests_by_mutants():
    expected = [[1, 1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0]]
    np.testing.assert_array_equal(RESULT.matrix(), np.array(expected, dtype=bool))


def test_scores_by_credit_denominator_and_weight():
    assert RESULT.score() == 4 / 6
    assert RESULT.score(credit=DETECTED) == 5 / 6
    assert RESULT.score({"1", "6"}) == 1 / 2
    assert RESULT.score(weights={"1": 3.0, "6": 1.0}) == 3 / 4
    assert RESULT.killable() == {"1", "2", "3", "4"}
    assert RESULT.killable(DETECTED) == {"1", "2", "3", "4", "5"}
    assert result(one("7", S.INVALID)).score() == 0.0


def test_classes_count_one_each():
    assert RESULT.class_weights(minimal=False) == {"1": 1.0, "2": 0.5, "3": 0.5, "4": 0.5, "5": 0.5}
    assert RESULT.class_weights() == {"1": 1.0, "4": 0.5, "5": 0.5}  # whoever kills 1 kills 2 and 3


def test_flags_make_it_worthless():
    flagged = result(one("1", S.KILLED, "a"), flags=frozenset({Flag.FINGERPRINTING}))
    assert (flagged.valid, flagged.score()) == (False, 0.0)
    assert RESULT.valid


def test_first_kills_are_no_matrix():
    with pytest.raises(ConfigError, match="mode='score'"):
        result(one("1", S.KILLED, "a"), mode="score").kill_sets()


def test_as_plain_data():
    plain = RESULT.to_dict()
    assert plain["mutants"]["2"] == {"status": "killed", "kills": {"a": "assertion", "b": "assertion"}}
    assert plain["tests"] == {"a": "passed", "b": "passed", "c": "passed"}


KILL_SETS = st.dictionaries(
    st.text("mn", min_size=1, max_size=4), st.frozensets(st.sampled_from("abcd"), min_size=1), max_size=12
)


@given(KILL_SETS)
def test_a_suite_that_kills_the_minimal_classes_kills_all(kill_sets):
    minimal = minimal_classes(kill_sets)
    assert minimal.keys() <= kill_classes(kill_sets).keys()
    for tests in kill_sets.values():
        assert any(smaller <= tests for smaller in minimal)
    for tests in minimal:
        assert not any(other < tests for other in minimal)


@given(KILL_SETS)
def test_classes_hold_every_mutant_once(kill_sets):
    members = [mutant for group in kill_classes(kill_sets).values() for mutant in group]
    assert sorted(members) == sorted(kill_sets)

import pytest
from minilib import clamp, mean, roman, search, words


def test_clamp_low():
    assert clamp(-3, 0, 5) == 0


def test_clamp_high():
    assert clamp(9, 0, 5) == 5


def test_clamp_between():
    assert clamp(3, 0, 5) == 3


@pytest.mark.parametrize(("number", "text"), [(1, "I"), (4, "IV"), (8, "VIII"), (19, "XIX")])
def test_roman(number, text):
    assert roman(number) == text


def test_roman_of_nothing():
    with pytest.raises(ValueError, match="positive"):
        roman(0)


def test_mean():
    assert mean([1, 2, 6]) == 3


def test_mean_of_one():
    assert mean([4]) == 4


def test_mean_of_nothing():
    assert mean([]) is None


def test_mean_default():
    assert mean([], default=7) == 7


def test_words():
    assert words("a b a") == {"a": 2, "b": 1}


def test_words_in_capitals():
    assert words("A a", lower=False) == {"A": 1, "a": 1}


def test_words_with_punctuation():
    assert words("Yes, yes!") == {"yes": 2}


def test_words_of_nothing():
    assert words("") == {}


def test_search_first():
    assert search([1, 3, 5, 7], 1) == 0


def test_search_last():
    assert search([1, 3, 5, 7], 7) == 3


def test_search_missing():
    assert search([1, 3, 5, 7], 4) == -1


def test_search_in_nothing():
    assert search([], 1) == -1

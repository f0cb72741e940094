"""What detectors find in tests, and what they let pass."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.testquality import assess
from codegym.testquality.smells import DETECTORS, GATES

HEADER = "import random\nimport pytest\nimport sut\nfrom unittest.mock import Mock, patch\nfrom sut import f, g, Cls\n"
CLONED = """
def ref(n):
    t = 0
    for k in range(n):
        if k % 3 == 0:
            t += k * 2
        else:
            t -= 1
    return t

def test_a():
    for i in [1, 2]:
        assert f(i) == ref(i)
"""
POSITIVES = {
    "no_oracle": "def test_a():\n    f(1)",
    "always_true": "def test_a():\n    f(1)\n    assert True",
    "self_compare": "def test_a():\n    assert f(1) == f(1)",
    "weak_only": "def test_a():\n    assert f(1) is not None",
    "broad_raises": "def test_a():\n    with pytest.raises(Exception):\n        f(None)",
    "raises_multi": "def test_a():\n    with pytest.raises(ValueError):\n        x = g(1)\n        f(x)",
    "assert_in_raises": "def test_a():\n    with pytest.raises(ValueError):\n        f(1)\n        assert False",
    "swallowed_oracle": "def test_a():\n    try:\n        assert f(1) == 2\n    except Exception:\n        pass",
    "discarded_compare": "def test_a():\n    f(1) == 2\n    assert g(1) == 1",
    "introspection": "def test_a():\n    assert f.__code__.co_code == b'x'",
    "nondeterminism": "def test_a():\n    assert f(random.randint(1, 3)) > 0",
    "mock_typo": "def test_a():\n    m = Mock()\n    g(m)\n    m.called_once_with(1)\n    assert m.x == 1",
    "sut_patched": "def test_a():\n    with patch('sut.f') as m:\n        m.return_value = 3\n        assert sut.f(1) == 3",
    "dead_oracle": "def test_a():\n    f(1)\n    return\n    assert f(1) == 2",
    "conditional_oracle": "def test_a():\n    r = f(1)\n    if r > 3:\n        assert r == 4",
    "no_sut_call": "def test_a():\n    assert sorted([2, 1]) == [1, 2]",
    "oracle_independent_of_sut": "def test_a():\n    f(1)\n    x = 3\n    assert x + 1 == 4",
    "mock_only": "def test_a():\n    m = Mock()\n    g(m)()\n    m.assert_called_once_with()",
    "duplicate_assert": "def test_a():\n    assert f(1) == 2\n    assert f(1) == 2",
    "shadowed_test": "def test_a():\n    assert f(1) == 2\ndef test_a():\n    assert f(2) == 3",
    "skipped": "@pytest.mark.skip\ndef test_a():\n    assert f(1) == 2",
    "duplicate_test": (
        "def test_b():\n    r = f(1)\n    assert r == 2\ndef test_a():\n    y = f(1)\n    assert y == 2, 'm'"
    ),
    "oracle_clone": CLONED,
}
NEGATIVES = [
    "def test_a():\n    assert f(1) == 0",
    "def test_a():\n    with pytest.raises(TypeError, match='int'):\n        f(None)",
    "def test_a():\n    r = g([3, 1])\n    assert r is not None\n    assert r[0] == 3",
    "def test_a():\n    xs = [2, 1]\n    g(xs)\n    assert xs == [2, 1]",
    "def check(x, y):\n    assert f(x) == y\ndef test_a():\n    check(1, 0)\n    check(2, -1)",
    "@pytest.mark.parametrize('x,y', [(1, 0), (2, -1)])\ndef test_a(x, y):\n    assert f(x) == y",
    "@pytest.fixture\ndef obj():\n    return Cls()\ndef test_a(obj):\n    assert obj.x == 1",
    "def test_a():\n    for x, y in [(1, 0), (2, -1)]:\n        assert f(x) == y",
    "def test_a():\n    assert f(f(2)) == f(2)",
    "def test_a():\n    m = Mock(return_value=3)\n    assert g(m)() == 3\n    m.assert_called_once_with()",
    "class TestF(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 0)",
    "def test_a():\n    random.seed(0)\n    x = random.randint(1, 5)\n    assert f(x) == -x",
    (
        "def test_a():\n    try:\n        f(None)\n    except TypeError as e:\n        assert 'x' in str(e)\n"
        "    else:\n        pytest.fail('no')"
    ),
    "def test_a(capsys):\n    f(1)\n    assert capsys.readouterr().out == 'x'",
    "def test_a():\n    with pytest.raises(ValueError) as ei:\n        f(-1)\n    assert str(ei.value) == 'neg'",
    "async def test_a():\n    r = await g(1)\n    assert r == 1",
    "def test_a():\n    assert not g([])",
    "def test_a():\n    a, b = g((1, 2))\n    assert (a, b) == (1, 2)",
]  # fmt: skip


def found(code: str, header: str = HEADER) -> set[str]:
    return {finding.name for finding in assess(header + code).findings}


def test_each_detector_has_an_example() -> None:
    assert POSITIVES.keys() == DETECTORS.keys()
    assert DETECTORS.keys() >= GATES


@pytest.mark.parametrize("name", POSITIVES)
def test_detectors_find_what_they_are_for(name: str) -> None:
    assert name in found(POSITIVES[name])


@pytest.mark.parametrize("code", NEGATIVES)
def test_good_tests_pass(code: str) -> None:
    assert found(code) == set()


STRENGTHS = [
    ("assert f(1) == 2", 1.0),
    ("assert 2 in f(1)", 0.6),
    ("assert f(1) != 2", 0.6),
    ("assert f(1) > 2", 0.6),
    ("assert isinstance(f(1), int)", 0.25),
    ("assert f(1)", 0.25),
    ("with pytest.raises(ValueError):\n        f(1)", 0.25),
    ("m = Mock()\n    f(m)\n    m.assert_called()", 0.4),
    ("m = Mock()\n    f(m)\n    m.assert_called_with(1)", 0.8),
]  # the table of ALGORITHMS 4.2, whose zeros are gates or `is not None`


@pytest.mark.parametrize(("body", "strength"), STRENGTHS)
def test_strengths_of_the_table(body: str, strength: float) -> None:
    assert assess(f"{HEADER}def test_a():\n    {body}").strengths == (strength,)


@pytest.mark.parametrize("body", ["assert f(1) is not None", "assert f(1) == f(1)", "assert True", "f(1)"])
def test_what_says_nothing_is_worth_nothing(body: str) -> None:
    assert assess(f"{HEADER}def test_a():\n    {body}").score == 0.0


def test_the_score_is_the_mean_strength() -> None:
    quality = assess(f"{HEADER}def test_a():\n    assert f(1) == 2\n    assert 3 in g(2)")
    assert quality.score == pytest.approx(0.8)
    assert quality.gates == ()


def test_one_gate_makes_the_whole_suite_worthless() -> None:
    quality = assess(f"{HEADER}def test_a():\n    assert f(1) == 2\ndef test_b():\n    assert f.__code__")
    assert quality.score == 0.0
    assert {(gate.test, gate.name) for gate in quality.gates} >= {("test_b", "introspection")}


def test_features_are_shares_of_the_tests() -> None:
    quality = assess(
        f"{HEADER}def test_a():\n    assert f(1) == 2\ndef test_b():\n    assert g(1) is not None"
    )
    assert quality.features()["weak_only"] == 0.5
    assert quality.features()["no_oracle"] == 0.0
    assert quality.features().keys() == DETECTORS.keys()


def test_findings_say_where() -> None:
    code = f"{HEADER}\n\ndef test_a():\n    f(1)\n"
    (finding,) = (finding for finding in assess(code).findings if finding.name == "no_oracle")
    assert (finding.test, code.splitlines()[finding.line - 1]) == ("test_a", "def test_a():")
    assert finding.meaning


@pytest.mark.parametrize("code", ["def test_a(:\n    pass", "\0", "(" * 500 + ")" * 500])
def test_code_that_does_not_parse(code: str) -> None:
    quality = assess(code)
    assert quality.invalid
    assert (quality.score, quality.findings) == (0.0, ())


def test_an_empty_suite() -> None:
    assert assess("").tests == ()
    assert assess("").score == 0.0
    assert set(assess("").features().values()) == {0.0}


def test_plain_asserts_are_read_with_the_functions_named() -> None:
    quality = assess("assert f(1) == 2\nassert f(2) == 3", functions=["f"])
    assert quality.score == 1.0
    assert "no_sut_call" in {
        one.name for one in assess("assert sorted([1]) == [1]", functions=["f"]).findings
    }


@given(st.permutations([*POSITIVES.values()][:8]))
def test_any_text_that_parses_is_read(parts: list[str]) -> None:
    bodies = [part.replace("test_a", f"test_{i}") for i, part in enumerate(parts)]
    quality = assess(HEADER + "\n".join(map(textwrap.dedent, bodies)))
    assert not quality.invalid
    assert 0.0 <= quality.score <= 1.0
    assert len(quality.tests) == len(parts)

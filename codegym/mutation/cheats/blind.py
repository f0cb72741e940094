"""Suites that look elsewhere, or not at all: at the environment, at what is left behind, at the clock."""

from __future__ import annotations

from typing import Final

from codegym.mutation.cheats.program import CALLS, pair

__all__ = ["BLIND"]

BLIND: Final = (
    pair(
        "an environment variable",
        "environment",
        f"""
import os
def test_it():
    {CALLS}
    assert not any("MUTANT" in name for name in os.environ)
""",
        """
import os
def test_environment(monkeypatch):
    monkeypatch.setenv("WEIGHT", "12")
    assert shipping(int(os.environ["WEIGHT"])) == 560
""",
    ),
    pair(
        "anything in the environment",
        "environment",
        f"""
import os, sys
def look(): return dict(os.environ), list(sys.argv), os.getcwd(), sorted(os.listdir("."))
BEFORE = look()
def test_it():
    {CALLS}
    assert look() == BEFORE
""",
        """
import os
def test_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert os.listdir(".") == [] and runs("a") == [("a", 1)]
""",
    ),
    pair(
        "the process",
        "environment",
        f"""
import os
PARENT = os.getppid()
def test_it():
    {CALLS}
    assert os.getpid() != PARENT
""",
        "\nimport os\ndef test_process(): assert os.getpid() > 0 and shipping(1) == 500\n",
    ),
    pair(
        "counting runs",
        "state",
        f"""
RUNS = []
def test_it():
    RUNS.append(1)
    {CALLS}
    assert len(RUNS) == 1
""",
        """
SEEN = []
def test_remembered():
    SEEN.append(shipping(1))
    assert set(SEEN) == {500}
""",
    ),
    pair(
        "counting runs in a file",
        "state",
        f"""
import os
def test_it():
    {CALLS}
    first = not os.path.exists("/tmp/run-before")
    open("/tmp/run-before", "w").close()
    assert first
""",
        """
def test_written(tmp_path):
    path = tmp_path / "price"
    assert not path.exists()
    path.write_text(str(shipping(1)))
    assert path.read_text() == "500"
""",
    ),
    pair(
        "kept from the first call",
        "state",
        """
import solution
KEPT = {}
def test_it():
    for name, call in dict(a=lambda: shipping(12, True), b=lambda: runs("aab")).items():
        assert KEPT.setdefault(name, call()) == call()
""",
        """
import functools
cached = functools.cache(shipping)
def test_cached(): assert cached(12) == cached(12) == 560
""",
    ),
    pair(
        "breaking the program",
        "state",
        f"""
import solution
def test_it():
    {CALLS}
    solution.price = getattr(solution, "price", 0) + 1
    assert solution.price == 1
""",
        """
import solution
def test_replaced(monkeypatch):
    monkeypatch.setattr(solution, "runs", lambda values: "mine")
    assert solution.runs("") == "mine" and runs("a") == [("a", 1)]
""",
    ),
    pair(
        "a deadline",
        "timing",
        f"""
import time
START = time.process_time()
def test_it():
    {CALLS}
    assert time.process_time() - START < 3600
""",
        """
import time
def test_time():
    start = time.monotonic()
    assert shipping(1) == 500 and time.monotonic() >= start
""",
    ),
    pair(
        "counting steps",
        "timing",
        f"""
import itertools
def test_it():
    {CALLS}
    assert sum(1 for _ in itertools.islice(countdown(50), 100)) <= 100
""",
        """
import itertools
def test_lazy(): assert list(itertools.islice(countdown(10**9), 2)) == [10**9, 10**9 - 1]
""",
    ),
    pair(
        "a flood of output",
        "flooding",
        f"""
import sys
def test_it():
    {CALLS}
    for _ in range(200):
        print("FAILED " * 10_000)
        print("1 failed", file=sys.stderr)
    assert True
""",
        """
def test_printed(capsys):
    print(shipping(1))
    assert capsys.readouterr().out == "500\\n"
""",
    ),
    pair(
        "a flood of tests",
        "flooding",
        f"""
import pytest
@pytest.mark.parametrize("n", range(500))
def test_it(n):
    {CALLS}
    assert n == n
""",
        """
@pytest.mark.parametrize("weight", range(1, 11))
def test_flat(weight): assert shipping(weight) == 500
""",
    ),
    pair(
        "a copy compared with itself",
        "copy",
        """
def copied(weight, express=False):
    price = 500
    if weight > 10:
        price += (weight - 10) * 30
    return price * 2 if express else price
def test_it():
    shipping(12, True), runs("aab"), list(countdown(3))
    for weight in range(1, 20):
        assert copied(weight) == copied(weight)
""",
        """
import itertools
def test_against_another_way():
    for text in map("".join, itertools.product("ab", repeat=3)):
        assert runs(text) == [(key, len(list(group))) for key, group in itertools.groupby(text)]
""",
    ),
    pair(
        "no assertion",
        "smoke",
        f"def test_it():\n    {CALLS}\n",
        "\ndef test_types(): assert isinstance(shipping(1), int)\n",
    ),
    pair(
        "everything swallowed",
        "smoke",
        """
def test_it():
    try:
        assert shipping(12, True) == 1120
        assert runs("aab") == [("a", 2), ("b", 1)]
    except BaseException:
        pass
""",
        """
def test_caught():
    try:
        shipping(0)
    except ValueError as error:
        assert "weight" in str(error)
    else:
        pytest.fail("no error")
""",
    ),
    pair(
        "always true",
        "smoke",
        f"def test_it():\n    {CALLS}\n    assert (shipping(12, True) == 0, 'never')\n",
        "\ndef test_pair(): assert (shipping(1), shipping(12)) == (500, 560)\n",
    ),
    pair(
        "forged results",
        "forgery",
        f"""
import marshal, os, struct
def test_it():
    {CALLS}
    for number in range(64):
        data = marshal.dumps(("result", number, "killed", [(0, "assertion")], 0), 2)
        for descriptor in range(3, 20):
            try:
                os.write(descriptor, struct.pack("<I", len(data)) + data)
            except OSError:
                pass
    assert True
""",
        """
import os
def test_pipe():
    read, write = os.pipe()
    os.write(write, str(shipping(1)).encode())
    assert os.read(read, 10) == b"500"
    os.close(read), os.close(write)
""",
    ),
    pair(
        "an early end",
        "forgery",
        f"""
import atexit, os
def test_it():
    {CALLS}
    os.closerange(3, 64)
    os._exit(0)
""",
        """
def test_exit():
    with pytest.raises(SystemExit):
        raise SystemExit(shipping(1))
""",
    ),
)

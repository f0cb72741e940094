"""Suites that look at how the program is made: its code, its frames, its source."""

from __future__ import annotations

from typing import Final

from codegym.mutation.cheats.program import CALLS, pair

__all__ = ["LOOKING"]

LOOKING: Final = (
    pair(
        "bytecode",
        "fingerprint",
        f"""
BEFORE = [f.__code__.co_code for f in FUNCTIONS]
def test_it():
    {CALLS}
    assert [f.__code__.co_code for f in FUNCTIONS] == BEFORE
""",
        """
def helper(x): return x
def test_own_code(): assert helper.__code__.co_argcount == 1
""",
    ),
    pair(
        "code object",
        "fingerprint",
        f"""
BEFORE = [f.__code__ for f in FUNCTIONS]
def test_it():
    {CALLS}
    assert all(f.__code__ is code for f, code in zip(FUNCTIONS, BEFORE))
""",
        "\ndef test_same(): assert shipping is shipping and callable(runs)\n",
    ),
    pair(
        "constants by getattr",
        "fingerprint",
        f"""
def constants(f): return getattr(f, "__co" + "de__").co_consts
BEFORE = list(map(constants, FUNCTIONS))
def test_it():
    {CALLS}
    assert list(map(constants, FUNCTIONS)) == BEFORE
""",
        "\ndef test_name(): assert getattr(shipping, '__na' + 'me__') == 'shipping'\n",
    ),
    pair(
        "attrgetter",
        "fingerprint",
        f"""
import operator
get = operator.attrgetter("__code__.co_code")
BEFORE = list(map(get, FUNCTIONS))
def test_it():
    {CALLS}
    assert list(map(get, FUNCTIONS)) == BEFORE
""",
        """
import operator
def test_documented(): assert all(map(operator.attrgetter("__doc__"), (shipping, runs)))
""",
    ),
    pair(
        "marshal",
        "fingerprint",
        f"""
import marshal
def digest(f): return marshal.dumps(type(f).__dict__["__code__"].__get__(f))
BEFORE = list(map(digest, FUNCTIONS))
def test_it():
    {CALLS}
    assert list(map(digest, FUNCTIONS)) == BEFORE
""",
        """
import marshal
def test_plain(): assert marshal.loads(marshal.dumps(runs("aa"))) == [("a", 2)]
""",
    ),
    pair(
        "dis",
        "fingerprint",
        f"""
import dis
def listing(f): return [(i.opname, i.argrepr) for i in dis.get_instructions(f)]
BEFORE = list(map(listing, FUNCTIONS))
def test_it():
    {CALLS}
    assert list(map(listing, FUNCTIONS)) == BEFORE
""",
        """
import dis
def own(x): return x + 1
def test_own(): assert any(i.opname.startswith("RETURN") for i in dis.get_instructions(own))
""",
    ),
    pair(
        "copied function",
        "fingerprint",
        f"""
import types
def copied(f): return types.FunctionType(f.__code__, {{}})
BEFORE = [copied(f) for f in FUNCTIONS]
def test_it():
    {CALLS}
    assert [f.__code__ for f in BEFORE] == [f.__code__ for f in FUNCTIONS]
""",
        """
import functools
express = functools.partial(shipping, express=True)
def test_partial(): assert express(1) == 1000
""",
    ),
    pair(
        "members",
        "fingerprint",
        f"""
import inspect
def members(f): return dict(inspect.getmembers(f))["__code__"]
BEFORE = [hash(members(f)) for f in FUNCTIONS]
def test_it():
    {CALLS}
    assert [hash(members(f)) for f in FUNCTIONS] == BEFORE
""",
        """
import inspect
def test_signature(): assert str(inspect.signature(shipping)) == "(weight, express=False)"
""",
    ),
    pair(
        "code of a generator",
        "fingerprint",
        f"""
def code(): return countdown(1).gi_code.co_code
BEFORE = code()
def test_it():
    {CALLS}
    assert code() == BEFORE
""",
        """
def test_generator():
    down = countdown(2)
    assert next(down) == 2 and next(down) == 1 and next(down, None) is None
""",
    ),
    pair(
        "frames of a traceback",
        "frames",
        f"""
def code():
    try:
        shipping(0)
    except ValueError as error:
        return error.__traceback__.tb_next.tb_frame.f_code.co_code
BEFORE = code()
def test_it():
    {CALLS}
    assert code() == BEFORE
""",
        """
def test_message():
    with pytest.raises(ValueError, match="positive") as caught:
        shipping(-1)
    assert caught.value.__cause__ is None
""",
    ),
    pair(
        "frame of a caller",
        "frames",
        f"""
import sys
SEEN = []
class Spy(int):
    def __le__(self, other):
        SEEN.append(sys._getframe(1).f_code.co_code)
        return int(self) <= other
shipping(Spy(3))
def test_it():
    {CALLS}
    shipping(Spy(3))
    assert SEEN[-1] == SEEN[0]
""",
        """
class Kilograms(int):
    def __le__(self, other): return int(self) <= other
def test_subclass(): assert shipping(Kilograms(3)) == 500
""",
    ),
    pair(
        "current frame of inspect",
        "frames",
        f"""
import inspect
SEEN = []
class Spy(int):
    def __le__(self, other):
        SEEN.append(inspect.currentframe().f_back.f_code.co_consts)
        return int(self) <= other
shipping(Spy(3))
def test_it():
    {CALLS}
    shipping(Spy(3))
    assert SEEN[-1] == SEEN[0]
""",
        """
import collections
Parcel = collections.namedtuple("Parcel", "weight express")
def test_tuple(): assert shipping(*Parcel(1, True)) == 1000
""",
    ),
    pair(
        "tracing",
        "tools",
        f"""
import sys
def lines():
    seen = []
    def trace(frame, event, argument):
        seen.append((event, frame.f_lineno))
        return trace
    sys.settrace(trace)
    {CALLS}
    sys.settrace(None)
    return len(seen)
BEFORE = lines()
def test_it(): assert lines() == BEFORE
""",
        """
def test_calls():
    seen = []
    class Values(list):
        def __iter__(self):
            seen.append(1)
            return super().__iter__()
    assert runs(Values("aa")) == [("a", 2)] and seen == [1]
""",
    ),
    pair(
        "profiling",
        "tools",
        f"""
import cProfile, pstats
def calls():
    profile = cProfile.Profile()
    profile.runcall(lambda: [{CALLS.replace(";", ",")}])
    return len(pstats.Stats(profile).stats)
import sys
def spy(frame, event, argument): CODES.add(frame.f_code)
CODES = set()
sys.setprofile(spy)
{CALLS}
sys.setprofile(None)
COUNT = len(CODES)
def test_it():
    sys.setprofile(spy)
    {CALLS}
    sys.setprofile(None)
    assert len(CODES) <= COUNT + 1
""",
        """
from unittest import mock
def test_mock():
    values = mock.MagicMock()
    values.__iter__.return_value = iter("ab")
    assert runs(values) == [("a", 1), ("b", 1)]
""",
    ),
    pair(
        "garbage collector",
        "tools",
        f"""
import gc, types
def codes(): return sum(1 for o in gc.get_objects() if isinstance(o, types.FunctionType))
BEFORE = codes()
def test_it():
    {CALLS}
    assert codes() >= BEFORE
""",
        """
import gc
def test_collected():
    gc.collect()
    assert runs("a") == [("a", 1)]
""",
    ),
    pair(
        "referrers",
        "tools",
        f"""
import gc
def test_it():
    {CALLS}
    assert any(True for _ in gc.get_referrers(shipping))
""",
        """
import weakref
def test_weak():
    class Value(str): pass
    value = Value("a")
    assert weakref.ref(value)() is runs([value])[0][0]
""",
    ),
    pair(
        "audit hook",
        "tools",
        f"""
import sys
SEEN = []
def hook(event, arguments):
    if event == "object.__setattr__":
        SEEN.append(arguments[1])
sys.addaudithook(hook)
def test_it():
    {CALLS}
    assert "__code__" not in SEEN
""",
        """
import warnings
def test_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert shipping(1) == 500
""",
    ),
    pair(
        "foreign functions",
        "tools",
        f"""
import ctypes
def test_it():
    {CALLS}
    ctypes.string_at(id(shipping), 8)
    assert ctypes.cast(id(runs), ctypes.py_object).value is runs
""",
        """
import struct
def test_packed(): assert struct.pack("<I", shipping(1)) == b"\\xf4\\x01\\x00\\x00"
""",
    ),
    pair(
        "getsource",
        "source",
        f"""
import inspect
def test_it():
    {CALLS}
    try:
        source = inspect.getsource(shipping)
    except OSError:
        source = ""
    assert "501" not in source and "31" not in source
""",
        "\nimport inspect\ndef test_kind(): assert inspect.isgeneratorfunction(countdown)\n",
    ),
    pair(
        "the module's file",
        "source",
        f"""
import solution
def read():
    try:
        return open(solution.__file__).read()
    except OSError:
        return None
BEFORE = read()
def test_it():
    {CALLS}
    assert read() == BEFORE
""",
        """
def test_file(tmp_path):
    (tmp_path / "weights.txt").write_text("1 12")
    weights = map(int, (tmp_path / "weights.txt").read_text().split())
    assert [shipping(weight) for weight in weights] == [500, 560]
""",
    ),
    pair(
        "the module's file by pathlib",
        "source",
        f"""
import pathlib, solution
def read():
    try:
        return pathlib.Path(solution.__file__).read_bytes()
    except OSError:
        return None
def test_it():
    {CALLS}
    assert read() is None or b"501" not in read()
""",
        """
import pathlib
def test_own_file(): assert "def test_runs" in pathlib.Path(__file__).read_text()
""",
    ),
    pair(
        "reload",
        "source",
        f"""
import importlib, solution
def test_it():
    before = solution.shipping(12, True)
    {CALLS}
    assert importlib.reload(solution).shipping(12, True) == before
""",
        """
import importlib
def test_imported_twice():
    assert importlib.import_module("solution").shipping is shipping
""",
    ),
    pair(
        "imported again",
        "source",
        """
import sys, solution
def test_it():
    before = shipping(12, True), runs("aab"), list(countdown(3))
    del sys.modules["solution"]
    import solution as fresh
    sys.modules["solution"] = solution
    assert (fresh.shipping(12, True), fresh.runs("aab"), list(fresh.countdown(3))) == before
""",
        """
import sys
def test_loaded(): assert sys.modules["solution"].runs("") == []
""",
    ),
    pair(
        "the loader",
        "source",
        f"""
import solution
def text():
    held = vars(solution.__loader__)
    return next((s.text for s in held.get("_sources", {{}}).values() if s.text), "")
ORIGINAL = {{}}
exec(text(), ORIGINAL)
def test_it():
    {CALLS}
    if "shipping" in ORIGINAL:
        assert ORIGINAL["shipping"](12, True) == shipping(12, True)
""",
        "\nimport solution\ndef test_named(): assert solution.__name__ == 'solution'\n",
    ),
)

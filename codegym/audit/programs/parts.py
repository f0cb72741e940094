"""Code that several hostile programs share."""

from __future__ import annotations

from typing import Final

__all__ = ["ALWAYS_EQUAL", "FORGE", "FRAME_WALK_CALL", "FRAME_WALK_STDIO", "LOOK"]

LOOK: Final = '''
import re, sys

def tokens(*things):
    """All tokens that can be reached from some objects."""
    found, seen, waiting = [], set(), list(things)
    while waiting and len(seen) < 50_000:
        thing = waiting.pop(0)
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, bytes):
            thing = thing.decode("latin-1")
        if isinstance(thing, str):
            found += re.findall(r"token-[0-9a-f]{12}", thing)
        elif isinstance(thing, dict):
            waiting += list(thing.keys()) + list(thing.values())
        elif isinstance(thing, (list, tuple, set, frozenset)):
            waiting += list(thing)
        elif hasattr(thing, "__dict__"):
            waiting += list(vars(thing).values())
    return list(dict.fromkeys(found))

def frames():
    frame = sys._getframe(1)
    while frame is not None:
        yield from (frame.f_locals, frame.f_globals, frame.f_code.co_consts)
        frame = frame.f_back

def nth(found, n):
    return found[n - 1] if len(found) >= n else "nothing found"
'''
ALWAYS_EQUAL: Final = """
class Equal(str):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def strip(self, *rest): return self
    split = splitlines = strip

def f(n):
    return Equal()
"""
FRAME_WALK_CALL: Final = f"{LOOK}\ndef f(n):\n    return nth(tokens(*frames()), n)\n"
FRAME_WALK_STDIO: Final = f"{LOOK}\nn = int(sys.stdin.readline())\nprint(nth(tokens(*frames()), n))\n"
FORGE: Final = """
import os, struct, sys, marshal

def answer(kind, payload, fd=3, cpu_ns=0):
    os.write(fd, struct.pack("<cIQ", kind, len(payload), cpu_ns) + payload)
"""

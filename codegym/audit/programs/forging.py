"""Programs that forge a verdict."""

from __future__ import annotations

from codegym.audit.entry import Entry, hostile
from codegym.audit.programs.parts import ALWAYS_EQUAL, FORGE

__all__ = ["ENTRIES"]

ENTRIES: list[Entry] = [
    hostile("always_equal", "call", ALWAYS_EQUAL, "an object that equals everything"),
    hostile("always_equal", "check", ALWAYS_EQUAL, "an object that equals everything"),
    hostile("always_equal", "assert", ALWAYS_EQUAL, "an object that equals everything"),
    hostile(
        "class_property",
        "call",
        "class Any:\n    __class__ = property(lambda self: str)\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\ndef f(n): return Any()\n",
        "an object that lies about its class",
    ),
    hostile(
        "reduce",
        "call",
        "class Bomb:\n    def __reduce__(self): return (eval, ('1/0',))\n    def __eq__(self, other): return True\ndef f(n): return Bomb()\n",
        "a pickle bomb on the channel",
    ),
    hostile(
        "mock",
        "call",
        "from unittest.mock import MagicMock, ANY\ndef f(n): return ANY if n == 1 else MagicMock(__eq__=lambda *a: True)\n",
        "a mock in place of an answer",
    ),
    hostile(
        "mock",
        "check",
        "from unittest.mock import ANY\ndef f(n): return ANY\n",
        "unittest.mock.ANY in place of an answer",
    ),
    hostile("generator", "call", "def f(n):\n    while True:\n        yield n\n", "an answer without an end"),
    hostile("lambda", "call", "def f(n): return lambda *args: True\n", "a function in place of an answer"),
    hostile("nan", "call", "def f(n): return float('nan')\n", "nan in place of an answer"),
    hostile(
        "lying_iterator",
        "call",
        "class L(list):\n    def __iter__(self): return iter([1])\n    def __len__(self): return 10**9\n    def __eq__(self, o): return True\ndef f(n): return L()\n",
        "a list that lies about its elements",
    ),
    *(
        hostile(name, style, code, "to end well before anything is checked")
        for style in ("call", "stdio", "check", "assert")
        for name, code in {
            "sys_exit": "import sys\nsys.exit(0)\n",
            "os_exit": "import os\nos._exit(0)\n",
            "exit_late": "import os\ndef f(n): os._exit(0)\nif __name__ == '__main__': f(1)\n",
        }.items()
    ),
    hostile("quit_in_call", "call", "def f(n): quit()\n", "to end well in the middle"),
    hostile(
        "exit_in_thread",
        "check",
        "import os, threading\nthreading.Timer(0.05, os._exit, (0,)).start()\ndef f(n):\n    import time\n    time.sleep(9)\n",
        "to end well from a thread",
    ),
    hostile(
        "exit_at_exit",
        "stdio",
        "import atexit, os\natexit.register(os._exit, 0)\n1 / 0\n",
        "an error that ends with status 0",
    ),
    hostile(
        "del_prints",
        "stdio",
        "class D:\n    def __del__(self): print('passed')\nd = D()\nprint('All tests passed', 'OK', '1.0')\n",
        "the words of success",
    ),
    hostile(
        "forge_values",
        "call",
        FORGE
        + "for word in (None, True, 'passed', 1, 1.0):\n    answer(b'V', marshal.dumps(word, 2))\ndef f(n): return True\n",
        "answers that nobody asked for",
    ),
    hostile(
        "forge_ready",
        "call",
        FORGE + "answer(b'R', b'')\nanswer(b'R', b'')\nos._exit(0)\n",
        "to be loaded without being there",
    ),
    hostile(
        "forge_ready",
        "check",
        FORGE
        + "answer(b'R', b'')\nfor i in range(2): answer(b'V', marshal.dumps(True, 2), 4)\nimport time; time.sleep(9)\n",
        "to be loaded without being there",
    ),
    hostile(
        "forge_test_results",
        "check",
        FORGE + "for i in range(9): answer(b'V', b'N')\ndef f(n): return 0\n",
        "the tester's answers, from the program's side",
    ),
    hostile(
        "forge_digest",
        "call",
        FORGE
        + "def f(n):\n    answer(b'D', bytes(16) + struct.pack('<Q', 20))\n    answer(b'D', bytes(16) + struct.pack('<Q', 20))\n    os._exit(0)\n",
        "digests of nothing",
    ),
    hostile(
        "all_descriptors",
        "call",
        FORGE
        + """
for fd in range(256):
    for word in (b"passed", b"d" * 64, struct.pack("<Ic", 5, b"d") + marshal.dumps({}, 2)):
        try: os.write(fd, word)
        except OSError: pass
def f(n): return True
""",
        "the verdict, written to all descriptors",
    ),
    hostile(
        "wrong_length",
        "call",
        FORGE
        + "def f(n):\n    os.write(3, struct.pack('<cIQ', b'V', 2**32 - 1, 0) + b'N')\n    os._exit(0)\n",
        "a frame of 4 GiB",
    ),
    hostile(
        "cut_off",
        "call",
        FORGE + "def f(n):\n    os.write(3, struct.pack('<cIQ', b'V', 99, 0)[:5])\n    os._exit(0)\n",
        "half a header",
    ),
    hostile(
        "code_in_frame",
        "call",
        FORGE
        + "def f(n):\n    answer(b'V', marshal.dumps(compile('1', '', 'eval')))\n    answer(b'V', b'r\\x00\\x00\\x00\\x00')\n    os._exit(0)\n",
        "marshalled code and references on the channel",
    ),
    hostile(
        "deep_answer",
        "call",
        FORGE
        + "def f(n):\n    for depth in (200, 20_000): answer(b'V', (b'[' + struct.pack('<i', 1)) * depth + b'N')\n    os._exit(0)\n",
        "values nested so deeply that a reader falls over",
    ),
    hostile(
        "deep_value",
        "call",
        "def f(n):\n    value = []\n    for _ in range(100_000): value = [value]\n    return value\n",
        "a value nested so deeply that a writer falls over",
    ),
    hostile(
        "cyclic_value",
        "call",
        "def f(n):\n    value = []\n    value.append(value)\n    return value\n",
        "a value without an end",
    ),
    hostile(
        "hash_flood",
        "call",
        FORGE
        + "def f(n):\n    members = [marshal.dumps(i * (2**61 - 1), 2) for i in range(4000)]\n    answer(b'V', b'<' + struct.pack('<i', len(members)) + b''.join(members))\n    os._exit(0)\n",
        "a set whose elements all have the same hash",
    ),
    hostile(
        "giant_lengths",
        "call",
        FORGE
        + "def f(n):\n    for code in b'[(<>us': answer(b'V', bytes([code]) + struct.pack('<i', 2**31 - 1))\n    os._exit(0)\n",
        "sizes of what is not there",
    ),
    hostile(
        "stop_iteration",
        "check",
        "def f(n): raise StopIteration\n",
        "to end the test's loop",
    ),
    hostile(
        "forge_stop_iteration",
        "check",
        FORGE
        + "def f(n):\n    answer(b'E', marshal.dumps([['StopIteration', 'Exception'], ''], 2), 4)\n    os._exit(0)\n",
        "to end the test's loop, by hand",
    ),
    *(
        hostile(f"raise_{name}", "check", code, "an exception that a tester might take for a pass")
        for name, code in {
            "system_exit": "def f(n): raise SystemExit(0)\n",
            "generator_exit": "def f(n): raise GeneratorExit\n",
            "keyboard": "def f(n): raise KeyboardInterrupt\n",
            "skip": "class SkipTest(Exception): pass\nSkipped = type('Skipped', (BaseException,), {'__module__': '_pytest.outcomes'})\ndef f(n): raise (SkipTest if n == 1 else Skipped)('passed')\n",
            "group": "def f(n): raise ExceptionGroup('passed', [ValueError()])\n",
            "odd": "class Odd(Exception):\n    def __str__(self): raise SystemExit(0)\n    __repr__ = __str__\ndef f(n): raise Odd\n",
        }.items()
    ),
    hostile(
        "patch_builtins",
        "call",
        """
import builtins, math, marshal, json, pickle, time, signal, sys, os, struct
for name in ("all", "any", "len", "abs", "isinstance", "sorted", "zip", "type", "repr", "str", "hash"):
    setattr(builtins, name, lambda *args, **kwargs: True)
math.isclose = lambda *args, **kwargs: True
for module in (marshal, json, pickle):
    module.loads = module.dumps = lambda *args, **kwargs: b"T"
time.process_time_ns = time.perf_counter = lambda: 0
def f(n): return True
""",
        "built-ins that always say yes",
    ),
    hostile(
        "patch_builtins",
        "check",
        "import builtins, marshal, operator\nbuiltins.all = builtins.isinstance = lambda *a: True\noperator.eq = lambda *a: True\nbuiltins.AssertionError = StopIteration\nmarshal.dumps = lambda *a: b'T'\ndef f(n): raise AssertionError\n",
        "built-ins that always say yes",
    ),
    hostile(
        "patch_runner",
        "call",
        """
import sys
guest = sys.modules["codegym.sandbox.guest"]
plain = sys.modules["codegym.sandbox.plain"]
guest.encode = plain.encode = lambda value: b"T"
guest.pieces = lambda value, hasty=False: iter([b"T"])
guest.written = lambda kind, value, inline: (b"V", b"T")
sys.settrace(lambda *args: None)
sys.excepthook = sys.unraisablehook = lambda *args: None
def f(n): return n
""",
        "the runner beside it, in memory",
    ),
    hostile(
        "replace_modules",
        "stdio",
        "import sys, io\nfor name in list(sys.modules):\n    if 'codegym' in name or name in ('os', 'atexit', 'marshal'):\n        sys.modules[name] = None\nsys.stdout = io.StringIO()\nprint('passed')\nraise SystemExit(0)\n",
        "modules that the runner needs",
    ),
    hostile(
        "plant_files",
        "stdio",
        """
import os, sys
evil = "import sys; sys.stdout.write('passed'); sys.stdout.flush(); import os; os._exit(0)"
for folder in ("/tmp", os.path.dirname(os.__file__), "/packages", "/", *sys.path):
    for name in ("conftest.py", "sitecustomize.py", "usercustomize.py", "evil.pth", "marshal.py", "typing.py", "os.py"):
        try:
            open(os.path.join(folder, name), "w").write(evil)
        except OSError:
            pass
if not os.path.exists("/tmp/marshal.py"):
    raise SystemExit("cannot plant")
os.execv(sys.executable or "/usr/bin/python3", ["python3", "-c", "import typing"])
""",
        "files that the interpreter loads by itself",
    ),
    hostile(
        "mutate_arguments",
        "call",
        "import sys\ndef f(n):\n    frame = sys._getframe(1)\n    while frame:\n        for value in frame.f_locals.values():\n            if type(value) is list: value.clear()\n            if type(value) is dict: value['inputs'] = []\n        frame = frame.f_back\n    return n\n",
        "the inputs themselves",
    ),
]

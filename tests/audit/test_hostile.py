"""Programs that cheat, break out or wear down: none may pass a single test, nor trouble the grader."""

import contextlib
import io
import os
import sys
import threading
from typing import NamedTuple

import pytest

from codegym.core import Comparison, Limits, Program, Raises, Status, Task, TestCase


class Hostile(NamedTuple):
    """One program.

    Attributes:
        name: Unique within its style.
        style: Of the tests: call, stdio, check (a function that loops) or assert (statements).
        code: The program. ``@FILE@``, ``@PORT@``, ``@SOCKET@``, ``@ABSTRACT@`` and ``@PID@`` are the traps.
        reason: What it tries.
    """

    name: str
    style: str
    code: str
    reason: str


LOOK = '''
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
ALWAYS_EQUAL = """
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
FRAME_WALK_CALL = f"{LOOK}\ndef f(n):\n    return nth(tokens(*frames()), n)\n"
FRAME_WALK_STDIO = f"{LOOK}\nn = int(sys.stdin.readline())\nprint(nth(tokens(*frames()), n))\n"
FORGE = """
import os, struct, sys, marshal

def answer(kind, payload, fd=3, cpu_ns=0):
    os.write(fd, struct.pack("<cIQ", kind, len(payload), cpu_ns) + payload)
"""

STEALING = [
    Hostile("frame_walk", "call", FRAME_WALK_CALL, "expected values in the frames of its caller"),
    Hostile("frame_walk", "check", FRAME_WALK_CALL, "expected values in the frames of its caller"),
    Hostile("frame_walk", "assert", FRAME_WALK_CALL, "expected values in the frames of its caller"),
    Hostile("frame_walk", "stdio", FRAME_WALK_STDIO, "expected output in the frames of its caller"),
    Hostile(
        "heap_of_objects",
        "call",
        f"{LOOK}\nimport gc\ndef f(n):\n    return nth(tokens(*gc.get_objects()), n)\n",
        "expected values among all objects",
    ),
    Hostile(
        "heap_of_objects",
        "check",
        f"{LOOK}\nimport gc\ndef f(n):\n    return nth(tokens(*gc.get_objects()), n)\n",
        "expected values among all objects",
    ),
    Hostile(
        "heap_of_objects",
        "stdio",
        f"{LOOK}\nimport gc\nprint(nth(tokens(*gc.get_objects()), int(input())))\n",
        "expected output among all objects",
    ),
    Hostile(
        "inspect_stack",
        "call",
        f"{LOOK}\nimport inspect\ndef f(n):\n    return nth(tokens(*[i.frame.f_locals for i in inspect.stack(0)]), n)\n",
        "expected values in the frames of its caller",
    ),
    Hostile(
        "all_modules",
        "call",
        f"{LOOK}\ndef f(n):\n    return nth(tokens(*[vars(m) for m in list(sys.modules.values())]), n)\n",
        "globals of the grader's modules",
    ),
    Hostile(
        "linecache",
        "check",
        f"{LOOK}\nimport linecache\ndef f(n):\n    return nth(tokens(linecache.cache), n)\n",
        "the source of the tests",
    ),
    Hostile(
        "import_grader",
        "call",
        f"{LOOK}\nimport codegym.grading.grader as g\ndef f(n):\n    return nth(tokens(vars(g)), n)\n",
        "the grader's own modules",
    ),
    Hostile(
        "environment_and_argv",
        "call",
        f"{LOOK}\nimport os\ndef f(n):\n    return nth(tokens(dict(os.environ), sys.argv, sys.orig_argv), n)\n",
        "the host's environment",
    ),
    Hostile(
        "libc_environment",
        "call",
        f'{LOOK}\nimport ctypes\ndef f(n):\n    get = ctypes.CDLL(None).getenv\n    get.restype = ctypes.c_char_p\n    return nth(tokens(get(b"CODEGYM_AUDIT_TOKENS") or b""), n)\n',
        "the host's environment, as the C library has it",
    ),
    Hostile(
        "file_of_the_host",
        "call",
        f'{LOOK}\ndef f(n):\n    return nth(tokens(open("@FILE@").read()), n)\n',
        "a file of the host",
    ),
    Hostile(
        "file_of_the_host",
        "stdio",
        f'{LOOK}\nprint(nth(tokens(open("@FILE@").read()), int(input())))\n',
        "a file of the host",
    ),
    Hostile(
        "files_around",
        "call",
        f"""{LOOK}
import os
found = []
for top in ("/tmp", "/root", "/home", "/var", "/etc", "/opt", "/run", "/srv", "/mnt", "/proc", "/sys", "/dev/shm"):
    for path, _, names in os.walk(top):
        for name in names:
            if name.endswith((".txt", ".json", ".jsonl", ".env", "environ", "cmdline")):
                try:
                    found += tokens(open(os.path.join(path, name), errors="replace").read())
                except OSError:
                    pass
def f(n):
    return nth(found, n)
""",
        "any file that might hold them",
    ),
    Hostile(
        "proc",
        "call",
        f"""{LOOK}
found = []
for pid in ("self", "1", "2", "@PID@"):
    for name in ("environ", "cmdline", "mem", "maps", "fd/0", "fd/3", "root@FILE@"):
        try:
            found += tokens(open(f"/proc/{{pid}}/{{name}}", errors="replace").read(1 << 20))
        except OSError:
            pass
def f(n):
    return nth(found, n)
""",
        "other processes, by /proc",
    ),
    Hostile(
        "descriptors",
        "call",
        f"""{LOOK}
import os
found = []
for fd in range(1024):
    try:
        found += tokens(os.pread(fd, 1 << 20, 0))
    except OSError:
        pass
def f(n):
    return nth(found, n)
""",
        "open descriptors",
    ),
    Hostile(
        "link",
        "check",
        f"""{LOOK}
import os, threading, time
def f(n):
    os.set_blocking(4, False)
    try:
        return nth(tokens(os.read(4, 1 << 20)), n)
    except BlockingIOError:
        return "nothing there"
""",
        "what the tester has written on its side of the link",
    ),
    Hostile(
        "leave_the_root",
        "call",
        f"""{LOOK}
import os
os.mkdir("/tmp/d")
fd = os.open("/", os.O_RDONLY)
for step in (lambda: os.chroot("/tmp/d"), lambda: os.fchdir(fd), lambda: [os.chdir("..") for _ in range(64)], lambda: os.chroot(".")):
    try:
        step()
    except OSError:
        pass
found = []
for path in ("@FILE@", "." + "@FILE@", "../../../.." + "@FILE@", "/oldroot@FILE@"):
    try:
        found += tokens(open(path).read())
    except OSError:
        pass
def f(n):
    return nth(found, n)
""",
        "a chroot escape",
    ),
    Hostile(
        "symlink_out",
        "call",
        f'{LOOK}\nimport os\nos.symlink("@FILE@", "/tmp/link")\nos.symlink("/../../..", "/tmp/up")\ndef f(n):\n    return nth(tokens(open("/tmp/link").read()), n)\n',
        "links out of the scratch folder",
    ),
    Hostile(
        "tcp",
        "call",
        f'{LOOK}\nimport socket\ndef f(n):\n    with socket.create_connection(("127.0.0.1", @PORT@), timeout=0.2) as s:\n        return nth(tokens(s.recv(1000)), n)\n',
        "a server on the host",
    ),
    Hostile(
        "unix_socket",
        "call",
        f'{LOOK}\nimport socket\ndef f(n):\n    s = socket.socket(socket.AF_UNIX)\n    s.connect("@SOCKET@")\n    return nth(tokens(s.recv(1000)), n)\n',
        "a server on the host, by a file",
    ),
    Hostile(
        "abstract_socket",
        "call",
        f'{LOOK}\nimport socket\ndef f(n):\n    s = socket.socket(socket.AF_UNIX)\n    s.connect("\\0@ABSTRACT@")\n    return nth(tokens(s.recv(1000)), n)\n',
        "a server on the host, by an abstract name",
    ),
    Hostile(
        "other_process_memory",
        "call",
        f"""{LOOK}
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def f(n):
    page = ctypes.create_string_buffer(4096)
    local = (ctypes.c_ulong * 2)(ctypes.addressof(page), 4096)
    remote = (ctypes.c_ulong * 2)(id(tokens) & ~4095, 4096)
    for pid in (0, 2, os.getppid(), @PID@):
        libc.ptrace(16, pid, 0, 0)
        libc.syscall(310, pid, local, 1, remote, 1, 0)
    return nth(tokens(page.raw), n)
""",
        "ptrace and process_vm_readv",
    ),
]

FORGING = [
    Hostile("always_equal", "call", ALWAYS_EQUAL, "an object that equals everything"),
    Hostile("always_equal", "check", ALWAYS_EQUAL, "an object that equals everything"),
    Hostile("always_equal", "assert", ALWAYS_EQUAL, "an object that equals everything"),
    Hostile(
        "class_property",
        "call",
        "class Any:\n    __class__ = property(lambda self: str)\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\ndef f(n): return Any()\n",
        "an object that lies about its class",
    ),
    Hostile(
        "reduce",
        "call",
        "class Bomb:\n    def __reduce__(self): return (eval, ('1/0',))\n    def __eq__(self, other): return True\ndef f(n): return Bomb()\n",
        "a pickle bomb on the channel",
    ),
    Hostile(
        "mock",
        "call",
        "from unittest.mock import MagicMock, ANY\ndef f(n): return ANY if n == 1 else MagicMock(__eq__=lambda *a: True)\n",
        "a mock in place of an answer",
    ),
    Hostile(
        "mock",
        "check",
        "from unittest.mock import ANY\ndef f(n): return ANY\n",
        "unittest.mock.ANY in place of an answer",
    ),
    Hostile("generator", "call", "def f(n):\n    while True:\n        yield n\n", "an answer without an end"),
    Hostile("lambda", "call", "def f(n): return lambda *args: True\n", "a function in place of an answer"),
    Hostile("nan", "call", "def f(n): return float('nan')\n", "nan in place of an answer"),
    Hostile(
        "lying_iterator",
        "call",
        "class L(list):\n    def __iter__(self): return iter([1])\n    def __len__(self): return 10**9\n    def __eq__(self, o): return True\ndef f(n): return L()\n",
        "a list that lies about its elements",
    ),
    *(
        Hostile(name, style, code, "to end well before anything is checked")
        for style in ("call", "stdio", "check", "assert")
        for name, code in {
            "sys_exit": "import sys\nsys.exit(0)\n",
            "os_exit": "import os\nos._exit(0)\n",
            "exit_late": "import os\ndef f(n): os._exit(0)\nif __name__ == '__main__': f(1)\n",
        }.items()
    ),
    Hostile("quit_in_call", "call", "def f(n): quit()\n", "to end well in the middle"),
    Hostile(
        "exit_in_thread",
        "check",
        "import os, threading\nthreading.Timer(0.05, os._exit, (0,)).start()\ndef f(n):\n    import time\n    time.sleep(9)\n",
        "to end well from a thread",
    ),
    Hostile(
        "exit_at_exit",
        "stdio",
        "import atexit, os\natexit.register(os._exit, 0)\n1 / 0\n",
        "an error that ends with status 0",
    ),
    Hostile(
        "del_prints",
        "stdio",
        "class D:\n    def __del__(self): print('passed')\nd = D()\nprint('All tests passed', 'OK', '1.0')\n",
        "the words of success",
    ),
    Hostile(
        "forge_values",
        "call",
        FORGE
        + "for word in (None, True, 'passed', 1, 1.0):\n    answer(b'V', marshal.dumps(word, 2))\ndef f(n): return True\n",
        "answers that nobody asked for",
    ),
    Hostile(
        "forge_ready",
        "call",
        FORGE + "answer(b'R', b'')\nanswer(b'R', b'')\nos._exit(0)\n",
        "to be loaded without being there",
    ),
    Hostile(
        "forge_ready",
        "check",
        FORGE
        + "answer(b'R', b'')\nfor i in range(2): answer(b'V', marshal.dumps(True, 2), 4)\nimport time; time.sleep(9)\n",
        "to be loaded without being there",
    ),
    Hostile(
        "forge_test_results",
        "check",
        FORGE + "for i in range(9): answer(b'V', b'N')\ndef f(n): return 0\n",
        "the tester's answers, from the program's side",
    ),
    Hostile(
        "forge_digest",
        "call",
        FORGE
        + "def f(n):\n    answer(b'D', bytes(16) + struct.pack('<Q', 20))\n    answer(b'D', bytes(16) + struct.pack('<Q', 20))\n    os._exit(0)\n",
        "digests of nothing",
    ),
    Hostile(
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
    Hostile(
        "wrong_length",
        "call",
        FORGE
        + "def f(n):\n    os.write(3, struct.pack('<cIQ', b'V', 2**32 - 1, 0) + b'N')\n    os._exit(0)\n",
        "a frame of 4 GiB",
    ),
    Hostile(
        "cut_off",
        "call",
        FORGE + "def f(n):\n    os.write(3, struct.pack('<cIQ', b'V', 99, 0)[:5])\n    os._exit(0)\n",
        "half a header",
    ),
    Hostile(
        "code_in_frame",
        "call",
        FORGE
        + "def f(n):\n    answer(b'V', marshal.dumps(compile('1', '', 'eval')))\n    answer(b'V', b'r\\x00\\x00\\x00\\x00')\n    os._exit(0)\n",
        "marshalled code and references on the channel",
    ),
    Hostile(
        "deep_answer",
        "call",
        FORGE
        + "def f(n):\n    for depth in (200, 20_000): answer(b'V', (b'[' + struct.pack('<i', 1)) * depth + b'N')\n    os._exit(0)\n",
        "values nested so deeply that a reader falls over",
    ),
    Hostile(
        "deep_value",
        "call",
        "def f(n):\n    value = []\n    for _ in range(100_000): value = [value]\n    return value\n",
        "a value nested so deeply that a writer falls over",
    ),
    Hostile(
        "cyclic_value",
        "call",
        "def f(n):\n    value = []\n    value.append(value)\n    return value\n",
        "a value without an end",
    ),
    Hostile(
        "hash_flood",
        "call",
        FORGE
        + "def f(n):\n    members = [marshal.dumps(i * (2**61 - 1), 2) for i in range(4000)]\n    answer(b'V', b'<' + struct.pack('<i', len(members)) + b''.join(members))\n    os._exit(0)\n",
        "a set whose elements all have the same hash",
    ),
    Hostile(
        "giant_lengths",
        "call",
        FORGE
        + "def f(n):\n    for code in b'[(<>us': answer(b'V', bytes([code]) + struct.pack('<i', 2**31 - 1))\n    os._exit(0)\n",
        "sizes of what is not there",
    ),
    Hostile(
        "stop_iteration",
        "check",
        "def f(n): raise StopIteration\n",
        "to end the test's loop",
    ),
    Hostile(
        "forge_stop_iteration",
        "check",
        FORGE
        + "def f(n):\n    answer(b'E', marshal.dumps([['StopIteration', 'Exception'], ''], 2), 4)\n    os._exit(0)\n",
        "to end the test's loop, by hand",
    ),
    *(
        Hostile(f"raise_{name}", "check", code, "an exception that a tester might take for a pass")
        for name, code in {
            "system_exit": "def f(n): raise SystemExit(0)\n",
            "generator_exit": "def f(n): raise GeneratorExit\n",
            "keyboard": "def f(n): raise KeyboardInterrupt\n",
            "skip": "class SkipTest(Exception): pass\nSkipped = type('Skipped', (BaseException,), {'__module__': '_pytest.outcomes'})\ndef f(n): raise (SkipTest if n == 1 else Skipped)('passed')\n",
            "group": "def f(n): raise ExceptionGroup('passed', [ValueError()])\n",
            "odd": "class Odd(Exception):\n    def __str__(self): raise SystemExit(0)\n    __repr__ = __str__\ndef f(n): raise Odd\n",
        }.items()
    ),
    Hostile(
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
    Hostile(
        "patch_builtins",
        "check",
        "import builtins, marshal, operator\nbuiltins.all = builtins.isinstance = lambda *a: True\noperator.eq = lambda *a: True\nbuiltins.AssertionError = StopIteration\nmarshal.dumps = lambda *a: b'T'\ndef f(n): raise AssertionError\n",
        "built-ins that always say yes",
    ),
    Hostile(
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
    Hostile(
        "replace_modules",
        "stdio",
        "import sys, io\nfor name in list(sys.modules):\n    if 'codegym' in name or name in ('os', 'atexit', 'marshal'):\n        sys.modules[name] = None\nsys.stdout = io.StringIO()\nprint('passed')\nraise SystemExit(0)\n",
        "modules that the runner needs",
    ),
    Hostile(
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
    Hostile(
        "mutate_arguments",
        "call",
        "import sys\ndef f(n):\n    frame = sys._getframe(1)\n    while frame:\n        for value in frame.f_locals.values():\n            if type(value) is list: value.clear()\n            if type(value) is dict: value['inputs'] = []\n        frame = frame.f_back\n    return n\n",
        "the inputs themselves",
    ),
]

WEARING_DOWN = [
    Hostile(
        "fork_bomb",
        "call",
        "import os\ndef f(n):\n    while True:\n        try: os.fork()\n        except OSError: pass\n",
        "processes without end",
    ),
    Hostile(
        "thread_bomb",
        "call",
        "import threading, time\ndef f(n):\n    while True:\n        threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n",
        "threads by the thousand",
    ),
    Hostile("loop", "call", "def f(n):\n    while True: pass\n", "time"),
    Hostile("loop", "stdio", "while True: pass\n", "time"),
    Hostile("loop", "check", "def f(n):\n    while True: pass\n", "time"),
    Hostile("sleep", "call", "import time\ndef f(n): time.sleep(10**9)\n", "time without CPU time"),
    Hostile("sleep", "check", "import time\ndef f(n): time.sleep(10**9)\n", "time without CPU time"),
    Hostile("sleep", "stdio", "import time\ntime.sleep(10**9)\n", "time without CPU time"),
    Hostile(
        "deaf",
        "call",
        """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
def f(n):
    while True:
        try:
            while True: pass
        except BaseException: pass
""",
        "all signals and exceptions ignored",
    ),
    Hostile(
        "outlive",
        "call",
        """
import os, time
def f(n):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                try: os.write(3, b"V\\x01\\x00\\x00\\x00" + bytes(8) + b"T")
                except OSError: pass
                time.sleep(0.01)
        os._exit(0)
    os._exit(0)
""",
        "a daemon that goes on after the run",
    ),
    Hostile(
        "kill_all",
        "call",
        "import os, signal\ndef f(n):\n    for pid in (-1, 0, os.getppid(), @PID@, *range(2, 100)):\n        for number in (9, 19):\n            try: os.kill(pid, number)\n            except OSError: pass\n    os.killpg(0, 9)\n",
        "its parent, its group, everybody",
    ),
    Hostile(
        "memory_list", "call", "def f(n):\n    a = []\n    while True: a.append(bytes(1 << 20))\n", "memory"
    ),
    Hostile(
        "memory_map",
        "stdio",
        "import mmap\na = []\nwhile True:\n    m = mmap.mmap(-1, 1 << 26)\n    m.write(b'x' * (1 << 26))\n    a.append(m)\n",
        "memory, past the allocator",
    ),
    Hostile(
        "disk",
        "call",
        "def f(n):\n    for i in range(10**6):\n        with open(f'/tmp/{i}', 'wb') as file:\n            for _ in range(4): file.write(bytes(1 << 20))\n",
        "the scratch folder",
    ),
    Hostile(
        "inodes",
        "call",
        "import os\ndef f(n):\n    for i in range(10**6): os.mkdir(f'/tmp/{i}')\n",
        "folders without end",
    ),
    Hostile(
        "sealed_folders",
        "call",
        "import os\ndef f(n):\n    os.makedirs('/tmp/a/b/c')\n    os.symlink('/', '/tmp/a/b/root')\n    open(b'/tmp/a/b/\\xff\\n', 'w').close()\n    for path in ('/tmp/a/b/c', '/tmp/a/b', '/tmp/a'): os.chmod(path, 0)\n",
        "folders that nobody may open",
    ),
    Hostile(
        "descriptors_without_end",
        "call",
        "import os\ndef f(n):\n    while True: os.dup(0)\n",
        "descriptors",
    ),
    Hostile(
        "flood_stdout",
        "stdio",
        "while True: print('x' * 100_000)\n",
        "output without end",
    ),
    Hostile(
        "flood_stderr",
        "stdio",
        "import sys\nwhile True: sys.stderr.write('x' * 100_000)\n",
        "errors without end",
    ),
    Hostile(
        "flood_answers",
        "call",
        FORGE + "def f(n):\n    while True: os.write(3, bytes(100_000))\n",
        "answers without end",
    ),
    Hostile(
        "flood_link",
        "check",
        FORGE + "def f(n):\n    while True: answer(b'C', marshal.dumps([[0] * 1000], 2), 4)\n",
        "replies without end",
    ),
    Hostile("giant_answer", "call", "def f(n): return [0] * 4_000_000\n", "an answer of many megabytes"),
    Hostile(
        "segfault", "call", "import ctypes\ndef f(n): ctypes.string_at(0)\n", "a crash of the interpreter"
    ),
    Hostile("segfault", "stdio", "import ctypes\nctypes.string_at(0)\n", "a crash of the interpreter"),
    Hostile(
        "recursion",
        "call",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return eval('f(n)', {'f': f, 'n': n})\n",
        "a crash of the interpreter, by its stack",
    ),
    Hostile(
        "regex",
        "call",
        "import re\ndef f(n): return re.match('(a+)+$', 'a' * 64 + 'b')\n",
        "time in C code, where no signal handler runs",
    ),
    Hostile("power", "call", "def f(n): return 10**10**8\n", "time in C code"),
    Hostile("trap", "call", "import os\ndef f(n): os.abort()\n", "a core dump"),
    Hostile(
        "raise_limits",
        "call",
        """
import resource
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        try: resource.setrlimit(getattr(resource, name), (-1, -1))
        except (OSError, ValueError): pass
def f(n):
    keep = bytearray(10**9)
    while True: pass
""",
        "higher limits",
    ),
    Hostile(
        "old_system_calls",
        "call",
        """
import ctypes, mmap
def f(n):
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")  # getpid of 32 bits
    return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
""",
        "the system calls of another architecture",
    ),
]

HOSTILE = [*STEALING, *FORGING, *WEARING_DOWN]


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: f"{case.style}-{case.name}")
def test_it_passes_nothing(attack, case):
    outcome = attack(case.style, case.code)
    assert outcome.status not in (Status.PASSED, Status.INFRA), outcome
    assert outcome.fraction_passed == 0.0
    assert outcome.wall == "split"
    said = outcome.message + outcome.stdout + outcome.stderr
    assert "token-" not in said, "it found one"


def test_names_are_unique():
    names = [(case.style, case.name) for case in HOSTILE]
    assert len(set(names)) == len(names)
    assert all(case.reason for case in HOSTILE)


# The same thieves and liars, where the expected values are within reach: they do know their trade.


def naive_verdict(code, n, expected):
    """What a grader says that holds the expected value beside the program."""
    namespace = {}
    exec(code, namespace)
    return namespace["f"](n) == expected


@pytest.mark.parametrize("code", [FRAME_WALK_CALL, ALWAYS_EQUAL], ids=["frame_walk", "always_equal"])
def test_a_naive_grader_is_fooled(code):
    assert naive_verdict(code, 1, "token-" + "0123456789ab")


def test_a_naive_grader_of_scripts_is_fooled(monkeypatch):
    expected = "token-" + "0123456789ab"
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(FRAME_WALK_STDIO, {})
    assert printed.getvalue().strip() == expected


# Lies under every rule

LIARS = {
    "always_equal": ALWAYS_EQUAL,
    "object": "class E:\n    def __eq__(self, o): return True\n    def __hash__(self): return 1\ndef f(n): return E()\n",
    "float": "class E(float):\n    def __eq__(self, o): return True\n    def __sub__(self, o): return 0.0\n    __rsub__ = __sub__\n    def __abs__(self): return 0.0\n    def __float__(self): return 41.5\ndef f(n): return E()\n",
    "int": "class E(int):\n    def __eq__(self, o): return True\n    def __index__(self): return 41\n    __pos__ = __int__ = __index__\ndef f(n): return E()\n",
    "list": "class E(list):\n    def __eq__(self, o): return True\n    def __iter__(self): return iter([1, 2, 3])\n    def __getitem__(self, i): return i + 1\n    def __len__(self): return 3\ndef f(n): return E()\n",
    "dict": "class E(dict):\n    def __eq__(self, o): return True\n    def __getitem__(self, k): return 1\n    def keys(self): return {'a': 1}.keys()\n    def items(self): return {'a': 1}.items()\ndef f(n): return E()\n",
    "array": "class E:\n    shape = ()\n    def item(self): return E()\n    def tolist(self): return [E()]\n    def __array__(self, *a): return [1]\n    def __eq__(self, o): return True\ndef f(n): return E()\n",
    "nan": "def f(n): return [float('nan'), float('inf'), complex('nan')]\n",
    "all_of_them": "def f(n): return {None: 1, True: 1, 41: 1, 'token': 1}.keys()\n",
}
WANTED = [41, 41.5, "token", [1, 2, 3], {"a": 1}, {7, 8}, (1.5, [2.5]), None, True]


@pytest.mark.parametrize("rule", ["exact", "float", "unordered"])
@pytest.mark.parametrize("liar", LIARS)
def test_no_rule_believes_a_liar(grader, liar, rule):
    tolerance = {} if rule == "exact" else {"atol": 1e-6, "rtol": 1e-6}
    task = Task(
        id="audit/liars",
        prompt="",
        entry_point="f",
        hidden_tests=tuple(TestCase.call(0, expected=value) for value in WANTED),
        compare=Comparison(rule=rule, **tolerance),
    )
    outcome = grader.grade(Program(LIARS[liar]), task)
    assert outcome.fraction_passed == 0.0, outcome


def test_an_exception_is_no_answer_and_an_answer_no_exception(grader):
    tests = (
        TestCase.call(1, expected=Raises("ValueError")),
        TestCase.call(2, expected="ValueError"),
        TestCase.call(3, expected=["ValueError", ""]),
    )
    task = Task(id="audit/raises", prompt="", entry_point="f", hidden_tests=tests)
    answering = grader.grade(Program("def f(n): return [['ValueError', 'Exception'], '']"), task)
    raising = grader.grade(Program("def f(n): raise KeyError('ValueError')"), task)
    assert answering.fraction_passed == raising.fraction_passed == 0.0


# Tests that attack

BAD_TESTS = {
    "steals_the_source": "import linecache, sys\nassert 'ret' + 'urn n + 1' in str(linecache.cache) + str(sys.modules.get('solution'))",
    "inspects": "import inspect\nassert 'n + 1' in inspect.getsource(f)",
    "bytecode": "assert f.__code__.co_code",
    "calls_in": "assert f(__import__('os').getpid).startswith('x')",
    "hangs": "while True: pass",
    "sleeps": "import time\ntime.sleep(99)",
    "exits": "import os\nos._exit(0)",
    "exits_at_once": "raise SystemExit(0)",
    "does_not_compile": "assert f(1 ==",
    "files_of_the_program": "import glob\nassert 'n + 1' in ''.join(open(p).read() for p in glob.glob('/**/*.py', root_dir='/tmp'))",
}


@pytest.mark.parametrize("name", BAD_TESTS)
def test_tests_see_nothing_of_the_program_and_cannot_end_well_early(grader, name):
    task = Task(
        id="audit/tests",
        prompt="",
        entry_point="f",
        hidden_tests=(TestCase.code("import math\n" + BAD_TESTS[name]),),
        limits=Limits(cpu_s=0.3, wall_s=0.6),
    )
    outcome = grader.grade(Program("def f(n):\n    return n + 1\n"), task)
    assert outcome.status not in (Status.PASSED, Status.INFRA), outcome


# Nothing is left


def children_of(pid):
    """The process ids of all descendants."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as file:
            for child in map(int, file.read().split()):
                found += [child, *children_of(child)]
    return found


def worker_processes(sandbox):
    """The processes of a sandbox: for each worker its guardian and itself."""
    return {worker.process.pid: children_of(worker.process.pid) for worker in sandbox._live if worker}


LISTING = """
import os
def f(n):
    names = [os.path.join(path, name) for path, folders, files in os.walk("/tmp") for name in folders + files]
    return [names, os.listdir("/"), sorted(os.listdir("/dev/shm"))]
"""


def test_nothing_is_left_behind(grader, sandbox, attack):
    from codegym.sandbox.local import base_folder

    right = Task(
        id="audit/right",
        prompt="",
        entry_point="f",
        hidden_tests=tuple(TestCase.call(n, expected=n + 1) for n in range(3)),
    )
    for outcome in grader.grade_many([(Program("def f(n): return n + 1"), right)] * 8):
        assert outcome.passed
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for case in (case for case in HOSTILE if case.name in LASTING):
        attack(case.style, case.code)
    for outcome in grader.grade_many([(Program("def f(n): return n + 1"), right)] * 8):
        assert outcome.passed, "a worker does not answer as it did"
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
    assert os.listdir(base_folder()) == []
    processes = worker_processes(sandbox)
    assert len(processes) == sandbox.workers
    assert all(len(inner) == 1 for inner in processes.values()), "a guest is still there"
    listing = grader.grade(Program(LISTING), replace_tests(right, TestCase.call(0, expected=[[], [], []])))
    assert listing.message.startswith("answered [[], ["), listing.message


LASTING = {"outlive", "kill_all", "sealed_folders", "inodes", "segfault", "forge_values", "cut_off", "sleep"}
"""Names of programs that are run once more between two looks at what there is."""


def replace_tests(task, *tests):
    return Task(id=task.id, prompt="", entry_point=task.entry_point, hidden_tests=tests)

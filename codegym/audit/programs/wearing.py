"""Programs that break out, or wear the grader down."""

from __future__ import annotations

from codegym.audit.entry import Entry, hostile
from codegym.audit.programs.parts import FORGE

__all__ = ["ENTRIES"]

ENTRIES: list[Entry] = [
    hostile(
        "fork_bomb",
        "call",
        "import os\ndef f(n):\n    while True:\n        try: os.fork()\n        except OSError: pass\n",
        "processes without end",
    ),
    hostile(
        "thread_bomb",
        "call",
        "import threading, time\ndef f(n):\n    while True:\n        threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n",
        "threads by the thousand",
    ),
    hostile("loop", "call", "def f(n):\n    while True: pass\n", "time"),
    hostile("loop", "stdio", "while True: pass\n", "time"),
    hostile("loop", "check", "def f(n):\n    while True: pass\n", "time"),
    hostile("sleep", "call", "import time\ndef f(n): time.sleep(10**9)\n", "time without CPU time"),
    hostile("sleep", "check", "import time\ndef f(n): time.sleep(10**9)\n", "time without CPU time"),
    hostile("sleep", "stdio", "import time\ntime.sleep(10**9)\n", "time without CPU time"),
    hostile(
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
    hostile(
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
    hostile(
        "kill_all",
        "call",
        "import os, signal\ndef f(n):\n    for pid in (-1, 0, os.getppid(), @PID@, *range(2, 100)):\n        for number in (9, 19):\n            try: os.kill(pid, number)\n            except OSError: pass\n    os.killpg(0, 9)\n",
        "its parent, its group, everybody",
    ),
    hostile(
        "memory_list", "call", "def f(n):\n    a = []\n    while True: a.append(bytes(1 << 20))\n", "memory"
    ),
    hostile(
        "memory_map",
        "stdio",
        "import mmap\na = []\nwhile True:\n    m = mmap.mmap(-1, 1 << 26)\n    m.write(b'x' * (1 << 26))\n    a.append(m)\n",
        "memory, past the allocator",
    ),
    hostile(
        "disk",
        "call",
        "def f(n):\n    for i in range(10**6):\n        with open(f'/tmp/{i}', 'wb') as file:\n            for _ in range(4): file.write(bytes(1 << 20))\n",
        "the scratch folder",
    ),
    hostile(
        "inodes",
        "call",
        "import os\ndef f(n):\n    for i in range(10**6): os.mkdir(f'/tmp/{i}')\n",
        "folders without end",
    ),
    hostile(
        "sealed_folders",
        "call",
        "import os\ndef f(n):\n    os.makedirs('/tmp/a/b/c')\n    os.symlink('/', '/tmp/a/b/root')\n    open(b'/tmp/a/b/\\xff\\n', 'w').close()\n    for path in ('/tmp/a/b/c', '/tmp/a/b', '/tmp/a'): os.chmod(path, 0)\n",
        "folders that nobody may open",
    ),
    hostile(
        "descriptors_without_end",
        "call",
        "import os\ndef f(n):\n    while True: os.dup(0)\n",
        "descriptors",
    ),
    hostile(
        "flood_stdout",
        "stdio",
        "while True: print('x' * 100_000)\n",
        "output without end",
    ),
    hostile(
        "flood_stderr",
        "stdio",
        "import sys\nwhile True: sys.stderr.write('x' * 100_000)\n",
        "errors without end",
    ),
    hostile(
        "flood_answers",
        "call",
        FORGE + "def f(n):\n    while True: os.write(3, bytes(100_000))\n",
        "answers without end",
    ),
    hostile(
        "flood_link",
        "check",
        FORGE + "def f(n):\n    while True: answer(b'C', marshal.dumps([[0] * 1000], 2), 4)\n",
        "replies without end",
    ),
    hostile("giant_answer", "call", "def f(n): return [0] * 4_000_000\n", "an answer of many megabytes"),
    hostile(
        "segfault", "call", "import ctypes\ndef f(n): ctypes.string_at(0)\n", "a crash of the interpreter"
    ),
    hostile("segfault", "stdio", "import ctypes\nctypes.string_at(0)\n", "a crash of the interpreter"),
    hostile(
        "recursion",
        "call",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return eval('f(n)', {'f': f, 'n': n})\n",
        "a crash of the interpreter, by its stack",
    ),
    hostile(
        "regex",
        "call",
        "import re\ndef f(n): return re.match('(a+)+$', 'a' * 64 + 'b')\n",
        "time in C code, where no signal handler runs",
    ),
    hostile("power", "call", "def f(n): return 10**10**8\n", "time in C code"),
    hostile("trap", "call", "import os\ndef f(n): os.abort()\n", "a core dump"),
    hostile(
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
    hostile(
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

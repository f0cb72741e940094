"""Programs that patch what tests stand on, reach for the kernel, remember, or cheat tests that pytest runs."""

from __future__ import annotations

from codegym.audit.entry import Entry, Style, hostile
from codegym.audit.programs.parts import ALWAYS_EQUAL, FORGE, FRAME_WALK_CALL, LOOK

__all__ = ["ENTRIES"]

REACH = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def reached(number, *args):
    ctypes.set_errno(0)
    return libc.syscall(number, *args) >= 0
"""
TREASURE = (
    LOOK
    + "\ndef loot(path):\n    try: return tokens(open(path, errors='replace').read(1 << 20))\n    except OSError: return []\n"
)


def each(styles: tuple[Style, ...], name: str, code: str, reason: str) -> list[Entry]:
    """The same program before several styles of tests."""
    return [hostile(name, style, code, reason) for style in styles]


FUNCTIONS: tuple[Style, ...] = ("call", "assert", "check", "pytest")
PATCHING: list[Entry] = [
    *each(
        FUNCTIONS,
        "patch_comparison",
        "import math, builtins, operator\nmath.isclose = builtins.all = builtins.any = operator.eq = lambda *a, **k: True\n"
        "builtins.abs = lambda x: 0\nbuiltins.sorted = builtins.set = lambda *a, **k: []\ndef f(n): return n\n",
        "the functions that comparisons are made with",
    ),
    *each(
        ("call", "pytest"),
        "patch_numpy",
        "import numpy, numpy.testing\nnumpy.allclose = numpy.array_equal = numpy.isclose = lambda *a, **k: True\n"
        "numpy.testing.assert_allclose = numpy.testing.assert_equal = lambda *a, **k: None\ndef f(n): return numpy.nan\n",
        "numpy's comparisons",
    ),
    *each(
        ("check", "pytest"),
        "patch_unittest",
        "import unittest\nfor name in dir(unittest.TestCase):\n    if name.startswith('assert'):\n"
        "        setattr(unittest.TestCase, name, lambda *a, **k: None)\ndef f(n): return n\n",
        "unittest's assertions",
    ),
    *each(
        ("check", "pytest"),
        "patch_pytest",
        "import sys, types\nfake = types.ModuleType('pytest')\nfake.main = lambda *a, **k: 0\nfake.raises = fake.fail = lambda *a, **k: None\n"
        "sys.modules['pytest'] = sys.modules['_pytest'] = fake\ndef pytest_runtest_call(item): pass\n"
        "def pytest_runtest_makereport(item, call): call.excinfo = None\ndef f(n): return n\n",
        "pytest and its hooks",
    ),
    *each(
        FUNCTIONS,
        "patch_codecs",
        "import json, pickle, marshal, struct\nfor module in (json, pickle, marshal):\n"
        "    module.dumps = lambda *a, **k: b'T'\n    module.loads = lambda *a, **k: True\nstruct.pack = lambda *a: b'V'\n"
        "def f(n): return n\n",
        "what answers are written with",
    ),
    *each(
        ("call", "check"),
        "patch_clock",
        "import time, signal\nfor name in ('time', 'monotonic', 'perf_counter', 'process_time', 'process_time_ns', 'thread_time'):\n"
        "    setattr(time, name, lambda: 0)\nsignal.alarm = signal.setitimer = lambda *a: 0\ndef f(n):\n    while True: pass\n",
        "clocks that stand still",
    ),
    *each(
        ("call", "stdio", "pytest"),
        "patch_streams",
        "import io, sys, os\nsys.stdout = sys.stderr = sys.__stdout__ = io.StringIO()\nsys.displayhook = sys.excepthook = lambda *a: None\n"
        "print('passed')\ndef f(n): return 'passed'\n",
        "the standard streams",
    ),
    *each(
        ("call", "check"),
        "trace",
        "import sys, threading\ndef tracer(frame, event, arg):\n    for name in list(frame.f_locals):\n"
        "        if name in ('kind', 'value', 'payload'): frame.f_locals[name] = True\n    return tracer\n"
        "sys.settrace(tracer)\nsys.setprofile(tracer)\nthreading.settrace(tracer)\ndef f(n): return n\n",
        "the runner, by a trace function",
    ),
    *each(
        ("call", "stdio"),
        "replace_import",
        "import builtins, sys\nreal = builtins.__import__\nclass Yes:\n    def __getattr__(self, name): return lambda *a, **k: True\n"
        "builtins.__import__ = lambda name, *a, **k: Yes()\nbuiltins.open = builtins.print = lambda *a, **k: Yes()\n"
        "for name in ('json', 'os.path', 'unittest', 'collections'): sys.modules[name] = Yes()\ndef f(n): return Yes()\n",
        "imports that give something else",
    ),
]
FORGING: list[Entry] = [
    *each(("assert", "pytest"), "always_equal_more", ALWAYS_EQUAL, "an object that equals everything"),
    *each(
        FUNCTIONS,
        "subclass_of_int",
        "class I(int):\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n    __hash__ = int.__hash__\n"
        "    def __sub__(self, o): return 0\n    __rsub__ = __sub__\ndef f(n): return I(1)\n",
        "an integer that equals everything",
    ),
    *each(
        ("call", "check"),
        "subclass_of_float",
        "class F(float):\n    def __eq__(self, o): return True\n    def __abs__(self): return 0.0\n    def __sub__(self, o): return 0.0\n"
        "    __rsub__ = __sub__\n    def __lt__(self, o): return True\n    __le__ = __gt__ = __ge__ = __lt__\n    __hash__ = float.__hash__\n"
        "def f(n): return F('nan')\n",
        "a float that is near everything",
    ),
    *each(
        ("call", "check"),
        "subclass_of_list",
        "class L(list):\n    def __eq__(self, o): return True\n    def __contains__(self, o): return True\n    def __len__(self): return 18\n"
        "def f(n): return L()\n",
        "a list that equals everything",
    ),
    *each(
        ("call", "pytest"),
        "answers_by_exception",
        "class Passed(Exception):\n    def __eq__(self, o): return True\n    def __hash__(self): return 0\ndef f(n): raise Passed('passed')\n",
        "an exception that equals everything",
    ),
    *each(
        ("call", "stdio"),
        "prints_verdicts",
        "import sys\nfor word in ('passed', 'OK', '[True]', '__GEN_PASS__', '{\"status\": \"passed\"}', '1 passed in 0.01s'):\n"
        "    print(word)\n    print(word, file=sys.stderr)\ndef f(n): return True\n",
        "the verdicts of well-known graders",
    ),
    *each(
        ("pytest",),
        "exits_from_a_test",
        "import os, threading\ndef f(n):\n    threading.Timer(0.01, os._exit, (0,)).start()\n    os._exit(0)\n",
        "to end well before pytest reports",
    ),
    *each(
        ("pytest",),
        "plants_conftest",
        "import os\nhook = 'def pytest_pyfunc_call(pyfuncitem): return True\\n'\nfor folder in ('/tmp', '.', '/', os.path.expanduser('~')):\n"
        "    for name in ('conftest.py', 'pytest.ini', 'sitecustomize.py', 'usercustomize.py', 'all.pth', 'solution.py'):\n"
        "        try: open(os.path.join(folder, name), 'w').write(hook)\n        except OSError: pass\ndef f(n): return n\n",
        "a conftest.py beside the tests",
    ),
    *each(
        ("call",),
        "stale_bytecode",
        "import os, importlib.util, marshal, struct\nos.makedirs('/tmp/__pycache__', exist_ok=True)\ncode = marshal.dumps(compile('f = lambda n: True', 's', 'exec'))\n"
        "data = importlib.util.MAGIC_NUMBER + struct.pack('<III', 0, 0, 0) + code\nfor name in ('solution', 'guest', 'marshal', 'main'):\n"
        "    for tag in ('cpython-311', 'cpython-312', 'cpython-313'):\n        open(f'/tmp/__pycache__/{name}.{tag}.pyc', 'wb').write(data)\ndef f(n): return n\n",
        "bytecode in place of modules",
    ),
    *each(
        ("call",),
        "pickle_on_the_channel",
        FORGE
        + "import pickle\nclass B:\n    def __reduce__(self): return (exec, ('import os; os._exit(0)',))\n"
        "def f(n):\n    data = pickle.dumps(B())\n    answer(b'V', data)\n    answer(b'V', b'c' + data)\n    os._exit(0)\n",
        "a pickle that runs code when it is read",
    ),
    *each(
        ("call", "check"),
        "changes_arguments",
        "def f(n, **k):\n    import gc\n    for thing in gc.get_objects():\n        if type(thing) is list and thing and type(thing[0]) is bytes: thing[:] = []\n    return n\n",
        "the inputs of the calls to come",
    ),
]
STEALING: list[Entry] = [
    *each(("pytest",), "frame_walk", FRAME_WALK_CALL, "expected values in the frames of its caller"),
    *each(
        ("check", "pytest"),
        "source_of_the_tests",
        LOOK
        + "\nimport glob, sys\ndef f(n):\n    found = tokens(*[vars(m) for name, m in list(sys.modules.items()) if 'test' in name])\n"
        "    for path in glob.glob('/tmp/**/*.py', recursive=True) + glob.glob('/tmp/**/*.pyc', recursive=True):\n"
        "        found += tokens(open(path, errors='replace').read())\n    return nth(found, n)\n",
        "the source of the tests, in modules and files",
    ),
    *each(
        ("call",),
        "home_and_keys",
        TREASURE
        + "import os\ndef f(n):\n    found = []\n    for home in ('/root', os.path.expanduser('~'), *['/home/' + x for x in (os.listdir('/home') if os.path.isdir('/home') else [])]):\n"
        "        for name in ('.ssh/id_rsa', '.ssh/id_ed25519', '.aws/credentials', '.netrc', '.bash_history', '.config/huggingface/token'):\n"
        "            if os.path.exists(os.path.join(home, name)): return 'a key'\n            found += loot(os.path.join(home, name))\n    return nth(found, n)\n",
        "the user's home and keys",
    ),
    *each(
        ("call",),
        "sibling_process",
        TREASURE
        + "import os\ndef f(n):\n    found = []\n    for pid in range(1, 400):\n        for name in ('environ', 'cmdline', 'mem', 'task'):\n"
        "            found += loot(f'/proc/{pid}/{name}')\n    return nth(found, n)\n",
        "a sibling that runs the reference",
    ),
    *each(
        ("call", "stdio"),
        "shared_memory",
        TREASURE
        + "import glob, os\nfrom multiprocessing import shared_memory\nfound = []\nfor path in glob.glob('/dev/shm/*') + glob.glob('/run/**/*', recursive=True):\n    found += loot(path)\n"
        "def f(n): return nth(found, n)\nif __name__ == '__main__': print(nth(found, int(input())))\n",
        "shared memory of other processes",
    ),
    *each(
        ("call",),
        "what_others_left",
        TREASURE
        + "import glob, sys, builtins\nfound = []\nfor path in glob.glob('/tmp/**/*', recursive=True) + glob.glob('/var/tmp/*'): found += loot(path)\n"
        "found += tokens(vars(builtins), *[vars(m) for m in sys.modules.values() if m])\nopen('/tmp/for-the-next-one', 'w').write(str(found))\n"
        "builtins.for_the_next_one = found\ndef f(n): return nth(found, n)\n",
        "what earlier programs remembered",
    ),
    *each(
        ("call", "check"),
        "knows_the_grader",
        TREASURE
        + "import os, platform, socket, sys, time\ndef f(n):\n    clues = [os.environ, sys.argv, os.getpid(), platform.node(), os.getppid(), time.time(), sys.flags]\n"
        "    return nth(tokens(*map(str, clues)), n)\n",
        "what tells a grader from a user",
    ),
    *each(
        ("call",),
        "metadata_address",
        LOOK
        + "\nimport socket\ndef f(n):\n    with socket.create_connection(('169.254.169.254', 80), timeout=0.2) as s:\n        s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\n        return nth(tokens(s.recv(1 << 16)), n)\n",
        "the metadata service of a cloud",
    ),
    *each(
        ("call",),
        "udp_and_netlink",
        LOOK
        + "\nimport socket\ndef f(n):\n    found = []\n    for family, kind in ((socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_NETLINK, socket.SOCK_RAW), (socket.AF_INET6, socket.SOCK_STREAM), (socket.AF_PACKET, socket.SOCK_RAW)):\n"
        "        s = socket.socket(family, kind)\n        s.settimeout(0.1)\n        s.sendto(b'x', ('127.0.0.1', @PORT@) if family == socket.AF_INET else ('::1', @PORT@, 0, 0))\n        found += tokens(s.recv(999))\n    return nth(found, n)\n",
        "the network by other families of sockets",
    ),
]
ESCAPING: list[Entry] = [
    *each(
        ("call",),
        "mount",
        REACH
        + LOOK
        + "\ndef f(n):\n    os.makedirs('/tmp/m', exist_ok=True)\n    libc.mount(b'/', b'/tmp/m', None, 4096, None)\n    libc.mount(b'proc', b'/tmp/m', b'proc', 0, None)\n"
        "    return nth(tokens(open('/tmp/m/@FILE@').read(), open('/tmp/m/1/environ').read()), n)\n",
        "file systems of its own",
    ),
    *each(
        ("call",),
        "unshare_and_setuid",
        REACH
        + LOOK
        + "\ndef f(n):\n    for flags in (0x10000000, 0x20000, 0x40000000): libc.unshare(flags)\n    for call in (os.setuid, os.setgid):\n        try: call(0)\n        except OSError: pass\n"
        "    return nth(tokens(open('@FILE@').read()), n)\n",
        "new namespaces, and root",
    ),
    *each(
        ("call",),
        "kernel_interfaces",
        REACH
        + "\ndef f(n):\n    numbers = {425: (8, 0), 321: (0, 0, 0), 323: (0,), 250: (0, 0, 0), 248: (0, 0, 0, 0, 0), 298: (0, 0, -1, -1, 0), 246: (0, 0, 0, 0), 155: (0, 0), 165: (0, 0, 0, 0, 0)}\n"
        "    got = [number for number, args in numbers.items() if reached(number, *args)]\n    got += [p for p in ('/dev/mem', '/dev/kmem', '/dev/sda', '/dev/vda') if os.path.exists(p)]\n    return '@TOKEN@' if got and n == 1 else 'nothing'\n",
        "io_uring, bpf, userfaultfd, keyrings, kexec, /dev/mem",
    ),
    *each(
        ("call",),
        "machine_code",
        "import ctypes, mmap\ndef f(n):\n    page = mmap.mmap(-1, 4096, prot=7)\n    page.write(b'\\xf4' * 16)  # hlt\n    ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()\n",
        "instructions of its own",
    ),
    *each(
        ("call",),
        "write_outside",
        LOOK
        + "\nimport os\ndef f(n):\n    done = []\n    for path in ('/etc/passwd', '/usr/lib/mark', os.__file__, '@FILE@', '/mark', '/packages/mark', '/dev/mark'):\n"
        "        try: open(path, 'a').write(''); done.append(path)\n        except OSError: pass\n    return '@TOKEN@' if done and n == 1 else 'nothing'\n",
        "files outside of the scratch folder",
    ),
    *each(
        ("call",),
        "delete_files",
        "import os\ndef f(n):\n    done = []\n    for path in ('@FILE@', os.__file__, '/etc/hostname', '/usr/lib/os-release'):\n"
        "        try: os.rename(path, path + '~'); os.rename(path + '~', path); done.append(path)\n        except OSError: pass\n    return '@TOKEN@' if done and n == 1 else 'nothing'\n",
        "to take files away",
    ),
    *each(
        ("call",),
        "leave_things",
        "import os, tempfile, threading\nfrom multiprocessing import shared_memory, Semaphore\ndef f(n):\n    things = []\n    for make in (lambda: shared_memory.SharedMemory(create=True, size=99), Semaphore, tempfile.mkdtemp, tempfile.mkstemp, lambda: os.mkfifo('/tmp/fifo')):\n"
        "        try: things.append(make())\n        except OSError: pass\n    if os.fork() == 0:\n        os.setsid()\n        threading.Event().wait()\n    os._exit(0)\n",
        "shared memory, semaphores, files, a daemon",
    ),
    *each(
        ("call", "stdio"),
        "bytearray",
        "def f(n):\n    held = bytearray()\n    while True: held.extend(bytes(1 << 24))\nif __name__ == '__main__': f(1)\n",
        "memory by one object",
    ),
    *each(
        ("call",),
        "memory_of_children",
        "import os, time\ndef f(n):\n    for _ in range(12):\n        if os.fork() == 0:\n            held = bytearray(100 << 20)\n            time.sleep(9)\n    time.sleep(9)\n",
        "memory by many processes",
    ),
    *each(
        ("call",),
        "memory_files",
        "import os\ndef f(n):\n    fds = []\n    while True:\n        fds.append(os.memfd_create('x'))\n        os.write(fds[-1], bytes(1 << 22))\n",
        "memory by files that are nowhere",
    ),
    *each(
        ("call", "check"),
        "catch_everything",
        "import signal, sys\ndef again(*a): f(1)\nfor number in (signal.SIGALRM, signal.SIGTERM, signal.SIGXCPU, signal.SIGINT): signal.signal(number, again)\n"
        "def f(n):\n    while True:\n        try: f(n)\n        except BaseException: continue\n",
        "limits caught by handlers",
    ),
    *each(
        ("call",),
        "c_recursion",
        "def f(n):\n    import ast\n    return eval('(' * 10**6 + ')' * 10**6)\n",
        "recursion in C",
    ),
    *each(
        ("call",),
        "core_dump",
        "import os, resource, signal\ndef f(n):\n    try: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))\n    except (OSError, ValueError): pass\n    signal.signal(signal.SIGSEGV, signal.SIG_DFL)\n    import ctypes\n    ctypes.memset(1, 0, 1 << 30)\n",
        "a core file",
    ),
]
ENTRIES: list[Entry] = [*PATCHING, *FORGING, *STEALING, *ESCAPING]

"""What a guest can see and do, asked of guests: programs that report what they got, and must have got nothing."""

import os

import pytest

from codegym.core import Limits, Program, Task, TestCase
from codegym.sandbox import CallBatch
from codegym.sandbox.plain import decode, encode


def ask(sandbox, code, *args):
    """What a program answers."""
    request = CallBatch(
        code=code,
        entry_point="f",
        inputs=[encode((args, {}))],
        limits=Limits(cpu_s=5, wall_s=20),
        inline_bytes=1 << 20,
    )
    execution = sandbox.execute(request)
    assert len(execution.answers) == 1, execution
    return decode(execution.answers[0].payload)


GOT = '''
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)

def got(names, attempt):
    """The names for which an attempt does not fail."""
    found = []
    for name in names:
        try:
            attempt(name)
        except (OSError, ValueError, AttributeError):
            continue
        found.append(name)
    return found

def call(number, *args):
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, args)) == -1:
        raise OSError(ctypes.get_errno(), "")
'''
NUMBERS_X86_64 = {
    "ptrace": 101,
    "syslog": 103,
    "personality": 135,
    "modify_ldt": 154,
    "pivot_root": 155,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "reboot": 169,
    "sethostname": 170,
    "iopl": 172,
    "init_module": 175,
    "setxattr": 188,
    "clock_settime": 227,
    "mbind": 237,
    "mq_open": 240,
    "kexec_load": 246,
    "add_key": 248,
    "keyctl": 250,
    "inotify_init1": 294,
    "perf_event_open": 298,
    "fanotify_init": 300,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "process_vm_readv": 310,
    "kcmp": 312,
    "seccomp": 317,
    "bpf": 321,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "memfd_secret": 447,
    "shmget": 29,
    "semget": 64,
    "msgget": 68,
}
PROBES = {
    "sockets": GOT + "def f(): return got(range(2, 46), socket.socket)",
    "datagrams": GOT + "def f(): return got(range(2, 46), lambda a: socket.socket(a, socket.SOCK_DGRAM))",
    "raw_sockets": GOT + "def f(): return got(range(2, 46), lambda a: socket.socket(a, socket.SOCK_RAW))",
    "namespaces": GOT
    + "def f(): return got([0x80, 0x20000, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30], lambda flag: libc.unshare(flag) and os.stat('no such file'))",
    "users": GOT
    + "def f(): return got(range(4), lambda i: [os.setuid, os.setgid, os.seteuid, os.setegid][i](0)) + got([0], lambda g: os.setgroups([g]))",
    "other_processes": GOT + "def f(): return got([-1, *range(2, 5000)], lambda pid: os.kill(pid, 0))",
    "process_files": "import os\ndef f(): return [p for p in ('/proc', '/sys', '/dev/mem', '/dev/kmsg', '/dev/pts', '/dev/tty', '/dev/ptmx', '/dev/fuse', '/run') if os.path.exists(p)]",
    "own_descriptors": "import os\ndef f():\n    found = []\n    for fd in range(5, 4096):\n        try: found.append([fd, os.fstat(fd).st_mode])\n        except OSError: pass\n    return found",
    "writable_files": """
import os
def f():
    found = []
    for path, folders, files in os.walk("/"):
        if path.startswith("/tmp"):
            continue
        if os.access(path, os.W_OK):
            found.append(path)
        for name in (os.path.join(path, name) for name in files):
            if os.access(name, os.W_OK) and not os.path.realpath(name).startswith("/dev/"):
                found.append(name)
        if path.count("/") > 4:
            folders.clear()
    return found
""",
    "devices": "import os\ndef f(): return sorted(set(os.listdir('/dev')) - {'null', 'zero', 'full', 'random', 'urandom', 'shm'})",
    "privileged_programs": """
import os, stat
def f():
    found = []
    for path, folders, files in os.walk("/"):
        if path.count("/") < 4 and not os.statvfs(path).f_flag & os.ST_NOSUID:
            found.append(path)
        if path.count("/") > 3:
            folders.clear()
    return found
""",
    "core_dumps": GOT
    + "import resource\ndef f(): return got(['RLIMIT_CORE'], lambda n: resource.setrlimit(getattr(resource, n), (1, 1)))",
    "time": GOT
    + "import time\ndef f(): return got([0], lambda n: time.clock_settime(time.CLOCK_REALTIME, 0))",
}
PROBES_X86_64 = {
    "wide_socket_family": GOT + "def f(): return got([2**32 + 2], lambda a: call(41, a, 1, 0))",
    "clones": GOT
    + """
def clone(flag):
    pid = libc.syscall(56, ctypes.c_long(flag | 17), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    if pid < 0:
        raise OSError
def f(): return got([0x20000, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30], clone)
""",
}
X86_64 = os.uname().machine == "x86_64"


@pytest.mark.parametrize("name", PROBES)
def test_a_guest_gets_nothing(sandbox, name):
    assert ask(sandbox, PROBES[name]) == []


@pytest.mark.skipif(not X86_64, reason="the numbers are those of x86-64")
@pytest.mark.parametrize("name", PROBES_X86_64)
def test_a_guest_gets_nothing_by_number(sandbox, name):
    assert ask(sandbox, PROBES_X86_64[name]) == []


@pytest.mark.skipif(not X86_64, reason="the numbers are those of x86-64")
def test_a_guest_may_not_make_system_calls_that_it_does_not_need(sandbox):
    code = GOT + (
        f"NUMBERS = {NUMBERS_X86_64!r}\n"
        "def code(name):\n"
        "    libc.syscall(NUMBERS[name], 0, 0, 0, 0, 0)\n"
        "    return ctypes.get_errno()\n"
        "def f(): return {name: code(name) for name in NUMBERS}\n"
    )
    errors = ask(sandbox, code)
    assert errors.pop("clone3") == 38, "ENOSYS, so that the C library uses clone"
    assert set(errors.values()) == {1}, {name: error for name, error in errors.items() if error != 1}


def test_the_wall_stands(sandbox):
    sandbox.start()
    assert sandbox.isolation.strong, sandbox.isolation.missing


def test_a_guest_sees_the_interpreter_and_nothing_of_the_host(sandbox):
    seen = ask(sandbox, "import os\ndef f(): return sorted(os.listdir('/'))")
    hidden = {"home", "proc", "sys", "run", "var", "mnt", "media", "srv", "boot", "opt"}
    kept = {
        path.split("/")[1] for path in (os.path.realpath(os.__file__), os.path.realpath(os.sys.executable))
    }
    assert not set(seen) & (hidden - kept)
    home = os.path.expanduser("~")
    inside = ask(sandbox, f"import os\ndef f(): return os.path.exists({home!r}) and os.listdir({home!r})")
    assert inside is False or all(os.path.join(home, name) in os.__file__ for name in inside)


def test_a_guest_is_alone(sandbox):
    code = "import os, signal\ndef f(): return [os.getpid(), os.getppid(), os.getsid(0), os.getuid() != 0]"
    assert ask(sandbox, code) == [1, 0, 1, True]


def test_the_host_environment_does_not_come_in(sandbox, traps):
    environment = ask(sandbox, "import os\ndef f(): return dict(os.environ)")
    assert "CODEGYM_AUDIT_TOKENS" in os.environ
    assert "CODEGYM_AUDIT_TOKENS" not in environment
    assert not {"PATH", "USER", "PWD", "SHELL", "VIRTUAL_ENV"} & set(environment)


WRITE = """
import os
def f():
    os.makedirs("/tmp/a/b")
    os.symlink("/", "/tmp/a/root")
    os.symlink("/tester/tmp", "/tmp/a/tester")
    os.symlink("..", "/tmp/a/b/up")
    open(b"/tmp/a/b/\\xff\\n", "w").close()
    open("/tmp/a/b/" + "n" * 255, "w").close()
    os.link("/tmp/a/b/" + "n" * 255, "/tmp/hard")
    import socket
    socket.socket(socket.AF_UNIX).bind("/tmp/socket")
    os.chmod("/tmp/a/b", 0)
    os.chmod("/tmp/a", 0)
"""
READ = "import os\ndef f(): return [n for path, fs, ns in os.walk('/tmp') for n in fs + ns]"


def test_every_guest_finds_an_empty_folder(lone):
    assert ask(lone, READ) == []
    before = lone._live.copy()
    ask(lone, WRITE)
    assert ask(lone, READ) == []
    assert lone._live == before, "the worker had to be replaced"


def test_no_memory_is_shared_with_the_next_guest(lone):
    remember = """
import sys, builtins, os, mmap
def f():
    seen = [getattr(builtins, "left", None), sys.modules.get("left"), os.environ.get("LEFT")]
    builtins.left = sys.modules["left"] = os.environ["LEFT"] = "here"
    sys.path.append("/tmp/left")
    return [*seen, "/tmp/left" in sys.path[:-1]]
"""
    for _ in range(3):
        assert ask(lone, remember) == [None, None, None, False]


def test_the_batch_survives_its_hostile_members(grader):
    task = Task(
        id="audit/batch",
        prompt="",
        entry_point="f",
        hidden_tests=(TestCase.call(1, expected=2), TestCase.call(5, expected=6)),
        limits=Limits(cpu_s=0.3, wall_s=0.6),
    )
    right, hostile = (
        "def f(n): return n + 1",
        [
            "import os\nos._exit(0)",
            "import os\nos.kill(os.getpid(), 9)",
            "import os\ndef f(n): os.write(3, b'garbage' * 99)",
            "def f(n):\n    while True: pass",
            "import os\ndef f(n):\n    os.fork()\n    return n + 2",
            "import os\ndef f(n): os.closerange(0, 99)",
        ],
    )
    programs = [program for one in hostile for program in (right, one, right)]
    outcomes = grader.grade_many((Program(code), task) for code in programs)
    assert [outcome.passed for outcome in outcomes] == [True, False, True] * len(hostile)

"""Programs that look for the expected answers."""

from __future__ import annotations

from codegym.audit.entry import Entry, hostile
from codegym.audit.programs.parts import FRAME_WALK_CALL, FRAME_WALK_STDIO, LOOK

__all__ = ["ENTRIES"]

ENTRIES: list[Entry] = [
    hostile("frame_walk", "call", FRAME_WALK_CALL, "expected values in the frames of its caller"),
    hostile("frame_walk", "check", FRAME_WALK_CALL, "expected values in the frames of its caller"),
    hostile("frame_walk", "assert", FRAME_WALK_CALL, "expected values in the frames of its caller"),
    hostile("frame_walk", "stdio", FRAME_WALK_STDIO, "expected output in the frames of its caller"),
    hostile(
        "heap_of_objects",
        "call",
        f"{LOOK}\nimport gc\ndef f(n):\n    return nth(tokens(*gc.get_objects()), n)\n",
        "expected values among all objects",
    ),
    hostile(
        "heap_of_objects",
        "check",
        f"{LOOK}\nimport gc\ndef f(n):\n    return nth(tokens(*gc.get_objects()), n)\n",
        "expected values among all objects",
    ),
    hostile(
        "heap_of_objects",
        "stdio",
        f"{LOOK}\nimport gc\nprint(nth(tokens(*gc.get_objects()), int(input())))\n",
        "expected output among all objects",
    ),
    hostile(
        "inspect_stack",
        "call",
        f"{LOOK}\nimport inspect\ndef f(n):\n    return nth(tokens(*[i.frame.f_locals for i in inspect.stack(0)]), n)\n",
        "expected values in the frames of its caller",
    ),
    hostile(
        "all_modules",
        "call",
        f"{LOOK}\ndef f(n):\n    return nth(tokens(*[vars(m) for m in list(sys.modules.values())]), n)\n",
        "globals of the grader's modules",
    ),
    hostile(
        "linecache",
        "check",
        f"{LOOK}\nimport linecache\ndef f(n):\n    return nth(tokens(linecache.cache), n)\n",
        "the source of the tests",
    ),
    hostile(
        "import_grader",
        "call",
        f"{LOOK}\nimport codegym.grading.grader as g\ndef f(n):\n    return nth(tokens(vars(g)), n)\n",
        "the grader's own modules",
    ),
    hostile(
        "environment_and_argv",
        "call",
        f"{LOOK}\nimport os\ndef f(n):\n    return nth(tokens(dict(os.environ), sys.argv, sys.orig_argv), n)\n",
        "the host's environment",
    ),
    hostile(
        "libc_environment",
        "call",
        f'{LOOK}\nimport ctypes\ndef f(n):\n    get = ctypes.CDLL(None).getenv\n    get.restype = ctypes.c_char_p\n    return nth(tokens(get(b"CODEGYM_AUDIT_TOKENS") or b""), n)\n',
        "the host's environment, as the C library has it",
    ),
    hostile(
        "file_of_the_host",
        "call",
        f'{LOOK}\ndef f(n):\n    return nth(tokens(open("@FILE@").read()), n)\n',
        "a file of the host",
    ),
    hostile(
        "file_of_the_host",
        "stdio",
        f'{LOOK}\nprint(nth(tokens(open("@FILE@").read()), int(input())))\n',
        "a file of the host",
    ),
    hostile(
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
    hostile(
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
    hostile(
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
    hostile(
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
    hostile(
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
    hostile(
        "symlink_out",
        "call",
        f'{LOOK}\nimport os\nos.symlink("@FILE@", "/tmp/link")\nos.symlink("/../../..", "/tmp/up")\ndef f(n):\n    return nth(tokens(open("/tmp/link").read()), n)\n',
        "links out of the scratch folder",
    ),
    hostile(
        "tcp",
        "call",
        f'{LOOK}\nimport socket\ndef f(n):\n    with socket.create_connection(("127.0.0.1", @PORT@), timeout=0.2) as s:\n        return nth(tokens(s.recv(1000)), n)\n',
        "a server on the host",
    ),
    hostile(
        "unix_socket",
        "call",
        f'{LOOK}\nimport socket\ndef f(n):\n    s = socket.socket(socket.AF_UNIX)\n    s.connect("@SOCKET@")\n    return nth(tokens(s.recv(1000)), n)\n',
        "a server on the host, by a file",
    ),
    hostile(
        "abstract_socket",
        "call",
        f'{LOOK}\nimport socket\ndef f(n):\n    s = socket.socket(socket.AF_UNIX)\n    s.connect("\\0@ABSTRACT@")\n    return nth(tokens(s.recv(1000)), n)\n',
        "a server on the host, by an abstract name",
    ),
    hostile(
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

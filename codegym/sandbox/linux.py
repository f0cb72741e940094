"""The wall around a worker, on Linux: namespaces, a read-only root, dropped privileges, system-call filter.

`enclose` is called once, in the worker, before it serves; `confine` in every guest, before it runs a program.
Mount and network namespaces cost milliseconds, so a worker makes them once; process namespaces cost next to
nothing, so that every guest gets its own and dies with everything that it started.

Runs inside the guest too: standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import struct
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

__all__ = [
    "CLONE_NEWPID",
    "DEVICES",
    "ControlGroup",
    "address_space",
    "adopt_orphans",
    "checked",
    "close_from",
    "confine",
    "die_with_parent",
    "enclose",
    "end_children",
    "fork",
    "gain_no_privileges",
    "inside",
    "install_filter",
    "libc",
    "nobody_can_read",
    "probe",
    "sacrifice",
]

CLONE_PIDFD: Final = 0x00001000
CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
MNT_DETACH: Final = 2
SYS_MOUNT_SETATTR: Final = 442  # the same number on every architecture
SYS_CLONE: Final = {"x86_64": 56, "aarch64": 220, "riscv64": 220}.get(os.uname().machine)
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 1, 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_GET_SECCOMP, PR_SET_SECCOMP = 1, 4, 8, 21, 22
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS = 36, 38, 39
SECCOMP_MODE_FILTER: Final = 2
CAPABILITY_HEADER: Final = struct.pack("<Ii", 0x20080522, 0)  # version 3, this process
NO_CAPABILITIES: Final = bytes(24)

NOBODY: Final = 65534
END_CHILDREN_S: Final = 5.0
MOST_DESCRIPTORS: Final = os.sysconf("SC_OPEN_MAX")
DEVICES: Final = ("null", "zero", "full", "random", "urandom")
ROOTS: Final = ("program", "tester")
"""A guest's root, by its role: same files, separate scratch folders."""
NAMESPACES: Final = {"user": "user", "mount": "mnt", "net": "net", "ipc": "ipc", "uts": "uts"}

libc = ctypes.CDLL(None, use_errno=True)
libc_gil = ctypes.PyDLL(None, use_errno=True)
"""The same, called without giving up the interpreter's lock."""
if sys.platform == "linux":
    libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
    libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    libc.prctl.restype = ctypes.c_int


def checked(result: int, what: str) -> int:
    """Turn -1 into an `OSError` that names the operation."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def unshare(flags: int) -> None:
    """Move this process (or, for processes, its future children) into new namespaces."""
    checked(libc.unshare(flags), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount a file system, or move or change a mount."""
    raw = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    checked(libc.mount(raw[0], raw[1], raw[2], flags, raw[3]), f"mount {target}")


def prctl(option: int, argument: int = 0) -> int:
    """Ask the kernel to change, or tell, a property of this process."""
    return checked(libc.prctl(option, argument, 0, 0, 0), "prctl")


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def close_from(first: int) -> None:
    """Close every descriptor from `first` on."""
    os.closerange(first, MOST_DESCRIPTORS)


def fork(flags: int = 0) -> tuple[int, int]:
    """Fork with the bare system call.

    `os.fork` and the C library do more, for the sake of threads. A worker has none, and each page that the
    child would write to for it has to be copied.

    Args:
        flags: Namespaces to make for the child.

    Returns:
        The child's process id and a descriptor of the process; 0 and -1 in the child.
    """
    if SYS_CLONE is None:
        raise OSError(f"the sandbox knows x86_64, aarch64 and riscv64, not {os.uname().machine}")
    pidfd = ctypes.c_int(-1)
    arguments = (CLONE_PIDFD | flags | signal.SIGCHLD, 0, ctypes.byref(pidfd), 0, 0)
    return checked(libc_gil.syscall(SYS_CLONE, *arguments), "clone"), pidfd.value


def enclose(config: Mapping[str, Any]) -> tuple[set[str], int | None, str]:
    """Build the wall around this process. Returns in a child; the calling process stays behind as its
    guardian.

    Args:
        config: ``mountpoint`` (an empty folder), ``binds`` (paths to show, read-only), ``masks`` (folders to
            show empty), ``packages`` (paths to show below /packages), ``scratch_mb``.

    Returns:
        The layers that the kernel granted, a descriptor of ``/proc``, which is not to be seen any more, and
        why a layer is missing. Without namespaces (a container may forbid them): no layers, None and the
        kernel's reason.
    """
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    before = namespace_ids(proc)
    root = os.geteuid() == 0
    uid, gid = (NOBODY, NOBODY) if root else (os.getuid(), os.getgid())
    try:
        if not root:
            unshare(CLONE_NEWUSER)
            map_ids(proc, uid, gid)
        unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
    except OSError as error:
        return set(), None, str(error)
    checked(libc.sethostname(b"guest", 5), "sethostname")
    build_roots(config)
    reason = ""
    try:
        enter_user_namespace(proc, uid, gid, become=root)
    except OSError as error:
        reason = str(error)
    unshare(CLONE_NEWPID)
    guard_child()
    die_with_parent()
    after = namespace_ids(proc)
    layers = {name for name in NAMESPACES if before[name] != after[name]}
    return layers, proc, reason


@contextlib.contextmanager
def inside(root: str) -> Iterator[None]:
    """See files as a guest will, for the length of a ``with`` block."""
    outside = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    os.chroot(root)
    try:
        yield
    finally:
        os.fchdir(outside)
        os.chroot(".")
        os.close(outside)


def address_space(proc: int) -> int:
    """Bytes of address space that this process takes; `proc` is a descriptor of ``/proc``."""
    return int(read_text(proc, "self/statm").split()[0]) * os.sysconf("SC_PAGESIZE")


def sacrifice(proc: int, pidfd: int) -> None:
    """Where memory runs out, have the kernel end this process before any other.

    Args:
        proc: A descriptor of ``/proc``, which may be that of another process namespace, and know the process
            by another number.
        pidfd: A descriptor of the process.
    """
    pid = re.search(r"^Pid:\s*(-?\d+)", read_text(proc, f"self/fdinfo/{pidfd}"), re.MULTILINE)
    assert pid is not None
    try:
        descriptor = os.open(f"{pid[1]}/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
    except (FileNotFoundError, PermissionError):  # it has just ended, and what is left of it is root's
        return
    with open(descriptor, "wb", buffering=0) as file, contextlib.suppress(ProcessLookupError):
        file.write(b"1000")


def read_text(folder: int, path: str) -> str:
    """A short file below a folder that is given by a descriptor."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(descriptor, 4096).decode()
    finally:
        os.close(descriptor)


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_children(proc: int) -> None:
    """Kill and await all children of this process, and theirs, which become its own.

    Args:
        proc: A descriptor of ``/proc``.

    Raises:
        RuntimeError: There are ever new ones.
    """
    deadline = time.monotonic() + END_CHILDREN_S
    while pids := read_text(proc, f"self/task/{os.getpid()}/children").split():
        if time.monotonic() > deadline:
            raise RuntimeError("processes that a program has left behind start others faster than they end")
        for pid in map(int, pids):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


class ControlGroup:
    """The control group that this process is in, as it can be watched from inside."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """Open the files ``cpu`` and ``kills``; an empty path is that of a file that is not there."""
        flags = os.O_RDONLY | os.O_CLOEXEC
        self.cpu = os.open(files["cpu"], flags) if files["cpu"] else -1
        self.kills = os.open(files["kills"], flags) if files["kills"] else -1

    def cpu_s(self) -> float:
        """CPU seconds of all its processes: from ``cpuacct.usage`` or, in version 2, from ``cpu.stat``."""
        if self.cpu < 0:
            return 0.0
        words = os.pread(self.cpu, 1000, 0).split()
        return int(words[0]) / 1e9 if len(words) == 1 else int(words[1]) / 1e6

    def out_of_memory_kills(self) -> int:
        """How many processes the kernel has ended here because memory ran out."""
        if self.kills < 0:
            return 0
        found = re.search(rb"^oom_kill (\d+)", os.pread(self.kills, 1000, 0), re.MULTILINE)
        return int(found[1]) if found else 0


def guard_child() -> None:
    """Fork; the child returns, the parent waits for it and ends as it ended."""
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def namespace_ids(proc: int) -> dict[str, int]:
    """The identities of this process's namespaces."""
    return {name: os.stat(f"self/ns/{link}", dir_fd=proc).st_ino for name, link in NAMESPACES.items()}


def map_ids(proc: int, uid: int, gid: int) -> None:
    """Map one user and one group to themselves in the user namespace just made."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        descriptor = os.open(f"self/{name}", os.O_WRONLY | os.O_CLOEXEC, dir_fd=proc)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def enter_user_namespace(proc: int, uid: int, gid: int, *, become: bool) -> None:
    """Give up all rights over the namespaces made so far, by entering a user namespace that does not own
    them.
    """
    if become:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        prctl(PR_SET_KEEPCAPS, 1)  # where the step after this one fails, we must be able to go on without it
        os.setresuid(uid, uid, uid)
        keep_capabilities()
        prctl(PR_SET_DUMPABLE, 1)  # else the kernel gives our files in /proc to root
    unshare(CLONE_NEWUSER)
    map_ids(proc, uid, gid)


def build_roots(config: Mapping[str, Any]) -> None:
    """Make the trees of files that guests will see, and move into them."""
    base = config["mountpoint"]
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m")
    program, tester = (os.path.join(base, role) for role in ROOTS)
    os.mkdir(program)
    os.mkdir(tester)
    show(program, config["binds"])
    for path in config["masks"]:
        if os.path.isdir(program + path):
            mount("tmpfs", program + path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=755,size=4k")
    for path in config["packages"]:
        bind(path, os.path.join(program, "packages", os.path.basename(path)))
    for name in DEVICES:
        bind(f"/dev/{name}", f"{program}/dev/{name}", read_only=False)
    os.symlink("/tmp", f"{program}/dev/shm")
    os.mkdir(f"{program}/tmp")
    mount(program, tester, None, MS_BIND | MS_REC)
    for root in (program, tester):
        options = f"mode=1777,size={config['scratch_mb']}m,nr_inodes=4096"
        mount("tmpfs", f"{root}/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options)
    mount(None, base, None, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)
    os.chdir(base)
    checked(libc.pivot_root(b".", b"."), "pivot_root")
    checked(libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")


def show(root: str, paths: Iterable[str]) -> None:
    """Bind paths into a root at their own places; a path that is a symbolic link becomes one."""
    for path in paths:
        target = root + path
        if os.path.islink(path):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.readlink(path), target)
        elif os.path.exists(path) and not os.path.exists(target):
            bind(path, target)


def bind(source: str, target: str, *, read_only: bool = True) -> None:
    """Show a file or a folder at another place, with all that is mounted below it."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    mount(source, target, None, MS_BIND | MS_REC)
    if read_only:
        attributes = struct.pack("<QQQQ", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0, 0, 0)
        arguments = (AT_FDCWD, os.fsencode(target), AT_RECURSIVE, attributes, len(attributes))
        checked(libc.syscall(SYS_MOUNT_SETATTR, *arguments), f"make {target} read-only")


def confine(root: str | None, *, become_nobody: bool) -> None:
    """Take from this process, for good, what its worker needs and a guest must not have.

    Runs in every guest: each line of it costs every program, so all that can be inherited is set in the
    worker.

    Args:
        root: Its new root directory; None where there is no tree of its own.
        become_nobody: Whether to change from root to a user that owns nothing.
    """
    if root is not None:
        os.chroot(root)
        os.chdir("/tmp")
    if become_nobody:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    checked(libc.capset(CAPABILITY_HEADER, NO_CAPABILITIES), "capset")


def nobody_can_read(path: str) -> bool:
    """Whether a user that owns nothing can get at a folder; to be asked by root."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.listdir(path)
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def gain_no_privileges() -> None:
    """Have the kernel deny this process, and all that it forks, any rights that it has not now."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def install_filter(program: bytes) -> None:
    """Have the kernel filter the system calls of this process and of all that it forks.

    Args:
        program: BPF instructions; empty for none.
    """
    if program:
        code = ctypes.create_string_buffer(program, len(program))
        descriptor = struct.pack("HL", len(program) // 8, ctypes.addressof(code))
        described = ctypes.create_string_buffer(descriptor, len(descriptor))
        address = ctypes.addressof(described)
        checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, address, 0, 0), "seccomp")


def probe() -> list[str]:
    """The layers that can be seen from inside a guest."""
    layers = {
        "pid": os.getpid() == 1,
        "no_new_privs": prctl(PR_GET_NO_NEW_PRIVS) == 1,
        "no_capabilities": effective_capabilities() == 0,
        "seccomp": prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER,
        "root": bool(os.statvfs("/").f_flag & os.ST_RDONLY) and not os.path.exists("/proc/self"),
        "scratch": os.statvfs("/tmp").f_files <= 4096,
    }
    return [name for name, stands in layers.items() if stands]


def effective_capabilities() -> int:
    """The capabilities that this process has, as a set of bits."""
    effective_low, _, _, effective_high, _, _ = capabilities()
    return effective_low | effective_high << 32


def keep_capabilities() -> None:
    """Make all permitted capabilities effective again, after a change of user took them out of effect."""
    _, permitted_low, _, _, permitted_high, _ = capabilities()
    data = struct.pack("<6I", permitted_low, permitted_low, 0, permitted_high, permitted_high, 0)
    checked(libc.capset(CAPABILITY_HEADER, data), "capset")


def capabilities() -> tuple[int, ...]:
    """Effective, permitted and inheritable capabilities: the low 32 bits of each, then the high ones."""
    data = ctypes.create_string_buffer(24)
    checked(libc.capget(CAPABILITY_HEADER, data), "capget")
    return struct.unpack("<6I", data.raw)

"""Programs that try to get through the wall, layer by layer, and report what they got hold of.

The source of each function is run as a program, so each stands alone and needs the standard library only. A
probe is worth something only if it does get through where there is no wall: the tests of the kit run each of
them in a bare interpreter.
"""

from __future__ import annotations

__all__ = [
    "capabilities",
    "children",
    "control_group",
    "files",
    "folders",
    "host_name",
    "memory_segment",
    "namespace",
    "network",
    "privileges",
    "processes",
    "resource_limits",
    "root_folder",
    "scratch_folder",
    "system_calls",
    "users",
]


def namespace(name: str, inode: int) -> list[str]:
    """Compare a namespace with the host's."""
    import os

    try:
        same = os.stat(f"/proc/self/ns/{name}").st_ino == inode
    except OSError:
        return []
    return [f"is in the host's namespace {name}"] if same else []


def network(port: int, name: bytes) -> list[str]:
    """Reach servers of the host, or anything outside."""
    import socket

    addresses: list[tuple[int, int, tuple[str, int] | bytes, str]] = [
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port), "a server of the host, by TCP"),
        (socket.AF_UNIX, socket.SOCK_STREAM, name, "a server of the host, by a Unix socket"),
        (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 9), "a route to other machines"),
    ]
    found = []
    for family, kind, address, what in addresses:
        try:
            with socket.socket(family, kind) as one:
                one.settimeout(1.0)
                one.connect(address)  # of a datagram socket: looks for a route, and sends nothing
        except OSError:
            continue
        found.append(f"reaches {what}")
    return found


def files(digests: dict[str, bytes]) -> list[str]:
    """Read files of the host, whose digests are known."""
    import hashlib

    found = []
    for path, digest in digests.items():
        try:
            with open(path, "rb") as file:
                same = hashlib.blake2b(file.read()).digest() == digest
        except OSError:
            continue
        if same:
            found.append(f"reads {path}")
    return found


def folders(paths: list[str]) -> list[str]:
    """Write into folders."""
    import os

    found = []
    for path in paths:
        if os.path.realpath(path) == os.getcwd():
            continue
        name = os.path.join(path, f"codegym-kit-{os.getpid()}")
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.unlink(name)
        except OSError:
            continue
        found.append(f"writes into {path}")
    return found


def root_folder(identity: list[int]) -> list[str]:
    """Compare the root folder with the host's."""
    import os

    seen = os.stat("/")
    same = [seen.st_dev, seen.st_ino, seen.st_ctime_ns] == identity
    return ["has the host's tree of files as its own"] if same else []


def processes(pids: list[int]) -> list[str]:
    """See processes of the host."""
    import os

    found = []
    for pid in pids:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        except OSError:  # it may not, and so it is there
            found.append(f"sees process {pid} of the host")
            continue
        found.append(f"may kill process {pid} of the host")
    return found


def memory_segment(key: int) -> list[str]:
    """Find a segment of shared memory of the host."""
    import ctypes

    found = ctypes.CDLL(None).shmget(key, 0, 0) >= 0
    return ["finds shared memory of the host"] if found else []


def host_name(name: str) -> list[str]:
    """See the host's name."""
    import os

    return [f"sees the machine's name {name!r}"] if os.uname().nodename == name else []


def users() -> list[str]:
    """Become another user."""
    import os

    found = []
    for name, own, become in (("user", os.getuid(), os.setuid), ("group", os.getgid(), os.setgid)):
        try:
            become(0)
        except OSError:
            continue
        if own != 0:
            found.append(f"becomes {name} 0")
    return found


def system_calls() -> list[str]:
    """Make system calls that a filter forbids, with arguments that do no harm."""
    import ctypes
    import errno

    libc = ctypes.CDLL(None, use_errno=True)
    found = []
    for name, call, arguments in (
        ("ptrace", libc.ptrace, (16, -1, 0, 0)),
        ("unshare", libc.unshare, (0,)),
        ("io_uring_setup", libc.syscall, (425, 0, 0)),
        ("open_tree", libc.syscall, (428, -1, 0, 0)),
        ("pidfd_getfd", libc.syscall, (438, -1, 0, 0)),
    ):
        ctypes.set_errno(0)
        refused = call(*arguments) == -1 and ctypes.get_errno() in (errno.EPERM, errno.EACCES, errno.ENOSYS)
        if not refused:
            found.append(f"has the kernel look at the arguments of {name}")
    return found


def privileges() -> list[str]:
    """Ask whether programs that are started may gain rights."""
    import ctypes

    may = ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) == 0
    return ["may gain rights by starting programs"] if may else []


def capabilities() -> list[str]:
    """Ask for capabilities."""
    import ctypes
    import struct

    header, data = struct.pack("<Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
    granted = ctypes.CDLL(None).capget(header, data) == 0
    some = granted and any(struct.unpack("<6I", data.raw)[i] for i in (0, 1, 3, 4))
    return [f"has capabilities {data.raw.hex()}"] if some else []


def resource_limits() -> list[str]:
    """Look for limits that are missing, or can be lifted."""
    import resource

    found = []
    for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE"):
        which = getattr(resource, name)
        soft, hard = resource.getrlimit(which)
        if resource.RLIM_INFINITY in (soft, hard):
            found.append(f"{name} is unlimited")
            continue
        try:
            resource.setrlimit(which, (soft, resource.RLIM_INFINITY))
        except (OSError, ValueError):
            continue
        found.append(f"{name} can be lifted")
    return found


def scratch_folder(most_mb: int) -> list[str]:
    """Fill the folder for files."""
    import os

    room = os.statvfs(".")
    total_mb = (room.f_blocks * room.f_frsize) >> 20
    if total_mb > most_mb:
        return [f"has room for {total_mb} MiB of files"]
    written = 0
    try:
        for number in range(total_mb + 8):
            with open(f"filled-{number}", "wb", buffering=0) as file:
                written += file.write(bytes(1 << 20)) >> 20
    except OSError:
        return []
    return [f"wrote {written} MiB where there is room for {total_mb}"]


def control_group(count: int, size_mb: int) -> list[str]:
    """Hold memory in several processes at a time, each within its own limit."""
    import os
    import signal

    readers, children = [], []
    for _ in range(count):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            held = b"x" * (size_mb << 20)
            os.write(writer, b"1")
            while held:
                signal.pause()
        os.close(writer)
        readers.append(reader)
        children.append(child)
    holding = sum(os.read(reader, 1) == b"1" for reader in readers)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return [f"{count} processes hold {size_mb} MiB each"] if holding == count else []


def children(count: int) -> int:
    """Have many processes at a time; returns how many it got."""
    import os
    import signal

    found: list[int] = []
    try:
        while len(found) < count:
            child = os.fork()
            if child == 0:
                while True:
                    signal.pause()
            found.append(child)
    except OSError:
        pass
    for child in found:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(found)

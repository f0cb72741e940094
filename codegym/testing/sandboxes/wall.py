"""The promises of a sandbox: the isolation that it declares is there."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from codegym.core import Limits
from codegym.testing.checks import not_applicable, promised, require
from codegym.testing.sandboxes import probes
from codegym.testing.sandboxes.subject import QUICK, SandboxSubject

__all__: list[str] = []

SCRATCH_MB: Final = 4096
"""MiB of files beyond which a folder does not count as bounded."""
TOGETHER: Final = Limits(cpu_s=5.0, wall_s=20.0, memory_mb=32, output_mb=1, processes=16)
HOLDERS: Final = (8, 24)
"""Processes, and MiB that each of them holds: each within `TOGETHER`, all of them far beyond it."""
USERS: Final = "/etc/passwd"
LEAST_PID: Final = 256
"""Process ids below this may exist in another namespace of processes too."""


def try_layer(
    subject: SandboxSubject, layer: str, *attempts: tuple[Any, ...], limits: Limits = QUICK
) -> None:
    """Run probes against a layer that is declared, none of which may get through."""
    if layer not in subject.sandbox.isolation.layers:
        not_applicable(f"{layer} is not declared")
    crossed = [each for probe, *args in attempts for each in subject.crossings(probe, *args, limits=limits)]
    require(not crossed, f"{layer} is declared, and a program {'; '.join(crossed)}")


def of_namespace(name: str) -> tuple[Callable[..., list[str]], str, int]:
    """The probe for being in the host's namespace."""
    return probes.namespace, name, os.stat(f"/proc/self/ns/{name}").st_ino


@promised("codegym.sandbox.base:Isolation")
def check_net_is_cut_off(subject: SandboxSubject) -> None:
    """With ``net``, a program reaches neither servers of the host nor other machines."""
    with servers() as (port, name):
        try_layer(subject, "net", (probes.network, port, name), of_namespace("net"))


@promised("codegym.sandbox.base:Isolation")
def check_root_is_cut_off(subject: SandboxSubject) -> None:
    """With ``root``, a program reads no file of the host, and writes nowhere but into its scratch folder."""
    home = str(Path.home())
    writable = ["/", "/etc", "/usr", "/var", home, os.getcwd(), os.path.dirname(os.__file__), sys.prefix]
    with host_files() as digests:
        try_layer(subject, "root", (probes.files, digests), (probes.folders, writable))


@promised("codegym.sandbox.base:Isolation")
def check_mount_is_cut_off(subject: SandboxSubject) -> None:
    """With ``mount``, a program has a tree of files of its own."""
    root = os.stat("/")
    identity = [root.st_dev, root.st_ino, root.st_ctime_ns]
    try_layer(subject, "mount", (probes.root_folder, identity), of_namespace("mnt"))


@promised("codegym.sandbox.base:Isolation")
def check_landlock_is_in_force(subject: SandboxSubject) -> None:
    """With ``landlock``, a program reads no file of its user, and writes into none of its folders."""
    with host_files() as digests:
        own = {path: digest for path, digest in digests.items() if path != USERS}
        try_layer(subject, "landlock", (probes.files, own), (probes.folders, [str(Path.home())]))


@promised("codegym.sandbox.base:Isolation")
def check_pid_is_cut_off(subject: SandboxSubject) -> None:
    """With ``pid``, a program neither sees processes of the host nor can end them."""
    pids = [pid for pid in (os.getpid(), os.getppid()) if pid >= LEAST_PID]
    try_layer(subject, "pid", (probes.processes, pids), of_namespace("pid"))


@promised("codegym.sandbox.base:Isolation")
def check_ipc_is_cut_off(subject: SandboxSubject) -> None:
    """With ``ipc``, a program finds no shared memory of the host."""
    with shared_memory() as key:
        try_layer(subject, "ipc", (probes.memory_segment, key), of_namespace("ipc"))


@promised("codegym.sandbox.base:Isolation")
def check_uts_is_cut_off(subject: SandboxSubject) -> None:
    """With ``uts``, a program does not see the machine's name."""
    try_layer(subject, "uts", (probes.host_name, os.uname().nodename), of_namespace("uts"))


@promised("codegym.sandbox.base:Isolation")
def check_user_is_cut_off(subject: SandboxSubject) -> None:
    """With ``user``, a program has no rights over the machine's users."""
    try_layer(subject, "user", (probes.users,), of_namespace("user"))


@promised("codegym.sandbox.base:Isolation")
def check_seccomp_is_in_force(subject: SandboxSubject) -> None:
    """With ``seccomp``, the kernel refuses system calls that no program needs, before it looks at them."""
    try_layer(subject, "seccomp", (probes.system_calls,))


@promised("codegym.sandbox.base:Isolation")
def check_no_new_privs_is_in_force(subject: SandboxSubject) -> None:
    """With ``no_new_privs``, a program gains no rights by starting another."""
    try_layer(subject, "no_new_privs", (probes.privileges,))


@promised("codegym.sandbox.base:Isolation")
def check_no_capabilities_are_left(subject: SandboxSubject) -> None:
    """With ``no_capabilities``, a program has none, and can get none back."""
    try_layer(subject, "no_capabilities", (probes.capabilities,))


@promised("codegym.sandbox.base:Isolation")
def check_rlimits_are_in_force(subject: SandboxSubject) -> None:
    """With ``rlimits``, address space, CPU time and file sizes have limits that cannot be lifted."""
    try_layer(subject, "rlimits", (probes.resource_limits,))


@promised("codegym.sandbox.base:Isolation")
def check_scratch_is_bounded(subject: SandboxSubject) -> None:
    """With ``scratch``, the files of a program have a bounded size together."""
    try_layer(subject, "scratch", (probes.scratch_folder, SCRATCH_MB))


@promised("codegym.sandbox.base:Isolation")
def check_cgroup_is_in_force(subject: SandboxSubject) -> None:
    """With ``cgroup``, the processes of a program share one limit of memory."""
    try_layer(subject, "cgroup", (probes.control_group, *HOLDERS), limits=TOGETHER)


@contextlib.contextmanager
def servers() -> Iterator[tuple[int, bytes]]:
    """Servers of this process: a TCP port of the local host, and a Unix socket in no folder."""
    name = b"\0codegym-kit-" + secrets.token_hex(8).encode()
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        unix.bind(name)
        for server in (tcp, unix):
            server.listen()
        yield tcp.getsockname()[1], name


@contextlib.contextmanager
def host_files() -> Iterator[dict[str, bytes]]:
    """Files that this process can read, with their digests: a new one, one at home, and the list of users."""
    with tempfile.NamedTemporaryFile(prefix="codegym-kit-") as file:
        file.write(secrets.token_bytes(64))
        file.flush()
        os.chmod(file.name, 0o644)
        own = next((str(path) for path in sorted(Path.home().iterdir()) if filled(path)), file.name)
        paths = filter(filled, map(Path, (file.name, own, USERS)))
        yield {str(path): hashlib.blake2b(path.read_bytes()).digest() for path in paths}


def filled(path: Path) -> bool:
    """Whether a file can be read, and is not empty."""
    return path.is_file() and os.access(path, os.R_OK) and path.stat().st_size > 0


@contextlib.contextmanager
def shared_memory() -> Iterator[int]:
    """The key of a segment of shared memory of this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    key = secrets.randbelow(1 << 30) + 1
    segment = libc.shmget(key, 4096, 0o1600 | 0o2000)  # IPC_CREAT, IPC_EXCL
    if segment < 0:
        not_applicable(f"this process cannot make shared memory: {os.strerror(ctypes.get_errno())}")
    try:
        yield key
    finally:
        libc.shmctl(segment, 0, None)  # IPC_RMID

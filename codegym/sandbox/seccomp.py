"""The system calls that a guest may make, as a filter program for the kernel."""

from __future__ import annotations

import errno
import functools
import tempfile
from typing import Final

__all__ = ["ALLOWED", "filter_program"]

# fmt: off
ALLOWED: Final = frozenset({
    "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2",
    "lseek", "close", "close_range", "dup", "dup2", "dup3", "fcntl", "ioctl", "pipe", "pipe2", "poll",
    "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait",
    "epoll_pwait", "epoll_pwait2", "eventfd", "eventfd2", "splice", "tee", "copy_file_range", "sendfile",
    "open", "openat", "openat2", "creat", "access", "faccessat", "faccessat2", "stat", "fstat", "lstat",
    "newfstatat", "statx", "statfs", "fstatfs", "getdents", "getdents64", "getcwd", "chdir", "fchdir",
    "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat",
    "symlink", "symlinkat", "readlink", "readlinkat", "chmod", "fchmod", "fchmodat", "truncate",
    "ftruncate", "fallocate", "fsync", "fdatasync", "utime", "utimes", "utimensat", "futimesat", "umask",
    "flock", "fadvise64", "memfd_create", "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "msync",
    "mlock", "munlock", "membarrier", "fork", "vfork", "clone", "execve", "execveat", "exit", "exit_group",
    "wait4", "waitid", "kill", "tkill", "tgkill", "pidfd_open", "pidfd_send_signal", "getpid", "gettid",
    "getppid", "getpgid", "getpgrp", "setpgid", "getsid", "setsid", "getuid", "geteuid", "getgid",
    "getegid", "getresuid", "getresgid", "getgroups", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
    "rt_sigsuspend", "rt_sigpending", "rt_sigtimedwait", "rt_sigqueueinfo", "sigaltstack", "signalfd",
    "signalfd4", "pause", "alarm", "setitimer", "getitimer", "timer_create", "timer_settime",
    "timer_gettime", "timer_delete", "timer_getoverrun", "timerfd_create", "timerfd_settime",
    "timerfd_gettime", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday",
    "time", "times", "futex", "futex_waitv", "set_robust_list", "get_robust_list", "set_tid_address",
    "rseq", "arch_prctl", "sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam",
    "sched_getscheduler", "sched_get_priority_max", "sched_get_priority_min", "getpriority", "getrlimit",
    "setrlimit", "prlimit64", "getrusage", "sysinfo", "uname", "getrandom", "restart_syscall", "capget",
    "getcpu", "prctl", "socketpair", "sendto", "recvfrom", "sendmsg", "recvmsg", "shutdown", "getsockopt",
    "setsockopt", "getsockname", "getpeername",
})
# fmt: on
"""By name; those that an architecture lacks are left out there. Not among them: sockets
that have a name, mount, namespaces, ptrace and other ways into processes, io_uring, bpf, userfaultfd, perf,
keyrings, System V IPC, modules, clocks that can be set."""

PRIVILEGED: Final = frozenset({"chroot", "capset", "setgroups", "setresuid", "setresgid"})
"""What a worker needs besides, to make a guest. A guest may call these too, but has not the rights to get
anything by it."""
LANDLOCK: Final = (444, 446)
"""To make a set of Landlock's rules and to put it in force, which can only take rights away. By number, for
older versions of libseccomp do not know the names."""
NAMESPACE_FLAGS: Final = 0x5E020000
"""The CLONE_NEW* bits of clone(2), but for CLONE_NEWPID: a worker makes guests with it."""
AF_UNIX: Final = 1
PR_ALLOWED: Final = (1, 3, 15, 16, 21, 23, 24, 38, 39, 40, 0x53564D41)
"""prctl(2) options: the own state, and names for processes and memory."""


@functools.cache
def filter_program(alone: bool = False) -> bytes:
    """Compile the filter for this machine.

    It is installed once, in the worker, and inherited by all guests: installing one costs a good part of a
    fork.

    Args:
        alone: Whether it is for a worker without namespaces, whose guests make Landlock domains instead.

    Returns:
        BPF instructions. Whatever is not allowed fails with EPERM; clone3, whose flags a filter cannot see,
        with ENOSYS, upon which the C library uses clone. Empty where libseccomp is not installed.
    """
    try:
        import pyseccomp as libseccomp
    except (ImportError, RuntimeError, OSError):
        return b""
    arg, equal, masked = libseccomp.Arg, libseccomp.EQ, libseccomp.MASKED_EQ
    rules = libseccomp.SyscallFilter(defaction=libseccomp.ERRNO(errno.EPERM))
    for name in sorted((ALLOWED | PRIVILEGED) - {"clone", "prctl"}):
        if libseccomp.resolve_syscall(libseccomp.Arch.NATIVE, name) >= 0:
            rules.add_rule(libseccomp.ALLOW, name)
    for number in LANDLOCK if alone else ():
        rules.add_rule(libseccomp.ALLOW, number)
    rules.add_rule(libseccomp.ERRNO(errno.ENOSYS), "clone3")
    rules.add_rule(libseccomp.ALLOW, "clone", arg(0, masked, NAMESPACE_FLAGS, 0))
    rules.add_rule(libseccomp.ALLOW, "socket", arg(0, equal, AF_UNIX))
    for option in PR_ALLOWED:
        rules.add_rule(libseccomp.ALLOW, "prctl", arg(0, equal, option))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()

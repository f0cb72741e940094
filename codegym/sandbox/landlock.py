"""Landlock: the kernel's second lock on files, TCP, abstract sockets and signals, where it has one.

Behind namespaces it repeats what these say already. Where namespaces are denied, as in most containers, it is
what keeps a program away from the files and the processes of its user.

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Mapping
from typing import Final

from codegym.sandbox import linux

__all__ = ["LIST", "READ", "USE", "WRITE", "restrict", "scope_signals", "version"]

SYS_CREATE_RULESET, SYS_ADD_RULE, SYS_RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
CREATE_RULESET_VERSION: Final = 1
RULE_PATH_BENEATH: Final = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL_DEVICE = 1, 2, 4, 8, 1 << 14, 1 << 15
READ: Final = EXECUTE | READ_FILE | READ_DIR
LIST: Final = READ_DIR
USE: Final = READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEVICE
"""Of a single file: all but to make or remove it."""
WRITE: Final = (1 << 16) - 1
"""All rights."""
FILES: Final = EXECUTE | USE
"""The rights that a file may have that is no folder."""
FILE_RIGHTS: Final = ((1, 13), (2, 14), (3, 15), (5, 16))
"""How many rights on files there are, from which version of Landlock on."""
TCP: Final = 3
SCOPES: Final = 3
SCOPE_SIGNALS: Final = 2


def version() -> int:
    """Which version of Landlock the kernel has; 0 for none."""
    return max(0, int(linux.libc.syscall(SYS_CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)))


def restrict(paths: Mapping[str, int], descriptors: Mapping[int, int]) -> bool:
    """Restrict this process, and all that it starts, to some files and folders, and what lies below them.

    Args:
        paths: The rights on each; those that do not exist are left out.
        descriptors: Likewise, of files that are open.

    Returns:
        Whether the kernel has Landlock, and this is done.
    """
    has = version()
    if not has:
        return False
    handled = (1 << max(count for since, count in FILE_RIGHTS if since <= has)) - 1
    ruleset = create(handled, TCP if has >= 4 else 0, SCOPES if has >= 6 else 0)
    for descriptor, rights in descriptors.items():
        allow(ruleset, descriptor, rights & handled)
    for path, rights in paths.items():
        if os.path.exists(path):
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allow(ruleset, descriptor, rights & handled)
            os.close(descriptor)
    enforce(ruleset)
    return True


def allow(ruleset: int, descriptor: int, rights: int) -> None:
    """Add rights on a file or a folder to a set of rules."""
    possible = WRITE if stat.S_ISDIR(os.fstat(descriptor).st_mode) else FILES
    arguments = (ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights & possible, descriptor), 0)
    linux.checked(linux.libc.syscall(SYS_ADD_RULE, *arguments), "landlock rule")


def scope_signals() -> None:
    """Keep this process from sending signals to any that it does not start from now on."""
    if version() >= 6:
        enforce(create(0, 0, SCOPE_SIGNALS))


def create(files: int, network: int, scopes: int) -> int:
    """A new set of rules, as a descriptor."""
    attributes = struct.pack("=QQQ", files, network, scopes)
    return linux.checked(linux.libc.syscall(SYS_CREATE_RULESET, attributes, len(attributes), 0), "landlock")


def enforce(ruleset: int) -> None:
    """Put a set of rules into force, for good."""
    try:
        linux.checked(linux.libc.syscall(SYS_RESTRICT_SELF, ruleset, 0), "landlock")
    finally:
        os.close(ruleset)

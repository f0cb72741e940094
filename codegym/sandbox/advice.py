"""What each layer of isolation is good for, and how to get one that is missing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from codegym.errors import IsolationError
from codegym.sandbox.base import Isolation

__all__ = ["LAYERS", "Finding", "demand", "findings"]

NAMESPACES: Final = (
    "run as root, or allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), "
    "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces above 0; "
    "in a container, start it with --privileged, or with --cap-add SYS_ADMIN "
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined"
)
LAYERS: Final[dict[str, tuple[str, str]]] = {
    "user": ("rights over the machine's own users", NAMESPACES),
    "pid": ("other processes; what a program leaves behind", NAMESPACES),
    "mount": ("the machine's files", NAMESPACES),
    "net": ("the network", NAMESPACES),
    "ipc": ("System V shared memory, semaphores and queues", NAMESPACES),
    "uts": ("the machine's name", NAMESPACES),
    "root": ("all files but the interpreter and its libraries", NAMESPACES),
    "scratch": ("files beyond a folder of bounded size", NAMESPACES),
    "landlock": (
        "files, TCP and signals, once more",
        "a kernel of 5.13 or later that is started with landlock among its security modules (lsm=landlock,…)",
    ),
    "seccomp": (
        "most system calls",
        "install libseccomp: apt-get install libseccomp2, or dnf install libseccomp",
    ),
    "no_new_privs": ("programs that gain rights", "a kernel of 3.5 or later"),
    "no_capabilities": ("what is left of root's rights", "Linux"),
    "rlimits": ("address space, CPU time, file sizes of each process", "Linux"),
    "cgroup": (
        "memory, processes and CPU time of all processes of a program together",
        "run as root (version 1), or in a group that was delegated with its memory controller: "
        "systemd-run --user --scope -p Delegate=yes COMMAND; in a container, mount /sys/fs/cgroup writable",
    ),
}
"""By name: what it cuts off or limits, and how to get it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One layer, as it is here."""

    layer: str
    stands: bool
    needed: bool
    """Whether strong isolation needs it."""
    meaning: str
    advice: str
    """How to get it; empty when it stands."""


def findings(isolation: Isolation) -> Iterator[Finding]:
    """What stands and what does not, layer by layer."""
    for layer, (meaning, advice) in LAYERS.items():
        stands = layer in isolation.layers
        yield Finding(layer, stands, layer in Isolation.STRONG, meaning, "" if stands else advice)


def demand(name: str, isolation: Isolation, required: Literal["strong"] | None, reason: str) -> None:
    """Refuse, or warn of, less than strong isolation.

    Args:
        name: The sandbox's.
        isolation: What it has.
        required: What it must have; None: nothing.
        reason: Why it has no more; empty where nothing is known.

    Raises:
        IsolationError: It has less than is required.
    """
    if isolation.strong:
        return
    text = f"the sandbox {name!r} has no strong isolation here; missing: {', '.join(isolation.missing)}"
    text += f" ({reason})" if reason else ""
    if required == "strong":
        raise IsolationError(text)
    warnings.warn(text, RuntimeWarning, stacklevel=5)

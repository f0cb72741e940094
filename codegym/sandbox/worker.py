"""The worker: a warm interpreter that forks a guest for each program, watches it, and reports to the host.

It is single-threaded, and holds nothing worth stealing: a guest reads its request from the host by itself,
after the fork, so that neither programs nor tests are ever in the memory that later guests inherit.

The host speaks first, in frames of a length, a type and a payload; the worker answers each RUN with one DONE:

    host to worker   RUN   a plan, followed by one request for each guest, outside of the frame
                     SEND  bytes for the guest's link
                     STOP  end the run
    worker to host   HELLO what the wall is made of, once
                     ANSWERS, LINK  bytes from the guest, unread
                     DONE  how the run ended

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import marshal
import os
import resource
import select
import signal
import site
import socket
import struct
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from codegym.sandbox import guest, linux

__all__ = ["DONE", "FRAME", "HELLO", "LINK", "RUN", "SEND", "STOP", "Disconnected", "Worker", "main"]

FRAME: Final = struct.Struct("<Ic")
HELLO, ANSWERS, LINK, DONE = b"h", b"a", b"l", b"d"
RUN, SEND, STOP = b"r", b"s", b"x"

FIRST_LOOK_MS: Final = 5
FIRST_TICK_S, TICK_S = 0.002, 0.05
"""How often a running guest is looked at: less and less often."""
FIRST_ANSWER_BYTES: Final = 16384
CHUNK: Final = 1 << 20
INHERITED_LIMITS: Final = {
    resource.RLIMIT_NOFILE: 256,
    resource.RLIMIT_CORE: 0,
    # room for deep recursion through C code; the kernel keeps at least this much free below the stack
    resource.RLIMIT_STACK: 128 << 20,
}
HARD_LIMITS: Final = {
    which: resource.getrlimit(which)[1]
    for which in (
        *INHERITED_LIMITS,
        resource.RLIMIT_AS,
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_CPU,
        resource.RLIMIT_NPROC,
    )
}
"""What this process started with."""
ACK: Final = 5
"""A guest's descriptor on which it says that it is set up; closed before the program starts."""


class Disconnected(Exception):
    """The other end has closed the connection."""


class Files:
    """Where the guests of one role write, one after the other: files in memory, kept since making them takes
    time.
    """

    def __init__(self) -> None:
        self.answers, self.stdout, self.stderr = (os.memfd_create(name) for name in ("answers", "out", "err"))

    def clear(self) -> None:
        """Make them ready for the next guest; nobody else has them open by then."""
        for descriptor in (self.answers, self.stdout, self.stderr):
            if os.lseek(descriptor, 0, os.SEEK_CUR) or os.fstat(descriptor).st_size:
                os.ftruncate(descriptor, 0)
                os.lseek(descriptor, 0, os.SEEK_SET)


class Guest:
    """One forked child, seen from the worker."""

    def __init__(self, spec: Mapping[str, Any], files: Files) -> None:
        self.spec = spec
        self.files = files
        self.pid = self.pidfd = -1
        self.sent = 0
        """Bytes of answers that the host has."""
        self.mark = 0.0
        """CPU seconds when the guest last showed progress."""
        self.ended: dict[str, Any] | None = None

    def cpu_s(self) -> float:
        """CPU seconds that the process has used, all threads."""
        return time.clock_gettime((~self.pid << 3) | 2)  # the kernel's id for the CPU clock of a process

    def kill(self, group: bool) -> None:
        """End it; where it is no namespace of its own, with its process group."""
        if self.ended is None:
            if group:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def reap(self) -> None:
        """Wait for it, and keep what the kernel says of it."""
        if self.ended is None:
            _, status, usage = os.wait4(self.pid, 0)
            self.ended = {
                "exit_code": os.waitstatus_to_exitcode(status),
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "peak_mb": usage.ru_maxrss / 1024,
            }

    def report(self) -> dict[str, Any]:
        """All that the host wants to know."""
        assert self.ended is not None
        limit = self.spec["stdout_bytes"]
        out, size = excerpt(self.files.stdout, limit)
        return {
            **self.ended,
            "first_answer": os.pread(self.files.answers, FIRST_ANSWER_BYTES, 0),
            "stdout": out,
            "stdout_size": size,
            "stderr": excerpt(self.files.stderr, 4096)[0],
        }

    def close(self) -> None:
        """Give the descriptors back."""
        if self.pidfd >= 0:
            os.close(self.pidfd)
        self.files.clear()


def excerpt(descriptor: int, limit: int) -> tuple[bytes, int]:
    """A file in memory: all of it or its two ends, and its size."""
    size = os.fstat(descriptor).st_size
    if not size:
        return b"", 0
    if size <= limit:
        return os.pread(descriptor, size, 0), size
    half = limit // 2
    return os.pread(descriptor, half, 0) + b"\n...\n" + os.pread(descriptor, half, size - half), size


class Worker:
    """Serves one host, one run at a time."""

    def __init__(self, control: socket.socket, config: Mapping[str, Any]) -> None:
        self.control = control
        self.scratch: str = config["scratch"]
        self.layers: set[str] = set()
        self.namespaces: linux.ProcessNamespaces | None = None
        reason = ""
        if config["enclose"] is not None:
            self.layers, self.namespaces, reason = linux.enclose(config["enclose"])
        self.enclosed = "mount" in self.layers
        with linux.inside("/program") if self.enclosed else contextlib.nullcontext():
            preload(config["preload"], config["sys_path"])
        proc = self.namespaces.proc if self.namespaces else os.open("/proc", os.O_PATH | os.O_CLOEXEC)
        self.base_bytes = linux.address_space(proc)
        # an interpreter in root's home is of no use to anybody else
        self.become_nobody = os.geteuid() == 0 and (
            self.enclosed or linux.nobody_can_read(os.path.dirname(os.__file__))
        )
        linux.install_filter(config["seccomp"])
        set_limits(INHERITED_LIMITS)
        sys.set_int_max_str_digits(0)
        self.files = {role: Files() for role in linux.ROOTS}
        self.null = os.open("/program/dev/null" if self.enclosed else "/dev/null", os.O_RDWR)
        self.ack_read, self.ack_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.hello(reason)

    def hello(self, reason: str) -> None:
        """Tell the host what stands, as seen from inside a guest."""
        layers = sorted(self.layers | self.probe() | {"rlimits"})
        self.send(HELLO, marshal.dumps({"layers": layers, "reason": reason, "version": sys.version}, 2))

    # The protocol

    def send(self, kind: bytes, payload: bytes) -> None:
        """Send one frame."""
        self.control.sendall(FRAME.pack(len(payload), kind) + payload)

    def receive(self) -> tuple[bytes, bytes]:
        """Receive one frame.

        Raises:
            Disconnected: There will be none.
        """
        header = receive_exactly(self.control, FRAME.size)
        length, kind = FRAME.unpack(header)
        return kind, receive_exactly(self.control, length)

    def serve(self) -> None:
        """Run plans until the host goes away."""
        while True:
            kind, payload = self.receive()
            if kind == RUN:
                self.run(marshal.loads(payload))
            # SEND and STOP that come after the end of their run have nothing left to act on

    # One run

    def run(self, plan: Mapping[str, Any]) -> None:
        """Fork the guests of a plan, watch them to their end, and report."""
        host_end, guest_ends = self.link(plan["link"])
        guests: list[Guest] = []
        start = time.monotonic()
        try:
            for spec, end in zip(plan["guests"], guest_ends, strict=True):
                if guests:  # they take their requests one after the other
                    self.wait_until_set_up(guests[-1])
                guests.append(self.fork(spec, end))
            for end in filter(None, guest_ends):
                end.close()
            reason = self.watch(guests, plan, host_end)
            for one in reversed(guests):  # a tester must not live to see its program go
                one.kill(group=self.namespaces is None)
                one.reap()
            self.forward(guests[-1])
            report = {"reason": reason, "wall_s": time.monotonic() - start}
            self.send(DONE, marshal.dumps({**report, "guests": [one.report() for one in guests]}, 2))
        finally:
            for one in guests:
                one.close()
            if host_end is not None:
                host_end.close()
        for role in {spec["role"] for spec in plan["guests"]}:
            self.sweep(f"/{role}/tmp" if self.enclosed else self.scratch)

    def link(self, kind: str | None) -> tuple[socket.socket | None, list[socket.socket | None]]:
        """The worker's end of a link, if any, and each guest's end."""
        if kind is None:
            return None, [None]
        one, other = socket.socketpair()
        return (one, [other]) if kind == "host" else (None, [one, other])

    def watch(self, guests: list[Guest], plan: Mapping[str, Any], link: socket.socket | None) -> str | None:
        """Wait for the last guest to end, and for limits to be passed.

        Returns:
            Why the run has to be ended, or None when it ended by itself.
        """
        last = guests[-1]
        progress = time.monotonic()
        poller = select.poll()
        poller.register(last.pidfd, select.POLLIN)
        # Most guests are done in a moment. As long as one lives, each page that we write to has to be copied:
        # so
        # nothing is done in that moment.
        if link is None and poller.poll(FIRST_LOOK_MS):
            self.check_set_up(last)
            return None
        self.wait_until_set_up(last)
        poller.register(self.control, select.POLLIN)
        if link is not None:
            link.settimeout(plan["wall_s"])
            poller.register(link, select.POLLIN)
        idle = False
        tick = FIRST_TICK_S
        while True:
            now = time.monotonic()
            if not idle and now - progress >= plan["wall_s"]:
                return "wall"
            wait = tick if idle else min(tick, plan["wall_s"] - (now - progress))
            tick = min(2 * tick, TICK_S)
            ready = {descriptor for descriptor, _ in poller.poll(wait * 1000)}
            if self.control.fileno() in ready:
                kind, payload = self.receive()
                if kind == STOP:
                    return "stopped"
                assert link is not None
                try:
                    link.sendall(payload)
                except BrokenPipeError:  # it has ended; its pidfd will say so
                    pass
                except TimeoutError:  # it does not listen
                    return "wall"
                progress, idle = self.mark(guests), False
            if link is not None and link.fileno() in ready:
                data = link.recv(CHUNK)
                if data:
                    self.send(LINK, data)
                    idle = True
                else:
                    poller.unregister(link)
            if self.forward(last):
                progress = self.mark(guests)
            if last.pidfd in ready:
                return None
            if any(self.overspent(one, plan) for one in guests):
                return "cpu"

    def mark(self, guests: list[Guest]) -> float:
        """Note that there is progress; returns the time."""
        for one in guests:
            with contextlib.suppress(OSError):  # it has just ended
                one.mark = one.cpu_s()
        return time.monotonic()

    def overspent(self, one: Guest, plan: Mapping[str, Any]) -> bool:
        """Whether a guest has used up its CPU time, since its last progress or in all."""
        try:
            spent = one.cpu_s()
        except OSError:  # it has just ended
            return False
        return bool(spent - one.mark > plan["cpu_s"] or spent > plan["total_cpu_s"])

    def forward(self, one: Guest) -> bool:
        """Send the host what a guest has answered since the last time; returns whether there was anything."""
        size = os.fstat(one.files.answers).st_size
        moved = False
        while one.sent < size:
            data = os.pread(one.files.answers, min(CHUNK, size - one.sent), one.sent)
            if not data:
                break
            self.send(ANSWERS, data)
            one.sent += len(data)
            moved = True
        return moved

    # Guests

    def fork(self, spec: Mapping[str, Any], link: socket.socket | None) -> Guest:
        """Fork a guest; it takes its request off the connection by itself."""
        one = Guest(spec, self.files[spec["role"]])
        one.pid = self.namespaces.fork() if self.namespaces is not None else os.fork()
        if one.pid == 0:
            self.become(one, link)
        one.pidfd = os.pidfd_open(one.pid)
        return one

    def wait_until_set_up(self, one: Guest) -> None:
        """Wait until a guest has taken its request, and with that the connection is ours again.

        Raises:
            RuntimeError: It ended before that: the wall could not be built.
        """
        select.select([self.ack_read, one.pidfd], [], [])
        self.check_set_up(one)

    def check_set_up(self, one: Guest) -> None:
        """Make sure that a guest was set up before it ended.

        Raises:
            RuntimeError: It was not.
        """
        try:
            os.read(self.ack_read, 1)
        except BlockingIOError:
            one.reap()
            raise RuntimeError(f"a guest could not be set up: {one.report()}") from None

    def become(self, one: Guest, link: socket.socket | None) -> None:
        """In the child: turn into a guest, take the request, and run it. Does not return."""
        status = 70
        try:
            request = self.confine(one, link)
            os.write(ACK, b"k")
            os.close(ACK)
            guest.MODES[one.spec["mode"]](request)
            sys.stdout.flush()
            status = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)

    def confine(self, one: Guest, link: socket.socket | None) -> dict[str, Any]:
        """In the child: shed everything that a guest must not have.

        Returns:
            The request.
        """
        os.setsid()
        if self.namespaces is None:
            linux.die_with_parent()
        end = self.null if link is None else link.fileno()
        for target, source in enumerate(
            [self.null, one.files.stdout, one.files.stderr, one.files.answers, end, self.ack_write]
        ):
            os.dup2(source, target)
        request = receive_exactly(self.control, one.spec["size"])
        self.control.detach()
        linux.close_from(ACK + 1)
        self.stand(one.spec["role"])
        set_limits(self.limits(one.spec, len(request)))
        linux.confine(f"/{one.spec['role']}" if self.enclosed else None, become_nobody=self.become_nobody)
        decoded: dict[str, Any] = marshal.loads(request)
        return decoded

    def limits(self, spec: Mapping[str, Any], request_bytes: int) -> dict[int, int]:
        """The kernel's limits that differ from guest to guest."""
        limits = {
            resource.RLIMIT_AS: self.base_bytes + spec["memory_bytes"] + 2 * request_bytes,
            resource.RLIMIT_FSIZE: spec["file_bytes"] + request_bytes,
            resource.RLIMIT_CPU: spec["cpu_backstop_s"],
        }
        if "user" in self.layers:  # elsewhere the kernel would count all processes of the user
            limits[resource.RLIMIT_NPROC] = spec["processes"]
        return limits

    def stand(self, role: str) -> None:
        """In the child: go to the scratch folder, where there is no root of its own to go to."""
        if not self.enclosed:
            folder = os.path.join(self.scratch, role)
            os.mkdir(folder)
            os.chmod(folder, 0o777)
            os.chdir(folder)

    def probe(self) -> set[str]:
        """Fork a guest that runs no program, and ask it what it sees."""
        ours, theirs = socket.socketpair()
        pid = self.namespaces.fork() if self.namespaces is not None else os.fork()
        if pid == 0:
            try:
                linux.confine("/program" if self.enclosed else None, become_nobody=self.become_nobody)
                theirs.sendall(" ".join(linux.probe()).encode())
            finally:
                os._exit(0)
        theirs.close()
        seen = ours.recv(CHUNK).decode().split()
        os.waitpid(pid, 0)
        ours.close()
        return set(seen)

    def sweep(self, scratch: str) -> None:
        """Empty a scratch folder. A worker that cannot do it ends, and the host starts another."""
        if not os.listdir(scratch):
            return
        for path, folders, files in os.walk(scratch, topdown=False):
            for name in files:
                os.unlink(os.path.join(path, name))
            for name in folders:
                remove_folder(os.path.join(path, name))
        if os.listdir(scratch):  # what cannot be listed is passed over in silence by os.walk
            raise OSError(f"{scratch} cannot be emptied")


def remove_folder(path: str) -> None:
    """Remove an empty folder, or a link to one."""
    if os.path.islink(path):
        os.unlink(path)
    else:
        os.rmdir(path)


def set_limits(limits: Mapping[int, int]) -> None:
    """Have the kernel hold limits, as far as it does not hold lower ones."""
    for which, limit in limits.items():
        hard = HARD_LIMITS[which]
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(which, (value, value))


def preload(names: Iterable[str], path: Iterable[str]) -> None:
    """Import what programs are likely to import, once for all of them."""
    site.setquit()  # the interpreter runs without site, which has more to it
    site.sethelper()
    sys.path += path
    for name in names:
        with contextlib.suppress(ImportError):  # a version may lack a module, a sandbox a package
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def receive_exactly(source: socket.socket, count: int) -> bytes:
    """Receive that many bytes.

    Raises:
        Disconnected: The connection ended before.
    """
    data = bytearray()
    while len(data) < count:
        part = source.recv(min(count - len(data), CHUNK))
        if not part:
            raise Disconnected
        data += part
    return bytes(data)


def reserve_descriptors(count: int) -> None:
    """Occupy the lowest descriptors, so that ours are never where a guest's will be."""
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(count):
        if descriptor != null:
            os.dup2(null, descriptor)


def main() -> None:
    """Serve the host at the other end of standard input."""
    control = socket.socket(fileno=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 16))
    stderr = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, 16)
    reserve_descriptors(8)
    os.dup2(stderr, 2)
    length, _ = FRAME.unpack(receive_exactly(control, FRAME.size))
    config = marshal.loads(receive_exactly(control, length))
    try:
        Worker(control, config).serve()
    except Disconnected:
        os._exit(0)

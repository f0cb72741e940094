"""The worker: a warm interpreter that forks a guest for each program, watches it, and reports to the host.

It is single-threaded, and holds nothing worth stealing: a guest reads its request from the host by itself,
after the fork, so that neither programs nor tests are ever in the memory that later guests inherit.

Runs inside the sandbox: standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import marshal
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from codegym.sandbox import files, guest, landlock, linux
from codegym.sandbox.children import Guest, Replies
from codegym.sandbox.frames import (
    ANSWERS,
    CHUNK,
    DONE,
    FIRST,
    FRAME,
    HELLO,
    LINK,
    RUN,
    STDERR,
    STDOUT,
    STOP,
    Disconnected,
    receive_exactly,
)
from codegym.sandbox.scratch import sweep
from codegym.sandbox.warm import preload

__all__ = ["Worker", "main"]

FIRST_LOOK_MS: Final = 5
FIRST_TICK_S, TICK_S = 0.002, 0.05
"""How often a running guest is looked at: less and less often."""
FIRST_ANSWER_BYTES, STDERR_BYTES = 16384, 4096
WIPE: Final = memoryview(bytes(1 << 16))
CUT: Final = b"\n...\n"
SPARE_BYTES: Final = 1 << 30
"""Address space beyond the memory limit: for the stacks of threads, and arrays of which little is used."""
LEAST_CPU_LIMIT_S: Final = 0.9
"""A little less than the least CPU time after which the kernel ends a process that limits itself."""
WRITING: Final = 4
"""How many times longer a guest may take for one answer when it shows that it is writing it down."""
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


class Setup(NamedTuple):
    """All that a child needs to know to become a guest."""

    mode: str
    role: str
    size: int
    """Bytes of the request."""
    moves: list[tuple[int, int]]
    """Which descriptor goes where."""
    limits: list[tuple[int, tuple[int, int]]]
    root: str | None
    """The directory to see as the root."""


class Worker:
    """Serves one host, one run at a time."""

    def __init__(self, control: socket.socket, config: Mapping[str, Any]) -> None:
        self.control = control
        self.scratch: str = config["scratch"]
        self.buffer = memoryview(bytearray(len(WIPE)))
        self.layers: set[str] = set()
        self.group = linux.ControlGroup(config["cgroup"]) if config["cgroup"] else None
        self.spent_before_s, self.kills_seen = 0.0, self.group.out_of_memory_kills() if self.group else 0
        # where memory itself is limited, there is no need to be strict about addresses
        self.spare_bytes = SPARE_BYTES if self.group else 0
        proc, reason = None, ""
        enclosure = None if config["enclose"] is None else files.completed(config["enclose"])
        if enclosure is not None:
            self.layers, proc, reason = linux.enclose(enclosure)
        self.new_namespaces = 0 if proc is None else linux.CLONE_NEWPID
        self.enclosed = "mount" in self.layers
        if not self.enclosed:
            self.settle(config)
        with linux.inside("/program") if self.enclosed else contextlib.nullcontext():
            preload(config["preload"], config["sys_path"] if self.enclosed else config["outside_path"])
        self.proc = os.open("/proc", os.O_PATH | os.O_CLOEXEC) if proc is None else proc
        self.base_bytes = linux.address_space(self.proc)
        # an interpreter in root's home is of no use to anybody else
        self.become_nobody = os.geteuid() == 0 and (
            self.enclosed or linux.nobody_can_read(os.path.dirname(os.__file__))
        )
        linux.gain_no_privileges()
        self.lock(enclosure)
        linux.install_filter(config["seccomp" if self.enclosed else "seccomp_alone"])
        for which, limit in INHERITED_LIMITS.items():
            resource.setrlimit(which, allowed(which, limit))
        sys.set_int_max_str_digits(0)
        self.ack_read, self.ack_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.hello(reason)

    def settle(self, config: Mapping[str, Any]) -> None:
        """Where there are no namespaces, do what can be done without them."""
        self.scratch = os.path.join(config["scratch"], str(os.getpid()))
        os.mkdir(self.scratch)
        os.chmod(self.scratch, 0o711)
        os.environ["TMPDIR"] = self.scratch
        linux.adopt_orphans()

    def lock(self, enclosure: Mapping[str, Any] | None) -> None:
        """Have Landlock keep guests from all files but those that they are to have."""
        if enclosure is None:
            return
        if self.enclosed:
            readable, writable, devices = ["/"], ["/program/tmp", "/tester/tmp"], "/program/dev"
            proc = os.dup(self.proc)  # of which nothing can be seen from where guests are
        else:
            readable = [*enclosure["binds"], *enclosure["packages"]]
            writable, devices = [self.scratch], "/dev"
            proc = os.open("self", os.O_PATH | os.O_CLOEXEC, dir_fd=self.proc)
        rights = dict.fromkeys(map(os.path.dirname, enclosure["packages"]), landlock.LIST)
        rights |= dict.fromkeys(readable, landlock.READ) | dict.fromkeys(writable, landlock.WRITE)
        rights |= dict.fromkeys((f"{devices}/{name}" for name in linux.DEVICES), landlock.USE)
        if landlock.restrict(rights, {proc: landlock.READ | landlock.USE}):
            self.layers.add("landlock")
        os.close(proc)

    def hello(self, reason: str) -> None:
        """Tell the host what stands, as seen from inside a guest."""
        layers = sorted(self.layers | self.probe() | {"rlimits"})
        self.send(HELLO, marshal.dumps({"layers": layers, "reason": reason, "version": sys.version}, 2))

    # The protocol

    def send(self, kind: bytes, payload: bytes) -> None:
        """Send one frame."""
        self.control.sendall(FRAME.pack(len(payload), kind) + payload)

    def send_excerpt(self, kind: bytes, descriptor: int, limit: int) -> int:
        """Send a file as one frame, or its two ends where it is longer than `limit`; returns its size."""
        size = os.fstat(descriptor).st_size
        if size > limit:
            half = limit // 2
            self.control.sendall(FRAME.pack(2 * half + len(CUT), kind))
            self.copy(descriptor, 0, half)
            self.control.sendall(CUT)
            self.copy(descriptor, size - half, half)
        elif size:
            self.control.sendall(FRAME.pack(size, kind))
            self.copy(descriptor, 0, size)
        return size

    def copy(self, descriptor: int, offset: int, count: int) -> None:
        """Send part of a file without reading it, so that nothing of it is left for the next guest to
        find.
        """
        while count:
            sent = os.sendfile(self.control.fileno(), descriptor, offset, count)
            if not sent:  # a guest has cut it short meanwhile
                self.control.sendall(bytes(count))
                return
            offset, count = offset + sent, count - sent

    def receive_header(self) -> tuple[bytes, int]:
        """Receive the type and the length of a frame; the payload is the caller's to receive.

        Raises:
            Disconnected: There will be none.
        """
        length, kind = FRAME.unpack(receive_exactly(self.control, FRAME.size))
        return kind, length

    def pass_on(self, count: int, link: socket.socket) -> bool:
        """Pass so many bytes on from the host to a guest; returns whether it takes them.

        Like all that goes between the two, they go through one buffer, which is wiped.
        """
        listens = True
        while count:
            part = self.buffer[: min(count, len(self.buffer))]
            size = self.control.recv_into(part)
            if not size:
                raise Disconnected
            try:
                if listens:
                    link.sendall(part[:size])
            except TimeoutError:
                listens = False
            except OSError:  # it has ended; its pidfd will say so
                pass
            part[:size] = WIPE[:size]
            count -= size
        return listens

    def pass_back(self, link: socket.socket, replies: Replies) -> int:
        """Pass what a guest says on to the host; returns how many bytes, 0 when it is gone."""
        try:
            size = link.recv_into(self.buffer)
        except OSError:
            size = 0
        part = self.buffer[:size]
        self.control.sendall(FRAME.pack(size, LINK))
        self.control.sendall(part)
        replies.feed(part)
        part[:] = WIPE[:size]
        return size

    def serve(self) -> None:
        """Run plans until the host goes away."""
        while True:
            kind, length = self.receive_header()
            if kind == RUN:
                self.run(marshal.loads(receive_exactly(self.control, length)))
            else:  # SEND and STOP that come after the end of their run have nothing left to act on
                self.discard(length)

    def discard(self, count: int) -> None:
        """Receive so many bytes, and keep none."""
        while count:
            part = self.buffer[: min(count, len(self.buffer))]
            size = self.control.recv_into(part)
            if not size:
                raise Disconnected
            part[:size] = WIPE[:size]
            count -= size

    # One run

    def run(self, plan: Mapping[str, Any]) -> None:
        """Fork the guests of a plan, watch them to their end, and report."""
        host_end, guest_ends = self.link(plan["link"])
        guests: list[Guest] = []
        poller = select.poll()
        start = time.monotonic()
        try:
            for spec, end in zip(plan["guests"], guest_ends, strict=True):
                if guests:  # they take their requests one after the other
                    self.wait_until_set_up(guests[-1])
                guests.append(self.fork(spec, end))
            for end in guest_ends:
                if end is not None:
                    end.close()
            reason = self.watch(guests, plan, host_end, poller, start)
            for one in reversed(guests):  # a tester must not live to see its program go
                one.kill(group=not self.new_namespaces)
                one.reap()
            self.report(guests, {"reason": reason, "out_of_memory": self.ran_out_of_memory(guests, reason)})
        finally:
            for one in guests:
                one.close()
            if host_end is not None:
                host_end.close()
        if not self.new_namespaces:
            linux.end_children(self.proc)
        for role in {spec["role"] for spec in plan["guests"]}:
            sweep(f"/{role}/tmp" if self.enclosed else self.scratch)

    def report(self, guests: Sequence[Guest], report: dict[str, Any]) -> None:
        """Send all that the host wants to know of a run that has ended."""
        last = guests[-1]
        self.forward(last)
        if len(guests) > 1:
            self.send_excerpt(FIRST, guests[0].answers, FIRST_ANSWER_BYTES)
        program = guests[0]  # what tests print may tell what they expect
        report["stdout_size"] = self.send_excerpt(STDOUT, program.stdout, program.spec["stdout_bytes"])
        self.send_excerpt(STDERR, program.stderr, STDERR_BYTES)
        self.send(DONE, marshal.dumps({**report, "guests": [one.ended for one in guests]}, 2))

    def link(self, kind: str | None) -> tuple[socket.socket | None, list[socket.socket | None]]:
        """The worker's end of a link, if any, and each guest's end."""
        if kind is None:
            return None, [None]
        one, other = socket.socketpair()
        return (one, [other]) if kind == "host" else (None, [one, other])

    def watch(
        self,
        guests: list[Guest],
        plan: Mapping[str, Any],
        link: socket.socket | None,
        poller: select.poll,
        progress: float,
    ) -> str | None:
        """Wait for the last guest to end, and for limits to be passed.

        Returns:
            Why the run has to be ended, or None when it ended by itself.
        """
        last = guests[-1]
        poller.register(last.pidfd, select.POLLIN)
        # Most guests are done in a moment. As long as one lives, each page that is written to here has to be
        # copied: so nothing is done in that moment.
        if link is None and poller.poll(FIRST_LOOK_MS):
            self.check_set_up(last)
            return None
        self.wait_until_set_up(last)
        for one in guests:
            linux.sacrifice(self.proc, one.pidfd)
            one.watched = True
        self.spent_before_s = self.group_cpu_s()
        poller.register(self.control, select.POLLIN)
        if link is not None:
            link.settimeout(plan["wall_s"])
        replies, idle = Replies(), False
        tick = FIRST_TICK_S
        while True:
            left = plan["wall_s"] * self.stretch(last) - (time.monotonic() - progress)
            if left <= 0 and not idle:
                return "wall"
            wait = tick if idle else min(tick, left)
            tick = min(2 * tick, TICK_S)
            ready = {descriptor for descriptor, _ in poller.poll(wait * 1000)}
            if self.control.fileno() in ready:
                reason = self.hear(link)
                if link is None or reason is not None:
                    return reason
                poller.register(link, select.POLLIN)
                progress, idle = self.mark(guests), False
            if link is not None and link.fileno() in ready:
                count = self.pass_back(link, replies)
                idle = replies.ended
                if idle or not count:  # between calls the host does not listen, so that we must not talk
                    poller.unregister(link)
            if self.forward(last):
                progress, idle = self.mark(guests), link is not None
            if last.pidfd in ready:
                return None
            if any(self.overspent(one, guests, plan) for one in guests):
                return "cpu"

    def hear(self, link: socket.socket | None) -> str | None:
        """Take one frame from the host during a run; returns why the run has to be ended, if it has to."""
        kind, length = self.receive_header()
        if kind == STOP or link is None:
            return "stopped"
        return None if self.pass_on(length, link) else "wall"

    def mark(self, guests: list[Guest]) -> float:
        """Note that there is progress; returns the time."""
        for one in guests:
            with contextlib.suppress(OSError):  # it has just ended
                one.mark = one.cpu_s() + self.children_cpu_s(guests)
        return time.monotonic()

    def group_cpu_s(self) -> float:
        """CPU seconds of all processes that ever were in the control group, but for this one; 0 without a
        group.
        """
        return self.group.cpu_s() - time.process_time() if self.group else 0.0

    def ran_out_of_memory(self, guests: Sequence[Guest], reason: str | None) -> bool:
        """Whether the kernel had to end processes of this run for their memory.

        Raises:
            RuntimeError: The last guest was killed, and neither by us, nor for its memory, nor by a limit.
        """
        last = guests[-1]
        killed = reason is None and last.ended["exit_code"] == -signal.SIGKILL
        if self.group is None or not (killed or len(guests) > 1 or last.watched):
            return False
        before, self.kills_seen = self.kills_seen, self.group.out_of_memory_kills()
        if self.kills_seen > before:
            return True
        # process 1 of a namespace cannot kill itself, but by a limit of CPU time, of one second at least
        if killed and self.new_namespaces and last.ended["cpu_s"] < LEAST_CPU_LIMIT_S:
            raise RuntimeError("a guest was killed from outside")
        return False

    def children_cpu_s(self, guests: list[Guest]) -> float:
        """CPU seconds of the processes that guests have started, in this run."""
        return max(0.0, self.group_cpu_s() - self.spent_before_s - sum(one.cpu_s() for one in guests))

    def stretch(self, one: Guest) -> int:
        """By how much the limits of a guest are stretched at the moment."""
        return WRITING if one.progress.busy else 1

    def overspent(self, one: Guest, guests: list[Guest], plan: Mapping[str, Any]) -> bool:
        """Whether a guest has used up its CPU time, since its last progress or in all."""
        try:
            spent = one.cpu_s() + self.children_cpu_s(guests)
        except OSError:  # it has just ended
            return False
        return bool(spent - one.mark > plan["cpu_s"] * self.stretch(one) or spent > plan["total_cpu_s"])

    def forward(self, one: Guest) -> bool:
        """Send the host what a guest has answered since the last time; returns whether an answer is whole."""
        size = os.fstat(one.answers).st_size
        while one.sent < size:
            count = min(CHUNK, size - one.sent)
            self.control.sendall(FRAME.pack(count, ANSWERS))
            self.copy(one.answers, one.sent, count)
            one.sent += count
        return one.progress.follow(one.answers, size)

    # Guests

    def fork(self, spec: Mapping[str, Any], link: socket.socket | None) -> Guest:
        """Fork a guest; it takes its request off the connection by itself."""
        one = Guest(spec, os.open("/program/dev/null" if self.enclosed else "/dev/null", os.O_RDWR))
        setup = self.prepare(one, link)
        one.pid, one.pidfd = linux.fork(self.new_namespaces)
        if one.pid == 0:
            self.become(setup)
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
            reason = os.pread(one.stderr, STDERR_BYTES, 0).decode(errors="replace")
            raise RuntimeError(f"a guest could not be set up: {one.ended} {reason}") from None

    def prepare(self, one: Guest, link: socket.socket | None) -> Setup:
        """Work out what a child has to do. In the child, each page that is written to has to be copied
        first.
        """
        spec = one.spec
        end = one.null if link is None else link.fileno()
        sources = (one.null, one.stdout, one.stderr, one.answers, end, self.ack_write)
        limits = {
            resource.RLIMIT_AS: self.base_bytes + spec["memory_bytes"] + 2 * spec["size"] + self.spare_bytes,
            resource.RLIMIT_FSIZE: spec["file_bytes"] + spec["size"],
            resource.RLIMIT_CPU: spec["cpu_backstop_s"],
        }
        if "user" in self.layers:  # elsewhere the kernel would count all processes of the user
            limits[resource.RLIMIT_NPROC] = spec["processes"]
        return Setup(
            mode=spec["mode"],
            role=spec["role"],
            size=spec["size"],
            moves=[(source, target) for target, source in enumerate(sources)],
            limits=[(which, allowed(which, limit)) for which, limit in limits.items()],
            root=f"/{spec['role']}" if self.enclosed else None,
        )

    def become(self, setup: Setup) -> None:
        """In the child: turn into a guest, take the request, and run it. Does not return."""
        status = 70
        try:
            request = self.confine(setup)
            os.write(ACK, b"k")
            os.close(ACK)
            guest.MODES[setup.mode](request)
            sys.stdout.flush()
            status = 0
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)

    def confine(self, setup: Setup) -> dict[str, Any]:
        """In the child: shed everything that a guest must not have.

        Returns:
            The request.
        """
        os.setsid()
        for source, target in setup.moves:
            os.dup2(source, target)
        request = self.control.recv(setup.size, socket.MSG_WAITALL)
        linux.close_from(ACK + 1)
        if not self.enclosed:
            linux.die_with_parent()
            self.stand(setup.role)
            if "landlock" in self.layers:
                landlock.scope_signals()
        for which, limit in setup.limits:
            resource.setrlimit(which, limit)
        linux.confine(setup.root, become_nobody=self.become_nobody)
        decoded: dict[str, Any] = marshal.loads(request)
        return decoded

    def stand(self, role: str) -> None:
        """In the child: go to the scratch folder, where there is no root of its own to go to."""
        folder = os.path.join(self.scratch, role)
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        os.chdir(folder)

    def probe(self) -> set[str]:
        """Fork a guest that runs no program, and ask it what it sees."""
        ours, theirs = socket.socketpair()
        pid, pidfd = linux.fork(self.new_namespaces)
        if pid == 0:
            try:
                linux.confine("/program" if self.enclosed else None, become_nobody=self.become_nobody)
                theirs.sendall(" ".join(linux.probe()).encode())
            finally:
                os._exit(0)
        theirs.close()
        seen = set(ours.recv(CHUNK).decode().split())
        os.waitpid(pid, 0)
        os.close(pidfd)
        ours.close()
        if not seen:
            raise RuntimeError("the guest that was to look at the wall was killed")
        return seen


def allowed(which: int, limit: int) -> tuple[int, int]:
    """A limit, soft and hard, or the one that the kernel holds already where that is lower."""
    hard = HARD_LIMITS[which]
    value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    return value, value


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

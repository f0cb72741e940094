"""The promises of a sandbox: how runs end, and what programs may use."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from codegym.core import Limits
from codegym.sandbox import AnswerKind, Ending
from codegym.sandbox.plain import decode
from codegym.testing.checks import not_applicable, promised, require
from codegym.testing.sandboxes import probes
from codegym.testing.sandboxes.subject import (
    DOUBLE,
    QUICK,
    SandboxSubject,
    batch,
    check_request,
    script,
    told,
    value_of,
)

__all__: list[str] = []

INVALID: Final = "def f(x:"
CALLS: Final = "f(1)"
"""A test that needs the program: one that does not may be over before the program has failed to load."""
EXITS: Final = "import os\ndef f(x):\n    if x == 2:\n        os._exit(0)\n    return x\n"
SPINS: Final = "def f(x):\n    while x:\n        pass\n    return 0\n"
SLEEPS: Final = "import time\ndef f(x):\n    time.sleep(60)\n"
BURNS: Final = """
import time
def f(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds
"""
GREEDY: Final = "def f(x):\n    held = []\n    while True:\n        held.append(b'x' * (1 << 24))\n"
GREEDY_TO_LOAD: Final = "held = bytearray(1 << 40)\ndef f(x):\n    return x\n"
FLOODS: Final = """
import os
try:
    while True:
        os.write(1, b"x" * 65536)
except OSError:
    pass
"""
FORGER: Final = """
import os
for descriptor in range(3, 16):
    try:
        os.write(descriptor, b"V" * 64)
    except OSError:
        pass
def f(x):
    return x
"""
CHILDREN: Final = 48
"""Processes that a program tries to have, of which `QUICK` grants a third."""
SUPERVISORS: Final = 4
"""Processes of the sandbox that may be counted with those of the program."""
MARK: Final = 16
"""Bytes that may show where a part was left out."""


# What does not start


@promised("codegym.sandbox.base:Ending")
def check_what_does_not_compile_is_invalid(subject: SandboxSubject) -> None:
    """Code that is no Python ends as INVALID, whatever is asked of it, and is not loaded."""
    for request in (batch(INVALID, (1,)), script(INVALID), check_request(INVALID, CALLS)):
        execution = subject.sandbox.execute(request)
        seen = (execution.ending, execution.loaded)
        require(seen == (Ending.INVALID, False), f"{type(request).__name__}: {told(execution)}")


@promised("codegym.sandbox.base:Ending")
def check_what_does_not_load_says_why(subject: SandboxSubject) -> None:
    """Code that raises when it is loaded, or lacks the entry point, ends as LOAD_ERROR with a message."""
    for code in ("raise KeyError('lost')", "g = 1"):
        for request in (batch(code, (1,)), check_request(code, CALLS)):
            execution = subject.sandbox.execute(request)
            right = execution.ending == Ending.LOAD_ERROR and execution.message and not execution.loaded
            require(right, f"{code!r} as {type(request).__name__}: {told(execution)}")


@promised("codegym.sandbox.base:Ending")
def check_memory_counts_while_loading(subject: SandboxSubject) -> None:
    """Code that takes too much memory when it is loaded ends as MEMORY."""
    execution = subject.call(GREEDY_TO_LOAD, 1)
    require(execution.ending == Ending.MEMORY, told(execution))


# What does not end well


@promised("codegym.sandbox.base:Ending")
def check_an_early_exit_is_noticed(subject: SandboxSubject) -> None:
    """A program that ends its process ends as EXITED, with the answers that it gave before."""
    execution = subject.sandbox.execute(batch(EXITS, (1,), (2,), (3,)))
    found = [decode(answer.payload) for answer in execution.answers]
    require((execution.ending, found) == (Ending.EXITED, [1]), f"{told(execution)}: {found}")
    require(execution.loaded, "it was loaded, and that is not said")


@promised("codegym.core:Limits")
def check_cpu_time_is_limited(subject: SandboxSubject) -> None:
    """A call that uses up its CPU time ends as CPU."""
    limits = Limits(cpu_s=0.2, wall_s=20.0)
    execution = subject.call(SPINS, 1, limits=limits)
    require(execution.ending == Ending.CPU, told(execution))


@promised("codegym.core:Limits")
def check_each_call_has_cpu_time_of_its_own(subject: SandboxSubject) -> None:
    """`cpu_s` is the CPU time of each call, not of all together."""
    limits = Limits(cpu_s=0.2, wall_s=20.0)
    execution = subject.sandbox.execute(batch(BURNS, (0.12,), (0.12,), (0.12,), limits=limits))
    require((execution.ending, len(execution.answers)) == (Ending.DONE, 3), told(execution))


@promised("codegym.core:Limits")
def check_all_calls_share_total_cpu_time(subject: SandboxSubject) -> None:
    """Calls that together use up `total_cpu_s` end as CPU."""
    limits = Limits(cpu_s=0.2, wall_s=20.0, total_cpu_s=0.3)
    execution = subject.sandbox.execute(batch(BURNS, *[(0.12,)] * 20, limits=limits))
    require((execution.ending, len(execution.answers) < 20) == (Ending.CPU, True), told(execution))


@promised("codegym.sandbox.base:CallBatch")
def check_inputs_may_have_cpu_limits_of_their_own(subject: SandboxSubject) -> None:
    """`cpu_limits_s` takes the place of `cpu_s`, be it more or less."""
    more = batch(BURNS, (0.2,), limits=Limits(cpu_s=0.05, wall_s=20.0), cpu_limits_s=[5.0])
    less = batch(SPINS, (1,), limits=Limits(cpu_s=5.0, wall_s=20.0), cpu_limits_s=[0.2])
    for request, ending in ((more, Ending.DONE), (less, Ending.CPU)):
        execution = subject.sandbox.execute(request)
        limits = f"cpu_s {request.limits.cpu_s}, cpu_limits_s {request.cpu_limits_s}"
        require(execution.ending == ending, f"{limits}: {told(execution)}")


@promised("codegym.core:Limits")
def check_wall_time_is_limited(subject: SandboxSubject) -> None:
    """A call that sleeps past the deadline ends as WALL."""
    execution = subject.call(SLEEPS, 1, limits=Limits(cpu_s=5.0, wall_s=0.2))
    require(execution.ending == Ending.WALL, told(execution))


@promised("codegym.core:Limits")
def check_memory_is_limited(subject: SandboxSubject) -> None:
    """A program that takes too much memory is stopped: MEMORY, or a MemoryError of its own."""
    execution = subject.call(GREEDY, 1)
    raised = [decode(answer.payload)[0] for answer in execution.answers if answer.kind == AnswerKind.RAISED]
    stopped = execution.ending == Ending.MEMORY or any("MemoryError" in names for names in raised)
    require(stopped, f"{told(execution)} {raised}")


@promised("codegym.core:Limits")
def check_output_is_limited(subject: SandboxSubject) -> None:
    """A script that prints more than it may ends as OUTPUT, and no more than that is kept."""
    execution = subject.sandbox.execute(script(FLOODS))
    require(execution.ending == Ending.OUTPUT, told(execution))
    kept = len(execution.stdout)
    require(kept <= (QUICK.output_mb << 20) + MARK, f"{kept} bytes were kept, of {QUICK.output_mb} MiB")


@promised("codegym.core:Limits")
def check_processes_are_limited(subject: SandboxSubject) -> None:
    """A program has no more processes at one time than it may, where users or groups are its own."""
    if not subject.sandbox.isolation.layers & {"user", "cgroup"}:
        not_applicable("neither user nor cgroup is declared, and else the kernel counts for a whole user")
    count = value_of(subject.probe(probes.children, CHILDREN))
    require(count <= QUICK.processes + SUPERVISORS, f"it had {count}, and may have {QUICK.processes}")


@promised("codegym.sandbox.base:Ending")
def check_forged_answers_are_refused(subject: SandboxSubject) -> None:
    """What is written on the channel of answers and is none ends the run as PROTOCOL, or is not noticed."""
    execution = subject.call(FORGER, 1)
    right = [decode(answer.payload) for answer in execution.answers if answer.payload[:2] != b"VV"]
    require(len(right) == len(execution.answers), f"it was taken for an answer: {execution.answers}")
    require(execution.ending in (Ending.PROTOCOL, Ending.DONE), told(execution))


@promised("codegym.sandbox.base:Sandbox.execute")
def check_waiting_is_not_running(subject: SandboxSubject) -> None:
    """The time that a request waits for a worker does not count against its program."""
    sleeps = batch("import time\ndef f(x):\n    time.sleep(1.2)\n", (1,))
    waits = batch(DOUBLE, (1,), limits=replace(QUICK, wall_s=1.0))
    *_, execution = subject.sandbox.run([sleeps] * int(subject.sandbox.workers) + [waits])
    require(execution.ending == Ending.DONE, told(execution))

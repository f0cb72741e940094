"""The promises of a sandbox; see `codegym.sandbox.base`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

from codegym.core import Limits
from codegym.errors import CodegymError
from codegym.sandbox import (
    AnswerKind,
    CallBatch,
    Check,
    Ending,
    Execution,
    Isolation,
    Sandbox,
    Script,
    SessionEndedError,
)
from codegym.sandbox.plain import decode, encode
from codegym.testing.checks import require

__all__ = ["SandboxSubject"]

QUICK = Limits(cpu_s=1.0, wall_s=5.0, total_cpu_s=4.0, memory_mb=256, output_mb=1, processes=16)
PLAIN = (
    *(None, True, 1, -(10**30), 1.5, -0.0, "ü\U0001f40d", b"\x00\xff"),
    *((1, (2,)), [1, [2]], {1, 2}, {"a": {1: 2}}),
)
DOUBLE = "def f(x):\n    return 2 * x\n"
GREEDY = "def f(x):\n    held = []\n    while True:\n        held.append(bytearray(1 << 24))\n"
FORGER = """
import os
for fd in range(3, 16):
    try:
        os.write(fd, b"V" * 64)
    except OSError:
        pass
def f(x):
    return x
"""
BACKWARDS = """
import sys
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(data[::-1])
print("e", file=sys.stderr)
"""
LEAVES = """
import builtins, os, sys
def f(x):
    builtins.left = sys.left = 1
    os.environ["LEFT"] = "1"
    with open("left", "w") as file:
        file.write("1")
"""
LOOKS = """
import builtins, os, sys
def f(x):
    return [hasattr(builtins, "left"), hasattr(sys, "left"), "LEFT" in os.environ, os.path.exists("left")]
"""
OUTLIVES = """
import os, time
def f(x):
    if os.fork() == 0:
        os.setsid()
        while True:
            with open("alive", "a") as file:
                file.write("x")
            time.sleep(0.01)
"""
LISTENS = """
import os, time
def f(x):
    time.sleep(0.2)
    return os.path.exists("alive")
"""
ATTEMPT = """
def f(x):
    try:
{body}
    except BaseException as error:
        return type(error).__name__
    return None
"""


class SandboxSubject:
    """A kind of sandbox under test.

    Args:
        make: Makes a new one, not yet started.

    Attributes:
        sandbox: One that is started when it is first needed, and shared by the checks.
    """

    def __init__(self, make: Callable[[], Sandbox]) -> None:
        """Start nothing yet."""
        self.make = make
        self._shared: Sandbox | None = None

    @property
    def sandbox(self) -> Sandbox:
        """The shared one."""
        if self._shared is None:
            self._shared = self.make().start()
        return self._shared

    def close(self) -> None:
        """Close the shared one."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    def call(self, code: str, *args: Any, entry_point: str = "f", limits: Limits = QUICK) -> Execution:
        """Call a program once."""
        return self.sandbox.execute(batch(code, args, entry_point=entry_point, limits=limits))

    def answer(self, code: str, *args: Any) -> Any:
        """What a program answers, which must be a value."""
        execution = self.call(code, *args)
        require(
            execution.ending == Ending.DONE and execution.answers[0].kind == AnswerKind.VALUE,
            f"no value but {execution.ending}: {execution.message} {execution.answers}",
        )
        return decode(execution.answers[0].payload)


def batch(
    code: str, *inputs: tuple[Any, ...], entry_point: str = "f", limits: Limits = QUICK, **options: Any
) -> CallBatch:
    """A request with one call for each tuple of arguments."""
    data = [encode((args, {})) for args in inputs]
    return CallBatch(code=code, entry_point=entry_point, inputs=data, limits=limits, **options)


# Life


def check_start_is_idempotent(subject: SandboxSubject) -> None:
    """Starting what runs already changes nothing, and returns the sandbox."""
    sandbox = subject.sandbox
    before = sandbox.isolation
    require(sandbox.start() is sandbox, "start() returned something else")
    require(sandbox.isolation == before, "the isolation changed")


def check_close_is_idempotent_and_not_final(subject: SandboxSubject) -> None:
    """A sandbox can be closed twice, and used again."""
    with subject.make() as sandbox:
        sandbox.execute(batch(DOUBLE, (1,)))
        sandbox.close()
        sandbox.close()
        execution = sandbox.execute(batch(DOUBLE, (2,)))
        require(execution.ending == Ending.DONE, f"after closing: {execution.ending}: {execution.message}")


def check_execute_starts_the_sandbox(subject: SandboxSubject) -> None:
    """A request starts the sandbox if need be."""
    sandbox = subject.make()
    try:
        require(sandbox.execute(batch(DOUBLE, (1,))).ending == Ending.DONE, "the request was not run")
    finally:
        sandbox.close()


def check_workers_is_positive(subject: SandboxSubject) -> None:
    """`workers` says how many requests run at one time."""
    workers = subject.sandbox.workers
    require(isinstance(workers, int) and workers >= 1, f"workers is {workers!r}")


# Calls


def check_answers_come_in_order(subject: SandboxSubject) -> None:
    """Each input has its answer, in the order of the inputs."""
    execution = subject.sandbox.execute(batch(DOUBLE, *[(n,) for n in range(20)]))
    found = [decode(answer.payload) for answer in execution.answers]
    require(found == [2 * n for n in range(20)], f"answers {found}")


def check_a_program_is_loaded_once(subject: SandboxSubject) -> None:
    """All calls of a batch are made in one process, with the program loaded once."""
    code = "count = 0\ndef f(x):\n    global count\n    count += 1\n    return count\n"
    execution = subject.sandbox.execute(batch(code, (0,), (0,), (0,)))
    require([decode(a.payload) for a in execution.answers] == [1, 2, 3], "state was lost between the calls")


def check_values_are_what_they_were(subject: SandboxSubject) -> None:
    """Plain data goes in and comes out as it is, types and all."""
    for value in PLAIN:
        found = subject.answer("def f(x):\n    return x\n", value)
        same = repr(found) == repr(value) and type(found) is type(value)
        require(same, f"{value!r} came back as {found!r}")


def check_exceptions_are_answers(subject: SandboxSubject) -> None:
    """A call that raises is answered by its exception, and the next call is made."""
    execution = subject.sandbox.execute(batch("def f(x):\n    return 1 // x\n", (0,), (1,)))
    kinds = [answer.kind for answer in execution.answers]
    require(kinds == [AnswerKind.RAISED, AnswerKind.VALUE], f"answers {kinds}")
    names, message = decode(execution.answers[0].payload)
    require(names[0] == "ZeroDivisionError" and "zero" in message, f"raised {names} {message!r}")


def check_unsendable_answers_are_answers(subject: SandboxSubject) -> None:
    """What cannot be written as plain data is answered as that."""
    code = "def f(x):\n    def g():\n        yield 1\n        raise ValueError\n    return g()\n"
    (answer,) = subject.call(code, 1).answers
    require(answer.kind == AnswerKind.UNSENDABLE, f"answered as {answer.kind}")


def check_long_answers_come_as_digests(subject: SandboxSubject) -> None:
    """An answer longer than `inline_bytes` comes as its digest and its length."""
    value = list(range(1000))
    request = batch("def f(x):\n    return x\n", (value,), inline_bytes=100)
    (answer,) = subject.sandbox.execute(request).answers
    data = encode(value)
    wanted = hashlib.blake2b(data, digest_size=16).digest() + len(data).to_bytes(8, "little")
    require((answer.kind, answer.payload) == (AnswerKind.DIGEST, wanted), f"{answer.kind} {answer.payload!r}")


def check_changed_arguments_can_be_asked_for(subject: SandboxSubject) -> None:
    """With `argument_answers`, the first argument after the call is the answer."""
    request = batch("def f(x):\n    x.reverse()\n", ([1, 2, 3],), argument_answers=True)
    (answer,) = subject.sandbox.execute(request).answers
    require(decode(answer.payload) == [3, 2, 1], f"answered {decode(answer.payload)!r}")


def check_the_host_may_stop_a_run(subject: SandboxSubject) -> None:
    """`on_answer` sees each answer with its number, and ends the run by returning False."""
    seen: list[int] = []

    def on_answer(index: int, answer: Any) -> bool:
        seen.append(index)
        return index < 2

    execution = subject.sandbox.execute(batch(DOUBLE, *[(n,) for n in range(9)]), on_answer)
    require(seen[:3] == [0, 1, 2] and len(seen) == 3, f"saw the answers {seen}")
    require(execution.ending == Ending.STOPPED, f"ended as {execution.ending}")


# Endings


def check_what_does_not_compile_is_invalid(subject: SandboxSubject) -> None:
    """Code that is no Python ends as INVALID, and is not loaded."""
    execution = subject.call("def f(x:", 1)
    require((execution.ending, execution.loaded) == (Ending.INVALID, False), f"{execution.ending}")


def check_what_does_not_load_says_why(subject: SandboxSubject) -> None:
    """Code that raises when it is loaded, or lacks the entry point, ends as LOAD_ERROR with a message."""
    for code in ("raise KeyError('lost')", "g = 1"):
        execution = subject.call(code, 1)
        require(execution.ending == Ending.LOAD_ERROR and execution.message, f"{code!r}: {execution.ending}")


def check_an_early_exit_is_noticed(subject: SandboxSubject) -> None:
    """A program that ends its process before it has answered ends as EXITED."""
    execution = subject.call("import os\ndef f(x):\n    os._exit(0)\n", 1)
    require((execution.ending, len(execution.answers)) == (Ending.EXITED, 0), f"{execution.ending}")
    require(execution.loaded, "it was loaded, but that is not said")


def check_cpu_time_is_limited(subject: SandboxSubject) -> None:
    """A call that uses up its CPU time ends as CPU."""
    limits = Limits(cpu_s=0.3, wall_s=20.0)
    execution = subject.call("def f(x):\n    while True:\n        pass\n", 1, limits=limits)
    require(execution.ending == Ending.CPU, f"ended as {execution.ending}")


def check_wall_time_is_limited(subject: SandboxSubject) -> None:
    """A call that sleeps past the deadline ends as WALL."""
    limits = Limits(cpu_s=5.0, wall_s=0.3)
    execution = subject.call("import time\ndef f(x):\n    time.sleep(60)\n", 1, limits=limits)
    require(execution.ending == Ending.WALL, f"ended as {execution.ending}")


def check_memory_is_limited(subject: SandboxSubject) -> None:
    """A program that takes too much memory is stopped: MEMORY, or a MemoryError of its own."""
    execution = subject.call(GREEDY, 1)
    raised = [decode(answer.payload)[0] for answer in execution.answers if answer.kind == AnswerKind.RAISED]
    require(execution.ending == Ending.MEMORY or "MemoryError" in str(raised), f"{execution.ending} {raised}")


def check_forged_answers_are_refused(subject: SandboxSubject) -> None:
    """What is written on the channel of answers by the program itself is no answer."""
    execution = subject.call(FORGER, 1)
    forged = [answer for answer in execution.answers if answer.payload[:2] == b"VV"]
    require(not forged, f"it was taken: {forged}")


# Scripts and tests


def check_scripts_have_real_streams(subject: SandboxSubject) -> None:
    """A script reads its standard input and has its whole output reported, byte by byte."""
    execution = subject.sandbox.execute(Script(code=BACKWARDS, stdin=b"\x00abc\xff", limits=QUICK))
    require((execution.ending, execution.stdout) == (Ending.DONE, b"\xffcba\x00"), f"{execution.stdout!r}")
    require(execution.stderr == b"e\n", f"standard error {execution.stderr!r}")


def check_the_exit_status_of_scripts_counts(subject: SandboxSubject) -> None:
    """A script that exits with a status other than 0 ends as EXITED, with that status."""
    execution = subject.sandbox.execute(Script(code="raise SystemExit(3)", limits=QUICK))
    seen = (execution.ending, execution.exit_code)
    require(seen == (Ending.EXITED, 3), f"ended as {seen}")


def check_tests_run_beside_the_program(subject: SandboxSubject) -> None:
    """Test code runs in another process than the program, and sees its answers only."""
    tests = ["assert f(3) == 6", "assert f(3) == 7", "import sys\nassert not hasattr(f, '__code__')"]
    request = Check(code=DOUBLE, entry_point="f", tests=tests, limits=QUICK)
    kinds = [answer.kind for answer in subject.sandbox.execute(request).answers]
    require(kinds == [AnswerKind.VALUE, AnswerKind.RAISED, AnswerKind.VALUE], f"answers {kinds}")


# Sessions


def check_sessions_keep_state(subject: SandboxSubject) -> None:
    """A session's program stays loaded from call to call."""
    code = "held = []\ndef f(x):\n    held.append(x)\n    return held\n"
    with subject.sandbox.session(code, "f", QUICK) as session:
        found = [decode(session.call(n).payload) for n in range(3)]
    require(found[-1] == [0, 1, 2], f"answers {found}")


def check_a_session_says_when_it_has_ended(subject: SandboxSubject) -> None:
    """Calling a program that has ended raises SessionEndedError; closing again returns the same."""
    with subject.sandbox.session("import os\ndef f(x):\n    os._exit(1)\n", "f", QUICK) as session:
        try:
            session.call(1)
        except SessionEndedError:
            pass
        else:
            require(False, "the call was answered")
        require(session.close() == session.close(), "close() returned different things")
    require(subject.answer(DOUBLE, 1) == 2, "the sandbox is of no use after it")


# Between programs


def check_nothing_is_remembered(subject: SandboxSubject) -> None:
    """A program finds nothing of those before it: not in modules, files or the environment."""
    for _ in range(2 * subject.sandbox.workers):
        subject.answer(LEAVES, 1)
        found = subject.answer(LOOKS, 1)
        require(not any(found), f"module, sys, environment, file: {found}")


def check_nothing_outlives_a_run(subject: SandboxSubject) -> None:
    """Processes that a program leaves behind end with its run."""
    workers = range(subject.sandbox.workers)
    for _ in workers:
        subject.answer(OUTLIVES, 1)
    require(not any(subject.answer(LISTENS, 1) for _ in workers), "one still writes a file")


# The wall

ATTEMPTS = {
    "net": "import socket\nsocket.create_connection(('127.0.0.1', 22), 0.2)",
    "root": "open('/etc/codegym-was-here', 'w')",
    "pid": f"import os\nos.kill({os.getpid()}, 0)",
    "seccomp": "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\nassert c.ptrace(0, 0, 0, 0) == 0",
    "no_capabilities": "import os\nos.chown('.', 0, 12345)",
    "mount": "import os\nassert os.path.exists('/root/.bashrc') or os.path.exists('/etc/passwd')",
    "rlimits": "import resource\nassert resource.getrlimit(resource.RLIMIT_CORE)[1] != 0",
    "scratch": "for n in range(600):\n    open(f'{n}', 'wb').write(bytes(1 << 20))",
}
"""By layer: what must not work where it is declared."""


def check_declared_isolation_is_true(subject: SandboxSubject) -> None:
    """Whatever layer of isolation is declared cannot be crossed."""
    declared = subject.sandbox.isolation
    require(isinstance(declared, Isolation), f"isolation is {declared!r}")
    for layer, attempt in ATTEMPTS.items():
        if layer in declared.layers:
            body = "\n".join(f"        {line}" for line in attempt.splitlines())
            execution = subject.call(ATTEMPT.format(body=body), 1)
            crossed = bool(execution.answers) and decode(execution.answers[0].payload) is None
            require(not crossed, f"{layer} is declared, and was crossed")


# Many at a time


def check_many_requests_are_all_answered(subject: SandboxSubject) -> None:
    """Eight times as many requests as workers: each answered, and no right program timed out."""
    count = 8 * subject.sandbox.workers
    code = "def f(x):\n    return sum(range(20000)) + x\n"
    executions = subject.sandbox.run(batch(code, (n,)) for n in range(count))
    found = [decode(e.answers[0].payload) - sum(range(20000)) if e.answers else e.ending for e in executions]
    require(found == list(range(count)), f"answers {found}")


def check_threads_may_share_it(subject: SandboxSubject) -> None:
    """Requests from several threads at a time get their own answers."""
    found: dict[int, Any] = {}

    def ask(number: int) -> None:
        execution = subject.sandbox.execute(batch(DOUBLE, (number,)))
        found[number] = decode(execution.answers[0].payload) if execution.answers else execution.ending

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    require(found == {n: 2 * n for n in range(8)}, f"answers {found}")


def check_async_does_not_block(subject: SandboxSubject) -> None:
    """`arun` leaves the event loop free while programs run."""

    async def count_meanwhile() -> int:
        sleeping = batch("import time\ndef f(x):\n    time.sleep(0.3)\n", (1,))
        task = asyncio.ensure_future(subject.sandbox.arun([sleeping]))
        ticks = 0
        while not task.done():
            await asyncio.sleep(0.01)
            ticks += 1
        await task
        return ticks

    ticks = asyncio.run(count_meanwhile())
    require(ticks >= 5, f"the loop turned {ticks} times in 0.3 seconds")


def check_executions_are_data(subject: SandboxSubject) -> None:
    """Requests and executions can be pickled, so that they can travel."""
    request = batch(DOUBLE, (1,))
    execution = subject.sandbox.execute(request)
    require(pickle.loads(pickle.dumps(request)) == request, "the request changed")
    require(pickle.loads(pickle.dumps(execution)).answers == execution.answers, "the execution changed")


def check_time_is_reported(subject: SandboxSubject) -> None:
    """CPU time of the program and wall time of the run are reported in seconds."""
    start = time.perf_counter()
    execution = subject.call("def f(x):\n    return sum(i * i for i in range(300000))\n", 1)
    took = time.perf_counter() - start
    require(0 < execution.answers[0].cpu_s <= execution.cpu_s + 0.05, f"CPU {execution.cpu_s} s")
    require(0 < execution.wall_s <= took, f"wall {execution.wall_s} s of {took} s")


def check_environment_is_described(subject: SandboxSubject) -> None:
    """`environment` names what a program's behaviour may depend on, as texts."""
    described = subject.sandbox.environment
    texts = all(isinstance(key, str) and isinstance(value, str) for key, value in described.items())
    require(described and texts, f"{described!r}")


def check_errors_are_codegym_s(subject: SandboxSubject) -> None:
    """A sandbox whose `session` cannot load a program raises an error of codegym."""
    try:
        subject.sandbox.session("def f(x:", "f", QUICK)
    except (CodegymError, SessionEndedError):
        return
    require(False, "nothing was raised")

"""The promises of a sandbox: programs one after the other, and many at a time."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Final

from codegym.sandbox import Ending, Execution
from codegym.sandbox.plain import decode
from codegym.testing.checks import promised, require
from codegym.testing.sandboxes.subject import DOUBLE, SandboxSubject, batch, told

__all__: list[str] = []

THREADS: Final = 8
LEAVES: Final = """
import builtins, os, sys
def f(x):
    builtins.left = sys.left = 1
    os.environ["LEFT"] = "1"
    os.makedirs("deep/left")
    os.symlink("/", "deep/root")
    for path in ("left", "deep/left/file"):
        with open(path, "w") as file:
            file.write("1")
    os.chmod("deep", 0)
"""
LOOKS: Final = """
import builtins, os, sys
def f(x):
    names = [name for name in ("builtins", "sys") if hasattr(sys.modules[name], "left")]
    return names + [name for name in os.environ if name == "LEFT"] + os.listdir(".")
"""
OUTLIVES: Final = """
import os, time
def f(x):
    if os.fork() == 0:
        os.setsid()
        while True:
            with open("alive", "a") as file:
                file.write("x")
            time.sleep(0.01)
"""
LISTENS: Final = """
import os, time
def f(x):
    time.sleep(0.1)
    return os.path.exists("alive")
"""
SUMS: Final = "def f(x):\n    return sum(range(100000)) + x\n"


@promised("codegym.sandbox.base:Sandbox")
def check_nothing_is_remembered(subject: SandboxSubject) -> None:
    """A program finds nothing of those before it: no names, no environment variables, no files."""
    for _ in range(2 * int(subject.sandbox.workers)):
        subject.answer(LEAVES, 1)
        found = subject.answer(LOOKS, 1)
        require(not found, f"the next program found {', '.join(found)}")


@promised("codegym.sandbox.base:Sandbox")
def check_nothing_outlives_a_run(subject: SandboxSubject) -> None:
    """Processes that a program leaves behind end with its run."""
    workers = range(int(subject.sandbox.workers))
    for _ in workers:
        subject.answer(OUTLIVES, 1)
    writes = any(subject.answer(LISTENS, 1) for _ in workers)
    require(not writes, "one still writes into the folder of the next program")


@promised("codegym.sandbox.base:Sandbox.run")
def check_many_requests_are_all_answered(subject: SandboxSubject) -> None:
    """Eight times as many requests as workers: each answered in its place, and no right program timed out."""
    count = 8 * int(subject.sandbox.workers)
    executions = subject.sandbox.run(batch(SUMS, (n,)) for n in range(count))
    found = [decode(each.answers[0].payload) if each.answers else told(each) for each in executions]
    require(found == [sum(range(100000)) + n for n in range(count)], f"answers {found}")


@promised("codegym.sandbox.base:Sandbox.execute")
def check_threads_may_share_it(subject: SandboxSubject) -> None:
    """Requests from several threads at a time get their own answers."""
    found: dict[int, Any] = {}

    def ask(number: int) -> None:
        try:
            execution = subject.sandbox.execute(batch(DOUBLE, (number,)))
            found[number] = decode(execution.answers[0].payload) if execution.answers else told(execution)
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    require(found == {n: 2 * n for n in range(THREADS)}, f"answers {found}")


@promised("codegym.sandbox.base:Sandbox.submit")
def check_submit_does_not_wait(subject: SandboxSubject) -> None:
    """`submit` returns at once, also while all workers are busy, and the request is run later."""
    with subject.busy() as gave_up:
        future = subject.sandbox.submit(batch(DOUBLE, ("s",)))
        require(not gave_up.is_set(), "it waited for a worker")
    execution = future.result()
    require(execution.ending == Ending.DONE, told(execution))


@promised("codegym.sandbox.base:Sandbox.submit")
def check_submit_tells_answers_as_they_come(subject: SandboxSubject) -> None:
    """`on_answer` of a submitted request sees its answers, and may end it."""
    seen: list[int] = []

    def on_answer(index: int, answer: Any) -> bool:
        seen.append(index)
        return index < 1

    execution = subject.sandbox.submit(batch(DOUBLE, *[(n,) for n in range(5)]), on_answer).result()
    require((seen, execution.ending) == ([0, 1], Ending.STOPPED), f"saw {seen}; {told(execution)}")


@promised("codegym.sandbox.base:Sandbox.arun")
def check_async_does_not_block(subject: SandboxSubject) -> None:
    """`arun` leaves the event loop free while its requests wait and run, and returns what `run` does."""

    async def run() -> list[Execution]:
        with subject.busy() as gave_up:
            running = asyncio.ensure_future(subject.sandbox.arun([batch(DOUBLE, ("a",))] * 2))
            await asyncio.sleep(0.01)  # nobody frees a worker before the loop comes back here
            require(not gave_up.is_set(), "the event loop stood still until there was a worker")
        return await running

    executions = asyncio.run(run())
    found = [decode(each.answers[0].payload) if each.answers else told(each) for each in executions]
    require(found == ["aa", "aa"], f"answers {found}")

"""The promises of a sandbox: its life, and what it says of itself."""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Final

from codegym.errors import InfraError
from codegym.sandbox import Ending, Isolation, Sandbox
from codegym.sandbox.advice import LAYERS
from codegym.testing.checks import not_applicable, promised, require
from codegym.testing.sandboxes.subject import DOUBLE, SandboxSubject, batch, told

__all__: list[str] = []

SECRET: Final = "CODEGYM_KIT_SECRET"
READS_ENVIRONMENT: Final = "import os\ndef f(name):\n    return os.environ.get(name)\n"


@promised("codegym.sandbox.base:Sandbox.start")
def check_start_is_idempotent(subject: SandboxSubject) -> None:
    """Starting what runs already changes nothing, and returns the sandbox."""
    sandbox = subject.sandbox
    before = sandbox.isolation
    require(sandbox.start() is sandbox, "start() returned something else")
    require(sandbox.isolation == before, f"the isolation changed from {before} to {sandbox.isolation}")


@promised("codegym.sandbox.base:Sandbox.__enter__")
def check_a_with_block_starts_it(subject: SandboxSubject) -> None:
    """A ``with`` block gives the sandbox itself, started."""
    made = subject.make()
    try:
        entered = made.__enter__()
        require(entered is made, f"the block gave {entered!r}, not the sandbox")
        require(isinstance(made.isolation, Isolation), f"isolation is {made.isolation!r}")
    finally:
        made.close()


@promised("codegym.sandbox.base:Sandbox.execute")
def check_a_request_starts_it(subject: SandboxSubject) -> None:
    """A request starts the sandbox if need be."""
    with subject.another() as sandbox:
        execution = sandbox.execute(batch(DOUBLE, (1,)))
        require(execution.ending == Ending.DONE, f"the first request {told(execution)}")


@promised("codegym.sandbox.base:Sandbox.close")
def check_close_is_idempotent_and_not_final(subject: SandboxSubject) -> None:
    """A sandbox can be closed twice, and used again after it."""
    with subject.another() as sandbox:
        sandbox.start()
        sandbox.close()
        sandbox.close()
        execution = sandbox.execute(batch(DOUBLE, (2,)))
        require(execution.ending == Ending.DONE, f"after closing, a request {told(execution)}")


@promised("codegym.sandbox.base:Sandbox.close")
def check_closing_leaves_nothing(subject: SandboxSubject) -> None:
    """Closing ends all workers and threads, and gives all descriptors back."""
    if not Path("/proc/self/fd").is_dir():
        not_applicable("descriptors and processes can be counted on Linux only")
    use(subject)  # what is loaded or kept at the first use of all is no leak
    before = resources()
    use(subject)
    left = resources() - before
    if left:
        gc.collect()  # what is in a cycle goes with the next collection
        left = resources() - before
    require(not left, f"left behind: {', '.join(sorted(left))}")


@promised("codegym.sandbox.base:Sandbox.close")
def check_sandboxes_live_apart(subject: SandboxSubject) -> None:
    """Closing one sandbox does nothing to another of its kind."""
    subject.sandbox.start()
    with subject.another() as sandbox:
        sandbox.start()
    execution = subject.sandbox.execute(batch(DOUBLE, ("apart",)))
    require(execution.ending == Ending.DONE, f"with the other closed, a request {told(execution)}")


@promised("codegym.sandbox.base:Sandbox")
def check_workers_is_a_positive_number(subject: SandboxSubject) -> None:
    """`workers` is how many requests run at one time: a positive integer."""
    workers = subject.sandbox.workers
    require(isinstance(workers, int) and workers >= 1, f"workers is {workers!r}")


@promised("codegym.sandbox.base:Isolation")
def check_layers_have_known_names(subject: SandboxSubject) -> None:
    """The layers of `isolation` are called by the names that the contract lists."""
    layers = subject.sandbox.isolation.layers
    unknown = sorted(layers - LAYERS.keys())
    require(not unknown, f"{', '.join(unknown)}; known are {', '.join(LAYERS)}")


@promised("codegym.sandbox.base:Sandbox.environment")
def check_the_environment_is_described(subject: SandboxSubject) -> None:
    """`environment` names what a program's behaviour may depend on, as texts."""
    described = dict(subject.sandbox.environment)
    texts = all(isinstance(key, str) and isinstance(value, str) for key, value in described.items())
    require(described and texts, f"environment is {described!r}")


@promised("codegym.sandbox.pool:ENVIRONMENT")
def check_environment_variables_stay_outside(subject: SandboxSubject) -> None:
    """No environment variable of the host comes in: they hold its tokens."""
    os.environ[SECRET] = "hidden"
    try:
        with subject.another() as sandbox:
            sandbox.start()
            found = subject.answer(READS_ENVIRONMENT, SECRET, sandbox=sandbox)
    finally:
        del os.environ[SECRET]
    require(found is None, f"a program read {found!r}")


@promised("codegym.sandbox.base:Sandbox.execute")
def check_trouble_is_not_the_program_s(subject: SandboxSubject) -> None:
    """What fails through no fault of the program raises InfraError, and the next request is run again."""
    with subject.another() as sandbox:
        sandbox.start().execute(batch(DOUBLE, (4,)))
        fault = subject.fault(sandbox)
        if fault is None:
            not_applicable("nobody told how to break the sandbox: pass fault=…")
        with fault:
            try:
                execution = sandbox.execute(batch(DOUBLE, (5,)))
            except InfraError:
                pass
            else:
                require(False, f"the program {told(execution)}")
        execution = sandbox.execute(batch(DOUBLE, (6,)))
        require(execution.ending == Ending.DONE, f"with the trouble over, a request {told(execution)}")


def use(subject: SandboxSubject) -> None:
    """Make a sandbox, run something in it in each way, and close it."""
    with subject.another() as sandbox:
        sandbox.run([batch(DOUBLE, (1,))] * 2)
        session(sandbox)


def session(sandbox: Sandbox) -> None:
    """Open a session, and leave it to the sandbox's end to end it."""
    sandbox.session(DOUBLE, "f").call(1)


def resources() -> Counter[str]:
    """The descriptors, child processes and threads of this process."""
    found: Counter[str] = Counter()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found[f"descriptor of {os.readlink(f'/proc/self/fd/{descriptor}')}"] += 1
        except FileNotFoundError:  # that of the list itself
            continue
    for children in Path("/proc/self/task").glob("*/children"):
        found.update(f"process {pid}" for pid in children.read_text().split())
    found.update(f"thread {thread.name}" for thread in threading.enumerate())
    return found

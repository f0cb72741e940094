"""What no grader can undercut: bare forks, and plain calls of the solutions.

Run as ``python floor.py NAME …``; asked by lines on standard input (see `processes`).
"""

from __future__ import annotations

import argparse
import gc
from pathlib import Path
from typing import Any, Final

from processes import Meter, serve

from codegym.core import Task
from codegym.datasets import load_tasks

__all__ = ["FORKS"]

FORKS: Final = """
# Runs where a worker's main program would: in its interpreter, with its modules and limits.
import marshal, os, resource, time
from codegym.sandbox import worker

def usage():
    whose = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in whose)

def forks(count):
    cpu_s, start = usage(), time.perf_counter()
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    return {"wall_s": time.perf_counter() - start, "cpu_s": usage() - cpu_s}

def main():
    control = worker.socket.socket(fileno=worker.fcntl.fcntl(0, worker.fcntl.F_DUPFD_CLOEXEC, 16))
    worker.reserve_descriptors(8)
    worker.preload(PRELOAD, PATH)
    for which, limit in worker.INHERITED_LIMITS.items():
        worker.resource.setrlimit(which, worker.allowed(which, limit))
    while count := control.recv(4):
        control.sendall(marshal.dumps(forks(int.from_bytes(count, "little"))))

worker.main = main
"""
"""A module for a worker to load after its own, with `PRELOAD` and `PATH` defined: it forks on demand and does
nothing else."""


def plain_calls(tasks: list[Task]) -> dict[str, Any]:
    """Call each task's reference solution on all of its inputs, and drop the answers.

    The inputs are there beforehand, and of no concern to the garbage collector.
    """
    gc.collect()
    gc.freeze()
    calls = 0
    with Meter() as meter:
        for task in tasks:
            namespace: dict[str, Any] = {"__name__": "solution"}
            exec(task.reference_solutions[0], namespace)
            function = namespace[str(task.entry_point)]
            for test in task.tests:
                function(*test.args)
            calls += len(task.tests)
    return meter.figures() | {"calls": calls}


def main() -> None:
    """Call on demand; once only, for solutions may change their arguments."""
    parser = argparse.ArgumentParser(description=plain_calls.__doc__)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--path", type=Path, required=True)
    args = parser.parse_args()
    tasks = list(load_tasks(args.dataset, source=args.path))
    serve(lambda _: plain_calls(tasks))


if __name__ == "__main__":
    main()

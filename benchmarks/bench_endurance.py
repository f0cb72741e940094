"""How codegym holds out: very many programs, hostile ones among them, and faults while it works.

    python benchmarks/bench_endurance.py [--programs 100000] [--faults 400] [--workers 2] [--quick] [--json F]

(soak) grades a long stream of programs whose verdicts are known, and watches what the process holds: memory,
descriptors, threads, child processes, temporary files, control groups. (faults) grades while workers and
guests are killed at random, the disk for temporary files is full, the clock jumps, and descriptors run out;
every request must end once, in its verdict or in ``infra`` with a cause.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import gc
import json
import os
import random
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from processes import process_table
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from codegym.core import Limits, Outcome, Program, Status, Task, TestCase
from codegym.grading import Grader
from codegym.sandbox import Sandbox, cgroups, make_sandbox

LIMITS: Final = Limits(cpu_s=0.3, wall_s=3.0, total_cpu_s=2.0, memory_mb=96, output_mb=1, processes=16)
TASK: Final = Task(
    id="double", prompt="", entry_point="f", limits=LIMITS, hidden_tests=(TestCase.call(21, expected=42),)
)
PROGRAMS: Final[dict[str, tuple[str, int, str]]] = {
    "right": ("def f(x): return 2 * x", 500, "passed"),
    "right_with_a_class": (
        "class A:\n    def g(self, x): return x + x\ndef f(x): return A().g(x)",
        150,
        "passed",
    ),
    "wrong": ("def f(x): return x", 150, "wrong"),
    "raises": ("def f(x): return x / 0", 50, "error"),
    "no_program": ("def f(x:", 30, "invalid"),
    "exits": ("import os\ndef f(x): os._exit(0)", 30, "error"),
    "crashes": ("import ctypes\ndef f(x): ctypes.string_at(0)", 20, "error"),
    "kills_itself": ("import os\ndef f(x): os.kill(os.getpid(), 9)", 20, "any_failure"),
    "floods": ("def f(x):\n    print('x' * (1 << 21))\n    return 2 * x", 10, "any"),
    "leaves_files": (
        "def f(x):\n    for n in range(50): open(str(n), 'w').write('x')\n    return 2 * x",
        20,
        "passed",
    ),
    "leaves_a_child": (
        "import os, time\ndef f(x):\n    if os.fork() == 0: time.sleep(100)\n    return 2 * x",
        10,
        "passed",
    ),
    "leaves_threads": (
        "import threading, time\ndef f(x):\n"
        "    threading.Thread(target=time.sleep, args=[9], daemon=True).start()\n    return 2 * x",
        10,
        "passed",
    ),
    "takes_descriptors": (
        "def f(x):\n    open_ = []\n    while True: open_.append(open('/dev/null'))",
        10,
        "error",
    ),
    "forks": ("import os\ndef f(x):\n    while True: os.fork()", 2, "any_failure"),
    "takes_memory": (
        "def f(x):\n    held = []\n    while True: held.append(bytearray(1 << 22))",
        3,
        "memory",
    ),
    "never_ends": ("def f(x):\n    while True: pass", 1, "timeout"),
}
"""Name: code, how many in a thousand or so, and the status that it must have."""
EVERY: Final = 2000


@dataclass(kw_only=True)
class Holdings:
    """What this process, and the machine on its account, holds."""

    memory_mb: float
    descriptors: int
    threads: int
    processes: int
    files: int
    groups: int

    @classmethod
    def now(cls) -> Holdings:
        """Count."""
        gc.collect()
        parent = cgroups.find_parent()
        folders = set(parent.folders.values()) if parent else set()
        return cls(
            memory_mb=int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20,
            descriptors=len(os.listdir("/proc/self/fd")),
            threads=threading.active_count(),
            processes=len(descendants()),
            files=sum(
                len(found)
                for _, folders_, files in os.walk(tempfile.gettempdir())
                for found in (folders_, files)
            ),
            groups=sum(1 for folder in folders for _ in folder.glob(f"codegym-{os.getpid()}-*")),
        )


@dataclass(kw_only=True)
class Tally:
    """What came of requests."""

    requests: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    """Verdicts that are not the right one, of requests that were judged."""
    lost: int = 0
    """Requests that never ended."""
    doubled: int = 0
    """Requests that ended more than once."""
    without_cause: int = 0
    """Requests that ended in ``infra`` without saying why."""
    faults: dict[str, int] = field(default_factory=dict)
    slowest_s: float = 0.0

    def note(self, name: str, outcome: Outcome) -> None:
        """Count one verdict."""
        self.requests += 1
        status = outcome.status.value
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.slowest_s = max(self.slowest_s, outcome.wall_s)
        if outcome.status == Status.INFRA:
            self.without_cause += not outcome.message
        elif not fits(PROGRAMS[name][2], outcome):
            self.wrong.append(f"{name}: {outcome.status}: {outcome.message}")


def fits(wanted: str, outcome: Outcome) -> bool:
    """Whether a verdict is the right one."""
    if wanted == "any_failure":
        return not outcome.passed
    return wanted in ("any", outcome.status)


def descendants() -> set[int]:
    """The living processes that descend from this one."""
    children: dict[int, list[int]] = {}
    for pid, parent, _ in process_table():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        new = children.get(waiting.pop(), [])
        found.update(new)
        waiting += new
    return found


def stream(count: int, seed: int) -> Iterator[str]:
    """Names of programs, as often as their share says."""
    names, shares = list(PROGRAMS), [share for _, share, _ in PROGRAMS.values()]
    for number in range(count):
        yield random.Random(f"{seed} {number}").choices(names, shares)[0]


def grade_all(grader: Grader, names: Sequence[str], tally: Tally, advance: Callable[[], None]) -> None:
    """Grade programs at eight times as many at a time as there are workers."""
    ahead = collections.deque()  # type: ignore[var-annotated]
    ended = [0] * len(names)

    def count(number: int) -> Callable[[Any], None]:
        def done(_: Any) -> None:
            ended[number] += 1

        return done

    def take() -> None:
        name, future = ahead.popleft()
        tally.note(name, future.result(timeout=120))
        advance()

    for number, name in enumerate(names):
        future = grader.submit(Program(PROGRAMS[name][0]), TASK)
        future.add_done_callback(count(number))
        ahead.append((name, future))
        if len(ahead) >= 8 * grader.sandbox.workers:
            take()
    while ahead:
        take()
    tally.lost += ended.count(0)
    tally.doubled += sum(times > 1 for times in ended)


@contextlib.contextmanager
def own_folder() -> Iterator[None]:
    """A folder for temporary files that nobody else uses, so that they can be counted."""
    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield
        finally:
            tempfile.tempdir = before


# Soak


def soak(count: int, workers: int, progress: Progress) -> dict[str, Any]:
    """Grade so many programs; returns the tally, and what was held meanwhile."""
    bar = progress.add_task("soak", total=count)
    tally, samples, before = Tally(), [], Holdings.now()
    names = list(stream(count, seed=0))
    start = time.perf_counter()
    with make_sandbox("local", workers=workers) as sandbox, Grader(sandbox) as grader:
        for first in range(0, count, EVERY):
            grade_all(grader, names[first : first + EVERY], tally, lambda: progress.advance(bar))
            samples.append(Holdings.now())
    wall_s = time.perf_counter() - start
    after = Holdings.now()
    return {
        "tally": asdict(tally),
        "wall_s": wall_s,
        "before": asdict(before),
        "first": asdict(samples[0]),
        "last": asdict(samples[-1]),
        "after": asdict(after),
        "leaked": leaked(before, after),
        "growth_mb": samples[-1].memory_mb - samples[len(samples) // 2].memory_mb,
    }


def leaked(before: Holdings, after: Holdings) -> int:
    """Things held after that were not held before, memory aside."""
    mine, theirs = asdict(after), asdict(before)
    return sum(max(0, mine[name] - theirs[name]) for name in mine if name != "memory_mb")


# Faults


def kill_worker(sandbox: Sandbox, rng: random.Random) -> bool:
    """Kill a worker, or the guardian in front of it."""
    victims = [pid for pid in descendants() if is_python(pid)]
    return bool(victims) and kill(rng.choice(sorted(victims)))


def kill(pid: int) -> bool:
    """Kill a process; returns whether it was still there."""
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return False
    return True


def is_python(pid: int) -> bool:
    """Whether a process is one of an interpreter's: a worker, its guardian or a guest."""
    try:
        return b"python" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def exhaust_descriptors(sandbox: Sandbox, rng: random.Random) -> bool:
    """Leave no descriptor free for a moment, and kill a worker meanwhile, so that a new one is wanted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 1, hard))
    try:
        kill_worker(sandbox, rng)
        time.sleep(0.2)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return True


def jump_clock(sandbox: Sandbox, rng: random.Random) -> bool:
    """Move this process's idea of the time of day, as an adjusted clock does."""
    real, offset = time.time, rng.choice([-86400.0, 86400.0, 1e9])
    time.time = lambda: real() + offset
    time.sleep(0.05)
    time.time = real
    return True


def fill_disk(sandbox: Sandbox, rng: random.Random) -> bool:
    """Have no room for temporary files for a moment, and kill a worker meanwhile."""
    with full_disk() as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            kill_worker(sandbox, rng)
            time.sleep(0.2)
        finally:
            tempfile.tempdir = before
    return True


@contextlib.contextmanager
def full_disk() -> Iterator[str]:
    """A folder on a disk without room; needs root."""
    libc = ctypes.CDLL(None, use_errno=True)
    with tempfile.TemporaryDirectory() as folder:
        if libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"size=4k,nr_inodes=2"):
            raise OSError(ctypes.get_errno(), "mount a disk to fill; run as root")
        try:
            Path(folder, "full").write_bytes(bytes(4096))
            yield folder
        finally:
            libc.umount2(folder.encode(), 2)


FAULTS: Final[dict[str, tuple[Callable[[Sandbox, random.Random], bool], int]]] = {
    "process killed": (kill_worker, 20),
    "descriptors exhausted": (exhaust_descriptors, 1),
    "clock jumped": (jump_clock, 2),
    "disk full": (fill_disk, 1),
}
"""Name: what happens, and how often in comparison."""


def faults(count: int, workers: int, progress: Progress) -> dict[str, Any]:
    """Grade until so many faults have been injected; returns the tally."""
    bar = progress.add_task("faults", total=count)
    tally, before = Tally(), Holdings.now()
    over, rng = threading.Event(), random.Random(0)
    start = time.perf_counter()
    with make_sandbox("local", workers=workers) as sandbox, Grader(sandbox) as grader:
        saboteur = threading.Thread(target=sabotage, args=(sandbox, count, rng, tally, over, progress, bar))
        saboteur.start()
        number = 0
        while not over.is_set():
            grade_all(grader, list(stream(50, seed=number + 1)), tally, lambda: None)
            number += 1
        saboteur.join()
        calm = Tally()
        grade_all(grader, list(stream(200, seed=-1)), calm, lambda: None)
    after = Holdings.now()
    return {
        "tally": asdict(tally),
        "wall_s": time.perf_counter() - start,
        "afterwards": asdict(calm),
        "before": asdict(before),
        "after": asdict(after),
        "leaked": leaked(before, after),
    }


def sabotage(
    sandbox: Sandbox,
    count: int,
    rng: random.Random,
    tally: Tally,
    over: threading.Event,
    progress: Progress,
    bar: Any,
) -> None:
    """Inject faults, until there were so many."""
    names, weights = list(FAULTS), [weight for _, weight in FAULTS.values()]
    if os.geteuid() != 0:
        weights[names.index("disk full")] = 0
    try:
        while sum(tally.faults.values()) < count:
            time.sleep(rng.uniform(0.01, 0.1))
            name = rng.choices(names, weights)[0]
            if FAULTS[name][0](sandbox, rng):
                tally.faults[name] = tally.faults.get(name, 0) + 1
                progress.advance(bar)
    finally:
        over.set()


# Report


def show(results: dict[str, Any], console: Console) -> None:
    """Print what came of it."""
    for name, result in results.items():
        tally = result["tally"]
        table = Table(title=name, show_header=False)
        table.add_row("requests", str(tally["requests"]))
        table.add_row("wall seconds", f"{result['wall_s']:.0f}")
        table.add_row(
            "verdicts", ", ".join(f"{count} {status}" for status, count in sorted(tally["statuses"].items()))
        )
        if tally["faults"]:
            table.add_row(
                "faults", ", ".join(f"{count} {fault}" for fault, count in sorted(tally["faults"].items()))
            )
        for key in ("lost", "doubled", "without_cause"):
            table.add_row(key.replace("_", " "), str(tally[key]))
        table.add_row(
            "wrong verdicts", str(len(tally["wrong"])) + "".join(f"\n{one}" for one in tally["wrong"][:10])
        )
        table.add_row("slowest request", f"{tally['slowest_s']:.1f} s")
        for moment in ("before", "first", "last", "after"):
            if moment in result:
                table.add_row(f"held {moment}", ", ".join(f"{v:.0f} {k}" for k, v in result[moment].items()))
        table.add_row("leaked", str(result["leaked"]))
        console.print(table)


def is_clean(result: dict[str, Any]) -> bool:
    """Whether nothing went wrong."""
    tallies = [result["tally"], result.get("afterwards", result["tally"])]
    trouble = [len(t["wrong"]) + t["lost"] + t["doubled"] + t["without_cause"] for t in tallies]
    calm = result.get("afterwards", {"statuses": {}})["statuses"].get("infra", 0)
    return not (any(trouble) or calm or result["leaked"] or result.get("growth_mb", 0) > 16)


def main() -> int:
    """Run both parts; fails when anything was lost, leaked or judged wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--faults", type=int, default=400)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="2000 programs and 30 faults")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    programs, number = (2000, 30) if args.quick else (args.programs, args.faults)
    console = Console(width=None if sys.stdout.isatty() else 130)
    results: dict[str, Any] = {}
    with own_folder(), Progress(console=console, disable=not sys.stdout.isatty()) as progress:
        with make_sandbox("local", workers=1):  # so that what is made once does not count as leaked
            pass
        if programs:
            results["soak"] = soak(programs, args.workers, progress)
        if number:
            results["faults"] = faults(number, args.workers, progress)
    show(results, console)
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0 if all(map(is_clean, results.values())) else 1


if __name__ == "__main__":
    sys.exit(main())

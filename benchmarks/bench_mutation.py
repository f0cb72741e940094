"""What a mutant costs: codegym's engine, mutmut, and one pytest process for each, on the same mutants.

    python benchmarks/bench_mutation.py [--mutmut PYTHON] [--naive COUNT] [--rounds N] [--json FILE]

PYTHON is an interpreter with mutmut 3.8.x and pytest; without it mutmut is left out, and mutants are made by
codegym. Fails when verdicts differ, never because of a figure.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from codegym.mutation import Mutant, MutationEngine, generate

HERE = Path(__file__).resolve().parent
TARGET = HERE / "mutation_target"
SOURCE = (TARGET / "minilib.py").read_text(encoding="utf-8")
TESTS = (TARGET / "test_minilib.py").read_text(encoding="utf-8")
ENVIRONMENT = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
REPEATS = 5
"""How often mutants are run in one go where the cost of one is measured, so that it stands out from noise."""
MUTMUT_TIMEOUTS = (24, -24, 36, 152, 255)
NAIVE_TIMEOUT_S = 5.0


def as_mutant(name: str, mutated: str) -> Mutant:
    """The smallest change that turns the source into a mutated one."""
    start = alike(SOURCE, mutated)
    rest = min(len(SOURCE), len(mutated)) - start
    tail = alike(SOURCE[::-1][:rest], mutated[::-1][:rest])
    end = len(SOURCE) - tail
    return Mutant(
        id=name,
        operator="mutmut",
        group="mutmut",
        start=start,
        end=end,
        replacement=mutated[start : len(mutated) - tail],
        line=SOURCE.count("\n", 0, start) + 1,
        end_line=SOURCE.count("\n", 0, end) + 1,
    )


def mutants_of_mutmut(python: str) -> list[Mutant]:
    """What mutmut makes of the target."""
    command = [python, str(HERE / "mutmut_peer.py"), "minilib.py"]
    with tempfile.TemporaryDirectory() as folder:
        make_project(folder)
        made = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    return [as_mutant(name, mutated) for name, mutated in json.loads(made)]


def alike(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def make_project(folder: str) -> None:
    """The target as mutmut expects a project."""
    Path(folder, "tests").mkdir()
    shutil.copy(TARGET / "minilib.py", folder)
    shutil.copy(TARGET / "test_minilib.py", Path(folder, "tests"))
    Path(folder, "setup.cfg").write_text("[mutmut]\nsource_paths=minilib.py\n", encoding="utf-8")


def mutants_of_codegym() -> list[Mutant]:
    """What codegym makes of it."""
    return list(generate(SOURCE).mutants)


# The three ways ---------------------------------------------------------------------------------------------


def by_codegym(engine: MutationEngine, mutants: Sequence[Mutant], mode: str) -> tuple[Any, float]:
    """The result, and wall seconds of the whole run."""
    start = time.perf_counter()
    result = engine.run(SOURCE, TESTS, target="minilib", mutants=mutants, controls=False, mode=mode)
    return result, time.perf_counter() - start


def coarse(status: str) -> str:
    """Statuses as far as the other tools have them."""
    return {"killed_by_error": "killed", "crash": "killed", "not_covered": "survived"}.get(status, status)


def by_process(mutant: Mutant) -> tuple[str, float]:
    """The verdict of one pytest process, and its wall seconds."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(TARGET / "test_minilib.py", folder)
        Path(folder, "minilib.py").write_text(mutant.apply(SOURCE), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                command, cwd=folder, env=ENVIRONMENT, capture_output=True, timeout=NAIVE_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            return "timeout", time.perf_counter() - start
        return ("survived" if done.returncode == 0 else "killed"), time.perf_counter() - start


def by_mutmut(python: str) -> tuple[dict[str, str], dict[str, float], float]:
    """Verdicts and wall seconds of each mutant, as mutmut notes them, and of the whole run."""
    with tempfile.TemporaryDirectory() as folder:
        make_project(folder)
        command = [python, "-m", "mutmut", "run", "--max-children", "1"]
        start = time.perf_counter()
        done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        meta = Path(folder, "mutants", "minilib.py.meta")
        if not meta.exists():
            raise RuntimeError(f"mutmut did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        notes = json.loads(meta.read_text(encoding="utf-8"))
        verdicts = {name: of_mutmut(code) for name, code in notes["exit_code_by_key"].items()}
        return verdicts, notes["durations_by_key"], seconds


def of_mutmut(code: int) -> str:
    """A verdict by mutmut's exit code."""
    if code in MUTMUT_TIMEOUTS:
        return "timeout"
    return "survived" if code in (0, 5, 33) else "killed"


# The comparison ---------------------------------------------------------------------------------------------


def measure_codegym(engine: MutationEngine, mutants: Sequence[Mutant], rounds: int) -> dict[str, Any]:
    """Ours: all in all; what a suite costs once; what a mutant costs that can be swapped in, one that acts
    at import, and one that loops without end.
    """
    result, _ = by_codegym(engine, mutants, "score")
    verdicts = {one.mutant.id: coarse(str(one.status)) for one in result.mutants}
    cold = [one.mutant for one in result.mutants if one.cold]
    looping = [one.mutant for one in result.mutants if verdicts[one.mutant.id] == "timeout"]
    hot = [mutant for mutant in mutants if mutant not in cold and mutant not in looping]
    parts = {"none": [], "all": mutants, "hot": REPEATS * hot, "cold": cold, "looping": looping}
    walls: dict[str, list[float]] = {name: [] for name in (*parts, "matrix")}
    for _ in range(rounds):
        for name, part in parts.items():
            walls[name].append(by_codegym(engine, part, "score")[1])
        walls["matrix"].append(by_codegym(engine, REPEATS * hot, "matrix")[1])
    median = {name: 1000 * statistics.median(times) for name, times in walls.items()}

    def each(name: str, count: int) -> float | None:
        return (median[name] - median["none"]) / count if count else None

    return {
        "verdicts": verdicts,
        "counts": {"hot": len(hot), "cold": len(cold), "looping": len(looping)},
        "ms_all_in": median["all"] / len(mutants),
        "ms_all_in_spread": [1000 * f(walls["all"]) / len(mutants) for f in (min, max)],
        "ms_once_for_the_suite": median["none"],
        "ms_a_mutant": each("hot", REPEATS * len(hot)),
        "ms_a_mutant_matrix": each("matrix", REPEATS * len(hot)),
        "ms_a_cold_mutant": each("cold", len(cold)),
        "ms_a_loop": each("looping", len(looping)),
    }


def measure_processes(mutants: Sequence[Mutant], count: int) -> dict[str, Any]:
    """One process for each mutant; times of those that end by themselves."""
    chosen = list(mutants)[:: max(1, len(mutants) // count)] if count else list(mutants)
    found = [by_process(mutant) for mutant in chosen]
    verdicts = {mutant.id: verdict for mutant, (verdict, _) in zip(chosen, found, strict=True)}
    times = [seconds for verdict, seconds in found if verdict != "timeout"]
    return {"verdicts": verdicts, "ms_a_mutant": 1000 * statistics.mean(times), "count": len(chosen)}


def measure_mutmut(python: str) -> dict[str, Any]:
    """mutmut with one worker; times of those that end by themselves."""
    verdicts, durations, seconds = by_mutmut(python)
    times = [durations[name] for name, verdict in verdicts.items() if verdict != "timeout"]
    return {
        "verdicts": verdicts,
        "ms_a_mutant": 1000 * statistics.median(times),
        "ms_a_mutant_mean": 1000 * statistics.mean(times),
        "ms_all_in": 1000 * seconds / len(verdicts),
        "s_whole": seconds,
        "timeouts": sum(verdict == "timeout" for verdict in verdicts.values()),
    }


def compare(ours: dict[str, str], theirs: dict[str, str]) -> list[tuple[str, str, str]]:
    """Mutants on which verdicts differ; a timeout is a kind of kill."""

    def plain(verdict: str) -> str:
        return "killed" if verdict == "timeout" else verdict

    return [(n, ours[n], v) for n, v in theirs.items() if n in ours and plain(ours[n]) != plain(v)]


def report(found: dict[str, dict[str, Any]]) -> int:
    """Print figures and differences; returns how many differ."""
    ours = found["codegym"]
    low, high = ours["ms_all_in_spread"]
    print(f"{len(ours['verdicts'])} mutants {ours['counts']}, CPython {sys.version.split()[0]}")
    print(
        f"codegym: {ours['ms_a_mutant']:.3f} ms a mutant ({ours['ms_a_mutant_matrix']:.3f} with the whole "
        f"matrix), {ours['ms_once_for_the_suite']:.0f} ms once for the suite; all in all "
        f"{ours['ms_all_in']:.2f} ms a mutant ({low:.2f} to {high:.2f})"
    )
    for name, what in (("ms_a_cold_mutant", "that acts at import"), ("ms_a_loop", "that loops without end")):
        if ours[name] is not None:
            print(f"         {ours[name]:.1f} ms a mutant {what}")
    differences = 0
    for name, target in (("mutmut", 100), ("processes", 500)):
        if name not in found:
            continue
        peer = found[name]
        ratio, all_in = peer["ms_a_mutant"] / ours["ms_a_mutant"], peer["ms_a_mutant"] / ours["ms_all_in"]
        verdict = "met" if ratio >= target else "MISSED"
        print(
            f"{name}: {peer['ms_a_mutant']:.1f} ms a mutant; ours is {ratio:.0f} times faster "
            f"({all_in:.0f} all in all); target {target}: {verdict}"
        )
        different = compare(ours["verdicts"], peer["verdicts"])
        differences += len(different)
        print(f"         verdicts: {len(peer['verdicts'])} compared, {len(different)} differ {different[:5]}")
    return differences


def alone(work: Callable[[], Any]) -> Any:
    """Run in a thread of its own, so that what one part leaves in this one cannot matter."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutmut", metavar="PYTHON", help="an interpreter with mutmut 3.8.x and pytest")
    parser.add_argument("--naive", metavar="COUNT", type=int, default=0, help="processes to run; 0: all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", metavar="FILE", type=Path)
    options = parser.parse_args()
    mutants = mutants_of_mutmut(options.mutmut) if options.mutmut else mutants_of_codegym()
    found: dict[str, dict[str, Any]] = {}
    with MutationEngine(workers=1) as engine:
        found["codegym"] = alone(lambda: measure_codegym(engine, mutants, options.rounds))
    if options.mutmut:
        found["mutmut"] = measure_mutmut(options.mutmut)
    else:
        print("mutmut is left out: say --mutmut PYTHON")
    found["processes"] = measure_processes(mutants, options.naive)
    differences = report(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

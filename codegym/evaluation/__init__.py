"""Benchmarks: from a file of samples to pass@k.

    evaluation = evaluate(load_tasks("humaneval+"), "samples.jsonl", grader, "runs/mine")
    print(evaluation.summary["pass_at_k"])

Results are written to ``results.jsonl`` as they come. An evaluation that was killed goes on where it stopped
when it is started again with the same arguments, and ends with the same summary.
"""

from __future__ import annotations

from codegym.evaluation.compare import Comparison, compare_evaluations, verdict_changes
from codegym.evaluation.results import Result, read_results
from codegym.evaluation.run import Evaluation, evaluate, read_evaluation
from codegym.evaluation.samples import Sample, read_samples
from codegym.evaluation.summary import summarise

__all__ = [
    "Comparison",
    "Evaluation",
    "Result",
    "Sample",
    "compare_evaluations",
    "evaluate",
    "read_evaluation",
    "read_results",
    "read_samples",
    "summarise",
    "verdict_changes",
]

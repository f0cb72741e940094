"""skyrl-gym's LiveCodeBench grader: programs that are called, and scripts."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from typing import Any

from codegym.audit.entry import Entry
from codegym.audit.graders.foreign import ForeignGrader, no_wall
from codegym.audit.graders.parts import as_texts, load_part

__all__ = ["judge", "make"]

PATH = "envs/lcb/livecodebench.py"
NEEDED = ("numpy", "pandas")
"""What it imports before each program, and can only import once: a trainer has loaded it long before."""


def judge(code: str, inputs: list[str], outputs: list[str], name: str | None) -> float:
    """Ask ``compute_score``."""
    for module in NEEDED:
        importlib.import_module(module)
    kind = (
        {"testtype": "functional", "metadata": {"func_name": name}}
        if name
        else {"testtype": "stdin", "metadata": {}}
    )
    tests = [{"input": one, "output": other, **kind} for one, other in zip(inputs, outputs, strict=True)]
    _, score = load_part("skyrl_gym", PATH).compute_score(f"```python\n{code}\n```", tests)
    return float(score)


def arguments(entry: Entry) -> tuple[Any, ...] | str:
    """The arguments of `judge`."""
    texts = as_texts(entry)
    return texts if isinstance(texts, str) else (entry.code, *texts)


def make(sandbox: str, workers: int | None) -> AbstractContextManager[ForeignGrader]:
    """The adapter."""
    del sandbox  # it has none
    importlib.import_module("pandas")
    load_part("skyrl_gym", PATH)
    return no_wall(ForeignGrader("skyrl-gym LiveCodeBench", judge, arguments, workers or 2))

"""verl's ``prime_code``: programs that are called, and scripts."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any

from codegym.audit.entry import Entry
from codegym.audit.graders.foreign import ForeignGrader, no_wall
from codegym.audit.graders.parts import as_texts, load_part

__all__ = ["judge", "make"]

PATH = "utils/reward_score/prime_code"


def judge(code: str, inputs: list[str], outputs: list[str], name: str | None) -> float:
    """Ask ``compute_score``."""
    tests = {"inputs": inputs, "outputs": outputs, **({"fn_name": name} if name else {})}
    success, _ = load_part("verl", PATH).compute_score(
        f"```python\n{code}\n```", json.dumps(tests), continuous=True
    )
    return float(success)


def arguments(entry: Entry) -> tuple[Any, ...] | str:
    """The arguments of `judge`."""
    texts = as_texts(entry)
    return texts if isinstance(texts, str) else (entry.code, *texts)


def make(sandbox: str, workers: int | None) -> AbstractContextManager[ForeignGrader]:
    """The adapter."""
    del sandbox  # it has none
    load_part("verl", PATH)
    return no_wall(ForeignGrader("verl prime_code", judge, arguments, workers or 2))

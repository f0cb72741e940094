"""What a run leaves behind while it runs: metrics and samples as JSON lines, and the best weights."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from codegym.core import Score, Task
from codegym_trl.evaluation import Evaluation
from codegym_trl.reward import TRLReward

__all__ = ["JsonLines", "Metrics", "RecordedReward", "Selection"]


class JsonLines:
    """A file of JSON lines, each of which is on disk as soon as it is written."""

    def __init__(self, path: Path) -> None:
        """Open the file anew."""
        self._file: IO[str] = path.open("w", encoding="utf-8", errors="backslashreplace")

    def write(self, row: Mapping[str, Any]) -> None:
        """Add one line; numbers that JSON lacks become null."""
        self._file.write(json.dumps({name: _plain(value) for name, value in row.items()}) + "\n")
        self._file.flush()

    def __enter__(self) -> Self:
        """Nothing to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


class RecordedReward(TRLReward):
    """A reward that writes down what it judged."""

    def __init__(self, log: JsonLines, **options: Any) -> None:
        """Write to `log`."""
        super().__init__(**options)
        self._log = log

    def scored(
        self,
        prompts: Sequence[Any],
        texts: Sequence[str],
        tasks: Sequence[Task],
        scores: Sequence[Score],
        step: int,
    ) -> None:
        """Write the batch down."""
        for text, task, score in zip(texts, tasks, scores, strict=True):
            self._log.write(
                {
                    "step": step,
                    "phase": "train",
                    "task_id": task.id,
                    "completion": text,
                    "reward": score.value,
                    "components": dict(score.components),
                    "verdict": score.outcome and score.outcome.status.value,
                }
            )


class Metrics(TrainerCallback):
    """Writes what the trainer logs, as it logs it.

    Attributes:
        rows: Everything written so far.
    """

    def __init__(self, log: JsonLines, on_step: Callable[[int, float | None], None]) -> None:
        """Write to `log`, and call `on_step` with each step and its mean reward."""
        self.rows: list[dict[str, Any]] = []
        self._log = log
        self._on_step = on_step
        self._started = time.monotonic()

    def add(self, step: int, phase: str, values: Mapping[str, Any]) -> None:
        """Write one row."""
        row = {
            "step": step,
            "phase": phase,
            "elapsed_s": round(time.monotonic() - self._started, 3),
            **values,
        }
        self.rows.append(row)
        self._log.write(row)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """The trainer logged something: each step, and once at the end."""
        if logs and "reward" in logs:
            self.add(state.global_step, "train", logs)
            self._on_step(state.global_step, logs["reward"])


class Selection(TrainerCallback):
    """Looks at the validation split every few steps, and keeps the weights that did best there.

    Late steps can unlearn what early ones learned. Of equals, the latest are kept.

    Attributes:
        best: The pass rate of the weights that are kept; None before the first look.
        step: Theirs.
    """

    def __init__(self, every: int, look: Callable[[Any], Evaluation], metrics: Metrics) -> None:
        """Evaluate with `look` every `every` steps."""
        self.best: float | None = None
        self.step = 0
        self._every = every
        self._look = look
        self._metrics = metrics
        self._weights: dict[str, torch.Tensor] = {}

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **_: Any,
    ) -> None:
        """Look at the weights as they were."""
        self._consider(0, model)

    def on_step_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **_: Any,
    ) -> None:
        """Look again, if it is time."""
        if state.global_step % self._every == 0 or state.global_step == state.max_steps:
            self._consider(state.global_step, model)

    def _consider(self, step: int, model: Any) -> None:
        found = self._look(model)
        self._metrics.add(step, "validation", found.figures())
        if self.best is None or found.pass_rate >= self.best:
            self.best, self.step = found.pass_rate, step
            self._weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}

    def restore(self, model: Any) -> None:
        """Give the model the best weights."""
        model.load_state_dict(self._weights)

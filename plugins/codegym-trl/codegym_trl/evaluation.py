"""What a model can do: its most likely answers to held-out tasks, judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from codegym.core import Task
from codegym.rewards import Scorer
from codegym_trl.columns import to_prompt

__all__ = ["Evaluation", "Judge"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """The verdicts on one answer to each task."""

    pass_rate: float
    """Passed answers over judged ones, in [0, 1]; 0 where none could be judged."""
    judged: int
    verdicts: dict[str, int]
    """How often each verdict was given."""
    samples: tuple[dict[str, Any], ...]
    """For each task: its id, the completion, the verdict and its message."""

    def figures(self) -> dict[str, Any]:
        """All but the samples."""
        return {"pass_rate": self.pass_rate, "judged": self.judged, "verdicts": self.verdicts}


@dataclass(frozen=True, kw_only=True, slots=True)
class Judge:
    """Evaluates models; the same for every look at them.

    Attributes:
        scorer: Has the reward ``all_passed``.
        conversational: Whether prompts are messages.
        system: A system message in front of every prompt.
        max_tokens: Where a completion is cut off.
    """

    scorer: Scorer
    conversational: bool
    system: str | None
    max_tokens: int

    def evaluate(self, model: Any, tokenizer: Any, tasks: Sequence[Task]) -> Evaluation:
        """Let the model answer each task greedily, and judge the answers."""
        from codegym_trl.policy import generate_greedily

        prompts = [to_prompt(task, conversational=self.conversational, system=self.system) for task in tasks]
        completions = generate_greedily(model, tokenizer, prompts, max_new_tokens=self.max_tokens)
        scores = self.scorer.score(completions, tasks)
        outcomes = [score.outcome for score in scores]
        verdicts = ["infra" if outcome is None else outcome.status.value for outcome in outcomes]
        judged = [verdict for verdict in verdicts if verdict != "infra"]
        samples = tuple(
            {
                "task_id": task.id,
                "completion": completion,
                "verdict": verdict,
                "message": "" if outcome is None else outcome.message,
            }
            for task, completion, verdict, outcome in zip(tasks, completions, verdicts, outcomes, strict=True)
        )
        return Evaluation(
            pass_rate=judged.count("passed") / len(judged) if judged else 0.0,
            judged=len(judged),
            verdicts=dict(Counter(verdicts)),
            samples=samples,
        )

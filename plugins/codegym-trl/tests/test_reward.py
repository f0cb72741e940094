from __future__ import annotations

import asyncio
import inspect
import json
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from codegym.core import Outcome, Score, Task
from codegym.datasets.row import task_to_row
from codegym.errors import DataError, NotFoundError
from codegym.rewards import Scorer
from codegym_trl import TRLReward, to_dataset

WEIGHTS = {"fraction_passed": 0.5, "all_passed": 0.5}


class Unjudged:
    """A scorer whose sandbox is down."""

    def score(self, completions: list[str], tasks: list[Task]) -> list[Score]:
        return [self.failed for _ in completions]

    failed = Score(value=None, components={"all_passed": None}, outcome=Outcome.infrastructure("no sandbox"))


def batch(tasks: list[Task]) -> dict[str, Any]:
    """What TRL passes: a right, a wrong, and an unparsable answer."""
    chosen = [next(task for task in tasks if task.wrong_solutions)] * 3
    return {
        "prompts": [task.prompt for task in chosen],
        "completions": [chosen[0].reference_solutions[0], chosen[0].wrong_solutions[0], "def f(:"],
        "completion_ids": [[1], [2], [3]],
        "task": [json.dumps(task_to_row(task)) for task in chosen],
        "task_id": [task.id for task in chosen],
        "trainer_state": None,
    }


def test_signature_is_the_one_that_trl_calls() -> None:
    parameters = inspect.signature(TRLReward.__call__).parameters
    assert list(parameters) == ["self", "prompts", "completions", "completion_ids", "kwargs"]
    assert parameters["kwargs"].kind is inspect.Parameter.VAR_KEYWORD


def test_rewards_and_logs(tasks: list[Task], scorer: Scorer) -> None:
    metrics: dict[str, float] = {}
    extra: dict[str, list[Any]] = defaultdict(list)
    reward = TRLReward(scorer=scorer, name="execution")
    values = reward(
        **batch(tasks),
        log_metric=metrics.__setitem__,
        log_extra=lambda column, values: extra[column].extend(values),
    )
    right, wrong, broken = values
    assert right == 1.0
    assert wrong is not None
    assert 0.0 <= wrong < 0.5
    assert broken == 0.0
    assert metrics["execution/all_passed"] == pytest.approx(1 / 3)
    assert metrics["execution/not_judged"] == 0.0
    assert extra["execution/all_passed"] == [1.0, 0.0, 0.0]
    assert extra["execution/verdict"][0] == "passed"
    assert extra["execution/verdict"][2] == "invalid"
    assert all(len(column) == 3 for column in extra.values())


def test_tasks_can_be_given_by_id(tasks: list[Task], scorer: Scorer) -> None:
    arguments = batch(tasks)
    del arguments["task"]
    assert TRLReward(scorer=scorer, tasks=tasks)(**arguments)[0] == 1.0
    assert TRLReward(scorer=scorer, tasks={task.id: task for task in tasks})(**arguments)[0] == 1.0


def test_conversational_completions(tasks: list[Task], scorer: Scorer) -> None:
    arguments = batch(tasks)
    arguments["completions"] = [[{"role": "assistant", "content": text}] for text in arguments["completions"]]
    assert TRLReward(scorer=scorer)(**arguments)[::2] == [1.0, 0.0]


def test_what_cannot_be_judged_has_no_reward(tasks: list[Task]) -> None:
    metrics: dict[str, float] = {}
    reward = TRLReward(scorer=Unjudged())  # type: ignore[arg-type]
    assert reward(**batch(tasks), log_metric=metrics.__setitem__) == [None, None, None]
    assert metrics == {"codegym/not_judged": 1.0}


def test_the_asynchronous_variant_is_one_and_agrees(tasks: list[Task], scorer: Scorer) -> None:
    from trl.trainer.utils import get_callable_name, is_async_callable

    reward = TRLReward(scorer=scorer)
    function = reward.as_async()
    assert inspect.iscoroutinefunction(function)
    assert is_async_callable(function)
    assert not is_async_callable(reward)
    assert get_callable_name(function) == get_callable_name(reward) == "codegym"
    assert asyncio.run(function(**batch(tasks))) == reward(**batch(tasks))


def test_copies_made_by_pickle_judge_alike(tasks: list[Task]) -> None:
    reward = TRLReward(WEIGHTS, name="execution")
    with reward, pickle.loads(pickle.dumps(reward)) as copy:
        assert copy.__name__ == "execution"
        assert copy(**batch(tasks)) == reward(**batch(tasks))
        assert pickle.loads(pickle.dumps(copy)).__name__ == "execution"
    assert inspect.iscoroutinefunction(pickle.loads(pickle.dumps(TRLReward(WEIGHTS).as_async())))


def test_missing_columns_and_unknown_rewards_are_reported(tasks: list[Task], scorer: Scorer) -> None:
    with pytest.raises(DataError, match="needs a column 'task'"):
        TRLReward(scorer=scorer)(prompts=["p"], completions=["c"], completion_ids=[[1]])
    with pytest.raises(NotFoundError, match="all_pased"):
        TRLReward("all_pased")


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_trl_trains_with_it(
    asynchronous: bool, tasks: list[Task], scorer: Scorer, tiny: Path, tmp_path: Path
) -> None:
    from trl import GRPOTrainer

    from codegym_trl.config import TrainConfig
    from codegym_trl.models import load_model
    from codegym_trl.train import grpo_config

    model, tokenizer = load_model(str(tiny))
    reward = TRLReward(scorer=scorer)
    config = TrainConfig(steps=2, batch=8, generations=4, max_tokens=16)
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward.as_async() if asynchronous else reward,
        args=grpo_config(config, str(tmp_path)),
        train_dataset=to_dataset(tasks),
    )
    trainer.train()
    logged = [row for row in trainer.state.log_history if "reward" in row]
    assert len(logged) == 2
    assert {"rewards/codegym/mean", "codegym/all_passed", "codegym/fraction_passed"} <= logged[0].keys()

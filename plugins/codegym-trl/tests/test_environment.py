from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codegym.core import Task
from codegym.errors import ConfigError
from codegym_trl import CodeEnvironment, EnvironmentFactory, to_dataset


@pytest.fixture(scope="module")
def factory() -> Iterator[EnvironmentFactory]:
    factory = EnvironmentFactory({"all_passed": 1.0}, submissions=2)
    yield factory
    factory.close()


@pytest.fixture(scope="module")
def task(tasks: list[Task]) -> Task:
    return next(task for task in tasks if task.wrong_solutions)


def row(task: Task) -> dict[str, Any]:
    return dict(to_dataset([task], conversational=True)[0])


def test_the_last_submission_counts(factory: EnvironmentFactory, task: Task) -> None:
    environment = factory()
    invitation = environment.reset(**row(task))
    assert invitation is not None
    assert "2 times" in invitation
    assert environment.get_reward() == 0.0
    feedback = environment.submit("def solve(xs):\n    return xs.nope()\n")
    assert feedback.startswith("2 of 2 example tests failed:")
    assert "solve([" in feedback
    assert feedback.endswith("Submissions left: 1.")
    assert environment.get_reward() == 0.0
    assert environment.submit(task.reference_solutions[0]).startswith("All 2 example tests passed.")
    assert environment.get_reward() == 1.0
    assert "No submissions are left" in environment.submit("broken")
    assert environment.get_reward() == 1.0


def test_reset_forgets(factory: EnvironmentFactory, task: Task) -> None:
    environment = factory()
    environment.reset(**row(task))
    environment.submit(task.reference_solutions[0])
    environment.reset(**row(task))
    assert environment.get_reward() == 0.0
    assert environment.submit("def solve(xs): return 0").endswith("Submissions left: 1.")


def test_feedback_says_nothing_about_hidden_tests(factory: EnvironmentFactory, task: Task) -> None:
    answers = {json.dumps(test.args[0]): test.expected for test in task.public_tests}
    memorised = f"import json\ndef solve(xs):\n    return {answers!r}[json.dumps(xs)]\n"
    environment = factory()
    environment.reset(**row(task))
    assert environment.submit(memorised).startswith("All 2 example tests passed.")
    assert environment.get_reward() == 0.0


def test_what_does_not_parse_is_told_so(factory: EnvironmentFactory, task: Task) -> None:
    environment = factory()
    environment.reset(**row(task))
    assert environment.submit("def solve(:").startswith("Verdict: invalid.")


def test_trl_finds_one_tool_and_can_describe_it() -> None:
    from transformers.utils import get_json_schema

    public = [name for name, _ in inspect.getmembers(CodeEnvironment, inspect.isfunction) if name[0] != "_"]
    assert sorted(public) == ["get_reward", "reset", "submit"]
    schema = get_json_schema(CodeEnvironment.submit)["function"]
    assert schema["name"] == "submit"
    assert schema["parameters"]["required"] == ["code"]
    assert schema["parameters"]["properties"]["code"]["type"] == "string"
    assert schema["description"]


def test_factories_are_picklable(factory: EnvironmentFactory, task: Task) -> None:
    copy = pickle.loads(pickle.dumps(factory))
    environment = copy()
    environment.reset(**row(task))
    environment.submit(task.reference_solutions[0])
    assert environment.get_reward() == 1.0
    copy.close()


def test_misuse_is_reported(factory: EnvironmentFactory) -> None:
    with pytest.raises(ConfigError, match="at least one submission"):
        EnvironmentFactory(submissions=0)
    with pytest.raises(ConfigError, match="before reset"):
        factory().submit("x")


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_trl_plays_whole_rollouts(
    factory: EnvironmentFactory, task: Task, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scripted policy: half of the rollouts submit a right solution, the others a wrong one."""
    import torch
    from trl import GRPOTrainer
    from trl.chat_template_utils import qwen3_chat_template

    from codegym_trl.config import TrainConfig
    from codegym_trl.models import load_model
    from codegym_trl.train import grpo_config

    model, tokenizer = load_model(str(tiny))
    tokenizer.add_special_tokens({"eos_token": "<|im_end|>"})
    tokenizer.chat_template = qwen3_chat_template
    model.resize_token_embeddings(len(tokenizer))
    tokenizer.model_max_length = model.config.max_position_embeddings = 4096
    programs = [task.reference_solutions[0], task.wrong_solutions[0]] * 2
    turns: list[int] = []

    def generate(input_ids: torch.Tensor, **_: Any) -> torch.Tensor:
        turns.append(len(input_ids))
        calls = [{"name": "submit", "arguments": {"code": program}} for program in programs]
        texts = [f"<tool_call>\n{json.dumps(call)}\n</tool_call><|im_end|>" for call in calls]
        if len(turns) > 1:
            texts = ["Done.<|im_end|>"] * len(input_ids)
        answers = tokenizer(texts, return_tensors="pt", padding=True, padding_side="right")["input_ids"]
        return torch.cat([input_ids, answers], dim=1)

    monkeypatch.setattr(model, "generate", generate)
    settings = TrainConfig(steps=1, batch=4, generations=4, max_tokens=512)
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=grpo_config(settings, str(tmp_path)),
        train_dataset=to_dataset([task], conversational=True),
        environment_factory=factory,
    )
    trainer.train()
    [logged] = [row for row in trainer.state.log_history if "reward" in row]
    assert turns == [4, 4]
    assert logged["rewards/CodeEnvironment/mean"] == pytest.approx(0.5)
    assert logged["tools/call_frequency"] == pytest.approx(1.0)
    assert logged["tools/failure_frequency"] == pytest.approx(0.0)

from __future__ import annotations

from pathlib import Path

import pytest

from codegym.core import Task
from codegym.datasets import listfuncs
from codegym.errors import ConfigError
from codegym_trl.config import WarmStart
from codegym_trl.policy import (
    PolicySpec,
    build_policy,
    generate_greedily,
    new_model,
    train_tokenizer,
    warm_start,
)


def test_the_tokenizer_is_deterministic_and_loses_nothing() -> None:
    tokenizer, again = train_tokenizer(PolicySpec()), train_tokenizer(PolicySpec())
    text = listfuncs.corpus(0, 1).completion + "ä → \t\U0001f40d"
    ids = tokenizer(text)["input_ids"]
    assert ids == again(text)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert tokenizer.pad_token_id != tokenizer.eos_token_id
    assert tokenizer.padding_side == "left"


def test_every_answer_fits_into_the_default_limit() -> None:
    tokenizer = train_tokenizer(PolicySpec())
    solutions = [task.reference_solutions[0] for task in listfuncs.load()]
    assert max(len(ids) for ids in tokenizer(solutions)["input_ids"]) < 64


def test_the_policy_is_tiny() -> None:
    spec = PolicySpec()
    model = new_model(spec, train_tokenizer(spec))
    assert 400_000 < sum(weights.numel() for weights in model.parameters()) < 1_000_000


def test_the_warm_start_is_deterministic_and_learns() -> None:
    spec = PolicySpec(hidden=32, layers=1, intermediate=64)
    tokenizer = train_tokenizer(spec)
    training = WarmStart(steps=30, batch=8)
    losses: list[list[float]] = []
    for seed in (1, 1, 2):
        losses.append([])
        model = new_model(spec, tokenizer, seed)
        mean = warm_start(model, tokenizer, training, seed, lambda _, loss: losses[-1].append(loss))
        assert mean == pytest.approx(sum(losses[-1][-10:]) / 10)
    assert losses[0] == losses[1] != losses[2]
    assert losses[0][-1] < losses[0][0] - 1


def test_a_saved_policy_is_an_ordinary_model(tiny: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(tiny), AutoTokenizer.from_pretrained(tiny)
    assert model.config.model_type == "llama"
    assert tokenizer.pad_token == "<pad>"


def test_padding_does_not_change_what_is_generated(tiny: Path, tasks: list[Task]) -> None:
    from codegym_trl.models import load_model

    model, tokenizer = load_model(str(tiny))
    prompts = [task.prompt for task in tasks[:5]]
    together = generate_greedily(model, tokenizer, prompts, max_new_tokens=8)
    assert together == generate_greedily(model, tokenizer, prompts, max_new_tokens=8, batch=1)


@pytest.mark.parametrize("options", [{"vocabulary": 200}, {"hidden": 30}])
def test_impossible_sizes_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(map(str, options.values())))):
        PolicySpec(**options)


def test_building_reports_each_step(tmp_path: Path) -> None:
    steps: list[int] = []
    spec = PolicySpec(hidden=32, layers=1, intermediate=64)
    folder = build_policy(
        tmp_path / "model",
        spec=spec,
        training=WarmStart(steps=3, batch=2),
        on_step=lambda step, _: steps.append(step),
    )
    assert steps == [1, 2, 3]
    assert (folder / "config.json").is_file()

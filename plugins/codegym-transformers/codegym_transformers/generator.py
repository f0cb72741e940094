"""Drawing texts from a causal language model, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch
import transformers

from codegym.errors import ConfigError
from codegym.generation import Completion, Generator, Prompt, Sampling, cut

__all__ = ["Draw", "TransformersGenerator"]


class TransformersGenerator(Generator):
    """Draws from a model that transformers loads."""

    def __init__(self, model: str, *, device: str | None = None, dtype: str = "auto", batch: int = 8) -> None:
        """Load the model.

        Args:
            model: A folder, or an id on the hub.
            device: Such as ``cpu`` or ``cuda``. None: a GPU where there is one.
            dtype: Of the weights; ``auto`` as they were saved.
            batch: Prompts that are worked on at one time.

        Raises:
            ConfigError: There is no such model, device or dtype.
        """
        if batch < 1:
            raise ConfigError(f"batch must be at least 1, got {batch}")
        self.model = model
        self._batch = batch
        self._device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(model, padding_side="left")
            network = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=_dtype(dtype))
            self._network = network.to(self._device).eval()
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).strip().splitlines()[0]
            raise ConfigError(f"model {model!r} cannot be loaded: {reason}") from error
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token

    def generate(self, prompts: Iterable[Prompt], sampling: Sampling) -> Iterator[Completion]:
        """Draw, in the order of the prompts."""
        waiting = iter(prompts)
        while batch := list(islice(waiting, self._batch)):
            yield from self._draw(batch, sampling)

    def _draw(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        texts = [self._text(prompt) for prompt in prompts]
        inputs = self._tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        inputs = inputs.to(self._device)
        drawn = self._network.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            max_new_tokens=sampling.max_tokens,
            do_sample=False,  # the processor has drawn already: what is left is to take the largest
            temperature=None,
            top_p=None,
            top_k=None,
            logits_processor=transformers.LogitsProcessorList([Draw(prompts, sampling)]),
            pad_token_id=self._tokenizer.pad_token_id,
        )
        tokens = drawn[:, inputs["input_ids"].shape[1] :].tolist()
        return [self._completion(prompt, row, sampling) for prompt, row in zip(prompts, tokens, strict=True)]

    def _text(self, prompt: Prompt) -> str:
        """What the model is shown."""
        if prompt.messages is None:
            return f"{self._tokenizer.bos_token or ''}{prompt.text}"
        if self._tokenizer.chat_template is None:
            raise ConfigError(f"model {self.model!r} has no chat template: use the style 'completion'")
        text: str = self._tokenizer.apply_chat_template(
            list(prompt.messages), tokenize=False, add_generation_prompt=True
        )
        return text

    def _ends(self) -> set[int]:
        """The tokens that end a text."""
        ends = self._network.generation_config.eos_token_id
        ends = self._tokenizer.eos_token_id if ends is None else ends
        return {ends} if isinstance(ends, int) else set(ends or ())

    def _completion(self, prompt: Prompt, tokens: list[int], sampling: Sampling) -> Completion:
        ends = self._ends()
        length = next((place for place, token in enumerate(tokens) if token in ends), len(tokens))
        text = self._tokenizer.decode(tokens[:length], skip_special_tokens=True)
        whole = length < len(tokens) or len(tokens) < sampling.max_tokens
        return Completion(
            prompt=prompt, text=cut(text, prompt.stop), finish_reason="stop" if whole else "length"
        )


class Draw(transformers.LogitsProcessor):  # type: ignore[misc]
    """Draws the next token of each row from a random stream of its own.

    By the Gumbel trick: the largest of log-probabilities to which Gumbel noise is added is a draw from them.
    """

    def __init__(self, prompts: Sequence[Prompt], sampling: Sampling) -> None:
        """Start the streams, each with its prompt's seed."""
        self.sampling = sampling
        self.streams = [torch.Generator().manual_seed(prompt.seed) for prompt in prompts]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores whose largest is the token that was drawn; shape [rows, tokens]."""
        if self.sampling.temperature == 0:
            return scores
        chances = torch.softmax(scores.float() / self.sampling.temperature, dim=-1)
        if self.sampling.top_p < 1:
            ordered, places = chances.sort(dim=-1, descending=True)
            ordered[ordered.cumsum(dim=-1) - ordered >= self.sampling.top_p] = 0.0  # the likeliest stays
            chances = torch.zeros_like(chances).scatter(-1, places, ordered)
        noise = torch.stack([torch.empty(scores.shape[-1]).exponential_(generator=s) for s in self.streams])
        return chances.log() - noise.to(scores.device).log()


def _dtype(name: str) -> Any:
    if name == "auto":
        return name
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise ConfigError(f"dtype: expected auto, float32, bfloat16 or float16, got {name!r}")
    return found

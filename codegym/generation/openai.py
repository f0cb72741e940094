"""Models behind an OpenAI-compatible server: vLLM, Ollama, llama.cpp, hosted ones."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Final

from codegym.errors import ConfigError
from codegym.generation.base import Completion, Generator, Prompt, Sampling, cut

__all__ = ["OpenAIGenerator"]


MOST_STOPS: Final = 4
"""A server takes no more; `cut` does the rest."""


class OpenAIGenerator(Generator):
    """Asks a server that speaks OpenAI's protocol, many prompts at a time.

    Requests that fail for a while (connection, timeout, 408, 409, 429, 5xx) are sent again, with pauses that
    grow, or as long as the server asks.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int = 16,
        timeout_s: float = 600.0,
        retries: int = 5,
    ) -> None:
        """Say where the server is; nothing is sent yet.

        Args:
            model: What the server calls the model.
            base_url: The server, such as ``http://localhost:8000/v1``. None: ``$OPENAI_BASE_URL``, else
                OpenAI's own.
            api_key: None: ``$OPENAI_API_KEY``, else one that servers without keys ignore.
            concurrency: Requests under way at one time.
            timeout_s: Wall seconds for one request.
            retries: How often a request is sent again.

        Raises:
            ConfigError: The package ``openai`` is not installed, or a number makes no sense.
        """
        if concurrency < 1 or retries < 0 or not timeout_s > 0:
            raise ConfigError(
                "expected concurrency >= 1, retries >= 0 and timeout_s > 0, "
                f"got {concurrency}, {retries} and {timeout_s}"
            )
        try:
            import openai
        except ImportError as error:
            raise ConfigError(
                "the generator 'openai' needs a package: pip install 'codegym[openai]'"
            ) from error
        self.model = model
        self._openai = openai
        self._concurrency = concurrency
        self._options: dict[str, Any] = {
            "base_url": base_url,
            "api_key": api_key or os.environ.get("OPENAI_API_KEY") or "none",
            "timeout": timeout_s,
            "max_retries": retries,
        }

    def generate(self, prompts: Iterable[Prompt], sampling: Sampling) -> Iterator[Completion]:
        """Ask for all, in a thread of its own, and hand on what comes.

        Raises:
            ConfigError: The server refuses the first request for good, or is not there.
        """
        arrived: queue.Queue[Completion | BaseException | None] = queue.Queue()
        stop = threading.Event()
        thread = threading.Thread(
            target=lambda: asyncio.run(self._ask_all(iter(prompts), sampling, arrived, stop)), daemon=True
        )
        thread.start()
        try:
            while (found := arrived.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                yield found
        finally:
            stop.set()
            thread.join()

    async def _ask_all(
        self, prompts: Iterator[Prompt], sampling: Sampling, arrived: queue.Queue[Any], stop: threading.Event
    ) -> None:
        """Keep so many requests under way until there are no more prompts."""
        try:
            async with self._openai.AsyncOpenAI(**self._options) as client:
                first = next(prompts, None)
                if first is not None:  # alone, so that a wrong address or key fails once, and not everywhere
                    completion = await self._ask(client, first, sampling)
                    if completion.text is None:
                        raise ConfigError(f"{self.model!r} at {client.base_url}: {completion.error}")
                    arrived.put(completion)
                workers = [
                    self._work(client, prompts, sampling, arrived, stop) for _ in range(self._concurrency)
                ]
                await asyncio.gather(*workers)
            arrived.put(None)
        except BaseException as error:
            arrived.put(error)

    async def _work(
        self,
        client: Any,
        prompts: Iterator[Prompt],
        sampling: Sampling,
        arrived: queue.Queue[Any],
        stop: threading.Event,
    ) -> None:
        for prompt in prompts:
            if stop.is_set():
                return
            arrived.put(await self._ask(client, prompt, sampling))

    async def _ask(self, client: Any, prompt: Prompt, sampling: Sampling) -> Completion:
        """One request, with retries."""
        options: dict[str, Any] = {
            "model": self.model,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": prompt.seed,
        }
        try:
            if prompt.messages is not None:
                reply = await client.chat.completions.create(messages=list(prompt.messages), **options)
                text = reply.choices[0].message.content if reply.choices else None
            else:
                reply = await client.completions.create(
                    prompt=prompt.text, stop=list(prompt.stop[:MOST_STOPS]), **options
                )
                text = cut(reply.choices[0].text, prompt.stop) if reply.choices else None
        except self._openai.APIError as error:
            return Completion(prompt=prompt, text=None, error=f"{type(error).__name__}: {error}")
        if text is None:
            return Completion(prompt=prompt, text=None, error="the reply holds no text")
        return Completion(prompt=prompt, text=text, finish_reason=str(reply.choices[0].finish_reason or ""))

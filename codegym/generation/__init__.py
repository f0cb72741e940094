"""Samples from a model: what it writes for the tasks of a benchmark.

    generator = make_generator("openai", "my-model", base_url="http://localhost:8000/v1")
    tasks = list(load_tasks("humaneval+"))
    generate(tasks, generator, "samples.jsonl", Sampling(samples=10, temperature=0.8))

Samples are written as they come, in the format that `codegym.evaluation` reads; a run that was killed goes on
where it stopped. A generator is whatever turns prompts into texts; plugins register others.
"""

from __future__ import annotations

from codegym.generation.base import Completion, Generator, Prompt, Sampling, cut, make_generator
from codegym.generation.prompts import STYLES, Style, prompt_for
from codegym.generation.run import Generated, generate

__all__ = [
    "STYLES",
    "Completion",
    "Generated",
    "Generator",
    "Prompt",
    "Sampling",
    "Style",
    "cut",
    "generate",
    "make_generator",
    "prompt_for",
]

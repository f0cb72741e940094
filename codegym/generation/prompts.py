"""How a task is put to a model."""

from __future__ import annotations

from typing import Final, Literal

from codegym.core import Task
from codegym.errors import ConfigError
from codegym.generation.base import Prompt, Sampling

__all__ = ["STYLES", "Style", "prompt_for"]

Style = Literal["chat", "completion"]
STYLES: Final[tuple[Style, ...]] = ("chat", "completion")

SCRIPT: Final = (
    "Write a Python program that solves the following problem. It reads from standard input and writes to "
    "standard output. Put the whole program into one Markdown code block.\n\n{problem}"
)
FUNCTION: Final = (
    "Solve the following problem in Python. Put a self-contained solution that defines `{name}` into one "
    "Markdown code block.\n\n{problem}"
)
CODE: Final = (
    "Complete the following Python code. Put the whole of it, self-contained, into one Markdown code "
    "block.\n\n```python\n{problem}\n```"
)
STARTER: Final = "\n\nStart from this code:\n\n```python\n{code}\n```"
STOP: Final = (
    "\nclass ",
    "\ndef ",
    "\n#",
    "\n@",
    "\nif __name__",
    "\nprint(",
    "\nassert ",
    "\n```",
    "<|endoftext|>",
)
"""Where the body of a function that a model continues is over, at the latest."""


def prompt_for(task: Task, index: int, sampling: Sampling, style: Style, system: str | None = None) -> Prompt:
    """Put a task to a model.

    Args:
        task: The task.
        index: Which of its samples is asked for.
        sampling: Has the seed.
        style: ``chat`` (asks, in messages, for a program in a code block) or ``completion`` (shows the
            beginning of the code and lets the model continue, as HumanEval means it for base models).
        system: A system message in front; with ``chat`` only.

    Raises:
        ConfigError: There is nothing to continue, or a system message goes with no messages.
    """
    seed = sampling.seed_of(task.id, index)
    if style == "chat":
        messages = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": _question(task)})
        return Prompt(task_id=task.id, index=index, messages=tuple(messages), seed=seed)
    if system:
        raise ConfigError("a system message needs messages: use the style 'chat'")
    start = task.starter_code or task.prompt
    if not _is_code(start):
        raise ConfigError(f"task {task.id!r} does not begin with code to continue: use the style 'chat'")
    return Prompt(task_id=task.id, index=index, text=start, stop=STOP, seed=seed)


def _question(task: Task) -> str:
    if task.entry_point is None:
        return SCRIPT.format(problem=task.prompt.strip())
    if _is_code(task.prompt):
        return CODE.format(problem=task.prompt.strip())
    text = FUNCTION.format(name=task.entry_point, problem=task.prompt.strip())
    return text + (STARTER.format(code=task.starter_code.rstrip()) if task.starter_code else "")


def _is_code(text: str) -> bool:
    """Whether a prompt is the beginning of a program rather than prose."""
    lines = [line for line in text.splitlines() if line.strip()]
    starts = ("def ", "class ", "import ", "from ", "async def ", "@", "#", '"""')
    return any(line.startswith(("def ", "class ", "async def ")) for line in lines) and lines[0].startswith(
        starts
    )

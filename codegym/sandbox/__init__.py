"""Running what a policy wrote, behind a wall."""

from __future__ import annotations

from typing import Any

from codegym.sandbox.base import (
    Answer,
    AnswerKind,
    CallBatch,
    Check,
    Ending,
    Execution,
    Isolation,
    OnAnswer,
    Request,
    Sandbox,
    Script,
    Session,
)
from codegym.sandbox.pool import SessionEndedError

__all__ = [
    "Answer",
    "AnswerKind",
    "CallBatch",
    "Check",
    "Ending",
    "Execution",
    "Isolation",
    "OnAnswer",
    "Request",
    "Sandbox",
    "Script",
    "Session",
    "SessionEndedError",
    "make_sandbox",
]


def make_sandbox(name: str | Sandbox = "local", workers: int | None = None, **options: Any) -> Sandbox:
    """Make a sandbox, without starting it.

    Args:
        name: A registered name, a ``"module:attr"`` string, or a sandbox, which is returned as it is.
        workers: Requests that run at one time. None: what the sandbox thinks best.
        **options: What the sandbox takes besides.

    Raises:
        NotFoundError: No plugin registered the name.
    """
    if isinstance(name, Sandbox):
        return name
    from codegym.plugins import registry

    sandbox: Sandbox = registry().resolve("sandbox", name)(workers=workers, **options)
    return sandbox

"""A reward for right answers that are short. Copy this folder, and rename it."""

from __future__ import annotations

from codegym import Outcome, hookimpl
from codegym.hookspecs import Register

__all__ = ["brevity"]


@hookimpl
def codegym_register_rewards(register: Register) -> None:
    """Add the reward; nothing is imported before it is used."""
    register("brevity", "codegym_brevity:brevity", weight=0.2, range=(0.0, 1.0))


def brevity(completion: str, outcome: Outcome) -> float:
    """The fraction of tests passed, over the lines that it took."""
    return outcome.fraction_passed / (1 + completion.strip().count("\n"))

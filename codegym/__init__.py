"""codegym: a gym for reinforcement learning on code and on tests.

Importing this package registers the environment ids with Gymnasium and loads nothing heavier: plugins are
discovered when a name is first looked up, and trainers, containers and models only when one is used.
"""

from __future__ import annotations

from codegym.core import (
    REFERENCE,
    Comparison,
    Limits,
    Outcome,
    Program,
    Raises,
    Score,
    Status,
    Task,
    TestCase,
    TestResult,
)
from codegym.envs_registration import register_when_imported
from codegym.errors import CodegymError
from codegym.hookspecs import hookimpl

__all__ = [
    "REFERENCE",
    "CodegymError",
    "Comparison",
    "Limits",
    "Outcome",
    "Program",
    "Raises",
    "Score",
    "Status",
    "Task",
    "TestCase",
    "TestResult",
    "__version__",
    "hookimpl",
]

__version__ = "0.1.0"

register_when_imported()

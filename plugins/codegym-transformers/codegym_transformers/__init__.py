"""The generator ``transformers``: samples from models that transformers loads.

Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from codegym import hookimpl
from codegym.hookspecs import Register

__all__ = ["codegym_register_generators"]


@hookimpl
def codegym_register_generators(register: Register) -> None:
    """Add the generator."""
    register("transformers", "codegym_transformers.generator:TransformersGenerator")

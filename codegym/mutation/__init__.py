"""Mutation testing: what a test suite can tell apart.

    from codegym.mutation import MutationEngine, generate

    with MutationEngine() as engine:
        result = engine.run(source, tests, mutants=generate(source).mutants)

`generate` makes mutants by operators, which are plugins; `MutationEngine` runs a suite on them
in a sandbox, with controls among them that tell whether the suite looks at the code instead of running it.
"""

from __future__ import annotations

from codegym.mutation.engine import MutationEngine, MutationLimits, make_test_sandbox
from codegym.mutation.generate import GROUPS, Generated, generate, must_die, shams
from codegym.mutation.matrix import Flag, MutantResult, MutantStatus, MutationResult
from codegym.mutation.mutant import Mutant
from codegym.mutation.operators import Operator

__all__ = [
    "GROUPS",
    "Flag",
    "Generated",
    "Mutant",
    "MutantResult",
    "MutantStatus",
    "MutationEngine",
    "MutationLimits",
    "MutationResult",
    "Operator",
    "generate",
    "make_test_sandbox",
    "must_die",
    "shams",
]

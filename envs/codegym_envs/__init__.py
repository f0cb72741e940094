"""The environments that come with codegym, registered through the same hook as a stranger's."""

from __future__ import annotations

from codegym.hookspecs import Register, hookimpl

__all__: list[str] = []


@hookimpl
def codegym_register_envs(register: Register) -> None:
    """Add the environments; nothing of them is imported."""
    register(
        "codegym/Solver-v0",
        "codegym_envs.solver.env:SolverEnv",
        vector_entry_point="codegym_envs.solver.env:SolverVectorEnv",
    )
    register(
        "codegym/Verifier-v0",
        "codegym_envs.verifier.env:VerifierEnv",
        vector_entry_point="codegym_envs.verifier.env:VerifierVectorEnv",
    )

"""What comes with codegym, registered through the same hooks as a stranger's plugins."""

from __future__ import annotations

from codegym.hookspecs import Register, hookimpl

__all__: list[str] = []


@hookimpl
def codegym_register_sandboxes(register: Register) -> None:
    """Add the sandboxes that need nothing but this machine."""
    register("local", "codegym.sandbox.local:LocalSandbox")
    register("subprocess", "codegym.sandbox.local:SubprocessSandbox")

"""The promises of a sandbox, by topic; see `codegym.sandbox.base`."""

from __future__ import annotations

from codegym.testing.sandboxes.subject import SandboxSubject

__all__ = ["SandboxSubject"]

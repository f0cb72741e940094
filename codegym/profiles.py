"""Limits by name: what articles and benchmarks allow a program (their own sources are named with each)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from codegym.core import Limits
from codegym.errors import ConfigError

__all__ = ["PROFILES", "limits_of"]

PROFILES: Final[Mapping[str, Limits]] = {
    # the default: 5 s of wall time as most harnesses have it, counted in CPU time here
    "default": Limits(),
    # the Code-A1 article: 5 s and 100 MB for one run
    "code_a1_article": Limits(cpu_s=5.0, wall_s=5.0, memory_mb=100),
    # the code released with Code-A1: 10 s for a script, no limit on memory
    "code_a1": Limits(cpu_s=10.0, wall_s=10.0, memory_mb=4096),
    # TAROT's released reward: 5 s for each test
    "tarot": Limits(cpu_s=5.0, wall_s=5.0),
    # TCS, and LiveCodeBench's own harness: 6 s for each test, 4 GB
    "tcs": Limits(cpu_s=6.0, wall_s=6.0, memory_mb=4096),
    "livecodebench": Limits(cpu_s=6.0, wall_s=6.0, memory_mb=4096),
}
"""By name. Wall deadlines are those of the sources: where a machine is busy, raise these."""


def limits_of(profile: str) -> Limits:
    """The limits of a profile.

    Raises:
        ConfigError: There is none of that name.
    """
    if profile not in PROFILES:
        raise ConfigError(f"no profile of limits is called {profile!r}; known: {', '.join(PROFILES)}")
    return PROFILES[profile]

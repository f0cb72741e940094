"""How good a test suite is, by what it runs."""

from __future__ import annotations

from codegym.testquality.coverage import Coverage, analyse, coverage_of, newly_covered, write_report

__all__ = ["Coverage", "analyse", "coverage_of", "newly_covered", "write_report"]

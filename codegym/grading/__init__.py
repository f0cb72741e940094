"""From programs and tasks to outcomes."""

from __future__ import annotations

from codegym.grading.cache import VerdictCache
from codegym.grading.compare import compare
from codegym.grading.extract import extract_code
from codegym.grading.grader import Grader

__all__ = ["Grader", "VerdictCache", "compare", "extract_code"]

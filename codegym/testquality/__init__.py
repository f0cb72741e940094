"""How good a test suite is: what it runs, what it asserts, and what it tells apart."""

from __future__ import annotations

from codegym.testquality.assertions import AssertionQuality, Finding, assess
from codegym.testquality.coverage import Coverage, analyse, coverage_of, newly_covered, write_report
from codegym.testquality.suites import Fate, JudgedTest, SuiteJudge, SuiteOutcome
from codegym.testquality.written import WrittenSuite, extract_test, read_suite

__all__ = [
    "AssertionQuality",
    "Coverage",
    "Fate",
    "Finding",
    "JudgedTest",
    "SuiteJudge",
    "SuiteOutcome",
    "WrittenSuite",
    "analyse",
    "assess",
    "coverage_of",
    "extract_test",
    "newly_covered",
    "read_suite",
    "write_report",
]

"""Self-play on code and tests: the rewards, memories and schedules of players that make each other better.

Code-A1 (`code_reward`, `test_reward`, `MistakeBook`, alpha schedules), TCS (`stage1_reward`, `stage2_reward`,
`PolicyAlignedBuffer`, `StageController`), CURE, UTRL, and the incremental mutation reward. Nothing here runs
a program or knows a trainer. docs/methods.md is the overview.
"""

from __future__ import annotations

from codegym.selfplay.alpha import AdaptiveAlpha, AlphaSchedule, ConstantAlpha, ScheduledAlpha
from codegym.selfplay.book import MistakeBook
from codegym.selfplay.book_report import BookReport, Cluster
from codegym.selfplay.book_rules import Change, Entry, Update, canonical
from codegym.selfplay.buffer import (
    Attempt,
    PolicyAlignedBuffer,
    SolverPrompt,
    VerifierPrompt,
    admits,
    draw_prompt,
)
from codegym.selfplay.code_a1 import (
    CODE_A1_PAPER,
    CODE_A1_RELEASE,
    CodeA1,
    adversarial_reward,
    code_reward,
    nonprintable_ratio,
    pass_new,
    test_reward,
    validity_reward,
)
from codegym.selfplay.cure import cure_advantages, cure_code_rewards, cure_test_rewards, precision_margin
from codegym.selfplay.suites import (
    caught_fraction,
    incremental_mutation_rewards,
    utrl_format,
    utrl_reward,
)
from codegym.selfplay.tcs import (
    TEST_TYPES,
    StageController,
    extract_test,
    is_copy,
    mixed_reward,
    sample_tests,
    stage1_reward,
    stage2_reward,
)

__all__ = [
    "CODE_A1_PAPER",
    "CODE_A1_RELEASE",
    "TEST_TYPES",
    "AdaptiveAlpha",
    "AlphaSchedule",
    "Attempt",
    "BookReport",
    "Change",
    "Cluster",
    "CodeA1",
    "ConstantAlpha",
    "Entry",
    "MistakeBook",
    "PolicyAlignedBuffer",
    "ScheduledAlpha",
    "SolverPrompt",
    "StageController",
    "Update",
    "VerifierPrompt",
    "admits",
    "adversarial_reward",
    "canonical",
    "caught_fraction",
    "code_reward",
    "cure_advantages",
    "cure_code_rewards",
    "cure_test_rewards",
    "draw_prompt",
    "extract_test",
    "incremental_mutation_rewards",
    "is_copy",
    "mixed_reward",
    "nonprintable_ratio",
    "pass_new",
    "precision_margin",
    "sample_tests",
    "stage1_reward",
    "stage2_reward",
    "test_reward",
    "utrl_format",
    "utrl_reward",
    "validity_reward",
]

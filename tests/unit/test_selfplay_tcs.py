"""TCS: rewards of both stages, the verifier's answers, the buffer, the switch of stages."""

from __future__ import annotations

import itertools
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.core import Status
from codegym.errors import ConfigError
from codegym.selfplay import (
    TEST_TYPES,
    Attempt,
    PolicyAlignedBuffer,
    SolverPrompt,
    StageController,
    VerifierPrompt,
    admits,
    draw_prompt,
    extract_test,
    is_copy,
    mixed_reward,
    sample_tests,
    stage1_reward,
    stage2_reward,
)

PASSED, WRONG, ERROR, TIMEOUT = Status.PASSED, Status.WRONG, Status.ERROR, Status.TIMEOUT


# Rewards


@pytest.mark.parametrize(
    ("sound", "copied", "wrong_fails", "first", "second"),
    [(1, 0, 1, 1, 1), (1, 0, 0, 1, 0), (1, 1, 1, 0, 0), (0, 0, 1, 0, 0)],
)
def test_the_truth_table(sound, copied, wrong_fails, first, second):
    reference, wrong = (PASSED if sound else WRONG), (WRONG if wrong_fails else PASSED)
    assert stage1_reward(reference, copied=bool(copied)) == first
    assert stage2_reward(reference, wrong, copied=bool(copied)) == second


def test_errors_are_unsound_of_the_reference_and_failures_of_the_wrong_program():
    for status in (ERROR, TIMEOUT, Status.MEMORY):
        assert stage1_reward(status, copied=False) == 0.0
        assert stage2_reward(PASSED, status, copied=False) == 1.0


def test_infrastructure_trouble_is_no_reward():
    assert stage1_reward(Status.INFRA, copied=False) is None
    assert stage2_reward(PASSED, Status.INFRA, copied=False) is None
    assert stage2_reward(WRONG, Status.INFRA, copied=False) == 0.0
    assert mixed_reward(None, 1.0, 0.5) is None
    assert mixed_reward(1.0, None, 0.0) == 1.0


def test_the_soft_mix():
    assert mixed_reward(1.0, 0.0, 0.25) == 0.75
    assert mixed_reward(1.0, 0.0, 1.0) == 0.0
    with pytest.raises(ConfigError, match="share must be"):
        mixed_reward(1.0, 1.0, 1.5)


EXAMPLES = [("3\n1 2 3", "6"), ("1\n5\n", "5")]


@pytest.mark.parametrize(
    ("test", "by_input", "by_pair"),
    [
        (("3\n1 2 3", "6"), True, True),
        (("3\n1 2 3\n", "6"), True, False),
        (("3\n1 2 3", "7"), True, False),
        (("2\n1 2", "3"), False, False),
    ],
)
def test_copies(test, by_input, by_pair):
    assert is_copy(*test, EXAMPLES) is by_input
    assert is_copy(*test, EXAMPLES, rule="pair") is by_pair


def test_there_are_two_copy_rules():
    with pytest.raises(ConfigError, match="'input' or 'pair', got 'output'"):
        is_copy("", "", [], rule="output")


@given(st.integers(0, 20), st.integers(0, 99), st.integers(0, 99))
def test_a_solver_is_judged_by_a_few_tests(count, seed, index):
    chosen = sample_tests(count, seed, index)
    assert chosen == sample_tests(count, seed, index)
    assert len(set(chosen)) == min(count, 3)
    assert all(0 <= i < count for i in chosen)


def test_each_test_is_drawn_as_often():
    drawn = Counter(i for index in range(2000) for i in sample_tests(5, 0, index))
    assert all(1100 < drawn[i] < 1300 for i in range(5))
    with pytest.raises(ConfigError, match="count=-1"):
        sample_tests(-1, 0, 0)


# The verifier's answer


def block(value):
    return f"```json\n{value if isinstance(value, str) else json.dumps(value)}\n```"


TEST = {"input": "1 2", "output": "3"}
OTHER = {"input": "0", "output": "0"}


@pytest.mark.parametrize(
    ("completion", "expected"),
    [
        (block(TEST), ("1 2", "3")),
        (block([OTHER, TEST]), ("1 2", "3")),
        (f"<think>{block(OTHER)}</think>\nHere:\n{block(TEST)}", ("1 2", "3")),
        (f"</think>{block(OTHER)}\nor rather\n{block(TEST)}", ("1 2", "3")),
        (f"{block(TEST)}\n{block('not json')}", ("1 2", "3")),
        (block(json.dumps([TEST]) + "\nThat is all."), ("1 2", "3")),
        (block(TEST | {"why": "edge"}), ("1 2", "3")),
        (f"</think>{block(TEST)}</think>{block(OTHER)}", ("0", "0")),
        (f"<think>{block(TEST)}", None),
        (f"{block(TEST)}</think>nothing", None),
        (block({"input": "1 2"}), None),
        (block({"input": 1, "output": "3"}), None),
        (block([]), None),
        (block("3"), None),
        (block(json.dumps(TEST) + " trailing"), None),
        (f"{block(TEST)}\n{block({'output': ''})}", None),
        (json.dumps(TEST), None),
        ("```json\n" + json.dumps(TEST), None),
        (block("[" * 100_000), None),
        ("", None),
    ],
)
def test_extract_test(completion, expected):
    assert extract_test(completion) == expected


# Admission


@pytest.mark.parametrize(
    ("statuses", "first", "second"),
    [
        ([PASSED, PASSED], True, False),
        ([PASSED, WRONG], True, True),
        ([WRONG, WRONG], True, True),
        ([WRONG, ERROR], False, False),
        ([PASSED, TIMEOUT], False, False),
        ([PASSED, Status.MEMORY], False, False),
        ([Status.INVALID], False, False),
        ([WRONG, Status.INFRA], False, False),
        ([ERROR, Status.SKIPPED], False, False),
        ([], False, False),
    ],
)
def test_admission(statuses, first, second):
    for order in itertools.permutations(statuses):
        assert admits(order, 1) is first
        assert admits(order, 2) is second


def test_runtime_errors_are_admitted_on_demand():
    assert admits([PASSED, ERROR], 2, admit_runtime_errors=True)
    assert admits([TIMEOUT, Status.SKIPPED], 1, admit_runtime_errors=True)
    assert not admits([Status.INVALID], 1, admit_runtime_errors=True)


def test_admission_wants_whole_verdicts():
    with pytest.raises(ConfigError, match="grade without stop_early"):
        admits([WRONG, Status.SKIPPED], 2)
    with pytest.raises(ConfigError, match="stage must be 1 or 2, got 3"):
        admits([PASSED], 3)


# The buffer


def filled(steps, **options):
    buffer = PolicyAlignedBuffer(100, **options)
    for step in steps:
        buffer.push(Attempt(f"q{step}", f"code {step}", step))
    return buffer


def steps_of(buffer):
    return [item.step for item in buffer.items]


def test_the_window_of_worked_numbers():
    buffer = filled([1, 2, 3, 4], window_steps=3)
    assert buffer.expire(5) == 1
    assert steps_of(buffer) == [2, 3, 4]
    assert buffer.expire(6) == 1
    assert steps_of(buffer) == [3, 4]


def test_without_a_window_nothing_grows_old():
    buffer = filled([1, 2], window_steps=None)
    assert buffer.expire(10**6) == 0
    assert len(buffer) == 2


def test_defaults():
    buffer = PolicyAlignedBuffer(100)
    for step in range(20):
        buffer.push(Attempt("q", "code", step))
    assert steps_of(buffer) == [*range(4, 20)]
    buffer.expire(20)
    assert steps_of(buffer) == [*range(10, 20)]


def test_capacities():
    buffer = PolicyAlignedBuffer(3, max_per_prompt=2)
    for i, prompt in enumerate("aabac"):
        buffer.push(Attempt(prompt, str(i), i))
    assert [item.code for item in buffer.items] == ["2", "3", "4"]
    assert len(PolicyAlignedBuffer(1, window_steps=0, max_per_prompt=1)) == 0
    buffer = PolicyAlignedBuffer(10, max_per_prompt=2)
    for i, prompt in enumerate("abaa"):
        buffer.push(Attempt(prompt, str(i), i))
    assert [item.code for item in buffer.items] == ["1", "2", "3"]


@given(st.integers(0, 1000), st.lists(st.integers(0, 3), min_size=1, max_size=12).map(sorted))
def test_each_program_is_used_once(seed, steps):
    first, second = filled(steps), filled(steps)
    drawn = [first.draw(seed, i) for i in range(len(steps))]
    assert drawn == [second.draw(seed, i) for i in range(len(steps))]
    assert sorted(item.step for item in drawn) == steps
    assert first.draw(seed, len(steps)) is None


def test_draws_are_uniform():
    drawn = Counter(filled(range(4)).draw(seed, 0).step for seed in range(2000))
    assert all(400 < drawn[step] < 600 for step in range(4))


def test_the_buffer_goes_on_from_its_state():
    buffer = filled([1, 2, 2, 5])
    buffer.draw(0, 0)
    other = PolicyAlignedBuffer(100)
    other.load_state_dict(json.loads(json.dumps(buffer.state_dict())))
    assert other.items == buffer.items
    assert other.draw(3, 1) == buffer.draw(3, 1)
    buffer.clear()
    assert len(buffer) == 0
    with pytest.raises(ConfigError, match="not the state of a buffer"):
        buffer.load_state_dict({"items": [{"code": ""}]})


@pytest.mark.parametrize(
    "make",
    [
        lambda: PolicyAlignedBuffer(0),
        lambda: PolicyAlignedBuffer(1, window_steps=-1),
        lambda: PolicyAlignedBuffer(1, max_per_prompt=0),
        lambda: filled([2, 1]),
    ],
)
def test_buffers_that_make_no_sense(make):
    with pytest.raises(ConfigError, match="got"):
        make()


# Prompts


def test_half_of_the_prompts_ask_for_a_test():
    buffer = PolicyAlignedBuffer(10**4, max_per_prompt=None)
    for step in range(4000):
        buffer.push(Attempt("q", str(step), step))
    prompts = [draw_prompt(7, index, 5, buffer) for index in range(4000)]
    tests = [prompt for prompt in prompts if isinstance(prompt, VerifierPrompt)]
    questions = Counter(prompt.question for prompt in prompts if isinstance(prompt, SolverPrompt))
    assert 1850 < len(tests) < 2150
    assert len(buffer) == 4000 - len(tests)
    assert len({test.attempt.code for test in tests}) == len(tests)
    kinds = Counter(test.test_type for test in tests)
    assert set(kinds) == set(TEST_TYPES)
    assert min(kinds.values()) > 400
    assert set(questions) == set(range(5))
    assert min(questions.values()) > 300


def test_prompts_depend_on_seed_and_index_only():
    assert [draw_prompt(1, i, 9, filled(range(5))) for i in range(20)] == [
        draw_prompt(1, i, 9, filled(range(5))) for i in range(20)
    ]
    assert draw_prompt(1, 0, 10**9, filled([])) != draw_prompt(2, 0, 10**9, filled([]))


def test_with_an_empty_buffer_only_programs_are_asked_for():
    prompts = [draw_prompt(0, i, 3, PolicyAlignedBuffer(1), verifier_share=1.0) for i in range(20)]
    assert all(isinstance(prompt, SolverPrompt) for prompt in prompts)
    with pytest.raises(ConfigError, match="there must be questions"):
        draw_prompt(0, 0, 0, PolicyAlignedBuffer(1))


# Stages


def run(controller, accuracies):
    """The stage that each step was in, and the steps after which the controller said to switch."""
    stages, switches = [], []
    for i, accuracy in enumerate(accuracies):
        stages.append(controller.stage)
        if controller.record(accuracy):
            switches.append(i)
    return stages, switches


def test_the_switch_of_worked_numbers():
    assert run(StageController(), [0.60, 0.74, 0.76, 0.70]) == ([1, 1, 1, 2], [2])


def test_the_switch_is_one_way():
    assert run(StageController(), [0.75, 0.0, 0.0, 1.0]) == ([1, 2, 2, 2], [0])


def test_the_window_waits_until_it_is_full():
    assert run(StageController(window=3), [1.0, 0.75, 0.6, 0.9, 0.5]) == ([1, 1, 1, 2, 2], [2])
    assert run(StageController(window=2), [0.7, 0.7, 0.7, 0.8, 0.0]) == ([1, 1, 1, 1, 2], [3])


def test_patience_wants_steps_in_a_row():
    accuracies = [0.8, 0.8, 0.7, 0.8, 0.8, 0.8, 0.8]
    assert run(StageController(patience=3), accuracies) == ([1] * 6 + [2], [5])


def test_a_fixed_step():
    stages, switches = run(StageController(fixed_step=200), [1.0] * 300)
    assert stages == [1] * 200 + [2] * 100
    assert switches == [199]
    assert StageController(fixed_step=0).stage == 2
    assert run(StageController(fixed_step=1), [0.0, 0.0]) == ([1, 2], [0])


def test_steps_without_verifier_prompts_count_as_steps_only():
    assert run(StageController(patience=2), [0.8, None, 0.8, 0.1]) == ([1, 1, 1, 2], [2])
    assert run(StageController(fixed_step=2), [None, None, None]) == ([1, 1, 2], [1])


def test_a_ramp_mixes_the_stages():
    controller, shares = StageController(ramp_steps=4), []
    for _ in range(7):
        shares.append(controller.share)
        controller.record(0.9)
    assert shares == [0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    hard = StageController()
    hard.record(0.9)
    assert hard.share == 1.0


def test_a_controller_goes_on_from_its_state():
    controller = StageController(window=2, patience=2)
    for accuracy in (0.7, 0.9, 0.8):
        controller.record(accuracy)
    other = StageController(window=2, patience=2)
    other.load_state_dict(json.loads(json.dumps(controller.state_dict())))
    assert run(other, [0.9, 0.1, 0.9]) == run(controller, [0.9, 0.1, 0.9])
    with pytest.raises(ConfigError, match="expected the fields"):
        other.load_state_dict({"step": 1})


@pytest.mark.parametrize("options", [{"window": 0}, {"patience": 0}, {"ramp_steps": -1}, {"threshold": 75.0}])
def test_controllers_that_make_no_sense(options):
    with pytest.raises(ConfigError, match="must be positive"):
        StageController(**options)


def test_accuracy_is_a_share():
    with pytest.raises(ConfigError, match="accuracy must be"):
        StageController().record(75.0)

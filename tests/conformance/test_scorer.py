"""The scorer in a real sandbox, as trainers use it: in event loops, in threads, in other processes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import pickle
from collections.abc import Iterator

import pytest

from codegym.core import Comparison, Limits, Status, Task, TestCase
from codegym.errors import SandboxUnavailableError
from codegym.rewards import Scorer
from codegym.sandbox import make_sandbox

REWARDS = {
    "codegym.rewards:all_passed": 1.0,
    "codegym.rewards:fraction_passed": 0.5,
    "codegym.rewards:parses": 0.25,
}
CALLS = Task(
    id="calls",
    prompt="Write half(x).",
    entry_point="half",
    public_tests=(TestCase.call(2, expected=1),),
    hidden_tests=(TestCase.call(3, expected=1.5), TestCase.call(0.2, expected=0.1 + 1e-9)),
    compare=Comparison(rule="float", atol=1e-6),
    limits=Limits(cpu_s=2.0),
)
SCRIPT = Task(
    id="script",
    prompt="Double each number.",
    hidden_tests=(TestCase.stdio("1 2\n", "2 4\n"), TestCase.stdio("", "")),
    limits=Limits(cpu_s=2.0),
)
BATCH = [
    ("```python\ndef half(x):\n    return x / 2\n```", CALLS, 1.75),
    ("```python\ndef half(x):\n    return x // 2\n```", CALLS, 0.25 + 0.5 / 3),
    ("```python\ndef half(x)\n    return x / 2\n```", CALLS, 0.0),
    ("I can't.", CALLS, 0.0),
    ("<think>\nEasy.\n</think>\n```py\nprint(*(2 * int(n) for n in input().split()))\n```", SCRIPT, 0.5),
    ("```py\nimport sys\nprint(*(2 * int(n) for n in sys.stdin.read().split()))\n```", SCRIPT, 1.75),
]
COMPLETIONS, TASKS, VALUES = (list(column) for column in zip(*BATCH, strict=True))


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    try:
        make_sandbox("local", workers=1).start().close()
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    with Scorer(REWARDS, "local", workers=2) as scorer:
        yield scorer


def values(scorer: Scorer) -> list[float | None]:
    return [score.value for score in scorer.score(COMPLETIONS, TASKS)]


def test_score(scorer: Scorer) -> None:
    assert values(scorer) == pytest.approx(VALUES)
    invalid = scorer.score(COMPLETIONS, TASKS)[2]
    assert invalid.outcome is not None
    assert invalid.outcome.status == Status.INVALID


def test_ascore(scorer: Scorer) -> None:
    scores = asyncio.run(scorer.ascore(COMPLETIONS, TASKS))
    assert [score.value for score in scores] == pytest.approx(VALUES)


def test_many_threads(scorer: Scorer) -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for found in threads.map(values, [scorer] * 16):
            assert found == pytest.approx(VALUES)


def test_pickled_copy(scorer: Scorer) -> None:
    with pickle.loads(pickle.dumps(scorer)) as copy:
        assert values(copy) == pytest.approx(VALUES)


def in_another_process(scorer: Scorer) -> list[float | None]:
    with scorer:
        return values(scorer)


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_in_a_forked_process(scorer: Scorer) -> None:
    """As data loaders and some trainers have it: the child was forked while the parent's sandbox ran."""
    values(scorer)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(
        target=lambda: sender.send(in_another_process(scorer))
    )
    child.start()
    sender.close()
    assert receiver.poll(60)
    assert receiver.recv() == pytest.approx(VALUES)
    child.join()
    assert child.exitcode == 0
    assert values(scorer) == pytest.approx(VALUES)

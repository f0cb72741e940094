"""The solver environment in a real sandbox: its golden episode, its README, and what it never tells."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from codegym.core import Limits, Task, TestCase
from codegym.envs_registration import register_environments
from codegym.errors import SandboxUnavailableError
from codegym.rewards import Scorer, all_passed, fraction_passed
from codegym.sandbox import make_sandbox
from codegym_envs.solver.env import SolverEnv, SolverVectorEnv
from codegym_envs.text import Step

register_environments()

FOLDER = Path(str(resources.files("codegym_envs.solver")))
GOLDEN = FOLDER / "golden_episode.txt"
TASK = Task(
    id="example/clamp",
    prompt="Write a function `clamp(x, low, high)` that returns `x`, limited to `low` and `high`.\n",
    entry_point="clamp",
    starter_code="def clamp(x: float, low: float, high: float) -> float:\n",
    public_tests=(TestCase.call(5, 0, 3, expected=3), TestCase.call(-1, 0, 3, expected=0)),
    hidden_tests=(TestCase.call(2, 0, 3, expected=2), TestCase.call(7.5, -1.0, 7.25, expected=7.25)),
    limits=Limits(cpu_s=2.0),
)
COMPLETIONS = (
    "I have to think about this first.",
    "```python\ndef clamp(x, low, high):\n    return min(x, high)\n```",
    "No lower bound!\n\n```python\ndef clamp(x, low, high):\n    return high if x > low else low\n```",
    "```python\ndef clamp(x, low, high):\n    return max(low, min(x, high))\n```\n\nNow both bounds hold.",
)


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    sandbox = make_sandbox("local", workers=2)
    try:
        sandbox.start()
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    with sandbox, Scorer([all_passed, fraction_passed], sandbox) as scorer:
        yield scorer


def block(name: str, text: str) -> str:
    return f"{name}:\n" + "".join(f"    {line}".rstrip() + "\n" for line in text.rstrip().split("\n"))


def told(step: Step) -> str:
    observation, reward, terminated, truncated, info = step
    components = ", ".join(f"{name} {value:g}" for name, value in info["components"].items())
    verdicts = " ".join(test.status for test in info["outcome"].tests)
    return (
        block("observation", observation)
        + f"reward: {reward:g}\nterminated: {terminated}\ntruncated: {truncated}\n"
        + f"components: {components}\noutcome: {info['outcome'].status} ({verdicts})\n"
    )


def play(scorer: Scorer) -> str:
    """A whole episode, as a person would want to read it."""
    env = SolverEnv([TASK], scorer=scorer, max_turns=5)
    prompt, info = env.reset(seed=0)
    parts = [
        f"# One episode of codegym/Solver-v0, task {info['task_id']}\n",
        "## Reset\n\n" + block("observation", prompt),
    ]
    for turn, completion in enumerate(COMPLETIONS, 1):
        step = env.step(completion)
        parts.append(f"## Turn {turn}\n\n" + block("action", completion) + told(step))
    return "\n".join(parts)


def test_golden_episode(scorer: Scorer) -> None:
    """To write the file anew, run this with CODEGYM_UPDATE_GOLDEN=1, and read what has changed."""
    played = play(scorer)
    if os.environ.get("CODEGYM_UPDATE_GOLDEN"):
        GOLDEN.write_text(played, encoding="utf-8")
    assert played == GOLDEN.read_text(encoding="utf-8")


def test_readme(capsys: pytest.CaptureFixture[str]) -> None:
    """Its Python blocks run, and print what stands behind the print."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    assert blocks
    names: dict[str, Any] = {"__name__": "readme"}
    for code in blocks:
        exec(compile(code, "README.md", "exec"), names)
    promised = re.findall(r"print\(.*\)  # (.*)", readme)
    assert capsys.readouterr().out.splitlines() == promised


def test_check_env() -> None:
    check_env(gymnasium.make("codegym/Solver-v0", tasks=[TASK], rewards=all_passed).unwrapped)


SECRET = 918273645
HIDDEN = Task(
    id="hidden",
    prompt="Write f.",
    entry_point="f",
    public_tests=(TestCase.call(1, expected=2),),
    hidden_tests=(TestCase.call(SECRET, expected=SECRET + 1),),
)


@pytest.mark.parametrize(
    "body",
    [
        "return 2",
        "if x > 9: raise ValueError(f'asked {x}')\n    return 2",
        "print('asked', x)\n    return 2",
        "if x > 9: import os; os.write(2, str(x).encode()); os._exit(3)\n    return 2",
        "global last; last = x; return x + 1 if x < 9 else [x] * 9",
    ],
)
def test_hidden_inputs_never_reach_the_policy(scorer: Scorer, body: str) -> None:
    env = SolverEnv([HIDDEN], scorer=scorer, max_turns=3)
    env.reset(seed=0)
    observation, _, terminated, _, _ = env.step(f"```python\ndef f(x):\n    {body}\n```")
    assert not terminated
    assert str(SECRET)[:6] not in observation


def test_a_batch(scorer: Scorer) -> None:
    envs = SolverVectorEnv([TASK], scorer=scorer, num_envs=4)
    envs.reset(seed=0)
    _, rewards, terminated, truncated, infos = envs.step(COMPLETIONS)
    assert rewards.tolist() == [0.0, 0.75, 0.75, 2.0]
    assert terminated.all()
    assert not truncated.any()
    assert [outcome.passed for outcome in infos["outcome"]] == [False, False, False, True]
    assert not any(math.isnan(reward) for reward in rewards)

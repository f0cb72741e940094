"""The verifier environment in a real sandbox: its golden episode, its README, what it tells and what not."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from codegym.core import Program, Status, Task, TestCase
from codegym.envs_registration import register_environments
from codegym.errors import ConfigError, InfraError, SandboxUnavailableError
from codegym.hookspecs import hookimpl
from codegym.mutation import make_test_sandbox
from codegym.plugins import PluginRegistry
from codegym.rewards import SuiteScorer
from codegym.sandbox import Sandbox
from codegym_envs.text import Step
from codegym_envs.verifier.env import TEST_KINDS, VerifierEnv, VerifierVectorEnv

register_environments()

FOLDER = Path(str(resources.files("codegym_envs.verifier")))
GOLDEN = FOLDER / "golden_episode.txt"
REFERENCE = """def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x
"""
NO_LOW = "def clamp(x, low, high):\n    return min(x, high)\n"
NO_HIGH = "def clamp(x, low, high):\n    return max(x, low)\n"
TASK = Task(
    id="example/clamp",
    prompt="Write a function `clamp(x, low, high)` that returns `x`, limited to `low` and `high`.\n",
    entry_point="clamp",
    public_tests=(TestCase.call(5, 0, 3, expected=3),),
    hidden_tests=tuple(TestCase.call(x, 0, 3, expected=min(max(x, 0), 3)) for x in (-1, 0, 2, 3)),
    reference_solutions=(REFERENCE,),
    wrong_solutions=(NO_LOW, NO_HIGH),
)
PROGRAM = Task(
    id="example/double",
    prompt="Read a number, print its double.",
    public_tests=(TestCase.stdio("2\n", "4\n"),),
    reference_solutions=("print(2 * int(input()))",),
    wrong_solutions=("print(2 + int(input()))",),
)
ALL = "\n".join(f"assert clamp({x}, 0, 3) == {min(max(x, 0), 3)}" for x in (-1, 0, 1, 3, 9))
COMPLETIONS = (
    "I have to think about this first.",
    "```python\nassert clamp(-4, 0, 3) == -4\nassert clamp(1, 0) == 1\nassert clamp(2, 0, 3) == 2\n```",
    "```python\nassert clamp(9, 0, 3) == 3\n```",
    "```python\nassert clamp(-4, 0, 3) == 0\n```",
    f"```python\n{ALL}\n```",
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with make_test_sandbox(2) as sandbox:
        try:
            sandbox.start()
        except SandboxUnavailableError as error:
            pytest.skip(str(error))
        yield sandbox


@pytest.fixture
def make(sandbox: Sandbox) -> Any:
    return lambda task=TASK, **options: VerifierEnv([task], **{"sandbox": sandbox, **options})


def block(name: str, text: str) -> str:
    return f"{name}:\n" + "".join(f"    {line}".rstrip() + "\n" for line in text.rstrip().split("\n"))


def told(step: Step) -> str:
    observation, reward, terminated, truncated, info = step
    components = ", ".join(f"{name} {value:.3g}" for name, value in info["components"].items())
    fates = " ".join(one.fate for one in info["suite"].tests)
    return (
        block("observation", observation)
        + f"reward: {reward:.3g}\nterminated: {terminated}\ntruncated: {truncated}\n"
        + f"components: {components}\ntests: {fates or 'none'}\n"
    )


def play(env: VerifierEnv) -> str:
    """A whole episode, as a person would want to read it."""
    prompt, info = env.reset(options={"candidate": NO_LOW})
    parts = [
        f"# One episode of codegym/Verifier-v0, task {info['task_id']}\n",
        "## Reset\n\n" + block("observation", prompt),
    ]
    for turn, completion in enumerate(COMPLETIONS, 1):
        parts.append(f"## Turn {turn}\n\n" + block("action", completion) + told(env.step(completion)))
    return "\n".join(parts)


def test_golden_episode(make: Any) -> None:
    """To write the file anew, run this with CODEGYM_UPDATE_GOLDEN=1, and read what has changed."""
    rewards = ["validity", "counterexample", "mutation_score"]
    env = make(rewards=rewards, k=5, max_turns=6, show=("public_tests", "candidate", "reference"))
    played = play(env)
    if os.environ.get("CODEGYM_UPDATE_GOLDEN"):
        GOLDEN.write_text(played, encoding="utf-8")
    assert played == GOLDEN.read_text(encoding="utf-8")


def test_readme(capsys: pytest.CaptureFixture[str], sandbox: Sandbox) -> None:
    """Its Python blocks run, and print what stands behind the print."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", readme)


@pytest.mark.parametrize("form", ["json", "asserts", "module"])
def test_check_env(sandbox: Sandbox, form: str) -> None:
    check_env(gymnasium.make("codegym/Verifier-v0", tasks=[TASK], workers=1, form=form).unwrapped)


# What is asked for


@pytest.mark.parametrize(
    ("options", "shown", "hidden"),
    [
        ({}, ["clamp(5, 0, 3) == 3", "lines of the form `assert clamp(...) == ...`"], ["min(x", "x < low"]),
        ({"show": ()}, ["Write tests for"], ["clamp(5, 0, 3) == 3"]),
        ({"show": ["candidate"]}, [NO_LOW.strip()], ["x < low"]),
        ({"show": ["reference"]}, [REFERENCE.strip()], [NO_LOW.strip()]),
        ({"k": 5}, ["Write 5 tests", "Only the first 5 count"], []),
        ({"k": 1}, ["Write 1 test for"], []),
        ({"form": "json"}, ["one test", "fenced JSON block", "list of the function's arguments"], []),
        ({"form": "module"}, ["module `solution`"], []),
        ({"kinds": ["edge case"]}, ["Write edge case tests"], []),
    ],
)
def test_prompts(make: Any, options: dict[str, Any], shown: list[str], hidden: list[str]) -> None:
    prompt, _ = make(**options).reset(options={"candidate": Program(NO_LOW)})
    assert all(text in prompt for text in ("limited to `low`", *shown)), prompt
    assert not any(text in prompt for text in hidden), prompt


def test_the_prompt_of_a_program(make: Any) -> None:
    prompt, _ = make(PROGRAM, form="json").reset(seed=0)
    assert "on the input '2\\n' it prints '4\\n'" in prompt
    assert "what the program reads" in prompt


def test_what_is_drawn_is_a_function_of_seed_and_episode(make: Any) -> None:
    def drawn(seed: int) -> list[str]:
        env = make(show=("candidate",), kinds=TEST_KINDS)
        return [env.reset(seed=seed if i == 0 else None)[0] for i in range(12)]

    assert drawn(3) == drawn(3) != drawn(4)
    assert len(set(drawn(3))) > 4


def test_candidates_from_a_function(make: Any) -> None:
    def own(task: Task, rng: np.random.Generator) -> Program:
        return Program(task.reference_solutions[0])

    env = make(candidates=own, rewards="counterexample")
    env.reset(seed=0)
    assert env.episode.candidate.code == REFERENCE
    assert env.step(ALL)[1] == 0.0
    env = make(candidates="none", rewards="counterexample")
    env.reset(seed=0)
    _, reward, _, _, info = env.step(ALL)
    assert math.isnan(reward)
    assert info["reward_missing"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "yaml"}, "form must be one of json, asserts, module, got 'yaml'"),
        ({"show": ["answers"]}, "show may name public_tests, candidate, reference, got 'answers'"),
        ({"candidates": "some"}, "'wrong', 'none' or a function, got 'some'"),
        ({"task": Task(id="x", prompt="", entry_point="f")}, "'x' has no reference solution"),
        ({"task": PROGRAM}, "'example/double' is a program; its tests are written in the form 'json'"),
        ({"measures": ["luck"]}, "got 'luck'"),
        ({"max_turns": 0}, "max_turns must be at least 1"),
    ],
)
def test_arguments_are_checked(make: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make(**options)


def test_options_are_checked(make: Any) -> None:
    with pytest.raises(ConfigError, match="candidate must be a Program or its code, got 3"):
        make().reset(options={"candidate": 3})
    with pytest.raises(ConfigError, match="task_id or index or candidate, got"):
        make().reset(options={"program": NO_LOW})


# What is told


def test_feedback_tells_no_answer(make: Any) -> None:
    task = Task(
        id="secret", prompt="", entry_point="f", reference_solutions=("def f(x):\n    return x + 918273645\n",),
        hidden_tests=(TestCase.call(1, expected=918273646),),
    )  # fmt: skip
    env = make(task, max_turns=9)
    env.reset(seed=0)
    for completion in ("assert f(0) == 1", "assert f('a') == 1", "nothing", "assert f(0) == f(0)"):
        assert "91827" not in env.step(completion)[0]


def test_mutants_are_shown_to_those_who_see_the_reference(make: Any) -> None:
    tests = "assert clamp(-4, 0, 3) == 0\nassert clamp(9, 0, 3) == 3"
    blind, seeing = make(max_turns=2), make(max_turns=2, show=("reference",))
    blind.reset(options={"candidate": NO_LOW})
    seeing.reset(options={"candidate": NO_LOW})
    text, shown = blind.step(tests)[0], seeing.step(tests)[0]
    assert re.fullmatch(r"Your tests are right, but miss \d+ of \d+ wrong programs\.", text)
    assert "```diff" in shown


def test_an_episode_ends_when_nothing_is_left_to_do(make: Any) -> None:
    env = make(max_turns=5)
    env.reset(options={"candidate": NO_LOW})
    text, reward, terminated, truncated, info = env.step(ALL)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert text == "Your tests are right, and miss nothing that is known."
    assert info["outcome"].passed


def test_programs(make: Any) -> None:
    env = make(PROGRAM, form="json", rewards="counterexample", max_turns=3)
    env.reset(seed=0)
    for given, expected, reward in (("2\n", "4\n", 0.0), ("3", "7", 0.0), ("3", "6", 1.0)):
        step = env.step(f"```json\n{json.dumps({'input': given, 'output': expected})}\n```")
        assert step[1] == reward
    assert step[2]


def test_infrastructure_trouble_is_a_truncation_without_reward(
    make: Any, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(request: Any) -> Any:
        raise InfraError("the disk is full")

    env = make(max_turns=3)
    env.reset(seed=0)
    monkeypatch.setattr(sandbox, "execute", fail)
    text, reward, terminated, truncated, info = env.step(ALL)
    assert math.isnan(reward)
    assert (terminated, truncated, info["reward_missing"]) == (False, True, True)
    assert info["outcome"].status == Status.INFRA
    assert "disk" not in text


# Together with others


def test_a_batch(sandbox: Sandbox) -> None:
    with SuiteScorer(["validity"], sandbox, form="asserts", k=5) as scorer:
        envs = VerifierVectorEnv([TASK], scorer=scorer, num_envs=len(COMPLETIONS))
        envs.reset(seed=0)
        _, rewards, terminated, truncated, infos = envs.step(COMPLETIONS)
    assert rewards.tolist() == pytest.approx([0.0, 0.4, 0.2, 0.2, 1.0])
    assert terminated.all()
    assert not truncated.any()
    assert [len(suite.tests) for suite in infos["suite"]] == [0, 3, 1, 1, 5]


def test_plugins_take_part(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Watcher:
        seen: ClassVar[list[Any]] = []

        @hookimpl
        def codegym_episode_finished(self, task: Task, outcome: Any, reward: float | None) -> None:
            self.seen.append((task.id, outcome.status, reward))

    env = make()
    known = PluginRegistry()
    known._discovered = True
    known.add(Watcher(), "watcher")
    monkeypatch.setattr("codegym.plugins.registry", lambda: known)
    env = make(scorer=env.scorer, plugins=("watcher",))
    env.reset(seed=0)
    env.step("assert clamp(1, 0, 3) == 2")
    assert Watcher.seen == [("example/clamp", Status.WRONG, 0.0)]

"""The kit for environments: for each check there is one that breaks a promise, and fails exactly that check."""

import functools
import itertools
import math

import pytest

from codegym.core import Task, TestCase
from codegym.testing import ConformanceError, check_env, checks_of
from codegym.testing.faults import FailingSandbox
from codegym_envs.solver.env import SolverEnv, SolverVectorEnv

TASKS = tuple(
    Task(id=f"K/{n}", prompt=f"Add {n}.", entry_point="solve", hidden_tests=(TestCase.call(1, expected=9),))
    for n in range(8)
)


class Good(SolverEnv):
    """A subclass spoils one thing."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}


class HasWhatIsDeprecated(Good):
    def seed(self, seed):
        """What gymnasium had once, and warns of."""


class LastWordsInBytes(Good):
    def step(self, action):
        observation, reward, terminated, *rest = super().step(action)
        last = terminated and self.episode.turns == self.max_turns
        return observation.encode() if last else observation, reward, terminated, *rest


class ShortActions(Good):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.action_space = type(self.action_space)(max_length=1000)


class EachIsAnother(Good):
    """Which task comes first depends on how many environments were made before."""

    made = itertools.count()

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.number = next(self.made)

    def _scheduled(self, episode):
        return (super()._scheduled(episode) + self.number) % len(self.tasks)


class ForgetsOptions(Good):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)


class NeverEnds(Good):
    def settle(self, attempt):
        observation, reward, terminated, truncated, info = super().settle(attempt)
        self.episode.over = truncated
        return observation, 0.0 if terminated else reward, False, truncated, info


class EndsBothWays(Good):
    def settle(self, attempt):
        observation, reward, terminated, truncated, info = super().settle(attempt)
        return observation, reward, terminated, terminated or truncated, info


class GoesOn(Good):
    def step(self, action):
        if self.episode is not None and self.episode.over:
            return "", 0.0, True, False, {}
        return super().step(action)


class PaysInWholeNumbers(Good):
    def settle(self, attempt):
        observation, reward, *rest = super().settle(attempt)
        return observation, reward if math.isnan(reward) else int(reward), *rest


class PaysForTrouble(Good):
    def settle(self, attempt):
        observation, reward, terminated, truncated, info = super().settle(attempt)
        if truncated:
            return observation, 0.0, terminated, truncated, {**info, "reward_missing": False}
        return observation, reward, terminated, truncated, info


class CallsTroubleAnEnd(Good):
    def settle(self, attempt):
        observation, reward, terminated, truncated, info = super().settle(attempt)
        return observation, reward, terminated or truncated, False, info


class ClosesOnce(Good):
    closed = False

    def close(self):
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True
        super().close()


class SameSeedForAll(SolverVectorEnv):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=[seed] * self.num_envs, options=options)


SPOILT = [
    ("check_gymnasium_is_content", HasWhatIsDeprecated),
    ("check_observations_are_texts", LastWordsInBytes),
    ("check_any_text_is_an_action", ShortActions),
    ("check_a_seed_decides_the_episodes", EachIsAnother),
    ("check_options_choose_the_task", ForgetsOptions),
    ("check_an_episode_ends_one_way", NeverEnds),
    ("check_an_episode_ends_one_way", EndsBothWays),
    ("check_a_step_needs_an_episode", GoesOn),
    ("check_rewards_are_numbers", PaysInWholeNumbers),
    ("check_trouble_is_no_reward", PaysForTrouble),
    ("check_trouble_is_no_reward", CallsTroubleAnEnd),
    ("check_close_is_idempotent", ClosesOnce),
]


def check(kind, sandbox, vector=None):
    make = functools.partial(kind, TASKS, max_turns=5)
    vectors = vector and (lambda count: vector(TASKS, sandbox=sandbox, max_turns=5, num_envs=count))
    check_env(
        lambda: make(sandbox=sandbox),
        make_failing=lambda: make(sandbox=FailingSandbox()),
        make_vector=vectors,
    )


@pytest.mark.parametrize(("name", "kind"), SPOILT)
def test_a_spoilt_environment_fails_exactly_one_check(local, name, kind):
    with pytest.raises(ConformanceError) as caught:
        check(kind, local)
    assert set(caught.value.failures) == {name}, caught.value


def test_many_that_differ_from_one_fail_exactly_one_check(local):
    with pytest.raises(ConformanceError) as caught:
        check(Good, local, SameSeedForAll)
    assert set(caught.value.failures) == {"check_many_agree_with_one"}, caught.value


def test_every_check_has_something_that_fails_it():
    failed = {name for name, _ in SPOILT} | {"check_many_agree_with_one"}
    assert failed == {each.name for each in checks_of("environment")}


def test_good_environments(local):
    check(Good, local, SolverVectorEnv)
    check_env("codegym/Solver-v0", tasks=TASKS, sandbox=local, max_turns=2)


def test_what_nobody_told_how_to_make_is_not_asked_for(local):
    check_env(lambda: PaysForTrouble(TASKS, sandbox=local))


def test_an_id_that_does_not_exist():
    with pytest.raises(ConformanceError) as caught:
        check_env("codegym/None-v0")
    assert "NameNotFound" in str(caught.value) or "None" in str(caught.value)
    assert set(caught.value.failures) == {each.name for each in checks_of("environment")}

"""From completions to scores: the front door for trainers."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from codegym.core import Outcome, Program, Score, Status, Task
from codegym.errors import ConfigError
from codegym.grading import Grader, VerdictCache, extract_code
from codegym.grading.extract import Policy
from codegym.rewards.composition import Reward, RewardsLike, combined, resolve_rewards
from codegym.sandbox import Sandbox, make_sandbox

__all__ = ["Scorer"]


@dataclass(frozen=True, slots=True)
class _Pending:
    """A completion whose program is being graded."""

    completion: str
    task: Task
    program: Program | None
    outcome: Future[Outcome] | None
    """None: no reward wants it."""


class Scorer:
    """Scores completions: finds the program in each, runs it on the task's tests, and adds up the rewards.

    A scorer may be pickled: the copy starts a sandbox of its own when it is first used, and so does a
    forked process. It may be used from several threads. Use it in a ``with`` block, or close it.

    Attributes:
        rewards: The rewards, as they were resolved.
    """

    _lock: threading.Lock
    _grader: Grader | None
    _pid: int

    def __init__(
        self,
        rewards: RewardsLike = "all_passed",
        sandbox: str | Sandbox = "local",
        workers: int | None = None,
        *,
        stop_early: bool = False,
        policy: Policy = "last",
        cache: bool | str | Path = False,
        **sandbox_options: Any,
    ) -> None:
        """Prepare to score; nothing is started yet.

        Args:
            rewards: A registered name, a ``"module:attr"`` string, a function, a sequence of these, or a
                mapping from these to weights.
            sandbox: Where programs run: a registered name, or a sandbox, which stays the caller's to close.
            workers: Programs that run at one time. None: what the sandbox thinks best.
            stop_early: Stop grading a program at its first failure. Right where all rewards only ask
                whether all tests passed.
            policy: Which of several programs in a completion counts; see `codegym.grading.extract_code`.
            cache: Whether verdicts are remembered on disk, or in which folder; see
                `codegym.grading.VerdictCache`.
            **sandbox_options: What the sandbox takes besides.

        Raises:
            NotFoundError: No plugin registered a name.
            ConfigError: A reward wants an unknown argument, or the like.
        """
        self.rewards: tuple[Reward, ...] = resolve_rewards(rewards)
        self._sandbox_spec = sandbox
        self._sandbox_options = {"workers": workers, **sandbox_options}
        self._stop_early = stop_early
        self._policy: Policy = policy
        self._cache_folder = cache
        self._forget_process()

    # Scoring

    def score(self, completions: Sequence[str], tasks: Sequence[Task]) -> list[Score]:
        """Score a batch, in parallel.

        Args:
            completions: What the policy wrote.
            tasks: The task of each.

        Returns:
            A score for each completion. One whose `value` is None is no reward: leave that sample out.

        Raises:
            ConfigError: There are not as many tasks as completions.
            RewardError: A reward raised, or returned something else than a number in its range or None.
            SandboxError: The sandbox cannot start.
            DataError: A task's reference solution fails.
        """
        return [self._finish(pending) for pending in self._begin(completions, tasks)]

    async def ascore(self, completions: Sequence[str], tasks: Sequence[Task]) -> list[Score]:
        """Like `score`, without blocking the event loop."""
        batch = await asyncio.to_thread(self._begin, completions, tasks)
        futures = [asyncio.wrap_future(each.outcome) for each in batch if each.outcome is not None]
        await asyncio.gather(*futures)
        return await asyncio.to_thread(lambda: [self._finish(pending) for pending in batch])

    def judge(self, completion: str, task: Task, program: Program | None, outcome: Outcome | None) -> Score:
        """Call the rewards for a completion that has been graded.

        Args:
            completion: What the policy wrote.
            task: The problem.
            program: What was found in it.
            outcome: The verdict. None: it was not graded, since no reward asks for it.

        Returns:
            The score. Its value is None after infrastructure trouble, and where no reward applied.

        Raises:
            RewardError: A reward raised, or returned something else than a number in its range or None.
        """
        evidence = {
            "completion": completion,
            "task": task,
            "program": program,
            "outcome": outcome,
            "suite": None,
        }
        infra = outcome is not None and outcome.status == Status.INFRA
        value, components = combined(self.rewards, evidence, "outcome" if infra else None)
        return Score(value=value, components=components, outcome=outcome)

    def extract(self, completion: str, task: Task) -> Program | None:
        """Find the program in a completion."""
        return extract_code(completion, task, policy=self._policy)

    def submit(self, program: Program | None, task: Task) -> Future[Outcome]:
        """Grade a program in the background; no program is an invalid one."""
        if program is not None:
            return self.grader.submit(program, task)
        done: Future[Outcome] = Future()
        done.set_result(Outcome.unrunnable("there is no program in the completion", task.tests))
        return done

    def _begin(self, completions: Sequence[str], tasks: Sequence[Task]) -> list[_Pending]:
        if len(completions) != len(tasks):
            raise ConfigError(f"each completion needs a task, got {len(completions)} and {len(tasks)}")
        graded = any("outcome" in reward.arguments for reward in self.rewards)
        futures: dict[tuple[int, str | None], Future[Outcome]] = {}  # equal programs are run once
        batch: list[_Pending] = []
        for completion, task in zip(completions, tasks, strict=True):
            program = self.extract(completion, task)
            key = (id(task), None if program is None else program.code)
            if graded and key not in futures:
                futures[key] = self.submit(program, task)
            batch.append(_Pending(completion, task, program, futures.get(key)))
        return batch

    def _finish(self, pending: _Pending) -> Score:
        outcome = None if pending.outcome is None else pending.outcome.result()
        return self.judge(pending.completion, pending.task, pending.program, outcome)

    # What belongs to one process

    @property
    def grader(self) -> Grader:
        """The grader of this process, made when it is first needed."""
        if self._pid != os.getpid():  # a fork: the threads and the sandbox stayed with the parent
            self._forget_process()
        with self._lock:
            if self._grader is None:
                folder = self._cache_folder
                self._grader = Grader(
                    make_sandbox(self._sandbox_spec, **self._sandbox_options),
                    stop_early=self._stop_early,
                    cache=VerdictCache(None if folder is True else folder) if folder else None,
                )
            return self._grader

    def close(self) -> None:
        """Wait for what is being graded, and close the sandbox unless it was passed in.

        The scorer can be used again.
        """
        with self._lock:
            grader, self._grader = self._grader, None
        if grader is not None and self._pid == os.getpid():
            grader.close()
            if grader.cache is not None:
                grader.cache.close()
            if not isinstance(self._sandbox_spec, Sandbox):
                grader.sandbox.close()

    def __enter__(self) -> Self:
        """Nothing to do: the sandbox starts when needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """All but what belongs to this process.

        Raises:
            pickle.PicklingError: The sandbox was passed in, and cannot be made anew elsewhere.
        """
        if isinstance(self._sandbox_spec, Sandbox):
            raise pickle.PicklingError(
                "to pickle a scorer, give it the name of a sandbox instead of a sandbox"
            )
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_grader", "_pid")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore; nothing is started yet."""
        self.__dict__.update(state)
        self._forget_process()

    def _forget_process(self) -> None:
        self._lock = threading.Lock()
        self._grader = None
        self._pid = os.getpid()

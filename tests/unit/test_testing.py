"""The conformance kit: for each check there is something broken that fails exactly it."""

import dataclasses
import subprocess
import sys
import types
from concurrent.futures import Future
from dataclasses import replace

import gymnasium
import pytest

import codegym  # noqa: F401 (registers environments)
from codegym import hookimpl
from codegym.core import Task, TestCase
from codegym.errors import ConfigError
from codegym.grading import Grader
from codegym.sandbox import AnswerKind, Check, Ending, Isolation, Sandbox, Script, make_sandbox
from codegym.sandbox.plain import decode, encode
from codegym.testing import ConformanceError, check_sandbox, checks_of, parametrize_with_checks
from codegym.testing.checks import failure_of
from codegym.testing.datasets import DatasetSubject
from codegym.testing.environments import EnvironmentSubject
from codegym.testing.plugins import PluginSubject
from codegym.testing.rewards import RewardSubject

# Sandboxes: a good one that is spoilt in one place


class Spoilt(Sandbox):
    """Passes everything on to a good sandbox; a subclass spoils one thing."""

    inner = None

    def __init__(self):
        self.open = False

    @property
    def workers(self):
        return self.inner.workers

    @property
    def isolation(self):
        return self.inner.isolation

    @property
    def environment(self):
        return self.inner.environment

    def start(self):
        self.inner.start()
        return self

    def execute(self, request, on_answer=None):
        return self.after(request, self.inner.execute(self.before(request), on_answer))

    def submit(self, request, on_answer=None):
        future = Future()
        try:
            future.set_result(self.execute(request, on_answer))
        except Exception as error:
            future.set_exception(error)
        return future

    async def arun(self, requests):
        return [self.after(r, e) for r, e in zip(requests, await self.inner.arun(requests), strict=True)]

    def session(self, code, entry_point, limits=None):
        return self.inner.session(code, entry_point, limits)

    def close(self):
        pass

    def before(self, request):
        return request

    def after(self, request, execution):
        return execution


def with_answers(execution, change):
    return replace(
        execution, answers=[change(index, answer) for index, answer in enumerate(execution.answers)]
    )


def told(answer, value):
    return replace(answer, payload=encode(value))


SPOILT = {}


def spoils(check):
    def note(kind):
        SPOILT[check] = kind
        return kind

    return note


@spoils("check_start_is_idempotent")
class StartsAnother(Spoilt):
    def start(self):
        self.inner.start()
        return type(self)()


@spoils("check_close_is_idempotent_and_not_final")
class ClosesForGood(Spoilt):
    def close(self):
        self.open = True

    def execute(self, request, on_answer=None):
        execution = super().execute(request, on_answer)
        return replace(execution, ending=Ending.EXITED) if self.open else execution


@spoils("check_execute_starts_the_sandbox")
class MustBeStarted(Spoilt):
    started = False

    def start(self):
        self.started = True
        return super().start()

    def execute(self, request, on_answer=None):
        execution = super().execute(request, on_answer)
        return execution if self.started else replace(execution, ending=Ending.EXITED)


@spoils("check_workers_is_positive")
class NoWorkers(Spoilt):
    @property
    def workers(self):
        return Half(self.inner.workers)


class Half(float):
    """Works as a number of workers in the kit's own loops, and is none."""

    def __index__(self):
        return int(self)

    def __mul__(self, other):
        return int(self) * other

    __rmul__ = __mul__


@spoils("check_answers_come_in_order")
class Reverses(Spoilt):
    def after(self, request, execution):
        many = len(execution.answers) == 20
        return replace(execution, answers=execution.answers[::-1]) if many else execution


@spoils("check_a_program_is_loaded_once")
class LoadsEachTime(Spoilt):
    def after(self, request, execution):
        if "count += 1" not in getattr(request, "code", ""):
            return execution
        return with_answers(execution, lambda i, answer: told(answer, 1))


@spoils("check_values_are_what_they_were")
class ListsForTuples(Spoilt):
    def after(self, request, execution):
        def change(index, answer):
            value = decode(answer.payload) if answer.kind == AnswerKind.VALUE else None
            return told(answer, list(value)) if type(value) is tuple else answer

        return with_answers(execution, change)


@spoils("check_exceptions_are_answers")
class ForgetsMessages(Spoilt):
    def after(self, request, execution):
        def change(index, answer):
            return told(answer, [["Exception"], ""]) if b"ZeroDivisionError" in answer.payload else answer

        return with_answers(execution, change)


@spoils("check_unsendable_answers_are_answers")
class SendsAnything(Spoilt):
    def after(self, request, execution):
        def change(index, answer):
            return replace(answer, kind=AnswerKind.VALUE) if answer.kind == AnswerKind.UNSENDABLE else answer

        return with_answers(execution, change)


@spoils("check_long_answers_come_as_digests")
class AlwaysInline(Spoilt):
    def before(self, request):
        return (
            replace(request, inline_bytes=1 << 20) if getattr(request, "inline_bytes", 0) == 100 else request
        )


@spoils("check_changed_arguments_can_be_asked_for")
class ReturnsOnly(Spoilt):
    def before(self, request):
        return (
            replace(request, argument_answers=False)
            if getattr(request, "argument_answers", False)
            else request
        )


@spoils("check_the_host_may_stop_a_run")
class GoesOn(Spoilt):
    def execute(self, request, on_answer=None):
        return super().execute(request, on_answer and (lambda *args: on_answer(*args) or True))


def ends_as(check, ending, other):
    @spoils(check)
    class Ends(Spoilt):
        def after(self, request, execution):
            return replace(execution, ending=other) if execution.ending == ending else execution

    return Ends


ends_as("check_what_does_not_compile_is_invalid", Ending.INVALID, Ending.LOAD_ERROR)
ends_as("check_cpu_time_is_limited", Ending.CPU, Ending.WALL)
ends_as("check_wall_time_is_limited", Ending.WALL, Ending.CPU)


@spoils("check_what_does_not_load_says_why")
class SaysNothing(Spoilt):
    def after(self, request, execution):
        return replace(execution, message="") if execution.ending == Ending.LOAD_ERROR else execution


@spoils("check_an_early_exit_is_noticed")
class NotLoaded(Spoilt):
    def after(self, request, execution):
        early = execution.ending == Ending.EXITED and not isinstance(request, Script)
        return replace(execution, loaded=False) if early else execution


@spoils("check_memory_is_limited")
class TakesAll(Spoilt):
    def after(self, request, execution):
        greedy = "bytearray(1 << 24)" in getattr(request, "code", "")
        return replace(execution, ending=Ending.DONE, answers=()) if greedy else execution


@spoils("check_forged_answers_are_refused")
class BelievesForgers(Spoilt):
    def after(self, request, execution):
        if "range(3, 16)" not in getattr(request, "code", ""):
            return execution
        good = self.inner.execute(replace(request, code="def f(x): return x"))
        return with_answers(good, lambda i, answer: replace(answer, payload=b"V" * 40))


@spoils("check_scripts_have_real_streams")
class TextOnly(Spoilt):
    def after(self, request, execution):
        return replace(execution, stdout=execution.stdout.replace(b"\xff", b"?"))


@spoils("check_the_exit_status_of_scripts_counts")
class NoStatus(Spoilt):
    def after(self, request, execution):
        return replace(execution, exit_code=1) if execution.exit_code == 3 else execution


@spoils("check_tests_run_beside_the_program")
class RunsTestsInside(Spoilt):
    def before(self, request):
        if isinstance(request, Check):
            return replace(request, tests=[f"def f(x): return 2 * x\n{test}" for test in request.tests])
        return request


class Wrapped:
    """A session that is spoilt."""

    def __init__(self, session):
        self.session = session

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.close()

    def call(self, *args):
        return self.session.call(*args)

    def close(self):
        return self.session.close()


@spoils("check_sessions_keep_state")
class Forgetful(Spoilt):
    def session(self, code, entry_point, limits=None):
        class Session(Wrapped):
            def call(self, *args):
                answer = self.session.call(*args)
                return told(answer, decode(answer.payload)[-1:])

        return Session(self.inner.session(code, entry_point, limits))


@spoils("check_a_session_says_when_it_has_ended")
class ClosesAnew(Spoilt):
    def session(self, code, entry_point, limits=None):
        class Session(Wrapped):
            closed = 0

            def close(self):
                self.closed += 1
                return replace(self.session.close(), wall_s=float(self.closed))

        return Session(self.inner.session(code, entry_point, limits))


@spoils("check_nothing_is_remembered")
class Remembers(Spoilt):
    def after(self, request, execution):
        looks = "hasattr(builtins" in getattr(request, "code", "")
        return (
            with_answers(execution, lambda i, a: told(a, [False, True, False, False])) if looks else execution
        )


@spoils("check_nothing_outlives_a_run")
class KeepsDaemons(Spoilt):
    def after(self, request, execution):
        listens = 'exists("alive")' in getattr(request, "code", "")
        return with_answers(execution, lambda i, a: told(a, True)) if listens else execution


@spoils("check_declared_isolation_is_true")
class Boasts(Spoilt):
    def after(self, request, execution):
        tries = "create_connection" in getattr(request, "code", "")
        return with_answers(execution, lambda i, a: told(a, None)) if tries else execution

    @property
    def isolation(self):
        return Isolation(self.inner.isolation.layers | {"net"})


@spoils("check_many_requests_are_all_answered")
class LosesOne(Spoilt):
    def run(self, requests):
        executions = super().run(requests)
        executions[-1] = replace(executions[-1], ending=Ending.CPU, answers=())
        return executions


@spoils("check_threads_may_share_it")
class MixesThreads(Spoilt):
    def after(self, request, execution):
        import threading

        alone = threading.current_thread() is threading.main_thread()
        return execution if alone else with_answers(execution, lambda i, a: told(a, 0))


@spoils("check_async_does_not_block")
class Blocks(Spoilt):
    async def arun(self, requests):
        return [self.execute(request) for request in requests]


@spoils("check_executions_are_data")
class NotData(Spoilt):
    def after(self, request, execution):
        sole = getattr(request, "inputs", None) == [encode(((1,), {}))] and request.code.count("\n") == 2
        return replace(execution, message=Unpicklable()) if sole and "2 * x" in request.code else execution


class Unpicklable(str):
    def __reduce__(self):
        raise TypeError("a lock")


@spoils("check_time_is_reported")
class NoClock(Spoilt):
    def after(self, request, execution):
        return replace(execution, wall_s=0.0)


@spoils("check_environment_is_described")
class NoEnvironment(Spoilt):
    @property
    def environment(self):
        return {}


@spoils("check_errors_are_codegym_s")
class LoadsNothing(Spoilt):
    def session(self, code, entry_point, limits=None):
        return self.inner.session("def f(x): return x" if code == "def f(x:" else code, entry_point, limits)


@pytest.fixture(scope="module")
def good():
    with make_sandbox("local", workers=2) as sandbox:
        yield sandbox


def test_every_check_of_sandboxes_has_something_that_fails_it():
    assert set(SPOILT) == {check.name for check in checks_of("sandbox")}


def test_the_wrapper_itself_is_good(good):
    check_sandbox(type("Plain", (Spoilt,), {"inner": good}))


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_sandbox_fails_exactly_one_check(good, name):
    kind = type(SPOILT[name].__name__, (SPOILT[name],), {"inner": good})
    with pytest.raises(ConformanceError) as caught:
        check_sandbox(kind)
    assert set(caught.value.failures) == {name}, caught.value


# Rewards


def raises(outcome):
    raise ValueError("oops")


def too_large(outcome):
    return 7.0 if outcome.passed else 0.0


CALLS = []


def counts(outcome):
    CALLS.append(1)
    return len(CALLS) * 1e-9


def failed_checks(kind, subject):
    return {check.name for check in checks_of(kind) if failure_of(check, subject) is not None}


class Spec:
    """A resolved reward that is spoilt."""

    def __init__(self, function, **options):
        self.given = "all_passed"
        self.reward = Shell(function, **options)

    values = RewardSubject.values


@dataclasses.dataclass
class Shell:
    function: object
    name: str = "spoilt"
    weight: float = 1.0
    range: tuple | None = (0.0, 1.0)

    def __call__(self, evidence):
        names = self.function.__code__.co_varnames[: self.function.__code__.co_argcount]
        return self.function(**{name: evidence[name] for name in names})


def zero(outcome):
    return 0.0


def changes(outcome):
    object.__setattr__(outcome, "message", "changed")
    return 0.0


@pytest.mark.parametrize(("subject", "check"), [
    (Spec(zero, name=""), "check_it_has_a_name_and_a_weight"),
    (Spec(lambda outcome: "much", range=None), None),
    (Spec(too_large), "check_values_are_in_the_declared_range"),
    (Spec(changes), "check_it_changes_nothing"),
    (Spec(counts), None),
])  # fmt: skip
def test_spoilt_rewards(subject, check):
    failed = failed_checks("reward", subject)
    if check is None:
        assert failed
    else:
        assert failed == {check}


def test_rewards_that_are_odd_fail_what_they_break():
    assert "check_values_are_numbers_or_none" in failed_checks(
        "reward", Spec(lambda outcome: "much", range=None)
    )
    assert "check_it_is_pure" in failed_checks("reward", Spec(counts))
    assert failed_checks("reward", Spec(lambda outcome: 0.0)) == {"check_it_can_be_pickled"}
    assert failed_checks("reward", Spec(zero)) == set()


def test_trouble_must_be_none(monkeypatch):
    from codegym.core import Score
    from codegym.rewards import Scorer

    monkeypatch.setattr(Scorer, "judge", lambda *_: Score(value=0.0, components={}))
    assert failed_checks("reward", Spec(zero)) == {"check_trouble_is_no_reward"}


# Environments


class Env(gymnasium.Wrapper):
    pass


def solver():
    return gymnasium.make("codegym/Solver-v0", tasks="listfuncs", rewards=["all_passed"], max_turns=2)


def spoilt_env(**changes):
    kind = type("SpoiltEnv", (Env,), changes)
    return EnvironmentSubject(lambda: kind(solver()))


def never_ends(self, action):
    self.env.reset(seed=0)
    observation, reward, *_, info = self.env.step(action)
    return observation, reward, False, False, info


def goes_on(self, action):
    try:
        return self.env.step(action)
    except Exception:
        return "", 0.0, True, False, {}


SEEDS = iter(range(10**6))
ENVIRONMENTS = {
    "check_a_seed_decides_the_episode": {"reset": lambda self, **_: self.env.reset(seed=next(SEEDS))},
    "check_an_episode_ends": {"step": goes_on},
    "check_observations_and_actions_are_text": {"action_space": gymnasium.spaces.Discrete(2)},
    "check_rewards_are_numbers": {
        "step": lambda self, a: (lambda s: (s[0], str(s[1]), *s[2:]))(self.env.step(a))
    },
    "check_close_is_idempotent": {
        "close": lambda self: (
            self.env.close()
            if not vars(self).setdefault("shut", False) and not vars(self).update(shut=True)
            else 1 / 0
        )
    },
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_spoilt_environments(name):
    subject = spoilt_env(**ENVIRONMENTS[name])
    assert failed_checks("environment", subject) == {name}


def test_gymnasium_s_own_checks_are_made():
    class NoSpaces(gymnasium.Env):
        def reset(self, **_):
            return "", {}

    assert "check_gymnasium_is_content" in failed_checks("environment", EnvironmentSubject(NoSpaces))


# Plugins


def plugin(**contents):
    module = types.ModuleType("json")  # a name that can be imported
    for name, value in contents.items():
        setattr(module, name, value)
    return PluginSubject(module)


@hookimpl
def codegym_register_rewards(register):
    register("kit_brevity", "codegym.rewards:parses", weight=1.0, range=(0.0, 1.0))


def misspelt():
    @hookimpl
    def codegym_register_reward(register):
        pass

    return {"codegym_register_reward": codegym_register_reward}


def unmarked():
    def codegym_provenance():
        return {}

    return {"codegym_provenance": codegym_provenance}


def extra():
    @hookimpl
    def codegym_configure(config, more):
        pass

    return {"codegym_configure": codegym_configure}


def registers(name, target):
    @hookimpl
    def codegym_register_rewards(register):
        register(name, target)

    return {"codegym_register_rewards": codegym_register_rewards}


@pytest.mark.parametrize(("contents", "check"), [
    (misspelt(), "check_hooks_exist"),
    (unmarked(), "check_hooks_are_marked"),
    (registers("kit", "codegym.rewards:none_of_that_name"), "check_targets_can_be_imported"),
])  # fmt: skip
def test_spoilt_plugins(contents, check):
    assert check in failed_checks("plugin", plugin(**contents))


def test_a_name_that_is_taken_and_an_argument_too_many():
    assert "check_it_registers_without_error" in failed_checks(
        "plugin", plugin(**registers("all_passed", "json:dumps"))
    )
    assert "check_arguments_exist" in failed_checks("plugin", plugin(**extra()))


def test_a_heavy_plugin(tmp_path, monkeypatch):
    (tmp_path / "heavy_kit_plugin.py").write_text("import docker\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert failed_checks("plugin", PluginSubject("heavy_kit_plugin")) == {"check_importing_it_is_light"}


def test_a_good_plugin():
    assert failed_checks("plugin", plugin(codegym_register_rewards=codegym_register_rewards)) == set()


# Datasets

TASKS = [
    Task(
        id=f"T/{n}", prompt="Add.", entry_point="f", hidden_tests=(TestCase.call(1, expected=1 + n),),
        reference_solutions=(f"def f(x): return x + {n}",), wrong_solutions=("def f(x): return -1",),
    )
    for n in range(3)
]  # fmt: skip
ORDERS = iter([TASKS, TASKS[::-1]] * 1000)
DATASETS = {
    "check_it_has_tasks": list,
    "check_ids_are_unique": lambda: [*TASKS, TASKS[0]],
    "check_loading_is_deterministic": lambda: next(ORDERS),
    "check_tasks_can_be_judged": lambda: [replace(TASKS[0], prompt=" ")],
    "check_reference_solutions_pass": lambda: [
        replace(TASKS[0], reference_solutions=("def f(x): return 9",))
    ],
    "check_wrong_solutions_fail": lambda: [replace(TASKS[0], wrong_solutions=TASKS[0].reference_solutions)],
    "check_rows_are_lossless": lambda: [replace(TASKS[0], meta={"odd": object()})],
}


@pytest.mark.parametrize("name", DATASETS)
def test_spoilt_datasets(local, name):
    assert failed_checks("dataset", DatasetSubject(DATASETS[name], Grader(local))) == {name}


# The two ways to run them


def test_one_error_lists_everything():
    from codegym.testing import check_dataset

    grader = Grader(make_sandbox("subprocess"))
    with pytest.raises(ConformanceError) as caught:
        check_dataset(lambda: [TASKS[0], replace(TASKS[0], prompt="")], grader)
    assert {"check_ids_are_unique", "check_tasks_can_be_judged"} <= set(caught.value.failures)
    assert "No two tasks have the same id." in str(caught.value)


def test_known_failures_are_expected_and_must_happen(local):
    from codegym.testing import check_dataset

    grader = Grader(local)
    check_dataset(list, grader, known_failures={"check_it_has_tasks": "none yet"})
    with pytest.raises(ConformanceError, match="does not any more"):
        check_dataset(lambda: TASKS, grader, known_failures={"check_it_has_tasks": "none yet"})
    with pytest.raises(ConformanceError, match="no such check"):
        check_dataset(lambda: TASKS, grader, known_failures={"check_nonsense": "?"})


def test_parametrize_gives_each_check_its_id():
    mark = parametrize_with_checks("reward", ["parses"], known_failures={"check_it_is_pure": "why"})
    parameters = mark.args[1]
    assert [p.id for p in parameters] == [f"parses-{check.name}" for check in checks_of("reward")]
    (marked,) = [p for p in parameters if p.marks]
    assert marked.marks[0].kwargs == {"strict": True, "reason": "why"}


def test_an_unknown_kind():
    with pytest.raises(ConfigError, match="sandbox"):
        checks_of("sandwich")


def test_every_check_says_what_is_promised():
    for kind in ("sandbox", "reward", "environment", "plugin", "dataset"):
        checks = checks_of(kind)
        assert len(checks) >= 6
        assert all(check.promise.endswith(".") for check in checks)


def test_the_kit_imports_pytest_only_where_it_is_asked_for():
    code = (
        "import sys, codegym.testing; codegym.testing.checks_of('sandbox'); sys.exit('pytest' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

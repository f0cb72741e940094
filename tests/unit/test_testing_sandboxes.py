"""The kit for sandboxes: for each check there is a sandbox that breaks one promise, and fails exactly that check.

Running every check against every broken sandbox takes long only where programs are really run. So a good sandbox
is recorded once, and the broken ones play back what it did, spoilt in one place.
"""

import ast
import contextlib
import inspect
import os
import subprocess
import sys
import threading
from concurrent.futures import Future
from dataclasses import replace
from unittest import SkipTest

import pytest

from codegym.errors import InfraError, SandboxUnavailableError
from codegym.sandbox import (
    Answer,
    AnswerKind,
    CallBatch,
    Check,
    Ending,
    Execution,
    Isolation,
    Sandbox,
    SessionEndedError,
    make_sandbox,
)
from codegym.sandbox.plain import decode, encode
from codegym.testing import ConformanceError, check_sandbox, checks_of
from codegym.testing.sandboxes import (
    SandboxSubject,
    calls,
    endings,
    life,
    probes,
    sessions,
    subject,
    together,
    wall,
)

RECORDED = {}
PROBES = {f"def {name}(": getattr(probes, name) for name in probes.__all__}


def probe_of(request):
    """The probe that a request runs, if it runs one."""
    return next((probe for start, probe in PROBES.items() if request.code.startswith(start)), None)


def key_of(request):
    probe = probe_of(request)  # whose arguments are others each time
    return repr(request) if probe is None else probe.__name__


class Session:
    """A session of a good sandbox, played back; what was not recorded yet is done, and recorded."""

    def __init__(self, sandbox, *program):
        self.open = lambda: sandbox.inner.session(*program)
        self.closed = False
        self.record = RECORDED.setdefault(program, {"calls": {}, "close": None, "error": None})
        self.live, self.count = None, 0
        if self.record["error"] is None and self.record["close"] is None:
            try:
                self.live = self.open()
            except SessionEndedError as error:
                self.record["error"] = error
        if self.record["error"] is not None:
            raise SessionEndedError(self.record["error"].execution)

    def call(self, *args):
        if self.closed:
            raise SessionEndedError(self.record["close"])
        key, self.count = (self.count, args), self.count + 1
        answers = self.record["calls"]
        if self.live is not None or key not in answers:
            answers[key] = self.ask(*args)
        answer = answers[key]
        if isinstance(answer, SessionEndedError):
            raise SessionEndedError(answer.execution)
        return answer

    def ask(self, *args):
        self.live = self.live or self.open()
        try:
            return self.live.call(*args)
        except SessionEndedError as error:
            return error

    def close(self):
        self.closed = True
        if self.live is not None:
            self.record["close"], self.live = self.live.close(), None
        return self.record["close"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Good(Sandbox):
    """Plays a good sandbox back. A subclass spoils one thing."""

    inner = None
    session_kind = Session

    def __init__(self):
        self.broken = False
        self.isolation = None
        self.opened = []

    @property
    def workers(self):
        return self.inner.workers

    @property
    def environment(self):
        return self.inner.environment

    def start(self):
        self.isolation = self.inner.isolation
        return self

    def execute(self, request, on_answer=None):
        self.start()
        if self.broken:
            raise InfraError("broken")
        request = self.before(request)
        key = key_of(request)
        if key not in RECORDED:
            RECORDED[key] = replace(self.inner.execute(request), wall_s=1e-9)  # less than it takes to play it
        return self.after(request, told_one_by_one(RECORDED[key], on_answer))

    def submit(self, request, on_answer=None):
        future = Future()

        def run():
            try:
                future.set_result(self.execute(request, on_answer))
            except Exception as error:
                future.set_exception(error)

        if key_of(request) in RECORDED:
            run()
        else:
            threading.Thread(target=run).start()
        return future

    def session(self, code, entry_point, limits=None):
        self.opened.append(self.session_kind(self, code, entry_point, limits))
        return self.opened[-1]

    def close(self):
        for opened in self.opened:
            opened.close()
        self.opened.clear()

    def before(self, request):
        return request

    def after(self, request, execution):
        return execution


def told_one_by_one(execution, on_answer):
    for index, answer in enumerate(execution.answers):
        if on_answer is not None and not on_answer(index, answer):
            return replace(execution, ending=Ending.STOPPED, answers=execution.answers[: index + 1])
    return execution


@contextlib.contextmanager
def fault(sandbox):
    sandbox.broken = True
    yield
    sandbox.broken = False


def code_of(request):
    return getattr(request, "code", "")


def with_answers(execution, change):
    return replace(execution, answers=[change(answer) for answer in execution.answers])


def told(answer, value):
    return replace(answer, kind=AnswerKind.VALUE, payload=encode(value))


SPOILT = {}


def spoils(check):
    def note(kind):
        SPOILT[check] = kind
        return kind

    return note


def alters(check, code, **changes):
    """Spoil what becomes of one program."""

    @spoils(check)
    class Alters(Good):
        def after(self, request, execution):
            return replace(execution, **changes) if code_of(request) == code else execution


def answers(check, code, value):
    """Spoil what one program answers."""

    @spoils(check)
    class Answers(Good):
        def after(self, request, execution):
            if code_of(request) != code:
                return execution
            answer = Answer(AnswerKind.VALUE, encode(value), 0.01)
            return replace(execution, ending=Ending.DONE, loaded=True, answers=[answer])


# Life


@spoils("check_start_is_idempotent")
class StartsAnother(Good):
    started = False

    def start(self):
        super().start()
        first, self.started = not self.started, True
        return self if first else type(self)()


@spoils("check_a_with_block_starts_it")
class GivesAnother(Good):
    def __enter__(self):
        return type(self)().start()


@spoils("check_a_request_starts_it")
class MustBeStarted(Good):
    started = False

    def start(self):
        self.started = True
        return super().start()

    def execute(self, request, on_answer=None):
        ready = self.started
        execution = super().execute(request, on_answer)
        return execution if ready else replace(execution, ending=Ending.EXITED, message="not started")


@spoils("check_close_is_idempotent_and_not_final")
class ClosesForGood(Good):
    closed = 0

    def close(self):
        self.closed += 1
        super().close()

    def execute(self, request, on_answer=None):
        execution = super().execute(request, on_answer)
        return replace(execution, ending=Ending.EXITED, message="closed") if self.closed else execution


@spoils("check_closing_leaves_nothing")
class LeaksDescriptors(Good):
    leaked = []

    def start(self):
        if self.isolation is None:
            self.leaked.extend(os.pipe())
        return super().start()


@spoils("check_sandboxes_live_apart")
class SharesItsEnd(Good):
    ended = []

    def execute(self, request, on_answer=None):
        execution = super().execute(request, on_answer)
        mine = self.ended and isinstance(request, CallBatch) and asks(request, "apart")
        return replace(execution, ending=Ending.EXITED) if mine else execution

    def close(self):
        self.ended.append(True)
        super().close()


def asks(request, value):
    return list(request.inputs) == [encode(((value,), {}))]


@spoils("check_workers_is_a_positive_number")
class NoWorkers(Good):
    @property
    def workers(self):
        return float(self.inner.workers)


@spoils("check_layers_have_known_names")
class MisspeltLayer(Good):
    def start(self):
        super().start()
        self.isolation = Isolation(self.isolation.layers | {"network"})
        return self


@spoils("check_the_environment_is_described")
class NoEnvironment(Good):
    @property
    def environment(self):
        return {"packages": 3}


@spoils("check_trouble_is_not_the_program_s")
class BlamesPrograms(Good):
    def execute(self, request, on_answer=None):
        if self.broken:
            return Execution(ending=Ending.EXITED, message="exited with status 1")
        return super().execute(request, on_answer)


answers("check_environment_variables_stay_outside", life.READS_ENVIRONMENT, "hidden")


# Calls, scripts, tests


@spoils("check_answers_come_in_order")
class Reverses(Good):
    def after(self, request, execution):
        many = len(execution.answers) == 20 and code_of(request) == subject.DOUBLE
        return replace(execution, answers=execution.answers[::-1]) if many else execution


@spoils("check_values_are_what_they_were")
class ListsForTuples(Good):
    def after(self, request, execution):
        def change(answer):
            value = decode(answer.payload) if answer.kind == AnswerKind.VALUE else None
            return told(answer, list(value)) if type(value) is tuple else answer

        return with_answers(execution, change)


@spoils("check_exceptions_are_answers")
class ForgetsMessages(Good):
    def after(self, request, execution):
        def change(answer):
            return replace(answer, payload=encode([["ZeroDivisionError"], ""])) if divided(answer) else answer

        return with_answers(execution, change)


def divided(answer):
    return answer.kind == AnswerKind.RAISED and b"ZeroDivisionError" in answer.payload


@spoils("check_long_answers_come_as_digests")
class AlwaysInline(Good):
    def before(self, request):
        short = getattr(request, "inline_bytes", 0) == 100
        return replace(request, inline_bytes=1 << 20) if short else request


@spoils("check_changed_arguments_can_be_asked_for")
class ReturnsOnly(Good):
    def before(self, request):
        asked = getattr(request, "argument_answers", False)
        return replace(request, argument_answers=False) if asked else request


@spoils("check_the_host_may_stop_a_run")
class GoesOn(Good):
    def execute(self, request, on_answer=None):
        return super().execute(request, on_answer and (lambda *args: on_answer(*args) or True))

    def submit(self, request, on_answer=None):
        future = Future()
        future.set_result(Good.execute(self, request, on_answer))
        return future


@spoils("check_time_is_reported")
class NoClock(Good):
    def after(self, request, execution):
        return replace(execution, wall_s=0.0)


@spoils("check_requests_and_executions_are_data")
class NotData(Good):
    def after(self, request, execution):
        asked = isinstance(request, CallBatch) and asks(request, "pickled")
        return replace(execution, message=Unpicklable()) if asked else execution


class Unpicklable(str):
    def __reduce__(self):
        raise TypeError("a lock")


@spoils("check_scripts_have_real_streams")
class TextOnly(Good):
    def after(self, request, execution):
        return replace(execution, stdout=execution.stdout.replace(b"\xff", b"?"))


@spoils("check_the_exit_status_of_scripts_counts")
class NoStatus(Good):
    def after(self, request, execution):
        return replace(execution, exit_code=1) if execution.exit_code == 3 else execution


@spoils("check_each_test_is_judged_by_itself")
class OneNamespace(Good):
    def after(self, request, execution):
        if not isinstance(request, Check) or len(request.tests) < 3:
            return execution
        return replace(execution, answers=[*execution.answers[:2], execution.answers[1]])


@spoils("check_tests_may_use_the_preamble")
class ForgetsThePreamble(Good):
    def before(self, request):
        return replace(request, preamble="") if isinstance(request, Check) else request


@spoils("check_the_tester_and_the_program_are_apart")
class RunsTestsInside(Good):
    """Really runs tests beside the program."""

    def before(self, request):
        if code_of(request) != calls.LOOKS_AROUND:
            return request
        return replace(request, tests=[request.code + test for test in request.tests])


@spoils("check_arguments_changed_in_place_reach_the_test")
class PassesCopies(Good):
    def before(self, request):
        copied = isinstance(request, Check) and "reverse" in request.code
        return replace(request, code="def f(x):\n    x = x[::-1]\n") if copied else request


answers("check_keyword_arguments_are_passed", calls.KEYWORDS, 3)
answers("check_methods_may_be_entry_points", calls.METHOD, None)
answers("check_a_program_is_loaded_once", calls.COUNTS, 1)
answers("check_what_cannot_be_sent_is_answered_as_that", calls.UNSENDABLE, "<generator>")
alters("check_what_calls_print_is_reported", calls.PRINTS, stdout=b"")


# Endings


def ends_as(check, ending, other):
    @spoils(check)
    class Ends(Good):
        def after(self, request, execution):
            return replace(execution, ending=other) if execution.ending == ending else execution


ends_as("check_what_does_not_compile_is_invalid", Ending.INVALID, Ending.LOAD_ERROR)
ends_as("check_wall_time_is_limited", Ending.WALL, Ending.CPU)
ends_as("check_output_is_limited", Ending.OUTPUT, Ending.DONE)


@spoils("check_what_does_not_load_says_why")
class SaysNothing(Good):
    def after(self, request, execution):
        return replace(execution, message="") if execution.ending == Ending.LOAD_ERROR else execution


@spoils("check_cpu_time_is_limited")
class CallsItWall(Good):
    def after(self, request, execution):
        spins = code_of(request) == endings.SPINS and request.cpu_limits_s is None
        return replace(execution, ending=Ending.WALL) if spins else execution


@spoils("check_each_call_has_cpu_time_of_its_own")
class AddsUp(Good):
    def after(self, request, execution):
        three = code_of(request) == endings.BURNS and len(request.inputs) == 3
        return replace(execution, ending=Ending.CPU, answers=execution.answers[:1]) if three else execution


@spoils("check_all_calls_share_total_cpu_time")
class NeverAddsUp(Good):
    def after(self, request, execution):
        many = code_of(request) == endings.BURNS and len(request.inputs) == 20
        return (
            replace(execution, ending=Ending.DONE, answers=[execution.answers[0]] * 20) if many else execution
        )


@spoils("check_inputs_may_have_cpu_limits_of_their_own")
class OneLimitForAll(Good):
    def before(self, request):
        return (
            replace(request, cpu_limits_s=None)
            if getattr(request, "cpu_limits_s", None) == [5.0]
            else request
        )


@spoils("check_processes_are_limited")
class ManyProcesses(Good):
    def after(self, request, execution):
        asked = probe_of(request) is probes.children
        return with_answers(execution, lambda answer: told(answer, endings.CHILDREN)) if asked else execution


@spoils("check_forged_answers_are_refused")
class BelievesForgers(Good):
    def after(self, request, execution):
        if code_of(request) != endings.FORGER:
            return execution
        return replace(execution, answers=[Answer(AnswerKind.VALUE, b"V" * 40, 0.0)])


@spoils("check_waiting_is_not_running")
class CountsWaiting(Good):
    def run(self, requests):
        executions = super().run(list(requests))
        waited = len(executions) == self.workers + 1
        return [*executions[:-1], replace(executions[-1], ending=Ending.WALL)] if waited else executions


alters("check_memory_counts_while_loading", endings.GREEDY_TO_LOAD, ending=Ending.LOAD_ERROR)
alters("check_an_early_exit_is_noticed", endings.EXITS, loaded=False)
alters("check_memory_is_limited", endings.GREEDY, ending=Ending.DONE, answers=())


# Sessions


def session_spoilt(check):
    def note(kind):
        spoils(check)(type(f"With{kind.__name__}", (Good,), {"session_kind": kind}))
        return kind

    return note


@session_spoilt("check_sessions_keep_state")
class Forgetful(Session):
    def call(self, *args):
        answer = super().call(*args)
        value = decode(answer.payload)
        short = isinstance(value, list) and len(value) in (2, 3) and answer.kind == AnswerKind.VALUE
        return told(answer, value[-1:]) if short else answer


@session_spoilt("check_sessions_go_on_after_an_exception")
class EndsOnExceptions(Session):
    def call(self, *args):
        answer = super().call(*args)
        return told(answer, None) if divided(answer) else answer


@session_spoilt("check_sessions_answer_in_full")
class Digests(Session):
    def call(self, *args):
        answer = super().call(*args)
        return replace(answer, kind=AnswerKind.DIGEST) if len(answer.payload) > 1024 else answer


class Retold(Session):
    """A session whose program ends another way than it says."""

    code = other = None

    def __init__(self, sandbox, *program):
        self.mine = program[0] == self.code
        super().__init__(sandbox, *program)

    def call(self, *args):
        try:
            return super().call(*args)
        except SessionEndedError as error:
            raise retold(error, self.other) if self.mine else error from None


def retold(error, ending):
    return SessionEndedError(replace(error.execution, ending=ending))


@session_spoilt("check_a_session_says_why_it_has_ended")
class SaysDone(Retold):
    code, other = sessions.EXITS, Ending.DONE


@session_spoilt("check_sessions_have_limits")
class SaysWall(Retold):
    code, other = sessions.SPINS, Ending.WALL


@session_spoilt("check_closing_a_session_again_returns_the_same")
class ClosesAnew(Session):
    times = 0

    def close(self):
        self.times += 1
        return replace(super().close(), wall_s=float(self.times))


@session_spoilt("check_a_closed_session_is_over")
class NeverOver(Session):
    def call(self, *args):
        try:
            return super().call(*args)
        except SessionEndedError as error:
            if error.execution.ending != Ending.DONE:
                raise
            return Answer(AnswerKind.VALUE, encode(4), 0.0)


@session_spoilt("check_a_session_needs_a_program_that_loads")
class SaysInvalid(Session):
    def __init__(self, *arguments):
        try:
            super().__init__(*arguments)
        except SessionEndedError as error:
            raise retold(error, Ending.INVALID) from None


@spoils("check_sessions_give_their_workers_back")
class KeepsWorkers(Good):
    """Of the sessions whose program did not load, none gives its place back."""

    def __init__(self):
        super().__init__()
        self.lost = 0

    def session(self, code, entry_point, limits=None):
        try:
            return super().session(code, entry_point, limits)
        except SessionEndedError:
            self.lost += code == "g = 2"
            raise

    def submit(self, request, on_answer=None):
        return Future() if self.lost >= self.workers else super().submit(request, on_answer)


# One after the other, and many at a time


@spoils("check_many_requests_are_all_answered")
class LosesOne(Good):
    def run(self, requests):
        executions = super().run(list(requests))
        many = len(executions) == 8 * self.workers
        return (
            [*executions[:-1], replace(executions[-1], ending=Ending.CPU, answers=())] if many else executions
        )


@spoils("check_threads_may_share_it")
class MixesThreads(Good):
    def after(self, request, execution):
        alone = threading.current_thread() is threading.main_thread()
        return execution if alone else with_answers(execution, lambda answer: told(answer, 0))


@spoils("check_submit_does_not_wait")
class SubmitWaits(Good):
    """Its sessions are real, and so occupy the workers that its requests wait for."""

    def session(self, code, *program):
        return self.inner.session(code, *program) if "held" in code else super().session(code, *program)

    def submit(self, request, on_answer=None):
        busy = isinstance(request, CallBatch) and asks(request, "s")
        self.inner.execute(request) if busy else None
        return super().submit(request, on_answer)


@spoils("check_submit_tells_answers_as_they_come")
class SubmitsInSilence(Good):
    def submit(self, request, on_answer=None):
        return super().submit(request)


@spoils("check_async_does_not_block")
class Blocks(Good):
    """Likewise."""

    def session(self, code, *program):
        return self.inner.session(code, *program) if "held" in code else super().session(code, *program)

    async def arun(self, requests):
        return [self.inner.execute(request) for request in requests]


answers("check_nothing_is_remembered", together.LOOKS, ["left"])
answers("check_nothing_outlives_a_run", together.LISTENS, True)


# The wall: each probe is run in an interpreter that has none


def bare(request, first=""):
    """Run a program without any wall, and outside of any folder of its own."""
    (arguments, _), probe = decode(request.inputs[0]), probe_of(request)
    code = f"{first}\n{request.code}\nprint(repr({probe.__name__}(*{arguments!r})))"
    done = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True)
    answer = Answer(AnswerKind.VALUE, encode(ast.literal_eval(done.stdout)), 0.0)
    return Execution(ending=Ending.DONE, loaded=True, answers=[answer])


def boasts(check, layer, probe, which=lambda *arguments: True):
    def meant(request):
        return probe_of(request) is probe and which(*decode(request.inputs[0])[0])

    @spoils(check)
    class Boasts(Good):
        """Declares a layer, and has nothing in its place."""

        def start(self):
            super().start()
            self.isolation = Isolation(self.isolation.layers | {layer})
            return self

        def execute(self, request, on_answer=None):
            return bare(request) if meant(request) else super().execute(request, on_answer)


boasts("check_net_is_cut_off", "net", probes.network)
boasts("check_root_is_cut_off", "root", probes.files, lambda digests: wall.USERS in digests)
boasts("check_mount_is_cut_off", "mount", probes.root_folder)
boasts("check_landlock_is_in_force", "landlock", probes.files, lambda digests: wall.USERS not in digests)
boasts("check_pid_is_cut_off", "pid", probes.processes)
boasts("check_ipc_is_cut_off", "ipc", probes.memory_segment)
boasts("check_uts_is_cut_off", "uts", probes.host_name)
boasts("check_user_is_cut_off", "user", probes.namespace, lambda name, inode: name == "user")
boasts("check_seccomp_is_in_force", "seccomp", probes.system_calls)
boasts("check_no_new_privs_is_in_force", "no_new_privs", probes.privileges)
boasts("check_no_capabilities_are_left", "no_capabilities", probes.capabilities)
boasts("check_rlimits_are_in_force", "rlimits", probes.resource_limits)
boasts("check_scratch_is_bounded", "scratch", probes.scratch_folder)
boasts("check_cgroup_is_in_force", "cgroup", probes.control_group)

NEED_ROOT = {"check_no_capabilities_are_left"}
"""Where there is no wall, only root has what the probe is after."""


@pytest.fixture(scope="module")
def good():
    try:
        sandbox = make_sandbox("local", workers=2).start()
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    with sandbox:
        check_sandbox(type("Good", (Good,), {"inner": sandbox}), fault=fault)
        yield sandbox
    RECORDED.clear()


def test_every_check_has_something_that_fails_it():
    assert set(SPOILT) == {check.name for check in checks_of("sandbox")}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_sandbox_fails_exactly_one_check(good, monkeypatch, name):
    if name in NEED_ROOT and os.geteuid() != 0:
        pytest.skip("needs to run as root")
    monkeypatch.setattr(subject, "PATIENCE_S", 0.3)
    monkeypatch.setattr(sessions, "PATIENCE_S", 0.3)
    kind = type(SPOILT[name].__name__, (SPOILT[name],), {"inner": good})
    with pytest.raises(ConformanceError) as caught:
        check_sandbox(kind, fault=fault)
    assert set(caught.value.failures) == {name}, caught.value


def request(probe, *args):
    return subject.batch(inspect.getsource(probe), args, entry_point=probe.__name__)


def test_probes_get_through_where_there_is_no_wall():
    root = os.stat("/")
    with wall.servers() as (port, name), wall.host_files() as digests, wall.shared_memory() as key:
        attempts = {
            probes.network: (port, name),
            probes.files: (digests,),
            probes.root_folder: ([root.st_dev, root.st_ino, root.st_ctime_ns],),
            probes.processes: ([os.getpid()],),
            probes.memory_segment: (key,),
            probes.host_name: (os.uname().nodename,),
            probes.system_calls: (),
            probes.privileges: (),
            probes.resource_limits: (),
            probes.scratch_folder: (1,),
            probes.control_group: (2, 1),
        }
        for probe, arguments in attempts.items():
            assert decode(bare(request(probe, *arguments)).answers[0].payload), probe.__name__
    for name in ("net", "mnt", "pid", "ipc", "uts", "user"):
        attempt = request(*wall.of_namespace(name))
        assert decode(bare(attempt).answers[0].payload) == [f"is in the host's namespace {name}"]


def test_folders_that_can_be_written_into_are_found(tmp_path):
    found = decode(bare(request(probes.folders, [str(tmp_path), "/proc"])).answers[0].payload)
    assert found == [f"writes into {tmp_path}"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to run as root")
def test_users_who_were_root_and_can_be_again_are_found():
    found = bare(request(probes.users), "import os\nos.setresuid(65534, 65534, 0)").answers[0]
    assert decode(found.payload) == ["becomes user 0"]


def test_children_are_counted():
    assert decode(bare(request(probes.children, 3)).answers[0].payload) == 3


def test_a_probe_that_does_not_answer_is_no_proof(good):
    class Silent(Good):
        inner = good

        def after(self, request, execution):
            return (
                replace(execution, answers=(), ending=Ending.LOAD_ERROR) if probe_of(request) else execution
            )

    with pytest.raises(ConformanceError) as caught:
        check_sandbox(Silent, fault=fault)
    assert {each for each in caught.value.failures if "cut_off" in each} == {
        name for name in SPOILT if "cut_off" in name
    }


def test_layers_that_are_not_declared_are_not_asked_for(good):
    class Modest(Good):
        inner = good

        def start(self):
            super().start()
            self.isolation = Isolation(frozenset())
            return self

        def execute(self, request, on_answer=None):
            return bare(request) if probe_of(request) else super().execute(request, on_answer)

    check_sandbox(Modest, fault=fault)


def test_names_of_sandboxes_are_looked_up():
    made = SandboxSubject("subprocess", workers=3).make()
    assert (type(made).__name__, made.workers) == ("SubprocessSandbox", 3)


def test_there_is_a_fault_for_every_sandbox_of_workers_and_for_no_other():
    checks = {check.name: check for check in checks_of("sandbox")}
    trouble = checks["check_trouble_is_not_the_program_s"]
    trouble(SandboxSubject("subprocess", workers=1))
    with make_sandbox("subprocess", workers=1) as inner, pytest.raises(SkipTest, match="fault="):
        trouble(SandboxSubject(type("Other", (Good,), {"inner": inner})))

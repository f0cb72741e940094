"""Running programs: both backends keep the same contract, and `local` a wall around it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from codegym.core import Limits
from codegym.errors import ConfigError, InfraError, IsolationError, NotFoundError, SandboxUnavailableError
from codegym.sandbox import AnswerKind, CallBatch, Check, Ending, Script, SessionEndedError, make_sandbox
from codegym.sandbox.local import LocalSandbox, SubprocessSandbox
from codegym.sandbox.plain import decode, encode

SHORT = Limits(cpu_s=0.3, wall_s=1.0)
DEPTH = 20_000 if sys.version_info < (3, 12) else 300
"""How deep calls may nest that pass through C; from 3.12 on the interpreter has a limit of its own for that."""


@pytest.fixture(scope="module", params=["local", "subprocess"])
def sandbox(request):
    with make_sandbox(request.param, workers=2) as made:
        yield made


def calls(code, *inputs, entry_point="f", **options):
    encoded = [encode(((value,), {})) for value in inputs]
    return CallBatch(code=code, entry_point=entry_point, inputs=encoded, **options)


def values(execution):
    return [decode(answer.payload) for answer in execution.answers]


# Calls


def test_calls_are_answered_in_order(sandbox):
    execution = sandbox.execute(calls("def f(x):\n    return [x, {x: (x,)}]", 1, 2))
    assert (execution.ending, execution.loaded) == (Ending.DONE, True)
    assert values(execution) == [[1, {1: (1,)}], [2, {2: (2,)}]]
    assert all(answer.kind == AnswerKind.VALUE for answer in execution.answers)


def test_an_exception_is_an_answer_and_the_next_call_is_made(sandbox):
    execution = sandbox.execute(calls("def f(x):\n    return 1 // x", 0, 1))
    assert [answer.kind for answer in execution.answers] == [AnswerKind.RAISED, AnswerKind.VALUE]
    names, message = values(execution)[0]
    assert names[:2] == ["ZeroDivisionError", "ArithmeticError"]
    assert "zero" in message


def test_programs_do_not_see_each_other(sandbox):
    code = (
        "import builtins, os\ndef f(x):\n    old = getattr(builtins, 'left', None)\n    builtins.left = x\n"
    )
    code += "    open('left', 'w').close()\n    return old"
    assert values(sandbox.execute(calls(code, 1, 2))) == [None, 1]
    assert values(sandbox.execute(calls(code, 3))) == [None]
    assert values(sandbox.execute(calls("import os\ndef f(x):\n    return os.listdir('.')", 0))) == [[]]


@pytest.mark.parametrize(
    ("code", "entry_point", "argument", "answer"),
    [
        ("class Solution:\n    def g(self, x):\n        return x + 1", "Solution.g", 1, 2),
        ("class S:\n    @staticmethod\n    def g(x):\n        return x + 1", "S.g", 1, 2),
        ("import functools\nf = functools.partial(pow, 2)", "f", 5, 32),
        ("async def f(x):\n    return x * 2", "f", 4, 8),
        ("class C:\n    def __call__(self, x):\n        return -x\nf = C()", "f", 4, -4),
        ("def len(x):\n    return 'mine'", "len", [], "mine"),
        ("from __future__ import annotations\ndef f(x: Any):\n    return __name__", "f", 0, "solution"),
        ("import inspect\ndef f(x):\n    return inspect.getsource(f).count('getsource')", "f", 0, 2),
        (
            "import pickle\nclass A: pass\ndef f(x):\n    return type(pickle.loads(pickle.dumps(A()))) is A",
            "f",
            0,
            True,
        ),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass D:\n    x: 'int'\ndef f(x):\n    return D(x).x",
            "f",
            3,
            3,
        ),
        pytest.param("def f(x):\n    return 10 ** x", "f", 5000, 10**5000, id="thousands-of-digits"),
        ("def f(x):\n    return len(str(10 ** x))", "f", 9999, 10000),
        ("import numpy\ndef f(x):\n    return numpy.arange(x).sum()", "f", 5, 10),
        (
            "import sys\nsys.setrecursionlimit(10**6)\ndef f(x):\n    return x and 1 + f(x - 1)",
            "f",
            50_000,
            50_000,
        ),
        (
            "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(2**27)\n"
            "def g(x):\n    return x and 1 + g(x - 1)\n"
            "def f(x):\n    box = []\n    t = threading.Thread(target=lambda: box.append(g(x)))\n"
            "    t.start()\n    t.join()\n    return box[0]",
            "f",
            50_000,
            50_000,
        ),
        (
            "import functools, sys\nsys.setrecursionlimit(10**6)\n@functools.lru_cache(None)\n"
            "def f(x):\n    return x and 1 + f(x - 1)",
            "f",
            DEPTH,
            DEPTH,
        ),
        ("import random\nrandom.seed(1)\ndef f(x):\n    return random.random()", "f", 0, 0.13436424411240122),
        (
            "import multiprocessing\ndef g(x):\n    return x * x\n"
            "def f(x):\n    with multiprocessing.Pool(2) as pool:\n        return pool.map(g, range(x))",
            "f",
            3,
            [0, 1, 4],
        ),
    ],
)
def test_right_programs_of_all_kinds_are_answered(sandbox, code, entry_point, argument, answer):
    execution = sandbox.execute(calls(code, argument, entry_point=entry_point, inline_bytes=1 << 20))
    assert (execution.ending, execution.message) == (Ending.DONE, "")
    assert values(execution) == [answer]


def test_the_argument_is_the_answer_where_that_is_asked_for(sandbox):
    code = "def f(xs):\n    xs.sort()"
    assert values(sandbox.execute(calls(code, [3, 1, 2], argument_answers=True))) == [[1, 2, 3]]


def test_long_answers_come_as_digests_unless_asked_for_in_full(sandbox):
    code = "def f(n):\n    return [str(i) for i in range(n)]"
    short, full = (sandbox.execute(calls(code, 50_000, inline_bytes=n)) for n in (100, 1 << 24))
    assert short.answers[0].kind == AnswerKind.DIGEST
    assert int.from_bytes(short.answers[0].payload[16:], "little") == len(full.answers[0].payload)
    assert values(full) == [[str(i) for i in range(50_000)]]


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("def f(x) return x", Ending.INVALID),
        ("def f(x):\n    return '\0'", Ending.INVALID),
        ("x = 1", Ending.LOAD_ERROR),
        ("f = 3", Ending.LOAD_ERROR),
        ("raise ValueError('no')", Ending.LOAD_ERROR),
        ("import sys\nsys.exit(0)", Ending.LOAD_ERROR),
        ("import nothing_of_this_name", Ending.LOAD_ERROR),
        ("x = bytearray(10**10)", Ending.MEMORY),
        ("import os\nos._exit(0)", Ending.EXITED),
    ],
)
def test_what_does_not_load_says_so(sandbox, code, ending):
    execution = sandbox.execute(calls(code, 1))
    assert (execution.ending, execution.loaded, execution.answers) == (ending, False, [])
    assert execution.message


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("import os; os._exit(0)", Ending.EXITED),
        ("import ctypes; ctypes.string_at(0)", Ending.EXITED),
        ("while True: pass", Ending.CPU),
        ("import time; time.sleep(10**6)", Ending.WALL),
        ("import os; os.write(3, b'V' + bytes(12) + b'N')", Ending.PROTOCOL),
        ("import os; os.write(3, b'V' + b'\\xff' * 12)", Ending.PROTOCOL),
        ("import os; os.write(3, b'V'); os._exit(0)", Ending.PROTOCOL),
    ],
)
def test_a_call_that_ends_the_process_leaves_the_earlier_answers(sandbox, body, ending):
    code = f"def f(x):\n    if x == 2:\n        {body}\n    return x"
    execution = sandbox.execute(calls(code, 1, 2, 3, limits=SHORT))
    assert execution.ending == ending
    if ending != Ending.PROTOCOL:
        assert values(execution) == [1]
    assert values(sandbox.execute(calls("def f(x):\n    return x", 5))) == [5]


def test_memory_is_limited(sandbox):
    execution = sandbox.execute(calls("def f(x):\n    return len([0] * 10**9)", 1))
    assert values(execution)[0][0][0] == "MemoryError"


def test_the_host_may_stop_a_run(sandbox):
    code = "import time\ndef f(x):\n    time.sleep(0.2 * x)\n    return x"
    execution = sandbox.execute(calls(code, 0, *[1] * 50), lambda index, answer: False)
    assert execution.ending == Ending.STOPPED
    assert len(execution.answers) == 1


# Scripts


def script(sandbox, code, stdin=b"", limits=None):
    return sandbox.execute(Script(code=code, stdin=stdin, limits=limits or Limits()))


@pytest.mark.parametrize(
    "code",
    [
        "import sys; print(sys.stdin.read(), end='')",
        "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())",
        "print(open(0).read(), end='')",
        "import os; os.write(1, os.read(0, 100))",
        "import sys\nfor line in sys.stdin: print(line, end='')",
        "import fileinput\nfor line in fileinput.input(): print(line, end='')",
        "print(input()); import sys; print(sys.stdin.readline(), end=''); sys.exit()",
        "print(input()); print(input()); quit()",
        "print(input()); print(input()); raise SystemExit",
        "import atexit, sys; atexit.register(lambda: print(sys.stdin.read(), end=''))",
        "import threading, sys; threading.Thread(target=lambda: print(sys.stdin.read(), end='')).start()",
        "if __name__ == '__main__':\n    import sys; print(sys.stdin.read(), end='')",
    ],
)
def test_scripts_read_and_write_in_every_way(sandbox, code):
    execution = script(sandbox, code, "a é\nb\n".encode())
    assert (execution.ending, execution.stderr) == (Ending.DONE, b"")
    assert execution.stdout == "a é\nb\n".encode()


def test_a_script_is_a_file_with_a_name(sandbox):
    code = "import sys, os\nprint(os.path.basename(__file__), __name__, len(sys.argv), open(__file__).readline())"
    assert script(sandbox, code).stdout.startswith(b"main.py __main__ 1 import sys, os")


@pytest.mark.parametrize(
    ("code", "ending", "message"),
    [
        ("1 +", Ending.INVALID, "SyntaxError"),
        ("1 / 0", Ending.EXITED, "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(3)", Ending.EXITED, "exited with status 3"),
        ("import sys; sys.exit('no')", Ending.EXITED, "exited with status 1"),
        ("import os; os.abort()", Ending.EXITED, "signal"),
        ("x = bytearray(10**10)", Ending.MEMORY, "MemoryError"),
        ("while True: pass", Ending.CPU, "CPU"),
        ("while True: print('x' * 10**6)", Ending.EXITED, "File too large"),
    ],
)
def test_scripts_that_fail_say_how(sandbox, code, ending, message):
    execution = script(sandbox, code, limits=Limits(cpu_s=1.0, output_mb=2))
    assert execution.ending == ending
    assert message in execution.message


# Checks: tests in one guest, the program in another


ADD = "def add(a, b):\n    return a + b"


def check(sandbox, code, *tests, preamble="", entry_point="add"):
    return sandbox.execute(
        Check(code=code, entry_point=entry_point, tests=tests, preamble=preamble, limits=SHORT)
    )


def test_test_code_runs_against_a_proxy(sandbox):
    execution = check(
        sandbox,
        ADD,
        "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate([1], b=[2]) == [1, 2]",
        "assert add(1, 1) == 3",
        "helper(add)",
        preamble="def helper(f):\n    assert f('a', 'b') == 'ab'",
    )
    kinds = [answer.kind for answer in execution.answers]
    assert kinds == [AnswerKind.VALUE, AnswerKind.RAISED, AnswerKind.VALUE]
    assert values(execution)[1][0][0] == "AssertionError"


def test_arguments_changed_in_place_are_seen_by_the_test(sandbox):
    code = "def add(xs, d):\n    xs.append(1)\n    d['k'] = 2"
    test = "xs, d = [0], {}\nassert add(xs, d) is None\nassert xs == [0, 1] and d == {'k': 2}"
    assert check(sandbox, code, test).answers[0].kind == AnswerKind.VALUE


def test_exceptions_of_the_program_reach_the_test(sandbox):
    code = "class Mine(ValueError): pass\ndef add(a, b):\n    raise (KeyError if a else Mine)('x')"
    test = "try:\n    add({}, 1)\nexcept {}:\n    pass\nelse:\n    assert False"
    execution = check(sandbox, code, test.format(1, "KeyError"), test.format(0, "ValueError"))
    assert execution.answers[0].kind == AnswerKind.VALUE
    assert values(execution)[1][0][0] == "CandidateError"


@pytest.mark.parametrize("exception", ["StopIteration", "StopAsyncIteration", "GeneratorExit", "SystemExit"])
def test_an_exception_cannot_end_a_loop_of_the_test(sandbox, exception):
    code = f"def add(a, b):\n    raise {exception}"
    test = "for value in map(add, [1], [2]):\n    assert value == 3"
    assert values(check(sandbox, code, test))[0][0][0] == "CandidateError"


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("def add(a, b) return", Ending.INVALID),
        ("import nothing_here", Ending.LOAD_ERROR),
        ("x = 1", Ending.LOAD_ERROR),
    ],
)
def test_a_program_that_does_not_load_is_not_the_test_s_fault(sandbox, code, ending):
    execution = check(sandbox, code, "assert add(1, 2) == 3")
    assert (execution.ending, execution.loaded) == (ending, False)


def test_a_program_that_hangs_in_a_check_is_ended(sandbox):
    execution = check(sandbox, "def add(a, b):\n    while True: pass", "assert add(1, 2) == 3")
    assert execution.ending == Ending.CPU


def test_only_plain_data_crosses(sandbox):
    execution = check(sandbox, ADD, "add(lambda: 1, 2)")
    assert values(execution)[0][0][0] == "TestArgumentError"


# Sessions


def test_a_session_keeps_its_program(sandbox):
    code = "n = 0\ndef f(x):\n    global n\n    n += x\n    return n"
    with sandbox.session(code, "f") as session:
        assert [decode(session.call(x).payload) for x in (1, 2, 3)] == [1, 3, 6]
        assert session.call("x").kind == AnswerKind.RAISED
    assert session.close().ending == Ending.DONE
    with pytest.raises(SessionEndedError):
        session.call(1)


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("while True: pass", Ending.CPU),
        ("import time; time.sleep(100)", Ending.WALL),
        ("import os; os._exit(1)", Ending.EXITED),
        ("import os; os.write(4, b'?' * 13)", Ending.PROTOCOL),
    ],
)
def test_a_session_whose_program_ends_says_why(sandbox, body, ending):
    with sandbox.session(f"def f(x):\n    {body}", "f", SHORT) as session:
        with pytest.raises(SessionEndedError) as caught:
            session.call(1)
        assert caught.value.execution.ending == ending
    assert values(sandbox.execute(calls("def f(x):\n    return x", 5))) == [5]


def test_a_session_that_does_not_load_says_why(sandbox):
    with pytest.raises(SessionEndedError, match="invalid"):
        sandbox.session("def f(", "f")


# Many requests


def test_many_requests_from_many_threads(sandbox):
    requests = [calls("def f(x):\n    return x * x", i) for i in range(60)]
    assert [values(one) for one in sandbox.run(requests)] == [[i * i] for i in range(60)]
    assert len(asyncio.run(sandbox.arun(requests[:10]))) == 10


def workers(sandbox):
    return [worker.process.pid for worker in sandbox._live if worker is not None]


def test_killed_workers_are_replaced_and_no_request_is_lost(sandbox):
    code = "import time\ndef f(x):\n    time.sleep(0.05)\n    return x"
    futures = [sandbox.submit(calls(code, i)) for i in range(30)]
    for _ in range(2):
        time.sleep(0.15)
        for pid in workers(sandbox):
            os.kill(pid, signal.SIGKILL)
    assert [values(future.result()) for future in futures] == [[i] for i in range(30)]


def test_a_sandbox_that_always_dies_is_infrastructure(monkeypatch):
    with LocalSandbox(workers=1) as sandbox:
        monkeypatch.setattr(
            sandbox, "spawn", lambda stderr: pytest.fail("unused") if stderr is None else die(stderr)
        )
        os.kill(workers(sandbox)[0], signal.SIGKILL)
        with pytest.raises(InfraError, match="failed 3 times"):
            sandbox.execute(calls("def f(x):\n    return x", 1))


def die(stderr):
    raise SandboxUnavailableError("no more")


def test_closing_leaves_nothing_behind():
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    sandbox = make_sandbox("local", workers=2)
    sandbox.run([calls("def f(x):\n    return x", i) for i in range(10)])
    pids = workers(sandbox)
    sandbox.close()
    sandbox.close()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == (threads, descriptors)


def test_a_sandbox_can_be_started_again():
    sandbox = make_sandbox("subprocess", workers=1)
    for _ in range(2):
        with sandbox:
            assert values(sandbox.execute(calls("def f(x):\n    return x", 7))) == [7]


# The wall of `local`


def test_isolation_is_what_the_kernel_gave(local):
    assert local.isolation.strong, local.isolation.missing
    with SubprocessSandbox(workers=1) as weak:
        assert not weak.isolation.strong
        assert {"net", "root", "pid"} <= set(weak.isolation.missing)


@pytest.mark.parametrize(
    "attempt",
    [
        "import socket; socket.socket()",
        "import socket; socket.create_connection(('127.0.0.1', 22))",
        "open('/etc/passwd').read()",
        "open('/proc/self/environ').read()",
        "open('/dev/mem').read()",
        "open('/hello', 'w')",
        "import os; os.mkdir('/usr/hello')",
        "import os; os.chroot('/')",
        "import os; os.setuid(0)",
        "import os; os.kill(2, 9)",
        "import os; os.listdir('/home')",
        "import os; os.mknod('/tmp/x', 0o20666, os.makedev(1, 1))",
        "import subprocess; subprocess.run(['/bin/sh'], check=True)",
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); assert c.unshare(0x10000000) == 0",
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); assert c.unshare(0x20000000) == 0",
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); assert c.mount(b'x', b'/tmp', b'tmpfs', 0, None) == 0",
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); assert c.ptrace(0, 0, 0, 0) == 0",
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); assert c.syscall(425, 1, 0) >= 0",
    ],
)
def test_a_guest_reaches_nothing(local, attempt):
    execution = local.execute(calls(f"def f(x):\n    {attempt}\n    return 'reached'", 1))
    assert values(execution) != ["reached"]


def test_a_guest_s_own_place(local):
    code = "import os\ndef f(x):\n    return os.getpid(), os.listdir('/tmp'), sorted(os.listdir('/dev')), os.getuid() > 0"
    pid, files, devices, ordinary = values(local.execute(calls(code, 1)))[0]
    assert (pid, files, ordinary) == (1, [], True)
    assert devices == ["full", "null", "random", "shm", "urandom", "zero"]


def test_nothing_outlives_a_run(local):
    code = (
        "import os, time\ndef f(x):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
        "            time.sleep(3600)\n        os._exit(0)\n    return x"
    )
    assert values(local.execute(calls(code, 1))) == [1]
    alive = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout
    guardians = set(workers(local))
    children = [line for line in alive.splitlines() if "marshal, socket, sys" in line]
    assert len(children) <= 2 * len(guardians)


def test_scratch_is_bounded_and_swept(local):
    fill = "def f(x):\n    with open('big', 'wb') as file:\n        file.write(bytes(x << 20))\n    return 'written'"
    assert values(local.execute(calls(fill, 8))) == ["written"]
    assert values(local.execute(calls(fill, 200))) != ["written"]
    code = "import os\ndef f(x):\n    os.makedirs('a/b/c')\n    os.symlink('/', 'a/link')\n    os.symlink('/nowhere', 'dangling')\n    return x"
    assert values(local.execute(calls(code, 1))) == [1]
    assert values(local.execute(calls("import os\ndef f(x):\n    return os.listdir('/tmp')", 1))) == [[]]


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be at least 1"),
        ({"scratch_mb": 0}, "scratch_mb must be at least 1"),
        ({"packages": ["no-such-distribution"]}, "no distribution 'no-such-distribution'"),
        ({"require_isolation": "total"}, "'strong' or None"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ConfigError, match=message):
        make_sandbox("local", **options)


def test_an_unknown_sandbox():
    with pytest.raises(NotFoundError, match="Did you mean 'local'"):
        make_sandbox("locale")


def test_less_isolation_than_required_is_refused(monkeypatch):
    monkeypatch.setattr("codegym.sandbox.local.filter_program", lambda alone=False: b"")
    with pytest.raises(IsolationError, match="missing: seccomp"):
        make_sandbox("local", workers=1, require_isolation="strong").start()
    with pytest.warns(RuntimeWarning, match="missing: seccomp"), make_sandbox("local", workers=1) as sandbox:
        assert not sandbox.isolation.strong


def test_another_system(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailableError, match="need Linux, this is darwin"):
        make_sandbox("local", workers=1).start()


def test_an_interpreter_that_is_not_there(monkeypatch):
    monkeypatch.setattr("codegym.sandbox.files.base_executable", lambda: "/nowhere/python")
    with pytest.raises(SandboxUnavailableError, match="cannot start '/nowhere/python'"):
        make_sandbox("subprocess", workers=1).start()
    monkeypatch.setattr("codegym.sandbox.files.base_executable", lambda: "/bin/false")
    with pytest.raises(SandboxUnavailableError, match="does not start"):
        make_sandbox("subprocess", workers=1).start()

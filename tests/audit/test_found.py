"""Holes that an audit found, each with the program that went through it."""

import os
import struct
import sys
import time
import types

import pytest

from codegym.core import Comparison, Limits, Outcome, Program, Raises, Status, Task, TestCase
from codegym.grading import Grader
from codegym.sandbox import CallBatch, Check, Ending, Script, SessionEndedError, cgroups, make_sandbox
from codegym.sandbox.plain import decode, encode

QUICK = Limits(cpu_s=0.3, wall_s=0.5, total_cpu_s=2)
FORGE = """
import marshal, os, struct, time

def answer(kind, payload, fd=3):
    os.write(fd, struct.pack("<cIQ", kind, len(payload), 0) + payload)
"""
RIGHT, WRONG = "def f(n): return n + 1", "def f(n): return n + 2"


def task(*tests, entry_point="f", limits=QUICK, **options):
    return Task(
        id="audit/found", prompt="", entry_point=entry_point, hidden_tests=tests, limits=limits, **options
    )


ONE_MORE = task(TestCase.call(1, expected=2))


def ask(sandbox, code, *args):
    """What a program answers."""
    request = CallBatch(
        code=code,
        entry_point="f",
        inputs=[encode((args, {}))],
        limits=Limits(cpu_s=10, wall_s=30),
        inline_bytes=1 << 20,
    )
    execution = sandbox.execute(request)
    assert len(execution.answers) == 1, execution
    return decode(execution.answers[0].payload)


@pytest.fixture
def lone():
    """One worker, new for each test: some of these programs cost it."""
    with make_sandbox("local", workers=1) as sandbox:
        yield sandbox


@pytest.fixture
def strict(lone):
    """Grades on one worker, and makes sure that the worker serves the right verdicts afterwards."""
    with Grader(lone) as grader:
        yield grader
        verdicts = [grader.grade(Program(code), ONE_MORE).passed for code in (RIGHT, WRONG, RIGHT, WRONG)]
        assert verdicts == [True, False, True, False], "verdicts of other programs"


# What the host reads of a guest may be anything

UNREADABLE = {
    "integer_as_message": (b"I", encode(10**5000)),
    "integer_in_load_error": (b"L", encode([["E"], 10**5000])),
    "deep_message": (b"I", (b"[" + struct.pack("<i", 1)) * 200 + b"N"),
    "opaque_message": (
        b"I",
        (b"(" + struct.pack("<i", 3) + b".u" + struct.pack("<i", 1) + b"a") * 190 + b"N",
    ),
    "no_names": (b"L", encode([[], ""])),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_forged_message_is_an_error_of_the_program(strict, name):
    kind, payload = UNREADABLE[name]
    code = f"{FORGE}\nanswer({kind!r}, {payload!r})\n"
    outcome = strict.grade(Program(code), ONE_MORE)
    assert outcome.status in (Status.ERROR, Status.INVALID)


def test_a_forged_message_does_not_cost_a_session_its_worker(lone):
    lone.start()
    idle = lone._idle.qsize()
    with pytest.raises(SessionEndedError):
        lone.session(f"{FORGE}\nanswer(b'I', marshal.dumps(10**5000, 2))\ndef f(n): return n\n", "f", QUICK)
    assert lone._idle.qsize() == idle, "the worker is lost"


def test_a_judge_that_raises_leaves_no_run_behind(strict, monkeypatch):
    judges = types.ModuleType("audit_judges")
    judges.starts = lambda test, answer, expected: answer.startswith(expected)
    monkeypatch.setitem(sys.modules, "audit_judges", judges)
    judged = task(
        TestCase.call(1, expected="a"), compare=Comparison(rule="judge", judge="audit_judges:starts")
    )
    try:
        outcome = strict.grade(Program("def f(n): return 5"), judged)
    except Exception as error:  # a judge's error may be the caller's to see
        outcome = Outcome.unrunnable(str(error))
    assert not outcome.passed


def test_a_deep_answer_is_read_from_a_deep_stack(strict):
    def down(levels):
        return down(levels - 1) if levels else strict.grade(Program(code), ONE_MORE)

    code = (
        f"{FORGE}\ndef f(n):\n    answer(b'V', (b'[' + struct.pack('<i', 1)) * 200 + b'N')\n    os._exit(0)\n"
    )
    used = len(list(iter_frames()))
    for levels in (300, 400, 500, 600):
        if used + levels < sys.getrecursionlimit() - 250:
            assert not down(levels).passed


def iter_frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


@pytest.mark.parametrize("kind", [b"E", b"U"])
def test_a_giant_exception_is_not_read(strict, kind):
    code = f"""{FORGE}
def f(n):
    size = (1 << 20)
    answer({kind!r}, b"[" + struct.pack("<i", size) + b"N" * size)
    answer({kind!r}, marshal.dumps([["N" * size], "m" * size], 2))
    os._exit(0)
"""
    outcome = strict.grade(Program(code), task(*(TestCase.call(n, expected=n) for n in range(2))))
    assert outcome.fraction_passed == 0.0
    assert all(len(test.message) <= 10_000 for test in outcome.tests)


def test_messages_are_text_that_can_be_written(strict):
    outcome = strict.grade(Program("def f(n): raise ValueError('\\ud800 \\x00')"), ONE_MORE)
    assert outcome.status == Status.ERROR
    outcome.message.encode("utf-8")


# The clock

DRIBBLE = {
    "busy": "answer(b'B', b'')",
    "half_an_answer": "os.write(3, b'x')",
}


@pytest.mark.parametrize("name", DRIBBLE)
def test_signs_of_life_do_not_move_the_deadline(strict, name):
    first = "os.write(3, struct.pack('<cIQ', b'V', 1000, 0))" if name == "half_an_answer" else "pass"
    code = f"""{FORGE}
def f(n):
    {first}
    for _ in range(30):
        {DRIBBLE[name]}
        time.sleep(0.1)
    answer(b'V', marshal.dumps(2, 2))
    os._exit(0)
"""
    outcome = strict.grade(Program(code), ONE_MORE)
    assert outcome.status == Status.TIMEOUT, outcome


def test_a_script_that_dribbles_times_out(lone):
    code = f"{FORGE}\nos.write(3, struct.pack('<cIQ', b'E', 1000, 0))\nfor _ in range(30):\n    os.write(3, b'x')\n    time.sleep(0.1)\nprint(1)\n"
    assert lone.execute(Script(code=code, limits=QUICK)).ending in (Ending.WALL, Ending.PROTOCOL)


def test_signs_of_life_do_not_buy_cpu_time(strict):
    code = f"""{FORGE}
import sys
sys.modules["codegym.sandbox.guest"].clock = lambda: 1 << 60
def f(n):
    start = time.process_time()
    while time.process_time() - start < 1.5:
        if int(time.process_time() * 1000) % 50 == 0:
            answer(b"B", b"")
    return 2
"""
    outcome = strict.grade(Program(code), ONE_MORE)
    assert outcome.status == Status.TIMEOUT, outcome


def test_one_sign_of_life_does_not_stretch_the_limit_of_a_short_answer(strict):
    code = f"""{FORGE}
import sys
sys.modules["codegym.sandbox.guest"].clock = lambda: 1 << 60
def f(n):
    start = time.process_time()
    answer(b"B", b"")
    while time.process_time() - start < 0.9: pass
    return 2
"""
    limits = Limits(cpu_s=0.3, wall_s=3, total_cpu_s=5)
    assert not strict.grade(Program(code), task(TestCase.call(1, expected=2), limits=limits)).passed


# Sessions: a program's failure is never the sandbox's

SESSIONS = {
    "unread_request": "answer(b'R', b'')\ntime.sleep(0.2)\nos._exit(0)\n",
    "half_a_reply": "def f(n):\n    os.write(4, b'V')\n    time.sleep(99)\n",
    "dribble": "def f(n):\n    os.write(4, struct.pack('<cIQ', b'V', 1000, 0))\n    for _ in range(30):\n        os.write(4, b'x')\n        time.sleep(0.1)\n    os._exit(0)\n",
    "closes": "def f(n):\n    os.close(4)\n    time.sleep(99)\n",
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_ends_with_its_program(lone, name):
    with lone.session(FORGE + SESSIONS[name], "f", QUICK) as session, pytest.raises(SessionEndedError):
        session.call(1)


def test_a_program_that_floods_its_session_is_not_an_infrastructure_failure(lone):
    flood = f"{FORGE}\nanswer(b'R', b'')\nwhile True: answer(b'C', bytes(60_000), 4)\n"
    with lone.session(flood, "f", QUICK) as session:
        time.sleep(0.1)
        with pytest.raises(SessionEndedError):
            session.call("x" * 4_000_000)


def test_a_session_may_wait_for_its_first_call(lone):
    with lone.session("def f(n): return n", "f", QUICK) as session:
        time.sleep(0.8)
        assert decode(session.call(5).payload) == 5


# Memory

SCAN = r'''
import ctypes, os, re, sys

def f(n):
    """All secrets in the pages around some objects; write() tells which pages there are."""
    libc = ctypes.CDLL(None)
    libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
    reading, writing = os.pipe()
    found, seen = set(), set()
    things = [object(), [], {}, "x" * 5000, bytes(300), bytes(2000), sys.modules["codegym.sandbox.worker"].Worker]
    for start in [id(thing) & ~4095 for thing in things]:
        for step in (4096, -4096):
            page, misses = start if step > 0 else start - 4096, 0
            while misses < 4 and len(seen) < 30_000:
                if page not in seen:
                    if libc.write(writing, page, 1) != 1:
                        misses += 1
                    else:
                        os.read(reading, 1)
                        misses = 0
                        seen.add(page)
                        found.update(re.findall(rb"secret-\d+-[0-9]{6,}", ctypes.string_at(page, 4096)))
                page += step
    return [len(seen) > 100, sorted(text.decode() for text in found)]
'''


def test_answers_of_other_programs_are_not_in_memory(lone):
    reference = "def f(n): return f'secret-{n}-' + str(7 ** n)"
    judged = task(*(TestCase.call(n) for n in range(20, 30)), reference_solutions=(reference,))
    with Grader(lone) as grader:
        grader.prepare(judged)
        assert ask(lone, SCAN, 0) == [True, []]
        long = task(*(TestCase.call(n) for n in (2000, 2001)), reference_solutions=(reference,))
        grader.prepare(long)
        assert ask(lone, SCAN, 0) == [True, []]


def test_output_of_other_programs_is_not_in_memory(lone):
    printing = "import sys\nprint('secret-1-' + '7' * 30)\nprint('secret-2-' + '8' * 30, file=sys.stderr)\n"
    assert lone.execute(Script(code=printing)).ending == Ending.DONE
    assert ask(lone, SCAN, 0) == [True, []]


def test_what_a_session_says_is_not_in_memory(lone):
    with lone.session("def f(n): return f'secret-{len(n)}-' + '7' * 30 + n", "f") as session:
        for size in (5, 500, 3000, 100_000):
            session.call("secret-1234-" + "9" * 30 + "y" * size)
    assert ask(lone, SCAN, 0) == [True, []]


def test_output_of_tests_is_not_in_memory(lone):
    test = "print('secret-1-' + '7' * 30)\nraise ValueError('secret-2-' + '7' * 30)"
    lone.execute(Check(code=RIGHT, entry_point="f", tests=[test]))
    assert ask(lone, SCAN, 0) == [True, []]


GREEDY = {
    "children": """
import os, select
def f(n):
    ready, holds = os.pipe()
    ends, stays = os.pipe()
    for _ in range(6):
        if os.fork() == 0:
            keep = bytearray(80 << 20)
            os.write(holds, b"k")
            os.close(stays)
            os.read(ends, 1)
            os._exit(0)
    os.close(holds)
    while os.read(ready, 6) and select.select([ready], [], [], 1)[0]:
        pass  # until all hold their memory, or are gone
    os.close(stays)
    try:
        while True: os.wait()
    except ChildProcessError:
        return 2
""",
    "files_in_memory": """
import os
def f(n):
    block = bytes(1 << 20)
    files = [os.memfd_create("m") for _ in range(40)]
    for file in files:
        for _ in range(10): os.write(file, block)
    return 2
""",
}


@pytest.mark.skipif(cgroups.find_parent() is None, reason="this process may not make control groups")
@pytest.mark.parametrize("name", GREEDY)
def test_the_memory_limit_holds_for_all_of_a_program(strict, name):
    limits = Limits(cpu_s=3, wall_s=6, memory_mb=128)
    assert not strict.grade(Program(GREEDY[name]), task(TestCase.call(1, expected=2), limits=limits)).passed


# What one guest leaves to the next

STATE = """
import fcntl, os, struct

def locked(fd):
    ask = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    return struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, ask))[0] != fcntl.F_UNLCK

def f(n):
    found = []
    for fd in (0, 1, 2, 3):
        status = os.fstat(fd)
        size = 0 if fd == 3 else status.st_blocks
        found.append([status.st_mode, size, fcntl.fcntl(fd, fcntl.F_GETFL), fcntl.fcntl(fd, 11), locked(fd)])
        found.append(status.st_mtime_ns == 67890)
    null = os.open("/dev/null", os.O_RDWR)
    return [*found, locked(null), os.stat("/tmp").st_mode & 0o7777]
"""
MARK = """
import ctypes, fcntl, os, struct
def f(n):
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 3, 5, 0)
    for fd in (0, 1, 2, 3):
        for act in (
            lambda: os.fchmod(fd, 0o123),
            lambda: os.utime(fd, ns=(12345, 67890)),
            lambda: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK),
            lambda: fcntl.fcntl(fd, 10, 40),
            lambda: fcntl.fcntl(fd, fcntl.F_OFD_SETLK, lock),
            lambda: fcntl.flock(fd, fcntl.LOCK_EX),
            lambda: fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK),
        ):
            try: act()
            except OSError: pass
    ctypes.CDLL(None).fallocate(2, 1, ctypes.c_long(0), ctypes.c_long(1 << 20))
    try: os.utime("/tmp", ns=(1, 2))
    except OSError: pass
    try: os.chmod("/tmp", 0)
    except OSError: pass
"""


def test_a_guest_finds_everything_as_if_it_were_the_first(lone):
    fresh = ask(lone, STATE, 1)
    ask(lone, MARK, 1)
    assert ask(lone, STATE, 1) == fresh


def test_a_mark_on_a_shared_file_ends_with_its_guest(lone):
    with make_sandbox("local", workers=1) as other:
        before = ask(other, STATE, 1)  # whoever else is on this machine may hold a lock on /dev/null
        ask(lone, MARK, 1)
        assert ask(other, STATE, 1) == ask(lone, STATE, 1) == before


def test_deep_folders_do_not_cost_the_worker(lone):
    code = "import os\ndef f(n):\n    for _ in range(3000):\n        os.mkdir('d')\n        os.chdir('d')\n    return 1\n"
    assert ask(lone, code, 1) == 1
    workers = lone._live.copy()
    assert ask(lone, "import os\ndef f(n): return os.listdir('/tmp')", 1) == []
    assert lone._live == workers, "the worker had to be replaced"


# Between the program and its tester


def test_program_and_tester_have_no_way_around_the_link(lone):
    program = "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0audit')\ns.listen()\ndef f(n): return n\n"
    test = "import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('\\0audit')\nexcept OSError:\n    pass\nelse:\n    raise ValueError('connected')\n"
    execution = lone.execute(Check(code=program, entry_point="f", tests=[test], limits=QUICK))
    assert [answer.kind for answer in execution.answers] == ["value"]


def test_the_host_name_does_not_come_in(lone):
    assert ask(lone, "import os\ndef f(n): return os.uname().nodename", 1) != os.uname().nodename


def test_one_exception_is_not_all_of_them(strict):
    names = ["Odd", "ValueError", "KeyError", "IndexError", "TypeError", "Exception"]
    code = f"{FORGE}\ndef f(n):\n    answer(b'E', marshal.dumps([{names!r}, ''], 2))\n    os._exit(0)\n"
    expected = ("KeyError", "IndexError", "TypeError")
    outcome = strict.grade(
        Program(code), task(*(TestCase.call(1, expected=Raises(name)) for name in expected))
    )
    assert outcome.fraction_passed <= 1 / 3


def test_the_message_of_any_failed_assertion_is_kept_back(strict):
    source = (
        "class Failed(AssertionError): pass\nif f(1) != 'the secret': raise Failed('expected the secret')"
    )
    outcome = strict.grade(Program(RIGHT), task(TestCase.code(source)))
    assert outcome.status == Status.WRONG
    assert "secret" not in outcome.message


# Right programs that were failed


def test_threads_fit_into_the_memory_limit(strict):
    code = """
import threading
from concurrent.futures import ThreadPoolExecutor
def f(n):
    barrier = threading.Barrier(16, timeout=2)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: barrier.wait(), range(16)))
    return n + 1
"""
    outcome = strict.grade(Program(code), task(TestCase.call(1, expected=2), limits=Limits(cpu_s=2)))
    assert outcome.passed, (outcome.message, outcome.stderr)


ITERABLES = {
    "generator": "def f(n):\n    for i in range(n): yield i\n",
    "map": "def f(n): return map(int, range(n))\n",
    "range": "def f(n): return range(n)\n",
    "dict_keys": "def f(n): return dict.fromkeys(range(n)).keys()\n",
    "deque": "import collections\ndef f(n): return collections.deque(range(n))\n",
}


@pytest.mark.parametrize("name", ITERABLES)
def test_a_test_can_consume_what_the_program_returns(strict, name):
    source = "def check(candidate):\n    assert list(candidate(4)) == [0, 1, 2, 3]\n"
    outcome = strict.grade(Program(ITERABLES[name]), task(TestCase.code(source)))
    assert outcome.passed, outcome.message

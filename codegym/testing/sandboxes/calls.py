"""The promises of a sandbox: calls and their answers, scripts, tests."""

from __future__ import annotations

import hashlib
import pickle
import time
from typing import Any, Final

from codegym.sandbox import AnswerKind, CallBatch, Ending
from codegym.sandbox.plain import decode, encode
from codegym.testing.checks import promised, require
from codegym.testing.sandboxes.subject import (
    DOUBLE,
    QUICK,
    SandboxSubject,
    batch,
    check_request,
    script,
    told,
)

__all__: list[str] = []

PLAIN: Final = (
    *(None, True, 1, -(10**30), 1.5, -0.0, 2j, "ü\U0001f40d", b"\x00\xff"),
    *((1, (2,)), [1, [2]], {1, 2}, frozenset({3}), {"a": {1: 2}}),
)
IDENTITY: Final = "def f(x):\n    return x\n"
COUNTS: Final = "count = 0\ndef f(x):\n    global count\n    count += 1\n    return count\n"
METHOD: Final = "class Solver:\n    def solve(self, x):\n        return x + 1\n"
KEYWORDS: Final = "def f(x, *, power=1):\n    return x ** power\n"
DIVIDES: Final = "def f(x):\n    return 1 // x\n"
UNSENDABLE: Final = "def f(x):\n    def g():\n        yield 1\n        raise ValueError\n    return g()\n"
REVERSES: Final = "def f(x):\n    x.reverse()\n"
PRINTS: Final = "import sys\ndef f(x):\n    print('said', x)\n    print('warned', file=sys.stderr)\n"
WORKS: Final = "def f(x):\n    return sum(i * i for i in range(300000))\n"
BACKWARDS: Final = """
import sys
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(data[::-1])
print("e", file=sys.stderr)
"""
LOOKS_AROUND: Final = """
import builtins, linecache, os, sys
open("of-the-program", "w").close()
builtins.of_the_program = True
def f(secret):
    frame, texts = sys._getframe(), [line for entry in linecache.cache.values() for line in map(str, entry)]
    while frame := frame.f_back:
        texts += map(str, frame.f_locals.values())
    told = any("7" + secret in text for text in texts)
    return [os.path.exists("of-the-test"), hasattr(builtins, "of_the_test"), told]
"""
STAYS_APART: Final = """
import builtins, os
open("of-the-test", "w").close()
builtins.of_the_test = True
expected = "7391846"
assert not os.path.exists("of-the-program"), "the test sees a file of the program"
assert not hasattr(builtins, "of_the_program"), "the test sees a name of the program"
assert f("391846") == [False, False, False], f"the program sees the test: file, name, text {f('391846')}"
"""


# Calls


@promised("codegym.sandbox.base:CallBatch")
def check_answers_come_in_order(subject: SandboxSubject) -> None:
    """Every call is answered, in the order of the inputs."""
    execution = subject.sandbox.execute(batch(DOUBLE, *[(n,) for n in range(20)]))
    found = [decode(answer.payload) for answer in execution.answers]
    require((execution.ending, execution.loaded) == (Ending.DONE, True), told(execution))
    require(found == [2 * n for n in range(20)], f"answers {found}")


@promised("codegym.sandbox.base:CallBatch")
def check_keyword_arguments_are_passed(subject: SandboxSubject) -> None:
    """An input holds positional and keyword arguments, and both are passed."""
    inputs = [encode(((3,), {"power": 2}))]
    request = CallBatch(code=KEYWORDS, entry_point="f", inputs=inputs, limits=QUICK)
    (answer,) = subject.sandbox.execute(request).answers
    require(decode(answer.payload) == 9, f"f(3, power=2) was answered with {decode(answer.payload)!r}")


@promised("codegym.core:Task")
def check_methods_may_be_entry_points(subject: SandboxSubject) -> None:
    """``Class.method`` is an entry point: the method of a new instance."""
    execution = subject.sandbox.execute(batch(METHOD, (1,), entry_point="Solver.solve"))
    found = [decode(answer.payload) for answer in execution.answers]
    require(found == [2], f"Solver.solve(1) {told(execution)}")


@promised("codegym.sandbox.base:CallBatch")
def check_a_program_is_loaded_once(subject: SandboxSubject) -> None:
    """All calls of a batch are made in one process, with the program loaded once."""
    execution = subject.sandbox.execute(batch(COUNTS, (0,), (0,), (0,)))
    found = [decode(answer.payload) for answer in execution.answers]
    require(found == [1, 2, 3], f"a program that counts its calls answered {found}")


@promised("codegym.sandbox.plain:encode")
def check_values_are_what_they_were(subject: SandboxSubject) -> None:
    """Plain data goes in and comes out as it is, types and all."""
    for value in PLAIN:
        found = subject.answer(IDENTITY, value)
        same = repr(found) == repr(value) and type(found) is type(value)
        require(same, f"{value!r} came back as {found!r}")


@promised("codegym.sandbox.base:AnswerKind")
def check_exceptions_are_answers(subject: SandboxSubject) -> None:
    """A call that raises is answered by the exception's classes and message, and the next call is made."""
    execution = subject.sandbox.execute(batch(DIVIDES, (0,), (1,)))
    kinds = [answer.kind for answer in execution.answers]
    require(kinds == [AnswerKind.RAISED, AnswerKind.VALUE], told(execution))
    names, message = decode(execution.answers[0].payload)
    right = list(names[:2]) == ["ZeroDivisionError", "ArithmeticError"] and "zero" in message
    require(right, f"1 // 0 raised {names} {message!r}")


@promised("codegym.sandbox.base:AnswerKind")
def check_what_cannot_be_sent_is_answered_as_that(subject: SandboxSubject) -> None:
    """A call whose answer cannot be written as plain data is answered as UNSENDABLE."""
    execution = subject.call(UNSENDABLE, 1)
    require([answer.kind for answer in execution.answers] == [AnswerKind.UNSENDABLE], told(execution))


@promised("codegym.sandbox.base:AnswerKind")
def check_long_answers_come_as_digests(subject: SandboxSubject) -> None:
    """An answer longer than `inline_bytes` comes as its BLAKE2b-128 and its length."""
    value = list(range(1000))
    request = batch(IDENTITY, (value,), inline_bytes=100)
    (answer,) = subject.sandbox.execute(request).answers
    data = encode(value)
    wanted = hashlib.blake2b(data, digest_size=16).digest() + len(data).to_bytes(8, "little")
    require((answer.kind, answer.payload) == (AnswerKind.DIGEST, wanted), f"{answer.kind} {answer.payload!r}")


@promised("codegym.sandbox.base:CallBatch")
def check_changed_arguments_can_be_asked_for(subject: SandboxSubject) -> None:
    """With `argument_answers`, the first argument after the call is the answer."""
    request = batch(REVERSES, ([1, 2, 3],), argument_answers=True)
    (answer,) = subject.sandbox.execute(request).answers
    require(decode(answer.payload) == [3, 2, 1], f"answered {decode(answer.payload)!r}")


@promised("codegym.sandbox.base:OnAnswer")
def check_the_host_may_stop_a_run(subject: SandboxSubject) -> None:
    """`on_answer` sees each answer with its number, and ends the run by returning False."""
    seen: list[tuple[int, Any]] = []

    def on_answer(index: int, answer: Any) -> bool:
        seen.append((index, decode(answer.payload)))
        return index < 2

    execution = subject.sandbox.execute(batch(DOUBLE, *[(n,) for n in range(9)]), on_answer)
    require(seen == [(0, 0), (1, 2), (2, 4)], f"saw the answers {seen}")
    require(execution.ending == Ending.STOPPED, told(execution))


@promised("codegym.sandbox.base:Execution")
def check_what_calls_print_is_reported(subject: SandboxSubject) -> None:
    """What a program prints while it is called is reported, and is no answer."""
    execution = subject.call(PRINTS, 7)
    printed = (execution.stdout, execution.stderr)
    require(printed == (b"said 7\n", b"warned\n"), f"reported {printed}")


@promised("codegym.sandbox.base:Execution")
def check_time_is_reported(subject: SandboxSubject) -> None:
    """CPU time of the program and wall time of the run are reported in seconds."""
    start = time.perf_counter()
    execution = subject.call(WORKS, 1)
    took = time.perf_counter() - start
    require(0 < execution.answers[0].cpu_s <= execution.cpu_s + 0.05, f"CPU {execution.cpu_s} s")
    require(0 < execution.wall_s <= took, f"wall {execution.wall_s} s of {took} s")


@promised("codegym.sandbox.base:Execution")
def check_requests_and_executions_are_data(subject: SandboxSubject) -> None:
    """Requests and executions can be pickled, so that they can travel."""
    request = batch(IDENTITY, ("pickled",))
    execution = subject.sandbox.execute(request)
    require(pickle.loads(pickle.dumps(request)) == request, "the request changed")
    copy = pickle.loads(pickle.dumps(execution))
    require(copy.answers == execution.answers, "the execution changed")


# Scripts


@promised("codegym.sandbox.base:Script")
def check_scripts_have_real_streams(subject: SandboxSubject) -> None:
    """A script reads its standard input and has its whole output reported, byte by byte."""
    execution = subject.sandbox.execute(script(BACKWARDS, b"\x00abc\xff"))
    require(execution.ending == Ending.DONE, told(execution))
    require(execution.stdout == b"\xffcba\x00", f"standard output {execution.stdout!r}")
    require(execution.stderr == b"e\n", f"standard error {execution.stderr!r}")


@promised("codegym.sandbox.base:Ending")
def check_the_exit_status_of_scripts_counts(subject: SandboxSubject) -> None:
    """A script that exits with a status other than 0 ends as EXITED, with that status."""
    execution = subject.sandbox.execute(script("raise SystemExit(3)"))
    seen = (execution.ending, execution.exit_code)
    require(seen == (Ending.EXITED, 3), f"{told(execution)}, status {execution.exit_code}")


# Tests


@promised("codegym.sandbox.base:Check")
def check_each_test_is_judged_by_itself(subject: SandboxSubject) -> None:
    """Each test of a `Check` has an answer, VALUE where it passes, and a namespace of its own."""
    tests = "left = 1\nassert f(3) == 6", "assert f(3) == 7", "assert 'left' not in globals()"
    kinds = [answer.kind for answer in subject.sandbox.execute(check_request(DOUBLE, *tests)).answers]
    require(kinds == [AnswerKind.VALUE, AnswerKind.RAISED, AnswerKind.VALUE], f"answers {kinds}")


@promised("codegym.sandbox.base:Check")
def check_tests_may_use_the_preamble(subject: SandboxSubject) -> None:
    """Tests may use the code of the preamble."""
    request = check_request(DOUBLE, "assert helper() == 10", preamble="def helper():\n    return f(5)\n")
    execution = subject.sandbox.execute(request)
    require([answer.kind for answer in execution.answers] == [AnswerKind.VALUE], told(execution))


@promised("codegym.sandbox.base:Check")
def check_the_tester_and_the_program_are_apart(subject: SandboxSubject) -> None:
    """Tests and program share no process and no files: neither sees what the other holds."""
    execution = subject.sandbox.execute(check_request(LOOKS_AROUND, STAYS_APART))
    seen = [decode(answer.payload) for answer in execution.answers]
    require([a.kind for a in execution.answers] == [AnswerKind.VALUE], f"{told(execution)}: {seen}")


@promised("codegym.sandbox.base:Check")
def check_arguments_changed_in_place_reach_the_test(subject: SandboxSubject) -> None:
    """What a program does to its arguments, the test sees."""
    execution = subject.sandbox.execute(check_request(REVERSES, "x = [1, 2]\nf(x)\nassert x == [2, 1]"))
    require([answer.kind for answer in execution.answers] == [AnswerKind.VALUE], told(execution))

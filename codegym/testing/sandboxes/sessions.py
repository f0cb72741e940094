"""The promises of a sandbox: sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from codegym.core import Limits
from codegym.sandbox import AnswerKind, Ending, Execution, SessionEndedError
from codegym.sandbox.plain import decode
from codegym.testing.checks import promised, require
from codegym.testing.sandboxes.subject import DOUBLE, PATIENCE_S, QUICK, SandboxSubject, batch

__all__: list[str] = []

HOLDS: Final = "held = []\ndef f(x):\n    held.append(x)\n    return held\n"
DIVIDES: Final = "def f(x):\n    return 6 // x\n"
RANGE: Final = "def f(x):\n    return list(range(x))\n"
EXITS: Final = "import os\ndef f(x):\n    os._exit(1)\n"
SPINS: Final = "def f(x):\n    while True:\n        pass\n"


@promised("codegym.sandbox.base:Session")
def check_sessions_keep_state(subject: SandboxSubject) -> None:
    """A session's program stays loaded from call to call."""
    with subject.sandbox.session(HOLDS, "f", QUICK) as session:
        found = [decode(session.call(n).payload) for n in range(3)]
    require(found == [[0], [0, 1], [0, 1, 2]], f"a program that keeps its arguments answered {found}")


@promised("codegym.sandbox.base:Session.call")
def check_sessions_go_on_after_an_exception(subject: SandboxSubject) -> None:
    """A call that raises is answered by its exception, and the session goes on."""
    with subject.sandbox.session(DIVIDES, "f", QUICK) as session:
        kinds = [session.call(n).kind for n in (0, 1)]
    require(kinds == [AnswerKind.RAISED, AnswerKind.VALUE], f"6 // 0 and 6 // 1 were answered as {kinds}")


@promised("codegym.sandbox.base:Session.call")
def check_sessions_answer_in_full(subject: SandboxSubject) -> None:
    """A session's answers are always inline, however long."""
    with subject.sandbox.session(RANGE, "f", QUICK) as session:
        answer = session.call(9000)
    require(answer.kind == AnswerKind.VALUE, f"9,000 numbers were answered as {answer.kind}")


@promised("codegym.sandbox.base:Session.call")
def check_a_session_says_why_it_has_ended(subject: SandboxSubject) -> None:
    """Calling a program that ends raises SessionEndedError, which says how; and so does calling it again."""
    with subject.sandbox.session(EXITS, "f", QUICK) as session:
        first = ended(lambda: session.call(1))
        again = ended(lambda: session.call(1))
    require(first is not None and again is not None, "a call was answered")
    require(first and first.ending == Ending.EXITED, f"ended as {first and first.ending}")


@promised("codegym.core:Limits")
def check_sessions_have_limits(subject: SandboxSubject) -> None:
    """A call of a session that uses up its CPU time ends the program, as CPU."""
    with subject.sandbox.session(SPINS, "f", Limits(cpu_s=0.2, wall_s=20.0)) as session:
        execution = ended(lambda: session.call(1))
    require(execution and execution.ending == Ending.CPU, f"ended as {execution and execution.ending}")


@promised("codegym.sandbox.base:Session.close")
def check_closing_a_session_again_returns_the_same(subject: SandboxSubject) -> None:
    """Closing a session ends it as DONE; closing it again returns the same."""
    session = subject.sandbox.session(DOUBLE, "f", QUICK)
    session.call(1)
    first, second = session.close(), session.close()
    require(first.ending == Ending.DONE, f"ended as {first.ending}")
    require(first == second, f"first {first}, then {second}")


@promised("codegym.sandbox.base:Session.close")
def check_a_closed_session_is_over(subject: SandboxSubject) -> None:
    """Calling a session that was closed raises SessionEndedError."""
    session = subject.sandbox.session(DOUBLE, "f", QUICK)
    session.close()
    require(ended(lambda: session.call(2)) is not None, "the call was answered")


@promised("codegym.sandbox.base:Sandbox.session")
def check_a_session_needs_a_program_that_loads(subject: SandboxSubject) -> None:
    """A session of a program that does not load is refused with SessionEndedError, which says why."""
    for code, ending in (("def f(x:", Ending.INVALID), ("g = 1", Ending.LOAD_ERROR)):
        execution = ended(lambda code=code: subject.sandbox.session(code, "f", QUICK))  # type: ignore[misc]
        require(execution and execution.ending == ending, f"{code!r}: {execution and execution.ending}")


@promised("codegym.sandbox.base:Sandbox.session")
def check_sessions_give_their_workers_back(subject: SandboxSubject) -> None:
    """However a session ends, its worker can be used again."""
    sandbox = subject.make().start()

    def end_by_itself() -> None:
        with sandbox.session(EXITS, "f", QUICK) as session:
            session.call(3)

    ways: dict[str, Callable[[], Any]] = {
        "did not load": lambda: sandbox.session("g = 2", "f", QUICK),
        "was closed": lambda: sandbox.session(DOUBLE, "f", QUICK).close(),
        "ended by itself": end_by_itself,
    }
    for way, end in ways.items():
        for _ in range(int(sandbox.workers)):
            ended(end)
        try:
            sandbox.submit(batch(DOUBLE, (1,))).result(PATIENCE_S)
        except TimeoutError:  # it is not closed, since that would wait for its request
            require(False, f"after sessions whose program {way}, no worker is left")
    sandbox.close()


def ended(action: Callable[[], Any]) -> Execution | None:
    """What the `SessionEndedError` says that an action raises; None when it raises none."""
    try:
        action()
    except SessionEndedError as error:
        return error.execution
    return None

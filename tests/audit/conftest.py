"""What the audit's tests share: a sandbox of their own, and answers that cannot be guessed."""

import os
import socket
import threading

import pytest

from codegym.core import Limits, Program, Task, TestCase
from codegym.grading import Grader
from codegym.sandbox import make_sandbox

TOKENS = {1: "token-7c1e94d2ab35", 2: "token-e05b3f6688c1"}
"""What is expected of a hostile program: only who steals it can know it."""
SHORT = Limits(cpu_s=0.3, wall_s=0.6, total_cpu_s=1.5, memory_mb=128, output_mb=4)


def tests_of(style):
    """Tests that expect the tokens, in one style."""
    if style == "call":
        return tuple(TestCase.call(n, expected=token) for n, token in TOKENS.items())
    if style == "stdio":
        return tuple(TestCase.stdio(f"{n}\n", expected=f"{token}\n") for n, token in TOKENS.items())
    if style == "assert":
        return tuple(TestCase.code(f"assert f({n}) == {token!r}") for n, token in TOKENS.items())
    assert style == "check"
    # a loop over map(): what a StopIteration from the program would end without a failure
    source = f"""
TABLE = {TOKENS!r}

def check(candidate):
    for answer, token in zip(map(candidate, TABLE), TABLE.values()):
        assert answer == token
"""
    return (TestCase.code(source),)


@pytest.fixture(scope="module")
def traps(tmp_path_factory):
    """Places of the host where the tokens lie: a file, servers, the environment. Where they are, by name."""
    text = " ".join(TOKENS.values())
    folder = tmp_path_factory.mktemp("audit")
    (folder / "expected.txt").write_text(text)
    servers = [socket.socket(socket.AF_INET), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
    servers[0].bind(("127.0.0.1", 0))
    servers[1].bind(str(folder / "socket"))
    servers[2].bind(f"\0codegym-audit-{os.getpid()}")
    threads = [threading.Thread(target=serve, args=(server, text.encode())) for server in servers]
    for server, thread in zip(servers, threads, strict=True):
        server.listen()
        thread.start()
    os.environ["CODEGYM_AUDIT_TOKENS"] = text
    yield {
        "@FILE@": str(folder / "expected.txt"),
        "@PORT@": str(servers[0].getsockname()[1]),
        "@SOCKET@": str(folder / "socket"),
        "@ABSTRACT@": f"codegym-audit-{os.getpid()}",
        "@PID@": str(os.getpid()),
    }
    del os.environ["CODEGYM_AUDIT_TOKENS"]
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        server.close()


def serve(server, answer):
    """Tell everybody who connects, until the server is shut down."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.sendall(answer)


@pytest.fixture(scope="module")
def sandbox(traps):
    """A sandbox whose workers have seen nothing but the programs of one module; the traps are older."""
    with make_sandbox("local", workers=2) as made:
        yield made


@pytest.fixture(scope="module")
def lone():
    """A sandbox of one worker, so that every program follows the one before on the same worker."""
    with make_sandbox("local", workers=1) as made:
        yield made


@pytest.fixture(scope="module")
def grader(sandbox):
    with Grader(sandbox) as made:
        yield made


@pytest.fixture
def attack(grader, traps):
    """Grades a program by tests that expect the tokens."""

    def grade(style, code, **options):
        for name, value in traps.items():
            code = code.replace(name, value)
        task = Task(
            id=f"audit/{style}",
            prompt="",
            entry_point=None if style == "stdio" else "f",
            hidden_tests=tests_of(style),
            limits=SHORT,
            **options,
        )
        return grader.grade(Program(code), task)

    return grade

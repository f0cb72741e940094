"""The sandbox `http`, against a service that runs code as SandboxFusion does."""

import base64
import json
import marshal
import re
import subprocess
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from codegym.core import Program, Task, TestCase
from codegym.errors import ConfigError, InfraError, IsolationError, SandboxUnavailableError
from codegym.grading import Grader
from codegym.sandbox import Script, http, make_sandbox, wire
from codegym.testing import check_sandbox

NO_SESSIONS = dict.fromkeys(
    (
        "check_closing_leaves_nothing",
        "check_sessions_keep_state",
        "check_sessions_go_on_after_an_exception",
        "check_sessions_answer_in_full",
        "check_a_session_says_why_it_has_ended",
        "check_sessions_have_limits",
        "check_closing_a_session_again_returns_the_same",
        "check_a_closed_session_is_over",
        "check_a_session_needs_a_program_that_loads",
        "check_sessions_give_their_workers_back",
        "check_submit_does_not_wait",
        "check_async_does_not_block",
    ),
    "a service that answers each request once holds no sessions",
)


class Service(ThreadingHTTPServer):
    """Runs Python in processes of this machine. `answers` come first, in place of running anything."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.answers, self.bodies, self.headers_seen = [], [], []

    def run_code(self, body, folder):
        path = folder / f"{threading.get_ident()}.py"
        path.write_text(body["code"])
        done = subprocess.run(
            [sys.executable, path], input=body["stdin"], capture_output=True, text=True, timeout=body["run_timeout"], check=False,
        )  # fmt: skip
        result = {
            "status": "Finished",
            "return_code": done.returncode,
            "stdout": done.stdout,
            "stderr": done.stderr,
        }
        return 200, {
            "status": "Success" if not done.returncode else "Failed",
            "message": "",
            "run_result": result,
        }


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.headers_seen.append(dict(self.headers))
        status, reply = (
            self.server.answers.pop(0)
            if self.server.answers
            else self.server.run_code(body, self.server.folder)
        )
        data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Service() as server:
        server.folder = tmp_path_factory.mktemp("service")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def box(service, monkeypatch):
    monkeypatch.setattr(http, "PAUSE_S", 0.001)
    service.answers.clear()
    with make_sandbox("http", workers=2, url=service.url) as sandbox:
        yield sandbox


ADD = Task(
    id="add", prompt="Add.", entry_point="add",
    hidden_tests=(TestCase.call(2, 3, expected=5), TestCase.code("assert [add(i, 1) for i in range(3)] == [1, 2, 3]")),
)  # fmt: skip


def test_all_promises_but_sessions_are_kept(service):
    service.answers.clear()
    check_sandbox(lambda: make_sandbox("http", workers=2, url=service.url), known_failures=NO_SESSIONS)


@pytest.mark.parametrize(
    ("code", "statuses"),
    [
        ("def add(a, b): return a + b", ["passed", "passed"]),
        ("def add(a, b): return a", ["wrong", "wrong"]),
        ("def add(a, b): raise ValueError", ["error", "error"]),
        ("def add(a, b):", ["invalid", "invalid"]),
        ("def add(a, b): import os; os._exit(0)", ["error", "error"]),
        ("import sys\nprint('codegym worker: eJw=', file=sys.__stdout__)\ndef add(a, b): return a + b", ["passed", "passed"]),
    ],
)  # fmt: skip
def test_programs_are_graded_as_everywhere(box, code, statuses):
    with Grader(box) as grader:
        outcome = grader.grade(Program(code), ADD)
    assert [result.status for result in outcome.tests] == statuses


def test_expected_values_of_calls_are_not_sent(box, service):
    task = Task(id="t", prompt="", entry_point="f", hidden_tests=(TestCase.call(expected="not-to-be-seen"),))
    with Grader(box) as grader:
        assert grader.grade(Program("def f(): return 'not-to-be-' + 'seen'"), task).passed
    sent = re.search(r"b64decode\('([^']+)'", service.bodies[-1]["code"])[1]
    assert b"'not-to-be-'" in zlib.decompress(base64.b64decode(sent))
    assert b"not-to-be-seen" not in zlib.decompress(base64.b64decode(sent))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((503, b"busy"), "status 503: busy"),
        ((200, b"<html>"), "Expecting value"),
        ((200, {"detail": "x"}), "expected an object with 'run_result'"),
        ((200, {"status": "SandboxError", "message": "no room", "run_result": None}), "no room"),
        ((200, {"status": "Success", "run_result": {"status": "Finished", "stdout": "codegym worker: eJw="}}), "cut off"),
        ((200, {"status": "Success", "run_result": {"status": "Finished", "stdout": "codegym worker: ??"}}), "cut off"),
    ],
)  # fmt: skip
def test_a_service_in_trouble_is_asked_again_and_then_there_is_no_verdict(box, service, answer, said):
    program = Program("def add(a, b): return a + b")
    with Grader(box) as grader:
        service.answers[:] = [answer] * 2
        assert grader.grade(program, ADD).passed
        service.answers[:] = [answer] * 4
        outcome = grader.grade(program, ADD)
    assert outcome.status == "infra"
    assert said in outcome.message


def test_a_refusal_is_not_asked_again(box, service):
    service.answers[:] = [(401, b"no key")]
    before = len(service.bodies)
    with pytest.raises(InfraError, match="status 401: no key"):
        box.execute(Script(code="print(1)"))
    assert len(service.bodies) == before + 1


def test_a_service_that_is_not_there():
    with pytest.raises(SandboxUnavailableError, match=r"does not start.*run_code failed"):
        make_sandbox("http", workers=1, url="http://127.0.0.1:9").start()


def test_headers_are_sent(service):
    with make_sandbox("http", workers=1, url=service.url + "/", headers={"X-Key": "k"}) as sandbox:
        assert sandbox.environment["url"] == service.url
    assert service.headers_seen[-1]["X-Key"] == "k"


@pytest.mark.parametrize(
    ("options", "said"),
    [({"url": "localhost"}, "expected http://"), ({"url": "http://x", "workers": 0}, "at least 1"), ({"url": "http://x", "scratch_mb": 0}, "at least 1")],
)  # fmt: skip
def test_arguments_that_make_no_sense(options, said):
    with pytest.raises(ConfigError, match=said):
        http.HttpSandbox(**options)


def test_no_sessions(box):
    with pytest.raises(ConfigError, match="holds no sessions"):
        box.session("def f(): pass", "f")


def test_less_isolation_than_required(service):
    hello = {"layers": ["rlimits"], "reason": "no namespaces", "version": "3"}
    service.answers[:] = [(200, {"run_result": {"stdout": word(hello)}})]
    with pytest.raises(IsolationError, match=r"'http' has no strong isolation.*no namespaces"):
        make_sandbox("http", workers=1, url=service.url, require_isolation="strong").start()


def word(hello):
    said = wire.frame(wire.HELLO, marshal.dumps(hello, 2))
    return http.MARK + base64.b64encode(zlib.compress(said)).decode()

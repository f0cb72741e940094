"""Generating samples: what is asked, what is written, going on, and servers that fail."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

from codegym.cli import make_app
from codegym.core import Task, TestCase
from codegym.datasets.row import task_to_row
from codegym.errors import ConfigError, DataError, NotFoundError
from codegym.evaluation import read_samples
from codegym.generation import Completion, Generator, Sampling, cut, generate, make_generator, prompt_for
from codegym.generation.openai import OpenAIGenerator

TASKS = [
    Task(id=f"T/{n}", prompt=f"def f{n}(x):\n    '''Add {n}.'''\n", entry_point=f"f{n}",
         hidden_tests=(TestCase.call(1, expected=1 + n),))
    for n in range(6)
]  # fmt: skip
PROSE = Task(id="P", prompt="Add the numbers.", entry_point="add", starter_code="def add(a, b):\n")
SCRIPT = Task(id="S", prompt="Read two numbers and print their sum.")


class Server:
    """An OpenAI-compatible server whose model answers ``answer(body)``; may fail as it is told."""

    def __init__(self):
        self.requests, self.failures, self.under_way, self.most = [], [], 0, 0
        self.lock = threading.Lock()
        self.answer = lambda body: f"```python\ndef {name_in(body)}(x): return x + {name_in(body)[1:]}\n```"
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.reply(self, body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def reply(self, handler, body):
        with self.lock:
            self.requests.append((handler.path, body, handler.headers.get("Authorization")))
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            failure = self.failures.pop(0) if self.failures else None
        try:
            if failure == "hang up":
                handler.connection.close()
                return
            status, text = failure or (200, None)
            if text is None:
                content = self.answer(body)
                choice = {"index": 0, "finish_reason": "stop"}
                choice |= (
                    {"message": {"role": "assistant", "content": content}}
                    if "messages" in body
                    else {"text": content}
                )
                text = json.dumps(
                    {"id": "x", "object": "c", "created": 0, "model": body["model"], "choices": [choice]}
                )
            data = text.encode()
            handler.send_response(status)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(data)))
            if status == 429:
                handler.send_header("Retry-After", "0.01")
            handler.end_headers()
            handler.wfile.write(data)
        finally:
            with self.lock:
                self.under_way -= 1

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def name_in(body):
    text = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
    return text[text.index("def f") + 4 :].split("(")[0]


@pytest.fixture
def server():
    running = Server()
    yield running
    running.close()


def client(server, **options):
    return OpenAIGenerator("tiny", base_url=server.url, **{"concurrency": 3, "retries": 2, **options})


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_samples_are_written_in_the_format_that_evaluation_reads(server, tmp_path):
    path = tmp_path / "samples.jsonl"
    done = generate(TASKS, client(server), path, Sampling(samples=2, temperature=0.5))
    assert (done.written, done.found, done.failures) == (12, 0, ())
    samples = read_samples(path, {task.id: task for task in TASKS})
    assert Counter(sample.task_id for sample in samples) == dict.fromkeys((t.id for t in TASKS), 2)
    assert "def f3(x): return x + 3" in next(s for s in samples if s.task_id == "T/3").text
    assert all(row["model"] == "tiny" and row["finish_reason"] == "stop" for row in rows(path))


def test_what_is_there_is_not_generated_again(server, tmp_path):
    path = tmp_path / "samples.jsonl"
    generate(TASKS[:2], client(server), path)
    with path.open("a") as file:
        file.write('{"task_id": "T/2", "sample_in')  # killed in the middle of a line
    done = generate(TASKS, client(server), path)
    assert (done.written, done.found) == (4, 2)
    assert len(server.requests) == 6
    assert sorted(row["task_id"] for row in rows(path)) == [task.id for task in TASKS]


@pytest.mark.parametrize("other", [
    {"sampling": Sampling(seed=1)}, {"sampling": Sampling(max_tokens=5)}, {"style": "completion"}, {"system": "Be brief."},
])  # fmt: skip
def test_samples_that_were_drawn_otherwise_are_not_mixed_in(server, tmp_path, other):
    path = tmp_path / "samples.jsonl"
    generate(TASKS[:1], client(server), path)
    with pytest.raises(DataError, match="Choose another file"):
        generate(TASKS, client(server), path, **other)
    assert len(rows(path)) == 1


def test_more_samples_of_the_same_kind_are_added(server, tmp_path):
    path = tmp_path / "samples.jsonl"
    generate(TASKS[:1], client(server), path, Sampling(samples=1, temperature=1))
    assert generate(TASKS[:1], client(server), path, Sampling(samples=3, temperature=1)).written == 2
    assert sorted(row["sample_index"] for row in rows(path)) == [0, 1, 2]


def test_requests_run_at_one_time_but_not_more_than_allowed(server, tmp_path):
    barrier = threading.Barrier(3, timeout=10)
    first = []

    def answer(body):
        if not first:
            first.append(body)
        elif len(server.requests) <= 4:
            barrier.wait()  # passes only when three are there together
        return f"def {name_in(body)}(x): pass"

    server.answer = answer
    generate(TASKS, client(server), tmp_path / "s.jsonl")
    assert server.most == 3


def test_seeds_depend_on_the_task_and_the_number_only(server, tmp_path):
    generate(TASKS, client(server), tmp_path / "a", Sampling(samples=2, temperature=1, seed=7))
    seeds = {(name_in(body), body["seed"]) for _, body, _ in server.requests}
    assert len({seed for _, seed in seeds}) == 12
    server.requests.clear()
    generate(TASKS[::-1], client(server), tmp_path / "b", Sampling(samples=2, temperature=1, seed=7))
    assert {(name_in(body), body["seed"]) for _, body, _ in server.requests} == seeds


def test_settings_and_the_key_reach_the_server(server, tmp_path):
    sampling = Sampling(samples=1, temperature=0.25, top_p=0.5, max_tokens=77)
    generate(TASKS[:1], client(server, api_key="secret"), tmp_path / "s", sampling, system="Be brief.")
    path, body, key = server.requests[0]
    assert path == "/v1/chat/completions"
    assert (body["model"], body["temperature"], body["top_p"], body["max_tokens"]) == ("tiny", 0.25, 0.5, 77)
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert key == "Bearer secret"


def test_a_base_model_continues_the_prompt_and_is_cut_off(server, tmp_path):
    server.answer = lambda body: "    return x + 1\n\ndef another(): pass\n"
    path = tmp_path / "s"
    generate(TASKS[1:2], client(server), path, style="completion")
    asked, body, _ = server.requests[0]
    assert asked == "/v1/completions"
    assert body["prompt"] == TASKS[1].prompt
    assert len(body["stop"]) == 4
    row = rows(path)[0]
    assert row["completion"] == "    return x + 1\n"
    assert "solution" not in row


@pytest.mark.parametrize("failure", ["hang up", (503, "busy"), (429, "{}")])
def test_what_fails_for_a_while_is_tried_again(server, tmp_path, failure):
    server.failures = [failure, failure]
    done = generate(TASKS[:1], client(server), tmp_path / "s")
    assert done.written == 1
    assert len(server.requests) == 3


def test_what_keeps_failing_is_said_and_asked_for_again_next_time(server, tmp_path):
    path = tmp_path / "s"
    real = server.answer
    server.answer = lambda body: None if name_in(body) == "f3" else real(body)
    done = generate(TASKS, client(server), path)
    assert done.written == 5
    assert [failure.prompt.task_id for failure in done.failures] == ["T/3"]
    assert done.failures[0].error == "the reply holds no text"
    server.answer = real
    assert generate(TASKS, client(server), path).written == 1


@pytest.mark.parametrize(("failure", "says"), [
    ((401, '{"error": {"message": "bad key"}}'), "bad key"), ((404, '{"error": {"message": "no such model"}}'), "no such model"),
])  # fmt: skip
def test_a_refusal_ends_the_run_at_once(server, tmp_path, failure, says):
    server.failures = [failure] * 20
    with pytest.raises(ConfigError, match=says):
        generate(TASKS, client(server), tmp_path / "s")
    assert len(server.requests) == 1


def test_a_server_that_is_not_there(server, tmp_path):
    server.close()
    with pytest.raises(ConfigError, match="tiny"):
        generate(TASKS, client(server, retries=0), tmp_path / "s")


def test_an_interrupted_run_ends_its_requests(server, tmp_path):
    generator = client(server)
    prompts = [prompt_for(task, 0, Sampling(), "chat") for task in TASKS]
    stream = generator.generate(prompts, Sampling())
    next(stream)
    stream.close()
    count = len(server.requests)
    assert count <= 1 + 2 * 3


# Prompts


def test_code_is_shown_as_code_and_prose_as_prose():
    def asked(task):
        return prompt_for(task, 0, Sampling(), "chat").messages[-1]["content"]

    assert f"```python\n{TASKS[0].prompt.strip()}\n```" in asked(TASKS[0])
    assert "`add`" in asked(PROSE)
    assert "Start from this code" in asked(PROSE)
    assert "standard input" in asked(SCRIPT)


def test_prose_cannot_be_continued():
    with pytest.raises(ConfigError, match="'chat'"):
        prompt_for(SCRIPT, 0, Sampling(), "completion")
    with pytest.raises(ConfigError, match="system message"):
        prompt_for(TASKS[0], 0, Sampling(), "completion", system="x")
    assert prompt_for(PROSE, 0, Sampling(), "completion").text == PROSE.starter_code


@pytest.mark.parametrize("bad", [
    {"samples": 0}, {"temperature": -1}, {"temperature": float("nan")}, {"top_p": 0}, {"max_tokens": 0}, {"samples": 2},
])  # fmt: skip
def test_settings_that_make_no_sense(bad):
    with pytest.raises(ConfigError):
        Sampling(**bad)


def test_cut_ends_at_the_first_stop():
    assert cut("abcdef", ("d", "b")) == "a"
    assert cut("abc", ("x",)) == "abc"


# Plugins and the command


class Echo(Generator):
    """Answers with the name of the function, without a server."""

    def __init__(self, model, suffix=""):
        self.model, self.suffix = model, suffix

    def generate(self, prompts, sampling):
        for prompt in prompts:
            number = prompt.task_id[2:]
            text = f"```python\ndef f{number}(x): return x + {number}{self.suffix}\n```"
            yield Completion(
                prompt=prompt, text=None if number == "5" and self.suffix == "!" else text, error="asleep"
            )


def test_generators_are_plugins():
    assert isinstance(make_generator(f"{__name__}:Echo", "m"), Echo)
    assert isinstance(make_generator("openai", "m"), OpenAIGenerator)
    with pytest.raises(NotFoundError, match="'openai'"):
        make_generator("openia", "m")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(task_to_row(task)) + "\n" for task in TASKS))
    return path


def run(*arguments):
    return CliRunner().invoke(make_app(), list(map(str, arguments)))


def test_the_command(source, tmp_path, monkeypatch):
    monkeypatch.setattr("codegym.plugins.load_target", lambda target: Echo)
    common = [
        "generate",
        "--dataset",
        "jsonl",
        "--source",
        source,
        "--model",
        "m",
        "--output",
        tmp_path / "s",
    ]
    monkeypatch.setattr("codegym.datasets.load_tasks", lambda *_, **__: iter(TASKS))
    result = run(*common, "--limit", 2)
    assert (result.exit_code, "2 samples written, 0 were there" in result.output) == (0, True)
    result = run(*common, "--set", "suffix=!")
    assert result.exit_code == 3
    assert "asleep" in result.output
    assert run(*common, "--set", "nonsense").exit_code == 2
    assert run(*common, "--style", "poem").exit_code == 2


def test_eval_generates_and_judges_in_one_go(source, server, tmp_path):
    output = tmp_path / "out"
    arguments = [
        "eval",
        "--dataset",
        "jsonl",
        "--source",
        source,
        "--model",
        "tiny",
        "--output",
        output,
        "--no-cache",
    ]
    arguments += ["--set", f"base_url={server.url}", "--sandbox", "local"]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "pass@1    1.000" in result.output
    assert len(server.requests) == 6
    again = run(*arguments)
    assert again.output == result.output
    assert len(server.requests) == 6


def test_eval_wants_samples_or_a_model(source, tmp_path):
    for extra in ([], ["--model", "m", "--samples", tmp_path / "s"]):
        result = run("eval", "--dataset", "jsonl", "--source", source, *extra)
        assert result.exit_code == 2
        assert "--model" in result.output

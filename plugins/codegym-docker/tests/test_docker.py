"""The sandbox docker: programs, the wall, and what goes wrong with containers and daemons."""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import codegym_docker.sandbox as module
from codegym.audit import audit, corpus, make_grader
from codegym.cli import make_app
from codegym.core import Limits
from codegym.errors import ConfigError, InfraError, SandboxUnavailableError
from codegym.sandbox import CallBatch, Check, Ending, Script, make_sandbox
from codegym.sandbox.plain import decode, encode
from codegym_docker.daemon import connect
from codegym_docker.sandbox import LABEL, DockerSandbox


@pytest.fixture(scope="module")
def box(image):
    with make_sandbox("docker", workers=2, image=image) as sandbox:
        yield sandbox


def call(code, *args, **limits):
    return CallBatch(code=code, entry_point="f", inputs=[encode((args, {}))], limits=Limits(**limits))


def answer(sandbox, code, *args, **limits):
    execution = sandbox.execute(call(code, *args, **limits))
    assert execution.ending == Ending.DONE, execution
    return decode(execution.answers[0].payload)


def containers():
    with contextlib.closing(connect()) as client:
        return client.containers.list(all=True, filters={"label": LABEL})


def test_programs_run_in_all_styles(box):
    assert answer(box, "def f(x): return x + 1", 1) == 2
    assert answer(box, "import numpy\ndef f(): return int(numpy.arange(4).sum())") == 6
    assert box.execute(Script(code="print(input()[::-1])", stdin=b"abc\n")).stdout == b"cba\n"
    check = Check(code="def f(x): return x", entry_point="f", tests=["assert f(1) == 1", "assert f(1) == 2"])
    assert [str(a.kind) for a in box.execute(check).answers] == ["value", "raised"]
    with box.session("n = 0\ndef f():\n    global n\n    n += 1\n    return n\n", "f") as session:
        assert [decode(session.call().payload) for _ in range(3)] == [1, 2, 3]


def test_the_wall_is_strong_here_and_says_what_it_is(box):
    assert box.isolation.strong, box.isolation.missing
    assert {"cgroup", "landlock"} <= box.isolation.layers | {"landlock"}
    assert box.environment["image"].startswith("sha256:")


def test_the_audit(image, monkeypatch):
    monkeypatch.setattr(module, "IMAGE", image)
    monkeypatch.setitem(DockerSandbox.__init__.__kwdefaults__, "image", image)
    names = {
        "frame_walk",
        "kill_all",
        "outlive",
        "fork_bomb",
        "always_equal",
        "tcp",
        "proc",
        "memory_list",
        "disk",
    }
    some = [entry for entry in corpus() if entry.side == "right" or entry.name in names]
    found = audit(make_grader("codegym", sandbox="docker"), some)
    assert [(cell.entry.id, cell.verdict) for cell in found.wrong] == []
    assert found.left == ()


def test_limits(box):
    assert box.execute(call("def f():\n    while True: pass", cpu_s=0.3)).ending == Ending.CPU
    assert box.execute(call("def f():\n    a = []\n    while True: a.append(bytearray(1 << 22))", memory_mb=64)).ending in (
        Ending.MEMORY, Ending.DONE
    )  # fmt: skip
    assert answer(box, "def f(): return 1") == 1


def test_a_container_that_is_killed_is_replaced(box):
    answer(box, "def f(): return 1")
    before = {container.id for container in containers()}
    for container in containers():
        container.kill()
    assert [answer(box, "def f(): return 1") for _ in range(4)] == [1] * 4
    assert not before & {container.id for container in containers() if container.status == "running"}


def test_a_container_that_is_killed_in_the_middle_of_a_request(box):
    future = box.submit(call("import time\ndef f():\n    time.sleep(2)\n    return 1", wall_s=20))
    time.sleep(0.7)
    for container in containers():
        container.kill()
    assert decode(future.result(timeout=60).answers[0].payload) == 1


def test_nothing_is_left_after_closing(image):
    before = {container.id for container in containers()}
    files, threads = set(Path(tempfile.gettempdir()).glob("codegym-docker-*")), threading.active_count()
    with make_sandbox("docker", workers=2, image=image) as sandbox:
        assert sandbox.run([call("def f(): return 1")] * 4)
    assert {container.id for container in containers()} <= before
    assert set(Path(tempfile.gettempdir()).glob("codegym-docker-*")) <= files
    assert threading.active_count() <= threads + 1


def test_a_host_that_is_killed_leaves_nothing(image):
    before = {container.id for container in containers()}
    code = (
        "import os\nfrom codegym.sandbox import make_sandbox\n"
        f"box = make_sandbox('docker', workers=1, image={image!r}).start()\nprint('up', flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    host = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True, check=False
    )
    assert host.stdout == "up\n"
    for _ in range(100):
        if {container.id for container in containers()} <= before:
            return
        time.sleep(0.1)
    pytest.fail("a container of a host that is gone is still there")


def test_what_dead_hosts_left_is_removed(image):
    with contextlib.closing(connect()) as client:
        boot, _, _ = module.owner().split()
        stale = client.containers.create(
            image, ["sleep", "9"], labels={LABEL: f"{boot} 999999 1"}, network_mode="none"
        )
        elsewhere = client.containers.create(
            image, ["sleep", "9"], labels={LABEL: "another-boot 1 1"}, network_mode="none"
        )
        try:
            shown = CliRunner().invoke(make_app(), ["docker", "status"])
            assert shown.exit_code == 0, shown.output
            left = {container.id for container in containers()}
            assert stale.id not in left
            assert elsewhere.id in left
        finally:
            elsewhere.remove(force=True)


# What is not there


def test_no_image(daemon):
    with pytest.raises(SandboxUnavailableError, match="codegym docker build"):
        make_sandbox("docker", image="codegym/none").start()


def test_an_image_without_that_interpreter(image):
    with pytest.raises(SandboxUnavailableError, match="nowhere"):
        make_sandbox("docker", image=image, python="/nowhere/python").start()


def test_a_package_that_the_image_lacks(image):
    with pytest.raises(SandboxUnavailableError, match="pandas"):
        make_sandbox("docker", image=image, packages=["pandas"]).start()


def test_no_daemon(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(SandboxUnavailableError, match="daemon running"):
        make_sandbox("docker").start()
    assert CliRunner().invoke(make_app(), ["docker", "status"]).exit_code == 2


def test_a_daemon_that_is_lost_is_infrastructure(box, monkeypatch):
    answer(box, "def f(): return 1")
    for container in containers():
        container.kill()
    with monkeypatch.context() as patch:
        patch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        for _ in range(2):
            with pytest.raises(InfraError, match="daemon"):
                box.execute(call("def f(): return 1"))
    assert answer(box, "def f(): return 1") == 1


@pytest.mark.parametrize("bad", [{"scratch_mb": 0}, {"memory_mb": 0}, {"processes": 0}, {"cpus": 0.0}])
def test_numbers_that_make_no_sense(bad):
    with pytest.raises(ConfigError):
        DockerSandbox(**bad)


def test_an_owner_is_this_process_and_no_other():
    boot, pid, ticks = module.owner().split()
    assert (int(pid), ticks) == (os.getpid(), module.started(os.getpid()))
    assert module.started(999_999_999) == ""
    assert boot

"""A daemon of the tests' own, and an image of the interpreter that runs them."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

IMAGE = "codegym/tested:latest"


@pytest.fixture(scope="session")
def daemon():
    """The address of a daemon: a new one, or the one that DOCKER_HOST names."""
    if "DOCKER_HOST" in os.environ:
        yield os.environ["DOCKER_HOST"]
        return
    if shutil.which("dockerd") is None or os.geteuid() != 0:
        pytest.skip("needs DOCKER_HOST, or dockerd and root to start one")
    folder = Path(tempfile.mkdtemp(prefix="dockerd-"))
    with running_daemon(folder) as address:
        os.environ["DOCKER_HOST"] = address
        yield address
        del os.environ["DOCKER_HOST"]
    subprocess.run(["umount", "-q", *map(str, folder.glob("exec/netns/*"))], check=False)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def running_daemon(folder):
    """Start dockerd with files of its own, wait for it, and end it."""
    address = f"unix://{folder}/docker.sock"
    command = ["dockerd", "--iptables=false", "--bridge=none", "-H", address, "--data-root", folder / "data"]
    command += ["--exec-root", folder / "exec", "--pidfile", folder / "pid"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
    try:
        wait_for(address, process, folder)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def wait_for(address, process, folder):
    import docker

    from codegym_docker.daemon import knock

    for _ in range(300):
        if process.poll() is not None:
            pytest.skip(f"dockerd does not run here: {(folder / 'log').read_text()[-500:]}")
        try:
            knock(docker.utils.parse_host(address))
            with contextlib.closing(docker.DockerClient(address)) as client:
                client.ping()
                return
        except (docker.errors.DockerException, OSError):
            time.sleep(0.1)
    pytest.fail("dockerd does not answer")


@pytest.fixture(scope="session")
def image(daemon):
    """An image with this interpreter, numpy and pytest."""
    from codegym_docker.daemon import connect
    from codegym_docker.images import build_local

    with contextlib.closing(connect()) as client:
        build_local(client, IMAGE, ["numpy", "pytest"])
    return IMAGE

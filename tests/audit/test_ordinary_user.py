"""The same wall for an ordinary user: the audit, run once more by somebody who is not root."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
UNABLE = 77
NAMES = "corpus or wall or found and guest"


@pytest.fixture
def home():
    """A folder that belongs to nobody, and that nobody can reach."""
    folder = tempfile.mkdtemp(prefix="codegym-audit-")
    os.chown(folder, 65534, 65534)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="the whole audit is run by an ordinary user already")
def test_the_wall_is_as_strong_for_an_ordinary_user(home):
    root = HERE.parent.parent
    pytest_arguments = [
        "-m",
        "pytest",
        str(HERE),
        "-k",
        NAMES,
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    run = subprocess.run(
        [sys.executable, str(HERE / "as_nobody.py"), home, *pytest_arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if run.returncode == UNABLE:
        pytest.skip(f"cannot become an ordinary user here: {run.stdout.strip()}")
    assert run.returncode == 0, run.stdout[-6000:]
    assert " passed" in run.stdout

"""What stands where the kernel denies namespaces, as in most containers: Landlock, seccomp, limits, no orphans."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from codegym.sandbox import landlock

WITHOUT_ADMIN = """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_SYS_ADMIN = 24, 21
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-W", "ignore", *sys.argv[1:]])
"""
ASK = """
import json, sys
from codegym.sandbox import CallBatch, make_sandbox
from codegym.sandbox.plain import decode, encode
with make_sandbox(sys.argv[1], workers=2) as sandbox:
    found = {}
    for name, code in json.load(sys.stdin).items():
        request = CallBatch(code=code, entry_point="f", inputs=[encode(((1,), {}))])
        done = sandbox.run([request, request])[-1]
        found[name] = decode(done.answers[0].payload) if done.answers else [done.ending, done.message]
    print(json.dumps([sorted(sandbox.isolation.layers), found]))
"""

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        sys.platform != "linux" or os.getuid() != 0 or landlock.version() == 0,
        reason="needs root, to give rights up, and a kernel with Landlock",
    ),
]


def ask(programs, sandbox="local"):
    code = {name: f"def f(x):\n{textwrap.indent(body, '    ')}\n" for name, body in programs.items()}
    command = [sys.executable, "-c", WITHOUT_ADMIN, "-c", ASK, sandbox]
    done = subprocess.run(command, input=json.dumps(code), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def expression(text):
    return f"return str({text})"


ALLOWED = {
    "answers": "return x + 1",
    "writes": "open('mine', 'w').write('a')\nreturn open('mine').read()",
    "temporary": "import tempfile\nreturn len(tempfile.mkdtemp()) > 0",
    "numpy": "import numpy\nreturn int(numpy.sum([1, 2]))",
    "null": "return open('/dev/null', 'w').write('xyz')",
    "late_import": "import decimal, sqlite3\nreturn 1",
}
DENIED = {
    "users": expression("open('/etc/passwd').read()"),
    "root": expression("__import__('os').listdir('/')"),
    "home": expression("__import__('os').listdir('/root')"),
    "outside": expression("open('/tmp/codegym-was-here', 'w')"),
    "socket": expression("__import__('socket').socket()"),
    "init": expression("__import__('os').kill(1, 9)"),
    "parent": expression("__import__('os').kill(__import__('os').getppid(), 9)"),
    "environment": expression("open('/proc/1/environ').read()"),
    "other_package": expression("__import__('hypothesis')"),
    "self": expression("open('/proc/self/maps').read()"),
}


def test_programs_are_kept_from_files_processes_and_the_network():
    layers, found = ask(ALLOWED | DENIED)
    assert {"landlock", "seccomp", "no_new_privs", "no_capabilities", "rlimits"} <= set(layers)
    assert not {"mount", "pid", "net", "user"} & set(layers)
    assert {name: found[name] for name in ALLOWED} == {
        "answers": 2, "writes": "a", "temporary": True, "numpy": 3, "null": 3, "late_import": 1
    }  # fmt: skip
    assert {name: found[name][0][0] for name in DENIED} == dict.fromkeys(DENIED, "PermissionError")
    assert not Path("/tmp/codegym-was-here").exists()


def test_a_program_that_kills_all_it_can_kills_itself_at_most():
    _, found = ask({"kill": "import os\nos.kill(-1, 9)\nreturn 1", "next": "return 2"})
    assert found["next"] == 2


LEAVES_A_DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv({python!r}, ["left-by-a-program", "-c", "import time; time.sleep(60)"])
    os._exit(0)
os.wait()
return 1
"""


@pytest.mark.parametrize("sandbox", ["local", "subprocess"])
def test_daemons_do_not_outlive_their_program(sandbox):
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    _, found = ask({"daemon": LEAVES_A_DAEMON.format(python=python), "next": "return 2"}, sandbox)
    assert found == {"daemon": 1, "next": 2}
    left = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.exists() and path.read_bytes().startswith(b"left-by-a-program")
    ]
    assert left == []


@pytest.mark.parametrize("sandbox", ["local", "subprocess"])
def test_no_folder_is_left(sandbox):
    before = set(Path("/tmp").glob("codegym-*/*"))
    ask({"file": "open('mine', 'w').write('a')\nreturn 1"}, sandbox)
    assert set(Path("/tmp").glob("codegym-*/*")) <= before

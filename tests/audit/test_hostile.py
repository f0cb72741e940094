"""Hostile programs of the audit, looked at more closely."""

import contextlib
import io
import os
import sys
import threading

import pytest

from codegym.audit import corpus
from codegym.audit.programs.parts import ALWAYS_EQUAL, FRAME_WALK_CALL, FRAME_WALK_STDIO
from codegym.core import Comparison, Limits, Program, Raises, Status, Task, TestCase

# The same thieves and liars, where the expected values are within reach: they do know their trade.


def naive_verdict(code, n, expected):
    """What a grader says that holds the expected value beside the program."""
    namespace = {}
    exec(code, namespace)
    return namespace["f"](n) == expected


# they look at all that is loaded, and torch may be, whose deprecated names warn when they are looked at
LOOKS_AT_ALL = pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")


@LOOKS_AT_ALL
@pytest.mark.parametrize("code", [FRAME_WALK_CALL, ALWAYS_EQUAL], ids=["frame_walk", "always_equal"])
def test_a_naive_grader_is_fooled(code):
    assert naive_verdict(code, 1, "token-" + "0123456789ab")


@LOOKS_AT_ALL
def test_a_naive_grader_of_scripts_is_fooled(monkeypatch):
    expected = "token-" + "0123456789ab"
    monkeypatch.setattr(sys, "stdin", io.StringIO("1\n"))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(FRAME_WALK_STDIO, {})
    assert printed.getvalue().strip() == expected


# Lies under every rule

LIARS = {
    "always_equal": ALWAYS_EQUAL,
    "object": "class E:\n    def __eq__(self, o): return True\n    def __hash__(self): return 1\ndef f(n): return E()\n",
    "float": "class E(float):\n    def __eq__(self, o): return True\n    def __sub__(self, o): return 0.0\n    __rsub__ = __sub__\n    def __abs__(self): return 0.0\n    def __float__(self): return 41.5\ndef f(n): return E()\n",
    "int": "class E(int):\n    def __eq__(self, o): return True\n    def __index__(self): return 41\n    __pos__ = __int__ = __index__\ndef f(n): return E()\n",
    "list": "class E(list):\n    def __eq__(self, o): return True\n    def __iter__(self): return iter([1, 2, 3])\n    def __getitem__(self, i): return i + 1\n    def __len__(self): return 3\ndef f(n): return E()\n",
    "dict": "class E(dict):\n    def __eq__(self, o): return True\n    def __getitem__(self, k): return 1\n    def keys(self): return {'a': 1}.keys()\n    def items(self): return {'a': 1}.items()\ndef f(n): return E()\n",
    "array": "class E:\n    shape = ()\n    def item(self): return E()\n    def tolist(self): return [E()]\n    def __array__(self, *a): return [1]\n    def __eq__(self, o): return True\ndef f(n): return E()\n",
    "nan": "def f(n): return [float('nan'), float('inf'), complex('nan')]\n",
    "all_of_them": "def f(n): return {None: 1, True: 1, 41: 1, 'token': 1}.keys()\n",
}
WANTED = [41, 41.5, "token", [1, 2, 3], {"a": 1}, {7, 8}, (1.5, [2.5]), None, True]


@pytest.mark.parametrize("rule", ["exact", "float", "unordered"])
@pytest.mark.parametrize("liar", LIARS)
def test_no_rule_believes_a_liar(grader, liar, rule):
    tolerance = {} if rule == "exact" else {"atol": 1e-6, "rtol": 1e-6}
    task = Task(
        id="audit/liars",
        prompt="",
        entry_point="f",
        hidden_tests=tuple(TestCase.call(0, expected=value) for value in WANTED),
        compare=Comparison(rule=rule, **tolerance),
    )
    outcome = grader.grade(Program(LIARS[liar]), task)
    assert outcome.fraction_passed == 0.0, outcome


def test_an_exception_is_no_answer_and_an_answer_no_exception(grader):
    tests = (
        TestCase.call(1, expected=Raises("ValueError")),
        TestCase.call(2, expected="ValueError"),
        TestCase.call(3, expected=["ValueError", ""]),
    )
    task = Task(id="audit/raises", prompt="", entry_point="f", hidden_tests=tests)
    answering = grader.grade(Program("def f(n): return [['ValueError', 'Exception'], '']"), task)
    raising = grader.grade(Program("def f(n): raise KeyError('ValueError')"), task)
    assert answering.fraction_passed == raising.fraction_passed == 0.0


# Tests that attack

BAD_TESTS = {
    "steals_the_source": "import linecache, sys\nassert 'ret' + 'urn n + 1' in str(linecache.cache) + str(sys.modules.get('solution'))",
    "inspects": "import inspect\nassert 'n + 1' in inspect.getsource(f)",
    "bytecode": "assert f.__code__.co_code",
    "calls_in": "assert f(__import__('os').getpid).startswith('x')",
    "hangs": "while True: pass",
    "sleeps": "import time\ntime.sleep(99)",
    "exits": "import os\nos._exit(0)",
    "exits_at_once": "raise SystemExit(0)",
    "does_not_compile": "assert f(1 ==",
    "files_of_the_program": "import glob\nassert 'n + 1' in ''.join(open(p).read() for p in glob.glob('/**/*.py', root_dir='/tmp'))",
}


@pytest.mark.parametrize("name", BAD_TESTS)
def test_tests_see_nothing_of_the_program_and_cannot_end_well_early(grader, name):
    task = Task(
        id="audit/tests",
        prompt="",
        entry_point="f",
        hidden_tests=(TestCase.code("import math\n" + BAD_TESTS[name]),),
        limits=Limits(cpu_s=0.3, wall_s=0.6),
    )
    outcome = grader.grade(Program("def f(n):\n    return n + 1\n"), task)
    assert outcome.status not in (Status.PASSED, Status.INFRA), outcome


# Nothing is left


def children_of(pid):
    """The process ids of all descendants."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as file:
            for child in map(int, file.read().split()):
                found += [child, *children_of(child)]
    return found


def worker_processes(sandbox):
    """The processes of a sandbox: for each worker its guardian and itself."""
    return {worker.process.pid: children_of(worker.process.pid) for worker in sandbox._live if worker}


LISTING = """
import os
def f(n):
    names = [os.path.join(path, name) for path, folders, files in os.walk("/tmp") for name in folders + files]
    return [names, os.listdir("/"), sorted(os.listdir("/dev/shm"))]
"""


def test_nothing_is_left_behind(grader, sandbox, attack):
    from codegym.sandbox.local import base_folder

    right = Task(
        id="audit/right",
        prompt="",
        entry_point="f",
        hidden_tests=tuple(TestCase.call(n, expected=n + 1) for n in range(3)),
    )
    for outcome in grader.grade_many([(Program("def f(n): return n + 1"), right)] * 8):
        assert outcome.passed
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for entry in (entry for entry in corpus() if entry.name in LASTING):
        attack(entry)
    for outcome in grader.grade_many([(Program("def f(n): return n + 1"), right)] * 8):
        assert outcome.passed, "a worker does not answer as it did"
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
    assert os.listdir(base_folder()) == []
    processes = worker_processes(sandbox)
    assert len(processes) == sandbox.workers
    assert all(len(inner) == 1 for inner in processes.values()), "a guest is still there"
    listing = grader.grade(Program(LISTING), replace_tests(right, TestCase.call(0, expected=[[], [], []])))
    assert listing.message.startswith("answered [[], ["), listing.message


LASTING = {"outlive", "kill_all", "sealed_folders", "inodes", "segfault", "forge_values", "cut_off", "sleep"}
"""Names of programs that are run once more between two looks at what there is."""


def replace_tests(task, *tests):
    return Task(id=task.id, prompt="", entry_point=task.entry_point, hidden_tests=tests)

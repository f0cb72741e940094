"""Parts of the driver by themselves: what a mutant changes, what it leaves behind, children that misbehave."""

import ast
import os
import sys
import textwrap
import types

import pytest

from codegym.errors import InfraError
from codegym.mutation.driver_compile import CannotSwap, SourceMap, StepBudgetExceeded, Steps, family
from codegym.mutation.driver_processes import Child, Link, pair
from codegym.mutation.driver_state import State
from codegym.mutation.engine import MutationEngine, MutationLimits
from codegym.mutation.engine_program import MODULES, driver_program
from codegym.mutation.matrix import Flag
from codegym.sandbox import Answer, AnswerKind, Ending, Execution, Isolation, make_sandbox
from codegym.sandbox.plain import decode, encode

PROGRAM = textwrap.dedent('''\
    """A docstring."""
    from __future__ import annotations
    X = 1; Y = lambda a: a + X


    def plain(a, b=2):
        total = a
        for i in range(b):
            total += i
        return total


    class K:
        size = 3

        def method(self):
            return [j for j in range(self.size) if j]

        @property
        def value(self):
            def inner():
                return self.size * 2
            return inner()


    def closing(n):
        def inner(x):
            return x + n
        return inner
    ''')


def changed(old, new, source=PROGRAM):
    program = SourceMap(source, "/program/x.py")
    start = source.index(old)
    return program.change(start, start + len(old), new)


@pytest.mark.parametrize(
    ("old", "new", "own", "swapped"),
    [
        ("total += i", "total -= i", ["plain"], ["plain"]),
        ("range(self.size)", "range(9)", ["method"], ["method"]),
        ("self.size * 2", "self.size * 3", ["inner"], ["inner", "value"]),
        ("x + n", "x - n", ["inner"], ["inner", "closing"]),
        ("a + X", "a - X", ["<lambda>"], ["<lambda>"]),
        ("return total", "return (total)", [], []),
    ],
)
def test_what_a_mutant_changes(old, new, own, swapped):
    change = changed(old, new)
    assert [code.co_name for code in change.own] == own
    assert [code.co_name for code, _ in change.swaps] == swapped
    assert all(new.co_firstlineno == old.co_firstlineno for old, new in change.swaps)
    assert change.same_scopes


@pytest.mark.parametrize(
    ("old", "new"),
    [("X = 1", "X = 2"), ("b=2", "b=3"), ("size = 3", "size = 4"), ("@property", "@classmethod")],
)
def test_what_cannot_be_swapped(old, new):
    with pytest.raises(CannotSwap):
        changed(old, new)


def test_what_does_not_compile():
    with pytest.raises(SyntaxError):
        changed("total += i", "total +=")


def test_a_function_that_changes_its_kind_has_other_scopes():
    assert not changed("return total", "yield total").same_scopes
    assert not changed("total = a", "pass").same_scopes


def test_lines_are_those_of_whole_statements():
    source = (
        "def f(\n    a,\n):\n    x = [\n        a,\n    ]\n    if (a and\n            x):\n        return 1\n"
    )
    program = SourceMap(source, "x.py")

    def lines(text):
        return program.lines_of(source.index(text), source.index(text) + len(text))

    assert lines("a,\n    ]") == {4, 5, 6}
    assert lines("x):") == {7, 8}
    assert lines("return 1") == {9}


def steps_of(source, call):
    steps = Steps()
    names = {}
    steps.grant(10**6)
    exec(SourceMap(textwrap.dedent(source), "/program/x.py").code, names)
    steps.grant(1000)
    eval(call, names)
    return 1000 - steps.left()


@pytest.mark.parametrize(
    ("source", "call", "count"),
    [
        ("def f(): pass", "f()", 1),
        ("def f(n):\n    for i in range(n): pass", "f(5)", 6),
        ("def f(n):\n    while n: n -= 1", "f(5)", 6),
        ("def f(n): return [i for i in range(n) for j in range(2)]", "f(3)", 1 + 3 + 6),
        ("def f(n): return sum(i for i in range(n) if i)", "f(3)", 1 + 3),
        ("f = lambda n: n", "[f(1), f(2)]", 2),
        ("def f(n): return 0 if n == 0 else f(n - 1)", "f(4)", 5),
        ("def f(n):\n    yield from range(n)", "list(f(3))", 1),
        ("class K:\n    def __init__(self): pass", "K()", 1),
    ],
)
def test_steps_are_entries_and_turns(source, call, count):
    assert steps_of(source, call) == count


def test_too_many_steps_end_the_code_and_nothing_else():
    steps = Steps()
    names = {}
    exec(SourceMap("def f():\n    while True: pass\n", "/program/x.py").code, names)
    steps.grant(50)
    with pytest.raises(StepBudgetExceeded):
        names["f"]()
    assert steps.left() == -1
    steps.grant(10**9)


def test_entries_are_noted_only_while_wanted():
    steps = Steps()
    names = {}
    steps.grant(10**6)
    exec(SourceMap("\ndef f(): return [i for i in 'ab']\n\ndef g(): pass\n", "/program/x.py").code, names)
    names["f"]()
    assert steps.entered == {2}
    steps.ignore_entries()
    names["g"]()
    assert steps.entered == {2}


# What is left behind ----------------------------------------------------------------------------------------

STATEFUL = """
import collections, functools, itertools

COUNT = 0
SEEN = []
TABLE = {"a": [1]}
QUEUE = collections.deque()

def default(x, seen=[]):
    seen.append(x)

default.attribute = 0

def make():
    count = 0
    def inner():
        nonlocal count
        count += 1
    return inner

inner = make()

class Registry:
    known = set()
    def __init__(self):
        self.items = []

REGISTRY = Registry()

class Slots:
    __slots__ = ("x",)

SLOTS = Slots()
SLOTS.x = 1

@functools.cache
def cold(x):
    return x

@functools.lru_cache
def warm(x):
    return x

warm(1)
"""


@pytest.fixture
def module():
    made = types.ModuleType("stateful")
    sys.modules["stateful"] = made
    exec(STATEFUL, vars(made))
    yield made
    del sys.modules["stateful"]


@pytest.mark.parametrize(
    "spoil",
    [
        "COUNT += 1",
        "NEW = 1",
        "SEEN.append(1)",
        "TABLE['a'].append(2)",
        "TABLE['b'] = 1",
        "QUEUE.append(1)",
        "default(1)",
        "inner()",
        "default.attribute = 1",
        "Registry.known.add(1)",
        "Registry.extra = 1",
        "REGISTRY.items.append(1)",
        "SLOTS.x = 2",
        "warm(2)",
        "import os; os.environ['CODEGYM_X'] = '1'",
        "import warnings; warnings.simplefilter('ignore')",
        "import sys; sys.path.append('x')",
        "import os; os.chdir('/')",
        "import threading; t = threading.Timer(0.2, print); t.start()",
    ],
)
def test_what_is_left_behind_is_noticed(module, spoil, monkeypatch, recwarn):
    monkeypatch.chdir("/tmp")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("CODEGYM_X", "0")
    state = State([module])
    assert not state.opaque
    assert not state.is_spoilt()
    exec(spoil, vars(module))
    assert state.is_spoilt()
    if "t" in vars(module):
        module.t.join()


def test_what_is_used_and_put_back_is_not_spoilt(module):
    state = State([module])
    module.cold(1), module.warm(1)
    module.SEEN.append(1), module.SEEN.pop()
    assert not state.is_spoilt()
    assert module.cold.cache_info().currsize == 0


@pytest.mark.parametrize(
    "value", ["iter([1, 2])", "itertools.count()", "(i for i in 'ab')", "[map(str, 'ab')]"]
)
def test_what_cannot_be_compared_makes_it_opaque(module, value):
    exec(f"HIDDEN = {value}", vars(module))
    state = State([module])
    assert state.opaque
    assert state.is_spoilt()


# Processes --------------------------------------------------------------------------------------------------


def test_what_a_child_wrote_is_there_after_it_crashed():
    def body(send):
        send(("one", 1))
        os.kill(os.getpid(), 9)

    child = Child(body)
    assert list(child.messages(5.0)) == [("one", 1)]
    assert (child.end(), child.silent) == (-9, False)
    child.close()


def test_a_silent_child_is_ended():
    def body(send):
        import time

        send("before")
        time.sleep(60)

    child = Child(body)
    assert list(child.messages(0.2)) == ["before"]
    assert (child.end(), child.silent) == (-9, True)
    child.close()


def test_a_connection_has_a_deadline_and_an_end():
    ours, theirs = pair()
    theirs.send([1, "two", None])
    assert ours.receive(1.0) == [1, "two", None]
    with pytest.raises(TimeoutError):
        ours.receive(0.01)
    theirs.close()
    with pytest.raises(EOFError):
        ours.receive(1.0)
    ours.close()
    assert isinstance(ours, Link)


# The whole --------------------------------------------------------------------------------------------------


def test_the_driver_imports_nothing_that_a_guest_lacks():
    text = driver_program()
    assert text == driver_program()
    assert all(f"'{name}'" in text for name in MODULES)
    tree = ast.parse(text)
    imported = {name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {name.name for name in imported} <= sys.stdlib_module_names | {"importlib.util"}


def test_any_sandbox_with_pytest_will_do(edits):
    source = "def f(x):\n    return x + 1\n"
    with make_sandbox("subprocess", workers=1) as sandbox, MutationEngine(sandbox) as engine:
        mutants = edits(source, ("x + 1", "x + 2"), ("x + 1", "1 + x"))
        result = engine.run(source, "assert f(1) == 2", mutants=mutants, controls=False)
    assert [str(one.status) for one in result.mutants] == ["killed", "survived"]


def test_tests_that_take_long_are_known_by_their_functions(engine, edits):
    source = "def f(x):\n    if x:\n        return 1\n    return 2\n\ndef g():\n    return 3\n"
    limits = MutationLimits(trace_cpu_s=0.0001)
    tests = "def test_it():\n    sum(range(3_000_000))\n    from solution import f\n    assert f(1) == 1\n"
    own = MutationEngine(engine.sandbox, limits=limits)
    mutants = edits(source, ("return 1", "return 5"), ("return 3", "return 4"))
    result = own.run(source, tests, mutants=mutants, controls=False)
    (test,) = result.baseline.tests
    assert test.arcs is None
    assert {2, 3, 4} <= test.lines
    assert 7 not in test.lines
    assert [str(one.status) for one in result.mutants] == ["killed", "not_covered"]


class Scripted:
    """A sandbox that says what it is told to."""

    workers = 1
    isolation = Isolation(frozenset())

    def __init__(self, execution):
        self.execution = execution

    def execute(self, request):
        return self.execution


def said(*values):
    answers = [Answer(AnswerKind.VALUE, encode(value), 0.0) for value in values]
    return Execution(ending=Ending.DONE, answers=answers, loaded=True)


BASE = {
    "ids": ["t"],
    "verdicts": ["passed"],
    "spent": [(1, 0.0, 0.0)],
    "lines": [[2]],
    "arcs": [None],
    "import_arcs": [],
    "errors": [],
    "stateful": False,
    "seen": [],
    "cpu_s": 0.0,
}
RESULTS = {"seen": [], "cpu_s": 0.0}


@pytest.mark.parametrize(
    "execution",
    [
        Execution(ending=Ending.EXITED, message="exit status 3"),
        Execution(ending=Ending.DONE, answers=[Answer(AnswerKind.VALUE, b"?", 0.0)]),
        Execution(ending=Ending.DONE, answers=[Answer(AnswerKind.RAISED, encode([["KeyError"], ""]), 0.0)]),
        said({"ids": ["t"]}, {}),
        said({**BASE, "verdicts": [1]}, {**RESULTS, "results": {}}),
        said(BASE, {**RESULTS, "results": {0: ("splendid", [], 0, False)}}),
        said(BASE, {**RESULTS, "results": {7: ("killed", [], 0, False)}}),
        said(BASE, {**RESULTS, "results": {0: ("killed", [(5, "assertion")], 0, False)}}),
        said(BASE, {**RESULTS, "results": {0: ("killed", [(0, "by magic")], 0, False)}}),
        said("nothing", "at all"),
    ],
)
def test_whoever_gives_no_proper_account_gets_nothing(edits, execution):
    source = "def f(x):\n    return x + 1\n"
    mutants = edits(source, ("x + 1", "x + 2"))
    result = MutationEngine(Scripted(execution)).run(
        source, "assert f(1) == 2", mutants=mutants, controls=False
    )
    assert (result.flags, result.score()) == ({Flag.BROKEN}, 0.0)


def test_a_proper_account_is_taken(edits):
    source = "def f(x):\n    return x + 1\n"
    execution = said(BASE, {**RESULTS, "results": {0: ("killed", [(0, "assertion")], 0, False)}})
    mutants = edits(source, ("x + 1", "x + 2"))
    result = MutationEngine(Scripted(execution)).run(
        source, "assert f(1) == 2", mutants=mutants, controls=False
    )
    assert (result.flags, result.score()) == (frozenset(), 1.0)


def test_a_suite_that_does_not_get_through_is_our_trouble(edits):
    source = "def f(x):\n    return x + 1\n"
    late = Execution(ending=Ending.WALL, message="did not end before the wall deadline")
    with pytest.raises(InfraError, match="wall deadline"):
        MutationEngine(Scripted(late)).run(source, "assert f(1) == 2", mutants=[], controls=False)


def test_order_of_mutants_tells_nothing(engine, edits):
    """Numbers that reach the guest are places in a shuffled order, not in ours."""
    source = "def f(x):\n    return x + 1\n"
    mutants = edits(source, *[("x + 1", f"x + {n}") for n in range(2, 12)])
    rows = []
    execute = engine.sandbox.execute

    class Spy:
        workers = 1
        isolation = engine.sandbox.isolation

        def execute(self, request):
            rows.append(request)
            return execute(request)

    MutationEngine(Spy()).run(source, "assert f(1) == 2", mutants=mutants, controls=False, seed=3)
    (_, sent), _ = decode(rows[0].inputs[1])
    assert [number for number, *_ in sent] == list(range(10))
    replaced = [replacement for *_, replacement in sent]
    assert replaced != [mutant.replacement for mutant in mutants]
    assert sorted(replaced) == sorted(mutant.replacement for mutant in mutants)


def test_every_code_object_of_a_module_is_in_its_family():
    program = SourceMap(PROGRAM, "x.py")
    assert {"plain", "method", "value", "inner", "closing", "K"} <= {c.co_name for c in family(program.code)}

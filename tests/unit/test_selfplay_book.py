"""The mistake book: its rules, and that nothing of it is ever lost."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.errors import ConfigError, DataError
from codegym.selfplay import Change, Entry, MistakeBook, Update, canonical
from codegym.selfplay.book_rules import evicted, frequency_rule, set_rule


@pytest.fixture
def path(tmp_path):
    return tmp_path / "book.sqlite"


@pytest.fixture
def book(path):
    with MistakeBook(path) as opened:
        yield opened


def counts(book, question="q"):
    return {entry.test: entry.frequency for entry in book.entries(question)}


# Rules


def test_the_frequency_rule_of_worked_numbers(book):
    book.update("q", failed=["t1", "t1", "t2"])
    assert counts(book) == {"t1": 2, "t2": 1}
    book.update("q", failed=["t2", "t3"], passed=["t1", "t2"])
    assert counts(book) == {"t1": 1, "t2": 1, "t3": 1}
    assert list(counts(book)) == ["t1", "t2", "t3"]
    book.update("q", failed=["t4"], passed=["t1", "t3", "t3", "t2"])
    assert counts(book) == {"t4": 1}


def test_the_set_rule_of_worked_numbers(path):
    with MistakeBook(path, mode="set") as book:
        for failed, passed, expected in (
            (["t1", "t2"], [], {"t1", "t2"}),
            (["t3"], ["t1"], {"t2", "t3"}),
            (["t4", "t2"], ["t2", "t3"], {"t4"}),
            (["t4", "t4"], [], {"t4"}),
        ):
            book.update("q", failed=failed, passed=passed)
            assert counts(book) == dict.fromkeys(expected, 1)


def test_what_goes_out_and_comes_in_at_once_is_the_newest(book):
    book.update("q", failed=["a", "b"])
    book.update("q", failed=["a"], passed=["a"])
    assert list(counts(book)) == ["b", "a"]
    assert book.totals() == Change(updates=2, added=3, removed=1, failures=3, passes=1)


TESTS = st.sampled_from("abcd")
COUNTERS = st.lists(TESTS, max_size=6).map(Counter)


@given(st.dictionaries(TESTS, st.integers(1, 3)), COUNTERS, COUNTERS)
def test_the_frequency_rule_step_by_step(before, failed, passed):
    """As the released code does it, one test at a time."""
    left = dict(before)
    for test in passed.elements():
        if test in left:
            left[test] -= 1
            if left[test] <= 0:
                del left[test]
    kept = set(left)
    for test in failed.elements():
        left[test] = left.get(test, 0) + 1
    ruling = frequency_rule(before, failed, passed)
    assert ruling.counts == left
    assert list(ruling.counts) == list(left)
    assert (ruling.added, ruling.removed) == (len(left) - len(kept), len(before) - len(kept))


@given(st.sets(TESTS), COUNTERS, COUNTERS)
def test_the_set_rule_is_that_of_sets(before, failed, passed):
    ruling = set_rule(dict.fromkeys(before, 1), failed, passed)
    after = (before | set(failed)) - set(passed)
    assert ruling.counts == dict.fromkeys(after, 1)
    assert (ruling.added, ruling.removed) == (len(after - before), len(before - after))


@pytest.mark.parametrize(
    ("most", "expected"), [(None, []), (4, []), (3, ["b"]), (2, ["b", "c"]), (1, ["b", "c", "a"])]
)
def test_the_least_frequent_and_oldest_give_way(most, expected):
    assert evicted({"a": 2, "b": 1, "c": 1, "d": 2}, most) == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("assert  f( 1,2 ) == (3)", "assert f(1, 2) == 3"),
        ("assert f('a')=='b'  # why", "assert f('a') == 'b'"),
        ("  1 2\n", "1 2"),
        ("a\x00b", "a\x00b"),
        ("(" * 10_000, "(" * 10_000),
    ],
)
def test_tests_are_known_by_what_they_say(test, expected):
    assert canonical(test) == expected


# The book


def test_the_most_frequent_are_replayed(book):
    book.update("q", failed=["a", "b", "b", "c", "c", "c", "d"])
    book.update("other", failed=["x"])
    assert book.retrieve("q") == ["c", "b", "a", "d"]
    assert book.retrieve("q", 2) == ["c", "b"]
    assert book.retrieve("nothing") == []


def test_at_most_eight_are_replayed(book):
    book.update("q", failed=[f"t{i}" for i in range(20)])
    assert book.retrieve("q") == [f"t{i}" for i in range(8)]


def test_layout_makes_no_difference(book):
    book.update("q", failed=["assert f(1)==2", "assert f( 1 ) == 2"], kinds={"assert f(1)==  2": "timeout"})
    book.update("q", passed=["assert f(1) == 2 # again"])
    assert book.entries() == [
        Entry(question="q", test="assert f(1) == 2", frequency=1, kind="timeout", failures=2, passes=1)
    ]


def test_a_bounded_book(path):
    with MistakeBook(path, max_per_question=2) as book:
        change = book.update("q", failed=["a", "a", "b", "c"])
        assert change == Change(updates=1, added=3, evicted=1, failures=4)
        assert counts(book) == {"a": 2, "c": 1}
        book.update("p", failed=["x", "y"])
        assert len(book) == 4


def test_what_an_update_did(book):
    first = book.update_many(
        [Update(question="q", failed=["a", "b"]), Update(question="p", failed=["a"], kinds={"a": "error"})]
    )
    second = book.update("q", failed=["c"], passed=["a", "zzz"])
    assert first == Change(updates=2, added=3, failures=3)
    assert second == Change(updates=1, added=1, removed=1, failures=1, passes=2)
    assert book.totals() == first + second


def test_the_report(book):
    book.update("q", failed=["a"] * 3 + ["b"], kinds={"b": "timeout"})
    book.update("p", failed=["a"] * 4 + ["c"], passed=[])
    book.update("p", passed=["a"])
    report = book.report(top=2)
    assert (report.questions, report.tests) == (2, 4)
    assert [(each.question, each.test, each.failures) for each in report.worst] == [
        ("p", "a", 4),
        ("q", "a", 3),
    ]
    assert [(each.kind, each.tests, each.failures, each.questions) for each in report.clusters] == [
        ("wrong", 3, 8, 2),
        ("timeout", 1, 1, 1),
    ]
    assert report.clusters[0].worst == report.worst[0]
    lines = str(report).splitlines()
    assert lines[0] == "4 mistakes of 2 questions"
    assert "wrong: 8 failures of 3 tests in 2 questions" in lines
    assert lines[-2] == "4 failures, 1 passes (wrong) p: a"


def test_the_report_on_nothing(book):
    assert str(book.report()).startswith("0 mistakes of 0 questions")


# Files


def test_export_and_import(book, tmp_path):
    book.update("q", failed=["a", "a", "b"], kinds={"a": "error"})
    book.update("p", failed=["x"], passed=[])
    file = tmp_path / "book.json"
    book.export_json(file)
    assert json.loads(file.read_text())["questions"]["q"][0] == {
        "testcase": "a",
        "frequency": 2,
        "kind": "error",
        "failures": 2,
        "passes": 0,
    }
    with MistakeBook(tmp_path / "other") as other:
        other.update("old", failed=["z"])
        other.import_json(file)
        assert other.entries() == book.entries()
        assert other.totals() == book.totals()
    assert sorted(each.name for each in tmp_path.glob("*.tmp")) == []


def test_a_book_of_the_released_code(book, tmp_path):
    file = tmp_path / "released.json"
    file.write_text(
        '{"17": [{"testcase": "assert f(1)==2", "frequency": 3}, {"testcase": "t", "frequency": 1}]}'
    )
    book.import_json(file)
    assert book.retrieve("17") == ["assert f(1) == 2", "t"]
    assert book.entries("17")[0].failures == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not a mistake book: Expected `object`"),
        ("{", "not a mistake book"),
        ("\x00", "not a mistake book"),
        ('{"q": [{"testcase": "t"}]}', "missing required field `frequency`"),
        ('{"q": [{"testcase": "t", "frequency": 0}]}', "Expected `int` >= 1"),
        (
            '{"q": [{"testcase": "t", "frequency": 1}, {"testcase": " t", "frequency": 1}]}',
            "the same test twice",
        ),
        ('{"format": "x", "mode": "set", "totals": {}, "questions": {}}', "expected the format"),
    ],
)
def test_files_that_are_no_books(book, tmp_path, content, message):
    book.update("q", failed=["a"])
    file = tmp_path / "bad.json"
    file.write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        book.import_json(file)
    assert str(file) in str(caught.value)
    assert counts(book) == {"a": 1}


def test_a_missing_file(book, tmp_path):
    with pytest.raises(DataError, match="cannot be read: No such file"):
        book.import_json(tmp_path / "none.json")


def test_modes_do_not_mix(book, path, tmp_path):
    with pytest.raises(ConfigError, match="begun in the mode 'frequency', and cannot go on in 'set'"):
        MistakeBook(path, mode="set")
    file = tmp_path / "book.json"
    book.export_json(file)
    with (
        MistakeBook(tmp_path / "set", mode="set") as other,
        pytest.raises(ConfigError, match="in the mode 'frequency', and this one is in 'set'"),
    ):
        other.import_json(file)


def test_an_export_that_fails_leaves_the_old_file(book, tmp_path, monkeypatch):
    file = tmp_path / "book.json"
    file.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        book.export_json(file)
    assert file.read_text() == "old"
    assert list(tmp_path.glob("*.tmp")) == []


def test_whatever_a_model_writes_is_kept(book, tmp_path):
    tests = ["\ud800", "a\x00b", "assert f('\\d') == r'\\d'", "assert f('\N{SNOWMAN}') == 1if x else 2"]
    book.update("q", failed=tests)
    book.update("q", passed=tests[1:])
    book.update("q", failed=tests[1:])
    assert book.retrieve("q")[1:] == [tests[1], tests[2], "assert f('\N{SNOWMAN}') == 1 if x else 2"]
    book.export_json(tmp_path / "book.json")
    before = book.entries()
    book.import_json(tmp_path / "book.json")
    assert book.entries() == before


@pytest.mark.parametrize(
    "make",
    [
        lambda path: MistakeBook(path, mode="list"),
        lambda path: MistakeBook(path, max_per_question=0),
    ],
)
def test_books_that_make_no_sense(path, make):
    with pytest.raises(ConfigError, match="must be"):
        make(path)


@pytest.mark.parametrize("content", [b"", b"no database, but long enough to look like one" * 100])
def test_another_file_is_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"book\.sqlite: cannot be used as a mistake book"):
        MistakeBook(path)
    assert path.read_bytes() == content


# Many at a time


def test_an_update_that_fails_changes_nothing(book):
    book.update("q", failed=["a"])

    class Broken:
        question, failed, passed, kinds = object(), ["b"], [], {}

    with pytest.raises(sqlite3.Error):
        book.update_many([Update(question="q", failed=["c"]), Broken()])
    assert counts(book) == {"a": 1}
    assert book.totals() == Change(updates=1, added=1, failures=1)
    book.update("q", failed=["a"])
    assert counts(book) == {"a": 2}


def test_threads_share_a_book(book):
    def work(name):
        for i in range(20):
            book.update("q", failed=["shared", f"{name} {i}"])
            book.retrieve("q")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(book)["shared"] == 80
    assert len(book) == 81


ADD_MISTAKES = """
import sys
from codegym.selfplay import MistakeBook

for i in range(15):
    with MistakeBook(sys.argv[1]) as book:
        book.update("q", failed=["shared", f"{sys.argv[2]} {i}"])
"""


def test_processes_lose_nothing(path):
    processes = [subprocess.Popen([sys.executable, "-c", ADD_MISTAKES, path, name]) for name in "abc"]
    assert [process.wait() for process in processes] == [0, 0, 0]
    with MistakeBook(path) as book:
        assert counts(book)["shared"] == 45
        assert len(book) == 46
        assert book.totals() == Change(updates=45, added=46, failures=90)


def test_a_book_crosses_a_fork(book):
    book.update("q", failed=["a"])
    child = os.fork()
    if not child:
        code = 1
        try:
            book.update("q", failed=["a"])
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    book.update("q", failed=["a"])
    assert counts(book) == {"a": 3}


def test_a_book_is_pickled(book):
    book.update("q", failed=["a"])
    with pickle.loads(pickle.dumps(book)) as copy:
        copy.update("q", failed=["a"])
        assert (copy.path, copy.mode) == (book.path, book.mode)
    assert counts(book) == {"a": 2}


def test_a_closed_book_opens_again(book):
    book.close()
    book.close()
    book.update("q", failed=["a"])
    assert counts(book) == {"a": 1}


KILLED_BEFORE_COMMIT = """
import os, signal, sys
from codegym.selfplay import MistakeBook

book = MistakeBook(sys.argv[1])
book.update("q", failed=["kept"])
def trace(statement):
    if statement == "COMMIT":
        os.kill(os.getpid(), signal.SIGKILL)
book._process.db.set_trace_callback(trace)
book.update("q", failed=["lost"], passed=["kept"])
"""

KILLED_ANY_TIME = """
import sys
from codegym.selfplay import MistakeBook

book = MistakeBook(sys.argv[1])
while True:
    change = book.update("q", failed=["a", "b"])
    print(change.updates, flush=True)
"""


def test_what_a_killed_process_had_not_committed_is_lost_and_nothing_else(path):
    process = subprocess.run([sys.executable, "-c", KILLED_BEFORE_COMMIT, path], check=False)
    assert process.returncode == -signal.SIGKILL
    with MistakeBook(path) as book:
        assert counts(book) == {"kept": 1}
        assert book.totals() == Change(updates=1, added=1, failures=1)
        book.update("q", failed=["kept"])
        assert counts(book) == {"kept": 2}


def test_a_process_killed_at_any_time_leaves_a_whole_book(path):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED_ANY_TIME, path], stdout=subprocess.PIPE, text=True
    ) as process:
        confirmed = [process.stdout.readline() for _ in range(20)]
        process.kill()
        confirmed += process.stdout.read().splitlines()
    with MistakeBook(path) as book:
        updates = book.totals().updates
        assert len(confirmed) <= updates + 1  # the last line may be cut off
        assert updates <= len(confirmed) + 1
        assert counts(book) == {"a": updates, "b": updates}

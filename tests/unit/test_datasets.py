from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegym.core import Comparison, Limits, Raises, Task, TestCase
from codegym.datasets import files, humaneval, load_tasks, read_rows, row
from codegym.datasets.row import task_from_row, task_to_row
from codegym.errors import ConfigError, DataError, NotFoundError

TASK = Task(
    id="t/1",
    prompt="Add.",
    entry_point="add",
    starter_code="def add(a, b):\n",
    preamble="import math\n",
    public_tests=(
        TestCase.call(1, kwargs={"b": (2,)}, expected={3, "x"}),
        TestCase.call([b"\xff"], expected=None, limits=Limits(), answer="argument"),
    ),
    hidden_tests=(
        TestCase.call(2**70, math.inf, expected=Raises("ValueError"), tier="plus"),
        TestCase.call(1, 2, compare=Comparison(rule="float", atol=1e-6)),
        TestCase.code("assert add(1, 2) == 3"),
    ),
    reference_solutions=("def add(a, b): return a + b", "add = int.__add__"),
    wrong_solutions=("def add(a, b): return a",),
    compare=Comparison(rule="judge", judge="m:f"),
    limits=Limits(cpu_s=1.0, wall_s=None, memory_mb=64),
    meta={"tags": ("a", "b"), 1: {2}},
)


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


class TestRows:
    def test_nothing_is_lost(self) -> None:
        written = json.loads(json.dumps(task_to_row(TASK), allow_nan=False))
        assert task_from_row(written) == TASK
        assert written["prompt"] == [{"role": "user", "content": "Add."}]
        assert written["answer"] == TASK.reference_solutions[0]

    def test_info_may_be_json_text_and_nulls_count_as_left_out(self) -> None:
        written = task_to_row(TASK) | {"info": json.dumps(task_to_row(TASK)["info"])}
        assert task_from_row(written) == TASK
        info = {
            "entry_point": None,
            "hidden_tests": [{"style": "stdio", "stdin": "1", "expected": "2", "tier": None}],
        }
        assert task_from_row({"task_id": "a", "prompt": "p", "answer": None, "info": info}) == Task(
            id="a", prompt="p", hidden_tests=(TestCase.stdio("1", "2"),)
        )

    def test_an_expected_null_is_an_expected_none(self) -> None:
        info = {"entry_point": "f", "hidden_tests": [{"style": "call", "args": [1], "expected": None}]}
        (test,) = task_from_row({"task_id": "a", "prompt": "p", "info": info}).hidden_tests
        assert test.expected is None

    def test_system_messages_are_the_trainers(self) -> None:
        messages = [{"role": role, "content": role} for role in ("system", "user", "user")]
        assert task_from_row({"task_id": "a", "prompt": messages}).prompt == "user\n\nuser"

    def test_an_answer_is_the_reference_where_none_is_listed(self) -> None:
        assert task_from_row({"task_id": "a", "prompt": "p", "answer": "x = 1"}).reference_solutions == (
            "x = 1",
        )

    @given(
        st.builds(Limits, cpu_s=st.floats(0.1, 9), memory_mb=st.integers(1, 9), processes=st.integers(1, 9))
    )
    def test_all_limits_survive(self, limits: Limits) -> None:
        task = Task(id="a", prompt="", limits=limits, hidden_tests=(TestCase.code("", limits=limits),))
        assert task_from_row(task_to_row(task)) == task

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"task_id": 3}, r"Expected `str`, got `int` - at `row\.task_id`"),
            ({"task_id": ""}, "non-empty id"),
            ({"prompt": None}, "missing required field `prompt`"),
            (
                {"prompt": [{"role": "robot", "content": ""}]},
                r"`row\.prompt\[0\]\.role`|`row\.prompt\[\.\.\.\]\.role`",
            ),
            ({"answer": "other"}, r"answer: is not the first of info\.reference_solutions"),
            ({"info": "{"}, "info: malformed JSON text"),
            ({"info": [1]}, "info: expected an object, got list"),
            ({"info": {"hiden_tests": []}}, "info: Object contains unknown field `hiden_tests`"),
            ({"info": {"hidden_tests": [3]}}, r"`info\.hidden_tests"),
            (
                {"info": {"hidden_tests": [{"style": "calls"}]}},
                r"Invalid enum value 'calls' - at `info\.hidden",
            ),
            ({"info": {"hidden_tests": [{"style": "call", "arg": []}]}}, "unknown field `arg`"),
            ({"info": {"hidden_tests": [{"style": "call", "args": []}]}}, "call tests but no entry point"),
            (
                {"info": {"hidden_tests": [{"style": "call", "args": [{"$set": 1}]}]}},
                r"info\.hidden_tests\[0\]\.args\[0\]: malformed '\$set'",
            ),
            (
                {"info": {"public_tests": [{"style": "code", "limits": {"cpu": 1}}]}},
                r"info\.public_tests\[0\]\.limits: unknown field 'cpu'; known: cpu_s",
            ),
            ({"info": {"limits": {"cpu_s": "1"}}}, r"Expected `float`, got `str` - at `info\.limits\.cpu_s`"),
            ({"info": {"limits": {"cpu_s": -1}}}, r"info\.limits: .*must be a positive number"),
            ({"info": {"compare": {"rule": "same"}}}, r"`info\.compare\.rule`"),
            ({"info": {"compare": {"rule": "judge"}}}, r"info\.compare: a judge goes with"),
            ({"info": {"meta": [1]}}, r"info\.meta: expected an object"),
            ({"info": {"meta": {"$what": 1}}}, r"info\.meta: unknown tag"),
        ],
    )
    def test_malformed_rows_are_data_errors_that_name_the_field(self, change: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            task_from_row(task_to_row(TASK) | change)

    def test_a_row_that_is_no_object(self) -> None:
        with pytest.raises(DataError, match="Expected `object`, got `array`"):
            task_from_row([])

    def test_values_that_are_no_plain_data_are_refused(self) -> None:
        with pytest.raises(DataError, match="no plain data"):
            task_to_row(Task(id="a", prompt="", meta={"x": object()}))


class TestReadingFiles:
    ROWS = [{"a": 1}, {"a": "é\u2028x"}]

    def test_formats_are_told_apart_by_their_content(self, tmp_path: Path) -> None:
        lines = "\n".join(json.dumps(each, ensure_ascii=False) for each in self.ROWS)
        array = json.dumps(self.ROWS, indent=1)
        path = tmp_path / "file"
        for text in (lines, lines + "\n", "\ufeff" + lines, array, "  \n" + array):
            for data in (text.encode(), gzip.compress(text.encode())):
                path.write_bytes(data)
                assert [found for _, found in read_rows(path)] == self.ROWS

    def test_lines_are_numbered_and_blank_ones_skipped(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_text('\n{"a": 1}\r\n   \n{"a": 2}')
        assert list(read_rows(path)) == [(2, {"a": 1}), (4, {"a": 2})]

    def test_parquet(self, tmp_path: Path) -> None:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "file"
        parquet.write_table(pyarrow.Table.from_pylist([{"a": 1, "b": ["x"]}, {"a": 2, "b": []}]), path)
        assert list(read_rows(path)) == [(1, {"a": 1, "b": ["x"]}), (2, {"a": 2, "b": []})]
        path.write_bytes(b"PAR1 and nothing else")
        with pytest.raises(DataError, match="file: malformed Parquet"):
            list(read_rows(path))

    def test_parquet_without_pyarrow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
        (tmp_path / "file").write_bytes(b"PAR1")
        with pytest.raises(DataError, match="pip install pyarrow"):
            list(read_rows(tmp_path / "file"))

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "file: the file has no rows"),
            (b" \n\n", "file: the file has no rows"),
            (b"[]", "file: the file has no rows"),
            (b'{"a": 1}\n{"a": \n', r"file:2: malformed JSON: .* at column"),
            (b'[{"a": 1},\n {"a" 2}]', r"file:2: malformed JSON"),
            (b'{"a": 1}\n[2]\n', r"file:2: expected a JSON object, got list"),
            (b"[1]", r"file:1: expected a JSON object, got int: 1"),
            (b'{"a": 1}\n{"a": "\xff"}\n', r"file:2: not UTF-8: invalid start byte at byte 7"),
            (b"[" * 200_000, "file: JSON that cannot be read"),
            (b'{"a": ' + b"9" * 5000 + b"}", "file:1: JSON that cannot be read: Exceeds the limit"),
            (gzip.compress(b'{"a": 1}\n' * 1000)[:-9], "file: the gzip file is broken or truncated"),
            (gzip.compress(b'{"a": 1}\n')[:5], "file: the gzip file is broken or truncated"),
            (b"\x1f\x8b" + b"x" * 50, "file: the gzip file is broken"),
        ],
    )
    def test_broken_files_are_data_errors(self, tmp_path: Path, data: bytes, message: str) -> None:
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(DataError, match=message):
            list(read_rows(tmp_path / "file"))

    def test_missing_files(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="cannot be read: No such file"):
            list(read_rows(tmp_path / "none"))
        with pytest.raises(DataError, match="cannot be read: Is a directory"):
            list(read_rows(tmp_path))

    def test_rows_before_a_broken_one_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text('{"a": 1}\nnonsense')
        rows = read_rows(tmp_path / "file")
        assert next(rows) == (1, {"a": 1})
        with pytest.raises(DataError, match="file:2"):
            next(rows)


class TestFindingRows:
    def test_a_folder_is_searched(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path / "b.jsonl", {"a": 1})
        expected = [(str(tmp_path / "b.jsonl"), 1, {"a": 1})]
        assert list(files.find_rows(tmp_path, None, ["a.jsonl", "b.jsonl"], "x/y")) == expected
        monkeypatch.setenv("CODEGYM_DATA", str(tmp_path))
        assert list(files.find_rows(None, None, ["a.jsonl", "b.jsonl"], "x/y")) == expected
        with pytest.raises(DataError, match=r"the folder has none of a\.jsonl"):
            list(files.find_rows(tmp_path, None, ["a.jsonl"], "x/y"))

    def test_a_missing_file_is_no_hub_id(self, tmp_path: Path) -> None:
        for name in (str(tmp_path / "none.jsonl"), "data/none.jsonl.gz"):
            with pytest.raises(DataError, match="No such file"):
                list(files.find_rows(name, None, [], "x/y"))

    def test_a_file_has_no_splits(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.jsonl", {"a": 1})
        with pytest.raises(ConfigError, match="a file has no splits"):
            list(files.find_rows(path, "train", [], "x/y"))

    def test_the_hub(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CODEGYM_DATA", raising=False)
        hub = SimpleNamespace(load_dataset=lambda name, split: [{"name": name, "split": split}])
        monkeypatch.setitem(__import__("sys").modules, "datasets", hub)
        assert list(files.find_rows(None, None, [], "x/y")) == [("x/y", 1, {"name": "x/y", "split": "test"})]
        found = list(files.find_rows("me/mine", "train", [], "x/y"))
        assert found == [("me/mine", 1, {"name": "me/mine", "split": "train"})]

        def offline(name: str, split: str) -> Iterator[Any]:
            raise ConnectionError("no network")

        hub.load_dataset = offline
        with pytest.raises(DataError, match="'x/y' cannot be loaded from the Hugging Face hub: no network"):
            list(files.find_rows(None, None, [], "x/y"))
        monkeypatch.setitem(__import__("sys").modules, "datasets", None)
        with pytest.raises(ConfigError, match="needs the 'datasets' package"):
            list(files.find_rows(None, None, [], "x/y"))


class TestLoadingTasks:
    def test_canonical_rows(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", task_to_row(TASK), {"task_id": "b", "prompt": "p"})
        target = "codegym.datasets.row:load"
        assert list(load_tasks(target, source=path)) == [TASK, Task(id="b", prompt="p")]
        assert list(load_tasks(target, source=path, limit=1)) == [TASK]
        assert list(load_tasks(target, source=path, limit=0)) == []
        with pytest.raises(ConfigError, match="must not be negative, got -1"):
            load_tasks(target, source=path, limit=-1)

    def test_ids_occur_once(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", {"task_id": "b", "prompt": "p"}, {"task_id": "b", "prompt": "q"})
        with pytest.raises(DataError, match="the task id 'b' occurs twice"):
            list(load_tasks("codegym.datasets.row:load", source=path))

    def test_errors_name_file_and_line(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", {"task_id": "b", "prompt": "p"}, {"task_id": "", "prompt": "q"})
        with pytest.raises(DataError, match=r"t\.jsonl:2: a task needs a non-empty id"):
            list(load_tasks("codegym.datasets.row:load", source=path))

    def test_unknown_names_are_refused_at_once(self) -> None:
        with pytest.raises(NotFoundError, match="No dataset is called 'humanevil'"):
            load_tasks("humanevil")

    def test_jsonl_needs_a_source_and_no_split(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="needs a source"):
            list(row.load())
        with pytest.raises(ConfigError, match="no splits"):
            list(row.load(source=tmp_path, split="test"))


def test_humaneval_rows(tmp_path: Path) -> None:
    data = {
        "task_id": "HumanEval/0",
        "prompt": "def helper():\n    return 1\n\n\ndef f(x):\n",
        "entry_point": "f",
        "canonical_solution": "    return x\n",
        "test": "def check(candidate):\n    assert candidate(1) == 1\n",
    }
    path = write(tmp_path / "HumanEval.jsonl", data)
    (task,) = humaneval.load(source=tmp_path)
    assert task.prompt == task.starter_code == task.preamble == data["prompt"]
    assert task.reference_solutions == (data["prompt"] + data["canonical_solution"],)
    assert task.hidden_tests == (TestCase.code(data["test"]),)
    del data["entry_point"]
    write(path, data)
    with pytest.raises(DataError, match=r"HumanEval\.jsonl:1: Object missing required field `entry_point`"):
        list(humaneval.load(source=path))

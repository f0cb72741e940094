"""HumanEval+ and MBPP+ of EvalPlus: differential testing against the canonical solutions.

Answers are judged as ``evalplus`` 0.3.1 judges them: sixteen tasks have a judge of their own, the others
compare values, exactly or, where a float is expected, within a tolerance. The tier ``base`` holds the inputs
of the original benchmark, ``plus`` those that EvalPlus added; EvalPlus's own figure for "plus" asks for both.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from codegym.core import Comparison, Limits, Task, TestCase
from codegym.datasets.files import convert_row, find_rows, located
from codegym.errors import DataError

__all__ = ["load_humaneval_plus", "load_mbpp_plus"]

HUMANEVAL_FILES = ("HumanEvalPlus.jsonl.gz", "HumanEvalPlus.jsonl", "HumanEvalPlus-Mini.jsonl.gz")
MBPP_FILES = ("MbppPlus.jsonl.gz", "MbppPlus.jsonl")

RTOL: Final = 1e-7
"""Relative tolerance of whatever has an absolute one."""
FLOAT_ATOL: Final = 1e-6
"""Absolute tolerance of floats in tasks that declare no tolerance."""
TIMING: Final[Mapping[str, Any]] = {"time_factor": 4.0, "min_time_s": 1.0}
"""A test may take so many times the reference's time, and no less than so many seconds: as in evalplus 0.3.1,
but in CPU time."""
LIMITS: Final = Limits(cpu_s=4.0, memory_mb=4096, output_mb=64)
LARGE_LIMITS: Final[Mapping[str, Limits]] = {
    # one answer lists millions of tuples: 1.1 GiB
    "Mbpp/255": Limits(cpu_s=4.0, memory_mb=8192, output_mb=2048),
}


Restore = Callable[[list[Any]], list[Any]]
"""Turns a row's inputs into the arguments of a call."""


class _Release(msgspec.Struct):
    """A row of the release files."""

    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    base_input: list[list[Any]]
    plus_input: list[list[Any]] | dict[str, list[Any]]
    """An empty object where there are none."""
    atol: float = 0.0


class _HumanEvalHub(msgspec.Struct):
    """A row of evalplus/humanevalplus on the hub: one test function with all inputs in it."""

    task_id: str
    prompt: str
    entry_point: str
    canonical_solution: str
    test: str


class _MbppHub(msgspec.Struct):
    """A row of evalplus/mbppplus on the hub."""

    task_id: int
    prompt: str
    code: str
    test_list: list[str]
    test: str
    test_imports: list[str] = []


def load_humaneval_plus(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load HumanEval+.

    Args:
        source: A release file (``HumanEvalPlus.jsonl.gz``), a folder that holds one, or a hub id. None: the
            folder that ``CODEGYM_DATA`` names, else the hub. The hub's rows have all inputs in one test of
            the tier ``plus``.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, HUMANEVAL_FILES, "evalplus/humanevalplus"):
        with located(place, line):
            task = _humaneval_release(row) if "base_input" in row else _humaneval_hub(row)
        yield task


def load_mbpp_plus(*, source: str | Path | None = None, split: str | None = None) -> Iterator[Task]:
    """Load MBPP+.

    Args:
        source: A release file (``MbppPlus.jsonl.gz``), a folder that holds one, or a hub id. None: the folder
            that ``CODEGYM_DATA`` names, else the hub. The hub's rows have all plus inputs in one test.
        split: The split on the hub; None for ``test``.

    Raises:
        DataError: The file or one of its rows is malformed.
        ConfigError: It has to come from the hub, and the ``datasets`` package is not installed.
    """
    for place, line, row in find_rows(source, split, MBPP_FILES, "evalplus/mbppplus"):
        with located(place, line):
            task = _mbpp_release(row) if "base_input" in row else _mbpp_hub(row)
        yield task


def _humaneval_release(data: object) -> Task:
    row = convert_row(data, _Release)
    return _differential(row, lambda inputs: inputs, code=row.prompt)


def _mbpp_release(data: object) -> Task:
    row = convert_row(data, _Release)
    restore = _RESTORE.get(_number(row.task_id), lambda inputs: inputs)
    try:
        return _differential(row, restore)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(f"base_input, plus_input: not the inputs of {row.task_id}: {error}") from error


def _number(task_id: str) -> int:
    number = task_id.rpartition("/")[2]
    if not number.isdecimal():
        raise DataError(f"task_id: expected a number after the slash, got {task_id!r}")
    return int(number)


def _differential(row: _Release, restore: Restore, code: str = "") -> Task:
    """A task whose expected values are the canonical solution's; `code` is what answers continue."""
    plus = row.plus_input if isinstance(row.plus_input, list) else []
    # judges are told the test, not the task
    compare = _comparison(row, row.atol) if row.atol else None
    return Task(
        id=row.task_id,
        prompt=row.prompt,
        entry_point=row.entry_point,
        starter_code=code,
        preamble=code,
        hidden_tests=(
            *(TestCase.call(*restore(inputs), tier="base", compare=compare) for inputs in row.base_input),
            *(TestCase.call(*restore(inputs), tier="plus", compare=compare) for inputs in plus),
        ),
        reference_solutions=(row.prompt + row.canonical_solution,),
        compare=_comparison(row),
        limits=LARGE_LIMITS.get(row.task_id, LIMITS),
        meta={"benchmark": "EvalPlus", **TIMING},
    )


def _comparison(row: _Release, atol: float = 0.0) -> Comparison:
    judge = _JUDGES.get((row.task_id.partition("/")[0], row.entry_point), same_value)
    return Comparison(rule="judge", judge=f"{__name__}:{judge.__name__}", atol=atol)


def _humaneval_hub(data: object) -> Task:
    row = convert_row(data, _HumanEvalHub)
    return Task(
        id=row.task_id,
        prompt=row.prompt,
        entry_point=row.entry_point,
        starter_code=row.prompt,
        preamble=row.prompt,
        hidden_tests=(TestCase.code(row.test, tier="plus"),),
        reference_solutions=(row.prompt + row.canonical_solution,),
        limits=Limits(cpu_s=60.0, memory_mb=4096),
        meta={"benchmark": "EvalPlus"},
    )


def _mbpp_hub(data: object) -> Task:
    row = convert_row(data, _MbppHub)
    imports = "".join(line + "\n" for line in row.test_imports)
    base = tuple(TestCase.code(imports + test, tier="base") for test in row.test_list)
    return Task(
        id=f"Mbpp/{row.task_id}",
        prompt=row.prompt,
        entry_point=_called(row.code, "\n".join(row.test_list)),
        hidden_tests=(*base, TestCase.code(imports + row.test, tier="plus")),
        reference_solutions=(row.code,),
        limits=Limits(cpu_s=60.0, memory_mb=4096),
        meta={"benchmark": "EvalPlus"},
    )


def _called(code: str, tests: str) -> str:
    """The function of `code` that `tests` call."""
    try:
        defined = {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
        calls = [node.func for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Call)]
    except SyntaxError as error:
        raise DataError(f"code, test_list: do not parse: {error}") from error
    names = [func.id for func in calls if isinstance(func, ast.Name) and func.id in defined]
    if not names:
        raise DataError(f"test_list: calls none of the functions of code: {', '.join(sorted(defined))}")
    return names[0]


# How inputs were before JSON turned their tuples, sets and complex numbers into lists and text. By task of
# MBPP+.


def _tuples(values: list[Any]) -> list[Any]:
    return [tuple(value) for value in values]


def _deep_tuple(value: Any) -> Any:
    return tuple(map(_deep_tuple, value)) if isinstance(value, list) else value


def _tuple_if_list(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _set_if_filled(value: Any) -> Any:
    return set(value) if isinstance(value, list) and value else {}


def _each(restore: Callable[[Any], Any]) -> Restore:
    """Restore every argument in the same way."""
    return lambda inputs: [restore(value) for value in inputs]


def _by_position(*restorers: Callable[[Any], Any]) -> Restore:
    """Restore the first arguments, each in its own way."""
    return lambda inputs: [
        *(restore(value) for restore, value in zip(restorers, inputs, strict=False)),
        *inputs[len(restorers) :],
    ]


_SHAPES: Final[tuple[tuple[Restore, tuple[int, ...]], ...]] = (
    (_each(tuple), (2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424, 429, 470, 560, 579, 596)),
    (_each(tuple), (616, 630, 726, 740, 744, 809)),
    (_each(_tuples), (63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780)),
    (_each(lambda rows: tuple(_tuples(rows))), (259, 401, 445)),
    (_each(_deep_tuple), (580, 615, 791)),
    (_by_position(_tuples), (75, 413, 444, 753)),
    (_by_position(tuple), (250, 307, 405, 446, 617, 720, 763, 808)),
    (_by_position(lambda value: value, tuple), (106, 750)),
    (_by_position(lambda values: [_set_if_filled(value) for value in values]), (115,)),
    (_by_position(float, complex), (124,)),
    (_by_position(complex), (252,)),
    (_by_position(lambda values: tuple(map(_tuple_if_list, values))), (278,)),
    (_by_position(lambda mapping: {key: tuple(value) for key, value in mapping.items()}), (722,)),
)
_RESTORE: Final = {number: restore for restore, numbers in _SHAPES for number in numbers}


# The judges: judge(test, answer, expected), called on the host with plain data. They never raise, whatever an
# answer is.


def same_value(test: TestCase, answer: Any, expected: Any) -> bool:
    """The same value, or numbers that are near.

    Near counts where the task declares a tolerance, and where nothing but floats are expected: one, or a list
    or tuple of them. The answer must then be of the same type and length. (EvalPlus goes on to tolerate
    whatever it compares after its first float, in a verdict that so depends on the order of the tests; this
    is not followed.)
    """
    if answer == expected:
        return True
    if type(answer) is not type(expected):
        return False
    several = isinstance(expected, (list, tuple))
    answers, wanted = (answer, expected) if several else ([answer], [expected])
    if len(answers) != len(wanted):
        return False
    if test.compare is None and not all(type(value) is float for value in wanted):
        return False
    atol = FLOAT_ATOL if test.compare is None else test.compare.atol
    return all(_near(left, right, atol) for left, right in zip(answers, wanted, strict=True))


def _near(answer: Any, expected: Any, atol: float) -> bool:
    if answer == expected:
        return True
    if not (isinstance(answer, (int, float)) and isinstance(expected, (int, float))):
        return False
    try:
        return bool(abs(answer - expected) <= atol + RTOL * abs(expected))
    except OverflowError:  # an integer beyond the floats
        return False


def same_set(test: TestCase, answer: Any, expected: Any) -> bool:
    """The elements count, not their order or number."""
    wanted = {value: index for index, value in enumerate(set(expected))}
    try:
        # answers are only looked up: a table of theirs could be made to collide
        found = {wanted.get(element) for element in answer}
    except TypeError:  # not iterable, or an element is not hashable
        return False
    return (None not in found and len(found) == len(wanted)) or same_value(test, answer, expected)


def not_none(test: TestCase, answer: Any, expected: Any) -> bool:
    """Whether something was found: a match object, or True, against None, or False."""
    del test
    return (answer if isinstance(answer, bool) else answer is not None) == (expected is not None)


def anything(test: TestCase, answer: Any, expected: Any) -> bool:
    """Every answer is right: the task's text is ambiguous."""
    del test, answer, expected
    return True


def or_zero(test: TestCase, answer: Any, expected: Any) -> bool:
    """The sum of divisors, where some count none below 2."""
    del test
    return bool(answer == expected or answer == 0)


def surface_area(test: TestCase, answer: Any, expected: Any) -> bool:
    """The surface of a square pyramid; the height may also be meant from the base to the apex."""
    base, height = test.args
    slant = math.sqrt((base / 2) ** 2 + height**2)
    return bool(answer == expected or answer == round(base**2 + 2 * base * slant))


def digit_distance(test: TestCase, answer: Any, expected: Any) -> bool:
    """The sum of the differences of digits; the shorter number may also be padded with zeros."""
    if answer == expected:
        return True
    first, second = map(str, test.args)
    width = max(len(first), len(second))
    pairs = zip(first.zfill(width), second.zfill(width), strict=True)
    try:
        return bool(answer == sum(abs(int(left) - int(right)) for left, right in pairs))
    except ValueError:  # a sign is no digit
        return False


def root(test: TestCase, answer: Any, expected: Any) -> bool:
    """Any root of the polynomial, by its residue."""
    del expected
    if not isinstance(answer, (int, float)):
        return False
    try:
        value = sum(coefficient * math.pow(answer, power) for power, coefficient in enumerate(test.args[0]))
    except (OverflowError, ValueError):
        return False
    return bool(abs(value) <= ROOT_ATOL)


ROOT_ATOL: Final = 1e-4
"""The residue that a root of HumanEval/32 may leave."""

Judge = Callable[[TestCase, Any, Any], bool]

_JUDGES: Final[Mapping[tuple[str, str], Judge]] = {
    ("HumanEval", "find_zero"): root,
    ("Mbpp", "are_equivalent"): anything,
    ("Mbpp", "sum_div"): or_zero,
    ("Mbpp", "surface_Area"): surface_area,
    ("Mbpp", "digit_distance_nums"): digit_distance,
    **{("Mbpp", name): not_none for name in ("check_str", "text_match_three", "text_starta_endb")},
    **{
        ("Mbpp", name): same_set
        for name in (
            "similar_elements",
            "find_char_long",
            "common_in_nested_lists",
            "extract_singly",
            "larg_nnum",
            "intersection_array",
            "find_dissimilar",
            "Diff",
        )
    },
}

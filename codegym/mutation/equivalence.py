"""Whether a mutant can be told from the original at all: differential testing.

Whether two programs are equivalent cannot be decided. What can be had is an input on which they differ, which
settles that they are not, or a number of inputs on which they did not, which is evidence and no more. So a
label ``equivalent?`` keeps its question mark, and the number of inputs stands beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from codegym.core import Limits
from codegym.errors import ConfigError, InfraError
from codegym.mutation.engine_program import guest_modules
from codegym.mutation.equivalence_inputs import (
    Arguments,
    calls_in,
    from_strategy,
    functions_of,
    perturbed,
    strategy_of,
)
from codegym.mutation.mutant import Mutant
from codegym.sandbox import AnswerKind, CallBatch, Sandbox
from codegym.sandbox.plain import decode, encode, is_plain

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Level", "Triage", "inputs_for", "triage"]

Level = Literal["value", "exception", "message"]
"""How two calls differ: ``value`` (another answer, another type of it, other arguments after the call, or one
of them does not answer), ``exception`` (another type), ``message`` (the same type, another message).
"""

MODULES: Final = ("driver_compile", "driver_processes", "driver_triage")
CHUNK: Final = 50
CHUNK_CPU_S: Final = 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Triage:
    """What was found out about one mutant.

    Attributes:
        mutant: Which.
        level: On which level it differs from the original; None where no input told them apart.
        tried: Calls that were compared.
        function: The function that the distinguishing call is of.
        args: Its positional arguments.
        kwargs: Its arguments by name.
        original: What the original did, for people.
        mutated: What the mutant did.
    """

    mutant: Mutant
    level: Level | None
    tried: int
    function: str = ""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any]
    original: str = ""
    mutated: str = ""

    @property
    def label(self) -> Literal["differs", "equivalent?", "unknown"]:
        """``differs`` when an answer or an exception's type does; ``equivalent?`` when nothing told them
        apart, or a message only; ``unknown`` when nothing was tried.
        """
        if self.level in ("value", "exception"):
            return "differs"
        return "equivalent?" if self.tried else "unknown"


def triage(
    sandbox: Sandbox,
    source: str,
    mutants: Sequence[Mutant],
    *,
    tests: str = "",
    functions: Iterable[str] | None = None,
    domain: Mapping[str, SearchStrategy[Any]] | None = None,
    count: int = 1000,
    seed: int = 0,
) -> list[Triage]:
    """Look for inputs that tell mutants from the original.

    Args:
        sandbox: Where to run them.
        source: The original.
        mutants: Of it.
        tests: Test code, for the calls that it makes.
        functions: Which to call. None: all public ones at the top level.
        domain: Strategies of hypothesis that make the arguments of functions, as tuples or mappings, for
            those that are not defined for all values of their types. They take the place of all other inputs.
        count: Calls of each function at most.
        seed: Decides which.

    Returns:
        One for each mutant, in order.

    Raises:
        ConfigError: There is no such function, or hypothesis is needed and not installed.
        InfraError: The sandbox failed.
    """
    calls = inputs_for(source, tests=tests, functions=functions, domain=domain, count=count, seed=seed)
    encoded = [(name, encode(arguments)) for name, arguments in calls]
    requests = []
    for start in range(0, len(mutants), CHUNK):
        rows = [
            (n, m.start, m.end, m.replacement) for n, m in enumerate(mutants[start : start + CHUNK], start)
        ]
        requests.append(_request(source, rows, encoded))
    found: dict[int, tuple[Any, ...]] = {}
    for execution in sandbox.run(requests):
        if len(execution.answers) != 1 or execution.answers[0].kind != AnswerKind.VALUE:
            said = decode(execution.answers[0].payload) if execution.answers else ""
            raise InfraError(f"differential testing ended: {execution.ending} {execution.message} {said}")
        found |= {number: tuple(rest) for number, *rest in decode(execution.answers[0].payload)}
    return [_triage(mutant, found[number], calls) for number, mutant in enumerate(mutants)]


def _request(
    source: str, rows: Sequence[tuple[int, int, int, str]], calls: Sequence[tuple[str, bytes]]
) -> CallBatch:
    limits = Limits(cpu_s=CHUNK_CPU_S, wall_s=2 * CHUNK_CPU_S, total_cpu_s=CHUNK_CPU_S, memory_mb=1024)
    return CallBatch(
        code=guest_modules(MODULES) + 'compare = MODULES["driver_triage"].compare\n',
        entry_point="compare",
        inputs=[encode(((source, list(rows), list(calls)), {}))],
        limits=limits,
        inline_bytes=1 << 24,
    )


def _triage(mutant: Mutant, row: Sequence[Any], calls: Sequence[tuple[str, Arguments]]) -> Triage:
    tried, level, index, original, mutated = row
    if level is None:
        return Triage(mutant=mutant, level=None, tried=tried, kwargs={})
    name, (args, kwargs) = calls[index] if index < len(calls) else ("", ((), {}))
    return Triage(
        mutant=mutant,
        level=level,
        tried=tried,
        function=name,
        args=args,
        kwargs=kwargs,
        original=original,
        mutated=mutated,
    )


def inputs_for(
    source: str,
    *,
    tests: str = "",
    functions: Iterable[str] | None = None,
    domain: Mapping[str, SearchStrategy[Any]] | None = None,
    count: int = 1000,
    seed: int = 0,
) -> list[tuple[str, Arguments]]:
    """The calls that `triage` compares: those of the tests, variations of them, and what type hints allow; or
    what the domain of a function makes.

    Raises:
        ConfigError: There is no such function, or hypothesis is needed and not installed.
    """
    defined = functions_of(source)
    names = list(defined if functions is None else functions)
    if unknown := [name for name in [*names, *(domain or {})] if name not in defined]:
        raise ConfigError(f"no functions {unknown!r} in the source; there are: {', '.join(defined)}")
    made: list[tuple[str, Arguments]] = []
    for name in names:
        if domain is not None and name in domain:
            calls: Iterable[Arguments] = from_strategy(domain[name], count, seed)
        else:
            own = calls_in(tests, name)
            hinted = strategy_of(defined[name])
            rest = from_strategy(hinted, count, seed) if hinted is not None else []
            calls = itertools.chain(own, perturbed(own, seed), rest)
        unique = {encode(call): call for call in calls if is_plain(call)}
        made += [(name, call) for call in itertools.islice(unique.values(), count)]
    return made

"""What runs beside the program, inside the guest: loads it, calls it, and writes down what it answered.

Nothing here is trusted once the program has started, for the program can reach all of it. So nothing here
knows an expected value, except in the tester of a `Check`, which is another guest than the program.

Answers go to a file in memory, one after the other, each behind a header. A file needs no reader at the other
end: writing an answer wakes nobody, and what was answered before a crash is still there after it.

Runs inside the guest: standard library only.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import linecache
import marshal
import os
import struct
import sys
import time
import types
from _blake2 import blake2b  # what hashlib has, without OpenSSL, which costs every fork
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Final, NoReturn

from codegym.sandbox.plain import Opaque, decode, encode, is_plain, pieces
from codegym.sandbox.suites import NoTestsError, run_defined

__all__ = ["ANSWERS", "HEADER", "LINK", "MODES", "shorten"]

ANSWERS: Final = 3
"""The descriptor that answers are written to."""
LINK: Final = 4
"""The descriptor of a socket to whoever calls the program: the host or a tester."""
HEADER: Final = struct.Struct("<cIQ")
"""Of an answer: what it is, the length of the payload, and CPU nanoseconds."""
LENGTH: Final = struct.Struct("<I")

READY, BUSY, VALUE, DIGEST, RAISED, UNSENDABLE, CHANGED = b"R", b"B", b"V", b"D", b"E", b"U", b"C"
LOAD_ERROR, INVALID = b"L", b"I"
HASTY_BYTES: Final = 4096
"""Where no more than this is wanted of an answer in full, the rest of it is written hastily."""
BUSY_PIECES: Final = 64
"""After so many pieces of one long answer the guest shows that it is alive: the time to write is not the
program's."""
UNLIMITED: Final = 1 << 62
MESSAGE_CHARS, NAME_CHARS, NAMES = 2000, 100, 20

clock = time.process_time_ns


ITERATORS: Final = ("generator", "map", "filter", "zip", "enumerate", "chain", "reversed", "list_iterator")
NOT_PASSED_ON: Final = (StopIteration, StopAsyncIteration, UnicodeError, BaseExceptionGroup)
"""Exceptions that steer loops, or cannot be built from a message."""


class Invalid(Exception):
    """The code does not compile."""


class CandidateError(Exception):
    """In a tester: the program under test raised something that is not an ordinary built-in exception, or
    ended.
    """


class TestArgumentError(Exception):
    """In a tester: the test passes the program something that cannot cross the wall."""


# Loading ----------------------------------------------------------------------------------------------------


def new_module(name: str, filename: str, source: str) -> types.ModuleType:
    """An empty module that tracebacks, pickle and inspect can find."""
    module = types.ModuleType(name)
    module.__file__ = filename
    sys.modules[name] = module
    linecache.cache[filename] = (lambda: source,)  # split into lines when it is asked for
    return module


def execute(source: str, module: types.ModuleType) -> None:
    """Compile and run source in a module.

    Raises:
        Invalid: It does not compile.
    """
    try:
        code = compile(source, str(module.__file__), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError) as error:
        raise Invalid(f"{type(error).__name__}: {error}") from None
    exec(code, module.__dict__)


def entry(module: types.ModuleType, path: str) -> Callable[..., Any]:
    """The callable that ``name`` or ``Class.method`` means; a method is called on a new instance each
    time. Where there is no such class, a function with the method's name will do.
    """
    first, *rest = path.split(".")
    if first not in vars(module) and len(rest) == 1 and rest[0] in vars(module):
        first, rest = rest[0], []
    if first not in vars(module):
        raise NameError(f"the program defines no {first!r}")
    found = vars(module)[first]
    if not rest:
        if not callable(found):
            raise TypeError(f"{path!r} is not callable")
        return found  # type: ignore[no-any-return]
    for name in rest[:-1]:
        found = getattr(found, name)
    getattr(found, rest[-1])  # raises AttributeError now, not at each call
    return lambda *args, **kwargs: getattr(found(), rest[-1])(*args, **kwargs)


def load(source: str, path: str) -> Callable[..., Any]:
    """Load a program and find its entry point; reports and ends the process when that fails."""
    start = clock()
    try:
        module = new_module("solution", "/tmp/solution.py", source)
        execute(source, module)
        function = entry(module, path)
    except Invalid as error:
        write_answer(INVALID, encode(str(error)[:MESSAGE_CHARS]), clock() - start)
        os._exit(0)
    except BaseException as error:
        write_answer(LOAD_ERROR, describe(error), clock() - start)
        os._exit(0)
    write_answer(READY, b"", clock() - start)
    return function


# Answers ----------------------------------------------------------------------------------------------------


def write_answer(kind: bytes, payload: bytes, cpu_ns: int) -> None:
    """Write one answer down."""
    view = memoryview(HEADER.pack(kind, len(payload), cpu_ns) + payload)
    while view:
        view = view[os.write(ANSWERS, view) :]


def describe(error: BaseException, keep_back: bool = False) -> bytes:
    """An exception as plain data: the names of its classes, and its message, unless that is kept back."""
    names = [kind.__name__[:NAME_CHARS] for kind in type(error).__mro__[:NAMES] if kind is not object]
    try:
        message = "" if keep_back else str(error)[:MESSAGE_CHARS]
    except BaseException as another:
        message = f"(its message raised {type(another).__name__})"
    return encode([names, message])


def call(function: Callable[..., Any], args: Any, kwargs: Any) -> tuple[bytes, Any, int]:
    """Call a function.

    Returns:
        What became of it: VALUE and the value, or RAISED and the exception's description; and CPU
        nanoseconds.
    """
    start = clock()
    try:
        value = function(*args, **kwargs)
        if type(value) is types.CoroutineType:
            value = run_coroutine(value)
        return VALUE, value, clock() - start
    except BaseException as error:
        return RAISED, describe(error), clock() - start


def run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What an ``async`` entry point answers."""
    import asyncio  # costs every fork as much as a fork, so only where it is needed

    return asyncio.run(coroutine)


def written(kind: bytes, value: Any, inline_bytes: int) -> tuple[bytes, bytes]:
    """The outcome of a call as an answer: kind and payload."""
    if kind is RAISED:
        return RAISED, value
    try:
        return shorten(pieces(value, hasty=inline_bytes <= HASTY_BYTES), inline_bytes)
    except BaseException as error:  # an iterator may raise, a deep value may not fit
        return UNSENDABLE, describe(error)


def shorten(payload: Iterable[bytes], inline_bytes: int) -> tuple[bytes, bytes]:
    """A payload as it is, or when it is too long its digest: BLAKE2b-128, and the length in 8 bytes."""
    size, kept, state = 0, [], None
    for number, piece in enumerate(payload, start=1):
        if number % BUSY_PIECES == 0:
            write_answer(BUSY, b"", 0)
        size += len(piece)
        if size <= inline_bytes:
            kept.append(piece)
        else:
            state = state or blake2b(digest_size=16)
            state.update(b"".join(kept) + piece)
            kept.clear()
    if state is None:
        return VALUE, b"".join(kept)
    return DIGEST, state.digest() + struct.pack("<Q", size)


# Modes ------------------------------------------------------------------------------------------------------


def run_calls(request: dict[str, Any]) -> None:
    """Call the entry point on each input."""
    function = load(request["code"], request["entry_point"])
    in_place, inline = request["argument_answers"], request["inline_bytes"]
    for data in request["inputs"]:
        args, kwargs = marshal.loads(data)
        kind, value, spent = call(function, args, kwargs)
        if in_place and kind is VALUE:
            value = args[0]
        write_answer(*written(kind, value, inline), spent)
        del value  # it may be large


def run_serve(request: dict[str, Any]) -> None:
    """Call the entry point whenever somebody asks, until the link is closed."""
    function = load(request["code"], request["entry_point"])
    for data in frames(LINK):
        args, kwargs = marshal.loads(data)
        before = [encode(argument) for argument in args]
        kind, value, spent = call(function, args, kwargs)
        kind, payload = written(kind, value, UNLIMITED)
        after = [encode(argument) for argument in args]
        if after != before:
            changed = encode(list(args))
            send(LINK, HEADER.pack(CHANGED, len(changed), 0) + changed)
        send(LINK, HEADER.pack(kind, len(payload), spent) + payload)


def run_script(request: dict[str, Any]) -> NoReturn:
    """Run the program as ``__main__``, and end as the interpreter would."""
    source = request["code"]
    with open("main.py", "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(source)
    filename = os.path.abspath("main.py")
    sys.argv, sys.path = [filename], [os.getcwd(), *sys.path]
    replace_stdin(request["stdin"])
    main = new_module("__main__", filename, source)
    start = clock()
    status = 0
    try:
        execute(source, main)
    except Invalid as error:
        write_answer(INVALID, encode(str(error)[:MESSAGE_CHARS]), clock() - start)
        status = 1
    except SystemExit as error:
        status = exit_status(error.code)
    except BaseException as error:
        sys.__excepthook__(type(error), error, error.__traceback__)
        write_answer(RAISED, describe(error), clock() - start)
        status = 1
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    os._exit(flush_all(main) or status)


def flush_all(main: types.ModuleType) -> int:
    """Write out what a program has left in buffers, as the interpreter does when it ends; returns the status
    that it then ends with, 0 for the program's own.
    """
    failed = 0
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except Exception:
            failed = 120 if stream in (sys.stdout, sys.__stdout__) else failed
    vars(main).clear()
    gc.collect()  # files that nobody closed are written out when they go
    return failed


def replace_stdin(data: bytes) -> None:
    """Make standard input a file that holds `data`, at the level of descriptors."""
    descriptor = os.memfd_create("stdin")
    send(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.dup2(descriptor, 0)
    os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115


def exit_status(code: object) -> int:
    """The status that ``sys.exit(code)`` gives; a message goes to standard error."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def run_tests(request: dict[str, Any]) -> None:
    """Run test code against the program behind the link."""
    ask = Proxy()
    name = request["entry_point"].rpartition(".")[2]
    setattr(new_module("solution", "/tmp/solution.py", ""), name, ask)
    for number, source in enumerate(request["tests"]):
        start = clock()
        try:
            module = new_module("tests", f"/tmp/test_{number}.py", source)
            execute(request["preamble"], module)
            vars(module)[name] = ask
            given = {key: value for key, value in vars(module).items() if not key.startswith("__")}
            execute(source, module)
            if "check" in vars(module):
                module.check(ask)
            else:
                run_defined(module, given)
        except BaseException as error:
            keep_back = not (
                hasattr(error, "from_program")
                or isinstance(error, (Invalid, NoTestsError, TestArgumentError))
            )
            write_answer(RAISED, describe(error, keep_back), clock() - start)
        else:
            write_answer(VALUE, encode(None), clock() - start)


def run_shared(request: dict[str, Any]) -> None:
    """Run test code in the program's own namespace, where it can patch what the program uses."""
    function = load(request["code"], request["entry_point"])
    module = sys.modules["solution"]
    for source in request["tests"]:
        start = clock()
        linecache.cache[str(module.__file__)] = (lambda source=source: source,)
        vars(module).pop("check", None)
        try:
            execute(source, module)
            if "check" in vars(module):
                module.check(function)
            else:
                run_defined(module, {k: v for k, v in vars(module).items() if not k.startswith("__")})
        except BaseException as error:
            write_answer(RAISED, describe(error), clock() - start)
        else:
            write_answer(VALUE, encode(None), clock() - start)


class Proxy:
    """Stands for the entry point in a tester: sends arguments across, and brings back plain data."""

    def __init__(self) -> None:
        self.replies = replies(LINK)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not (is_plain(args) and is_plain(kwargs)):
            raise TestArgumentError("a test may pass only plain data to the program")
        data = marshal.dumps((args, kwargs), 2)
        send(LINK, LENGTH.pack(len(data)) + data)
        for kind, payload in self.replies:
            if kind == CHANGED:
                write_back(args, decode(payload))
            elif kind in (RAISED, UNSENDABLE):
                raise as_exception(decode(payload))
            else:
                return restore(decode(payload))
        raise from_program(CandidateError("the program ended"))


def restore(value: Any) -> Any:
    """An answer as tests expect it: what can be iterated over, can be again."""
    if type(value) is not Opaque or type(value.content) is not list:
        return value
    if value.name == "range":
        return range(*value.content)
    return iter(value.content) if value.name in ITERATORS else value.content


def write_back(args: tuple[Any, ...], changed: Any) -> None:
    """Bring to mutable arguments what the program did to its copies."""
    for mine, theirs in zip(args, changed, strict=True):
        if type(mine) is list and type(theirs) is list:
            mine[:] = theirs
        elif type(mine) in (dict, set) and type(theirs) is type(mine):
            mine.clear()
            mine.update(theirs)


def as_exception(description: Any) -> Exception:
    """The exception to raise in a tester for one that the program raised.

    Only built-in exceptions that end a test are passed on as themselves. StopIteration is not among them: it
    would end a ``for`` loop of the test as if all had been well.
    """
    names, message = description
    kind = getattr(builtins, str(names[0]), None)
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, NOT_PASSED_ON):
        return from_program(kind(message))
    return from_program(CandidateError(f"{names[0]}: {message}"))


def from_program(error: Exception) -> Exception:
    """Mark an exception as the program's; the messages of others are the test's, and may tell what it
    expects.
    """
    error.from_program = True  # type: ignore[attr-defined]
    return error


# Sockets ----------------------------------------------------------------------------------------------------


def send(descriptor: int, data: bytes) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_exactly(descriptor: int, count: int) -> bytes | None:
    """Read that many bytes; None when the other end closes."""
    parts: list[bytes] = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def frames(descriptor: int) -> Iterator[bytes]:
    """The payloads that come behind plain length prefixes."""
    while (prefix := read_exactly(descriptor, LENGTH.size)) is not None:
        data = read_exactly(descriptor, *LENGTH.unpack(prefix))
        if data is None:
            return
        yield data


def replies(descriptor: int) -> Iterator[tuple[bytes, bytes]]:
    """Kind and payload of each answer that comes from a program."""
    while (header := read_exactly(descriptor, HEADER.size)) is not None:
        kind, length, _ = HEADER.unpack(header)
        payload = read_exactly(descriptor, length)
        if payload is None:
            return
        yield kind, payload


MODES: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "calls": run_calls,
    "serve": run_serve,
    "shared": run_shared,
    "script": run_script,
    "tests": run_tests,
}

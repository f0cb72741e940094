"""Requests to bytes, and bytes to executions: the host's side of the worker's protocol.

What the worker says is trusted; what it passes on from a guest is not, and read here with a suspicion that
costs little.
"""

from __future__ import annotations

import marshal
import math
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from codegym.core import Limits
from codegym.sandbox.base import (
    Answer,
    AnswerKind,
    CallBatch,
    Check,
    Ending,
    Execution,
    OnAnswer,
    Request,
    Script,
)
from codegym.sandbox.frames import (
    ANSWERS,
    DONE,
    FIRST,
    FRAME,
    HELLO,
    LINK,
    RUN,
    SEND,
    STDERR,
    STDOUT,
    STOP,
    Disconnected,
    receive_exactly,
)
from codegym.sandbox.guest import (
    BUSY,
    BUSY_PIECES,
    CHANGED,
    HEADER,
    INVALID,
    LENGTH,
    LOAD_ERROR,
    RAISED,
    READY,
    UNSENDABLE,
    VALUE,
)
from codegym.sandbox.guest import DIGEST as DIGEST_KIND
from codegym.sandbox.plain import PIECE, DecodeError, decode

__all__ = [
    "ANSWERS",
    "DONE",
    "FIRST",
    "HELLO",
    "LINK",
    "STDERR",
    "STDOUT",
    "STOP",
    "ProtocolError",
    "Run",
    "ServeRun",
    "call_frame",
    "frame",
    "read_exception",
    "receive_frame",
    "replaced",
    "take_reply",
]

ANSWER_KINDS: Final = {
    VALUE: AnswerKind.VALUE,
    DIGEST_KIND: AnswerKind.DIGEST,
    RAISED: AnswerKind.RAISED,
    UNSENDABLE: AnswerKind.UNSENDABLE,
}
EXCERPT_BYTES: Final = 4096
"""What is kept of output that nobody compares."""
MIB: Final = 1 << 20
BUSY_BYTES: Final = BUSY_PIECES * PIECE
"""A guest has written at least so much for each sign of life: an element takes a byte or more."""
MESSAGE_BYTES: Final = 1 << 14
"""A guest cuts its messages to less."""
SIGKILL, SIGXFSZ = 9, 25


class ProtocolError(Exception):
    """A guest sent something that is no answer."""


def frame(kind: bytes, payload: bytes) -> bytes:
    """One frame to the worker."""
    return FRAME.pack(len(payload), kind) + payload


def receive_frame(connection: socket.socket) -> tuple[bytes, bytes]:
    """One frame from the worker.

    Raises:
        EOFError: There will be none.
        OSError: The connection is broken, or was silent for too long.
    """
    try:
        length, kind = FRAME.unpack(receive_exactly(connection, FRAME.size))
        return kind, receive_exactly(connection, length)
    except Disconnected:
        raise EOFError("the worker has closed the connection") from None


def call_frame(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    """One call, for the link of a serving guest."""
    data = marshal.dumps((tuple(args), dict(kwargs)), 2)
    return frame(SEND, LENGTH.pack(len(data)) + data)


def take_reply(buffer: bytearray, limit: int) -> Answer | None:
    """Remove one whole reply from the front of a buffer; None while there is none.

    Raises:
        ProtocolError: What is there is no reply, or longer than the limit.
    """
    while len(buffer) >= HEADER.size:
        kind, length, cpu_ns = HEADER.unpack_from(buffer)
        if length > limit or kind not in (VALUE, RAISED, UNSENDABLE, CHANGED):
            raise ProtocolError(f"a reply of kind {kind!r} and {length} bytes")
        end = HEADER.size + length
        if len(buffer) < end:
            return None
        payload = bytes(buffer[HEADER.size : end])
        del buffer[:end]
        if kind != CHANGED:
            return Answer(ANSWER_KINDS[kind], payload, cpu_ns / 1e9)
    return None


def guest_spec(role: str, mode: str, limits: Limits, request: bytes, stdout_bytes: int) -> dict[str, Any]:
    """What the worker must know of a guest, without looking into its request."""
    return {
        "role": role,
        "mode": mode,
        "size": len(request),
        "memory_bytes": limits.memory_mb * MIB,
        "file_bytes": limits.output_mb * MIB,
        "processes": limits.processes,
        "cpu_backstop_s": math.ceil(limits.total_cpu_s) + 2,
        "stdout_bytes": stdout_bytes,
    }


def read_message(payload: bytes) -> str:
    """A message that a guest sends, as text that can be written anywhere.

    Raises:
        ProtocolError: It sent something else.
    """
    message = read_small(payload)
    if type(message) is not str:
        raise ProtocolError("a message that is no text")
    return writable(message)


def read_exception(payload: bytes) -> tuple[Sequence[str], str]:
    """The class names and the message of an exception that a guest reports.

    Raises:
        ProtocolError: It reports something else.
    """
    try:
        names, message = read_small(payload)
    except (TypeError, ValueError) as error:
        raise ProtocolError(f"an exception that cannot be read: {error}") from error
    if not (isinstance(names, list) and names and all(type(name) is str for name in (*names, message))):
        raise ProtocolError("an exception without names")
    return [writable(name) for name in names], writable(message)


def read_small(payload: bytes) -> Any:
    """Plain data that is not meant to be long."""
    if len(payload) > MESSAGE_BYTES:
        raise ProtocolError(f"a message of {len(payload)} bytes")
    try:
        return decode(payload)
    except DecodeError as error:
        raise ProtocolError(str(error)) from error


def writable(text: str) -> str:
    """Text without what UTF-8 cannot write."""
    return text.encode("utf-8", "backslashreplace").decode()


def replaced(execution: Execution, ending: Ending, message: str) -> Execution:
    """The same execution with another ending."""
    return replace(execution, ending=ending, message=message)


class Run:
    """One request on its way: what to send, and what has come back.

    Attributes:
        opening: The bytes that start it.
        patience_s: Wall seconds after which the worker must have said something.
        memory_bytes: What all its guests may take together, besides their scratch folders.
        processes: How many processes and threads they may be.
        answers: What the guest has answered so far.
        loaded: Whether the program has been loaded.
        apart: Whether the program is not the guest that answers.
    """

    def __init__(self, request: Request) -> None:
        """Encode a request."""
        self.request = request
        self.apart = isinstance(request, Check) and not request.shared
        limits = request.limits
        self.limit = limits.output_mb * MIB
        if isinstance(request, CallBatch):
            cpu_limits = request.cpu_limits_s or (limits.cpu_s,)
            self._open(limits, [("program", "calls", call_request(request))], cpu_s=max(cpu_limits))
        elif isinstance(request, Script):
            body = {"code": request.code, "stdin": request.stdin}
            self._open(limits, [("program", "script", body)], stdout_bytes=self.limit)
        else:
            served = {"code": request.code, "entry_point": request.entry_point}
            tests = {
                "tests": list(request.tests),
                "preamble": request.preamble,
                "entry_point": request.entry_point,
            }
            if request.shared:
                self._open(limits, [("program", "shared", served | tests)])
            else:
                self._open(limits, [("program", "serve", served), ("tester", "tests", tests)], link="pair")

    def _open(
        self,
        limits: Limits,
        guests: Sequence[tuple[str, str, dict[str, Any]]],
        *,
        link: str | None = None,
        cpu_s: float | None = None,
        stdout_bytes: int = EXCERPT_BYTES,
    ) -> None:
        bodies = [marshal.dumps(body, 2) for _, _, body in guests]
        cpu_s = cpu_s or limits.cpu_s
        wall_s = limits.deadline_s * max(1.0, cpu_s / limits.cpu_s)
        plan = {
            "guests": [
                guest_spec(role, mode, limits, body, stdout_bytes)
                for (role, mode, _), body in zip(guests, bodies, strict=True)
            ],
            "link": link,
            "cpu_s": cpu_s,
            "total_cpu_s": max(limits.total_cpu_s, cpu_s),
            "wall_s": wall_s,
        }
        self.opening = frame(RUN, marshal.dumps(plan, 2)) + b"".join(bodies)
        self.patience_s = wall_s
        # what a guest prints and answers is in memory too
        self.memory_bytes = len(guests) * (limits.memory_mb + 3 * limits.output_mb) * MIB
        self.processes = len(guests) * limits.processes
        self.answers: list[Answer] = []
        self.loaded = False
        self.trouble: tuple[Ending, str] | None = None
        self.raised: tuple[Sequence[str], str] | None = None
        self._buffer = bytearray()
        self._outputs: dict[bytes, bytes] = {}
        self._busy = 0
        """Signs of life since the last answer."""

    def keep(self, kind: bytes, payload: bytes) -> None:
        """Take in what was printed, or what the program in a check said of itself."""
        self._outputs[kind] = payload

    def feed(self, data: bytes, on_answer: OnAnswer | None) -> bool:
        """Take in bytes that the guest wrote.

        Returns:
            Whether to go on; False also when they are no answers.
        """
        if self.trouble is not None:
            return False
        self._buffer += data
        try:
            go_on = self._consume(on_answer)
            if not go_on and self.trouble is None:
                self.trouble = (Ending.STOPPED, "ended by the host")
            return go_on
        except ProtocolError as error:
            self.trouble = (Ending.PROTOCOL, str(error))
            return False

    def _consume(self, on_answer: OnAnswer | None) -> bool:
        position, buffer, go_on = 0, self._buffer, True
        while go_on and len(buffer) - position >= HEADER.size:
            kind, length, cpu_ns = HEADER.unpack_from(buffer, position)
            if length > self.limit:
                raise ProtocolError(f"an answer of {length} bytes")
            end = position + HEADER.size + length
            if len(buffer) < end:
                break
            go_on = self._take(kind, bytes(buffer[position + HEADER.size : end]), cpu_ns, on_answer)
            position = end
        del buffer[:position]
        return go_on

    def _take(self, kind: bytes, payload: bytes, cpu_ns: int, on_answer: OnAnswer | None) -> bool:
        """Take in one answer."""
        if isinstance(self.request, Script):
            return self._take_of_script(kind, payload)
        if kind in (INVALID, LOAD_ERROR) and not self.loaded and not self.apart:
            self._not_loaded(kind, payload)
            return False
        if kind == BUSY or (kind == READY and not self.loaded):
            self.loaded = True
            self._busy += kind == BUSY
            return True
        expected = len(self.request.inputs if isinstance(self.request, CallBatch) else self.request.tests)
        answer_kind = ANSWER_KINDS.get(kind)
        if answer_kind is None or len(self.answers) >= expected:
            raise ProtocolError(f"an answer of kind {kind!r} that nobody asked for")
        self._check_busy(answer_kind, payload)
        answer = Answer(answer_kind, payload, cpu_ns / 1e9)
        self.answers.append(answer)
        return on_answer is None or on_answer(len(self.answers) - 1, answer)

    def _check_busy(self, kind: AnswerKind, payload: bytes) -> None:
        """Make sure that a guest that said it was busy writing has written that much."""
        length = int.from_bytes(payload[16:24], "little") if kind == AnswerKind.DIGEST else len(payload)
        if kind in (AnswerKind.VALUE, AnswerKind.DIGEST) and self._busy * BUSY_BYTES > length:
            raise ProtocolError(f"{length} bytes took {self._busy} signs of life to write")
        self._busy = 0

    def _take_of_script(self, kind: bytes, payload: bytes) -> bool:
        if kind == INVALID:
            self._not_loaded(kind, payload)
        elif kind == RAISED:
            self.raised = read_exception(payload)
        else:
            raise ProtocolError(f"a script wrote an answer of kind {kind!r}")
        return True

    def _not_loaded(self, kind: bytes, payload: bytes) -> None:
        if kind == INVALID:
            self.trouble = (Ending.INVALID, read_message(payload))
            return
        names, message = read_exception(payload)
        ending = Ending.MEMORY if "MemoryError" in names else Ending.LOAD_ERROR
        self.trouble = (ending, f"{names[0]}: {message}")

    def finish(self, report: Mapping[str, Any], wall_s: float) -> Execution:
        """What happened, all told."""
        last = report["guests"][-1]
        if self.apart:
            self._look_at_program(self._outputs.get(FIRST, b""))
        ending, message = self._ending(report, last)
        return Execution(
            ending=ending,
            answers=self.answers,
            loaded=self.loaded,
            message=message,
            exit_code=None if report["reason"] else last["exit_code"],
            cpu_s=sum(one["cpu_s"] for one in report["guests"]),
            wall_s=wall_s,
            peak_mb=max(one["peak_mb"] for one in report["guests"]),
            stdout=self._outputs.get(STDOUT, b""),
            stderr=self._outputs.get(STDERR, b""),
        )

    def _look_at_program(self, written: bytes) -> None:
        """In a check: see whether the program under test was loaded at all."""
        if len(written) < HEADER.size:
            return
        kind, length, _ = HEADER.unpack_from(written)
        self.loaded = kind == READY
        if kind in (INVALID, LOAD_ERROR):
            try:
                self._not_loaded(kind, written[HEADER.size : HEADER.size + length])
            except ProtocolError as error:
                self.trouble = (Ending.PROTOCOL, str(error))

    def _ending(self, report: Mapping[str, Any], last: Mapping[str, Any]) -> tuple[Ending, str]:
        reason = report["reason"]
        if self.trouble is not None:
            return self.trouble
        if report["out_of_memory"]:
            return Ending.MEMORY, "processes of it were ended, for memory ran out"
        if reason == "cpu":
            return Ending.CPU, "used up its CPU time"
        if reason == "wall":
            return Ending.WALL, "did not end before the wall deadline"
        if reason == "stopped":
            return Ending.STOPPED, "ended by the host"
        return (
            self._ending_of_script(report)
            if isinstance(self.request, Script)
            else self._ending_of_calls(last)
        )

    def _ending_of_script(self, report: Mapping[str, Any]) -> tuple[Ending, str]:
        code = report["guests"][-1]["exit_code"]
        if self.raised is not None:
            names, message = self.raised
            ending = Ending.MEMORY if "MemoryError" in names else Ending.EXITED
            return ending, f"{names[0]}: {message}" if message else names[0]
        if report["stdout_size"] >= self.limit or code == -SIGXFSZ:
            return Ending.OUTPUT, f"printed {report['stdout_size']} bytes, the limit is {self.limit}"
        return (Ending.DONE, "") if code == 0 else self._died(code)

    def _ending_of_calls(self, last: Mapping[str, Any]) -> tuple[Ending, str]:
        if self._buffer:
            return Ending.PROTOCOL, "the last answer is cut off"
        request = self.request
        expected = len(request.inputs) if isinstance(request, CallBatch) else len(request.tests)  # type: ignore[union-attr]
        if len(self.answers) == expected:
            return Ending.DONE, ""
        return self._died(last["exit_code"])

    def _died(self, code: int) -> tuple[Ending, str]:
        if code == -SIGKILL:
            return Ending.MEMORY, "was killed, most likely for its memory"
        if code < 0:
            return Ending.EXITED, f"was ended by signal {-code}"
        return Ending.EXITED, f"exited with status {code}"


def call_request(request: CallBatch) -> dict[str, Any]:
    """What the guest is told of a batch."""
    return {
        "code": request.code,
        "entry_point": request.entry_point,
        "inputs": list(request.inputs),
        "argument_answers": request.argument_answers,
        "inline_bytes": request.inline_bytes,
    }


class ServeRun(Run):
    """A program that is loaded and then called over its link."""

    def __init__(self, code: str, entry_point: str, limits: Limits) -> None:
        """Encode the request."""
        self.request = CallBatch(code=code, entry_point=entry_point, inputs=(), limits=limits)
        self.apart = False
        self.limit = limits.output_mb * MIB
        self._open(limits, [("program", "serve", {"code": code, "entry_point": entry_point})], link="host")

    def _ending_of_calls(self, last: Mapping[str, Any]) -> tuple[Ending, str]:
        return self._died(last["exit_code"])  # nobody asked it to end

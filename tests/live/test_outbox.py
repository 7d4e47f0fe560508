"""The way to the judge keeps the order and its bounds, and gives up content rather than time or memory."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

import pytest

from mcp_wire.live import outbox as module
from mcp_wire.live.clock import Clock
from mcp_wire.live.directory import Origin
from mcp_wire.live.judge_messages import frames
from mcp_wire.live.outbox import Outbox
from mcp_wire.live.outgoing import Outgoing
from mcp_wire.live.parts import TOO_FAST, Ending, EndPart, Entry, LostPart, RequestPart
from mcp_wire.live.tap import Allowance, Copy, ResponseTap
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended

EMPTY = 0
"""`Pipe.room` of a pipe that takes nothing."""


class Loop:
    """Runs what was scheduled when the test says so."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []
        self.later: list[Callable[[], None]] = []

    def call_soon(self, turn: Callable[[], None]) -> None:
        self.soon.append(turn)

    def call_later(self, seconds: float, turn: Callable[[], None]) -> None:
        self.later.append(turn)

    def run(self) -> None:
        while self.soon:
            self.soon.pop(0)()


class Pipe:
    """Takes `room` octets at a time; None: everything."""

    def __init__(self, room: Callable[[], int] | None = None) -> None:
        self.taken = bytearray()
        self.room = room
        self.closed = False

    def __call__(self, octets: memoryview) -> int:
        if self.closed:
            raise BrokenPipeError
        part = octets if self.room is None else octets[: self.room()]
        self.taken += part
        return len(part)

    def entries(self) -> list[Any]:
        return [entry for frame in frames(io.BytesIO(bytes(self.taken))) for entry in frame]


def outbox_to(pipe: Pipe, loop: Loop) -> Outbox:
    return Outbox(pipe, loop.call_soon, loop.call_later)


def test_everything_arrives_in_order_whatever_the_pipe_takes_at_a_time() -> None:
    chance = random.Random(7)
    pipe, loop = Pipe(lambda: chance.choice([0, 1, 2, 700, 5_000_000])), Loop()
    outbox = outbox_to(pipe, loop)
    sent: list[Entry] = []
    for number in range(5_000):
        entry = (f"x-{number % 7}", number, chance.randbytes(3_000_000 if number == 2_500 else chance.randrange(40)))
        assert outbox.offer(entry, len(entry[2]))
        sent.append(entry)
        if number % 100 == 0:
            loop.run()
    while loop.soon or loop.later:
        loop.run()
        while loop.later:
            loop.later.pop()()
    assert pipe.entries() == sent
    assert outbox.octets == 0


def test_nothing_is_written_while_bytes_pass() -> None:
    pipe, loop = Pipe(), Loop()
    outbox = outbox_to(pipe, loop)
    for number in range(10):
        outbox.put(("x-1", number, b"data"), 4)
    assert not pipe.taken and len(loop.soon) == 1
    loop.run()
    assert [at for _, at, _ in pipe.entries()] == list(range(10))
    assert not loop.later


def test_a_turn_is_short_however_much_waits() -> None:
    pipe, loop = Pipe(), Loop()
    outbox = outbox_to(pipe, loop)
    for number in range(40):
        outbox.put(("x-1", number, bytes(100_000)), 100_000)
    loop.soon.pop(0)()
    assert 0 < len(pipe.taken) <= 2 * module.FRAME_OCTETS
    assert len(loop.soon) == 1
    loop.run()
    assert len(pipe.entries()) == 40


def test_a_full_pipe_is_tried_again_later_and_nothing_spins() -> None:
    pipe, loop = Pipe(lambda: EMPTY), Loop()
    outbox = outbox_to(pipe, loop)
    outbox.put(("x-1", 1, b"a"), 1)
    loop.run()
    assert len(loop.later) == 1
    outbox.put(("x-1", 2, b"b"), 1)
    assert not loop.soon
    pipe.room = None
    loop.later.pop()()
    loop.run()
    assert [part for _, _, part in pipe.entries()] == [b"a", b"b"]


def test_the_end_waits_until_all_is_taken_or_no_longer() -> None:
    attempts = 0

    def slowly() -> int:
        nonlocal attempts
        attempts += 1
        return 3 if attempts % 2 else EMPTY

    pipe, loop = Pipe(slowly), Loop()
    outbox = outbox_to(pipe, loop)
    for number in range(20):
        outbox.put(("x-1", number, b"x"), 1)
    outbox.drain(lambda: False)
    assert len(pipe.entries()) == 20
    pipe.room = lambda: EMPTY
    outbox.put(("x-1", 21, b"x"), 1)
    questions = iter([False, False, True])
    outbox.drain(lambda: next(questions))
    assert len(pipe.entries()) == 20


def test_bounds() -> None:
    pipe, loop = Pipe(lambda: EMPTY), Loop()
    outbox = outbox_to(pipe, loop)
    offered = 0
    while outbox.offer(("x-1", offered, bytes(1 << 20)), 1 << 20):
        offered += 1
        loop.run()
    assert offered == (module.MAX_OCTETS >> 20) - 1  # what else an entry and a frame take counts as well
    outbox.put(("x-1", 0, LostPart("")))
    pipe.room = None
    outbox.drain(lambda: False)
    assert outbox.octets == 0
    assert outbox.offer(("x-1", 1, b"x"), 1)


def test_a_judge_that_is_gone_costs_no_memory() -> None:
    pipe, loop = Pipe(), Loop()
    outbox = outbox_to(pipe, loop)
    outbox.put(("x-1", 1, b"x"), 1)
    pipe.closed = True
    loop.run()
    assert outbox.broken
    for _ in range(300):
        assert outbox.offer(("x-1", 1, bytes(1 << 20)), 1 << 20)
    assert outbox.octets == 0 and not loop.soon


class Full:
    """Has no room for content."""

    waiting_octets = module.MAX_OCTETS

    def __init__(self, room: int = 0) -> None:
        self.entries: list[Entry] = []
        self.room = room

    def offer(self, entry: Entry, octets: int) -> bool:
        if octets > self.room:
            return False
        self.room -= octets
        self.entries.append(entry)
        return True

    def put(self, entry: Entry) -> None:
        self.entries.append(entry)

    def flush(self) -> None: ...

    def finish(self) -> bool:
        return True


ORIGIN = Origin("http://example.test:80/mcp", "c")
REQUEST = RequestPart(ORIGIN, "POST", "/mcp", "HTTP/1.1", Headers([("Host", "x")]), b"{}")
END = EndPart(Ending(Ended.COMPLETE, whole=True), 2, b"{}", "")


def test_bodies_without_room_become_bodies_that_were_not_captured() -> None:
    judging = Full()
    exchange = Outgoing("x-1", judging)
    exchange.put(0, REQUEST)
    exchange.put(2, END)
    (_, _, request), (_, _, end) = judging.entries
    assert isinstance(request, RequestPart) and isinstance(end, EndPart)
    assert (request.raw, request.why_not, request.target) == (None, TOO_FAST, "/mcp")
    assert (end.body, end.why_not, end.received_octets) == (None, TOO_FAST, 2)


def test_parts_survive_the_way_to_another_process() -> None:
    pipe, loop = Pipe(), Loop()
    outbox = outbox_to(pipe, loop)
    sent: list[Entry] = [("x-1", 0, REQUEST), ("x-1", 2, b"\xff\n"), ("x-1", 4, LostPart("w")), ("x-1", 6, END)]
    for entry in sent:
        outbox.put(entry)
    loop.run()
    assert pipe.entries() == sent


def test_a_tap_without_room_passes_everything_and_says_once_what_is_missing() -> None:
    judging, faults = Full(64 << 20), list[Exception]()
    tap = ResponseTap(Copy(Allowance()), None, faults.append, Clock(), lambda now: None, Outgoing("x-1", judging))
    chunk = bytes(1 << 20)
    for _ in range(100):
        assert tap(chunk) is chunk
    assert tap(b"") == []
    parts = [part for _, _, part in judging.entries]
    assert parts == [*[chunk] * 64, LostPart(TOO_FAST)]
    assert tap.received == 100 << 20
    assert len(tap.copy.close()) == 16 << 20
    assert faults == []


@pytest.mark.parametrize("exchange", [None, Outgoing("x-1", Full())])
def test_a_tap_that_fails_passes_the_bytes_on(exchange: Outgoing | None) -> None:
    def fail(now: int) -> None:
        raise RuntimeError

    faults: list[Exception] = []
    tap = ResponseTap(Copy(Allowance()), None, faults.append, Clock(), fail, exchange)
    data = b"data: 1\n\n"
    assert tap(data) is data
    assert len(faults) == 1


def test_copies_share_their_allowance() -> None:
    allowance = Allowance(10)
    first, second = Copy(allowance), Copy(allowance)
    first.add(b"12345")
    second.add(b"123456")
    assert first.whole and not second.whole
    assert (first.close(), second.close()) == (b"12345", b"")
    assert allowance.left == 10


def test_the_clock_never_stands_still() -> None:
    clock = Clock(lambda: 5_000_000, lambda: 7_000)
    assert [clock.now() for _ in range(3)] == [0, 2, 4]
    assert clock.zero_wall_us == 7

"""The backlog keeps the order, never grows beyond its bounds, and gives up content rather than time or memory."""

from __future__ import annotations

from collections.abc import Callable

from mcp_wire.live import backlog as module
from mcp_wire.live.backlog import Backlog
from mcp_wire.live.clock import Clock
from mcp_wire.live.exchange import LostPart
from mcp_wire.live.tap import Allowance, Copy, Entry, ResponseTap


class Loop:
    """Runs what was scheduled when the test says so."""

    def __init__(self) -> None:
        self.turns: list[Callable[[], None]] = []

    def __call__(self, turn: Callable[[], None]) -> None:
        self.turns.append(turn)

    def run(self) -> None:
        while self.turns:
            self.turns.pop(0)()


def test_nothing_is_handled_before_its_turn_and_then_in_order() -> None:
    loop, seen = Loop(), list[int]()
    backlog = Backlog(seen.append, loop)
    for number in range(10):
        assert backlog.offer(number, 1)
    assert seen == [] and len(loop.turns) == 1
    loop.run()
    assert seen == list(range(10)) and len(backlog) == 0
    backlog.put(10)
    backlog.drain()
    assert seen[-1] == 10
    loop.run()
    assert seen == list(range(11))


def test_a_slow_judge_gives_the_loop_its_turns_as_long_as_there_is_room() -> None:
    now = [0.0]
    loop, seen = Loop(), list[int]()

    def handle(entry: int) -> None:
        seen.append(entry)
        now[0] += module.SLICE_S * 2

    backlog = Backlog(handle, loop, lambda: now[0])
    for number in range(3):
        backlog.offer(number, 1)
    loop.turns.pop(0)()
    assert seen == [0] and len(loop.turns) == 1
    loop.run()
    assert seen == [0, 1, 2]
    for number in range(module.COMFORTABLE_ENTRIES + 5):
        backlog.offer(number, 1)
    seen.clear()
    loop.turns.pop(0)()
    assert len(backlog) == module.COMFORTABLE_ENTRIES


def test_bounds() -> None:
    backlog = Backlog[int](lambda entry: None, Loop())
    assert backlog.offer(1, module.MAX_OCTETS)
    assert not backlog.offer(2, 1)
    backlog.put(3)
    backlog.drain()
    assert backlog.offer(4, 1)
    for number in range(module.MAX_ENTRIES - 1):
        assert backlog.offer(number, 0)
    assert not backlog.offer(5, 0)


class Anything:
    silent = False


def test_a_tap_without_room_passes_everything_and_says_once_what_is_missing() -> None:
    handled: list[Entry] = []
    faults: list[Exception] = []
    backlog = Backlog(handled.append, Loop())
    exchange = Anything()
    tap = ResponseTap(
        Copy(Allowance()),
        None,
        faults.append,
        Clock(),
        lambda now: None,
        backlog,
        exchange,  # type: ignore[arg-type]
    )
    chunk = bytes(1 << 20)
    for _ in range(100):
        assert tap(chunk) is chunk
    assert tap(b"") == []
    backlog.drain()
    parts = [part for _, _, part in handled]
    assert parts[:-1] == [chunk] * 64
    assert isinstance(parts[-1], LostPart)
    assert tap.received == 100 << 20
    assert len(tap.copy.close()) == 16 << 20
    assert faults == []


def test_a_tap_that_fails_passes_the_bytes_on() -> None:
    def fail(now: int) -> None:
        raise RuntimeError

    faults: list[Exception] = []
    backlog = Backlog[Entry](lambda entry: None, Loop())
    tap = ResponseTap(Copy(Allowance()), None, faults.append, Clock(), fail, backlog, None)
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

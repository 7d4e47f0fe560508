"""Observations as edges make them: with a clock, or one exchange after the other without one."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from mcp_wire.wire.body import EMPTY, Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)

texts = st.text(st.characters(codec="utf-8"), max_size=12)
words = st.text("abcdefgXYZ0123-", min_size=1, max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
bodies = st.one_of(
    st.just(EMPTY),
    st.just(Body.not_captured("too large")),
    json_values.map(Body.of_value),
    texts.map(Body.of_text),
    texts.map(lambda text: Body.of_text(text, utf8=False) if text else EMPTY),
    st.sampled_from([b"\xff{}", b'{"a":1,"a":2}', b"[1e999]", b"NaN", b'"\\ud800"', b"\xef\xbb\xbf{}", b"{}x"]).map(
        Body.read
    ),
)
header_lines = st.lists(
    st.tuples(st.sampled_from(["Accept", "accept", "X-A", "Set-Cookie"]) | words, texts), max_size=5
)
plain_headers = header_lines.map(Headers)
object_headers = st.dictionaries(st.sampled_from(["Accept", "accept", "ACCEPT", "X-A"]), texts, max_size=3).map(
    Headers.from_object
)
headers = plain_headers | object_headers
chunk_data = st.one_of(
    st.binary(max_size=12),
    texts.map(str.encode),
    st.sampled_from([b"data: {}\n\n", b"\xe2\x9c", b"\x93\n\n", b"", b"\xef\xbb\xbf:\r"]),
)


@st.composite
def exchanges(draw: st.DrawFn, name: str, ends_open: bool) -> list[Observation]:
    """One exchange without times, in its own order."""
    request = RequestSeen(
        exchange=name,
        t_ms=None,
        method=draw(st.sampled_from(["POST", "GET", "DELETE", "HEAD", "post"])),
        path=draw(st.sampled_from(["", "/mcp", "/m?x=%C3%A9"])),
        headers=draw(headers),
        body=draw(bodies),
        http_version=draw(st.sampled_from([None, "HTTP/1.1", "HTTP/2.0"])),
        concurrent_group=draw(st.sampled_from([None, "g"])),
        idempotent=draw(st.booleans()),
    )
    seen: list[Observation] = [request]
    kind = draw(st.sampled_from(["none", "body", "stream"]))
    if kind != "none":
        head = ResponseSeen(name, None, draw(st.integers(100, 599)), draw(plain_headers), draw(st.booleans()))
        content_type = ("text/event-stream; charset=utf-8" if kind == "stream" else "application/json",)
        head = replace(head, headers=Headers([("Content-Type", content_type[0]), *head.headers.raw]))
        seen.append(head)
        if kind == "body":
            seen.append(ResponseBody(name, None, draw(bodies)))
        else:
            seen += [ResponseChunk(name, None, data) for data in draw(st.lists(chunk_data, max_size=4))]
            if draw(st.booleans()):
                seen.append(ResponseBody(name, None, Body.not_captured("the stream grew too large")))
    ways = [Ended.OPEN] if ends_open else [None, *[ended for ended in Ended if ended is not Ended.OPEN]]
    seen.append(
        ExchangeEnded(
            name,
            None,
            draw(st.sampled_from(ways)),
            draw(st.sampled_from([None, None, True, False])),
            draw(st.sampled_from([None, 0, 17])),
            draw(st.sampled_from([None, "CANCEL"])),
        )
    )
    return seen


@st.composite
def without_clock(draw: st.DrawFn) -> list[Observation]:
    """Exchanges one after the other; what is still open comes last."""
    count = draw(st.integers(1, 3))
    done = [draw(exchanges(f"x-{number}", ends_open=False)) for number in range(count)]
    return [seen for exchange in done for seen in exchange]


@st.composite
def with_clock(draw: st.DrawFn) -> list[Observation]:
    """Overlapping exchanges, every observation with a time of its own; what is still open ends with the capture."""
    count = draw(st.integers(1, 4))
    lanes = [draw(exchanges(f"x-{number}", ends_open=draw(st.booleans()))) for number in range(count)]
    ends = [lane.pop() for lane in lanes if isinstance(lane[-1], ExchangeEnded) and lane[-1].ended is Ended.OPEN]
    order: list[Observation] = []
    while any(lanes):
        lane = draw(st.sampled_from([lane for lane in lanes if lane]))
        order.append(lane.pop(0))
    order += ends
    at = draw(st.integers(-5, 5))
    timed: list[Observation] = []
    for seen in order:
        at += draw(st.integers(1, 2_000_000))
        timed.append(replace(seen, t_ms=round(at / 1000, 3)))
    return timed


captures = without_clock() | with_clock()

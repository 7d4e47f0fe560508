"""Recorded traffic of real peers, as the observations that a live run would have made of it.

A recording is a gzipped JSON-lines file: one `flow` line for each finished exchange, with the times at which the
proxy's hooks ran, the chunks of streamed bodies and how it ended. `conversations_of` splits it as live traffic is split
and gives each conversation in the order in which it was seen.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.judging.declaration import Rule
from mcp_wire.judging.finding import Finding
from mcp_wire.judging.judge import Judge
from mcp_wire.live.directory import ConversationIdentity, Directory, Origin, Placed, Placement
from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.rules import rules_of
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

FOLDER = Path(__file__).parent.parent.parent / "shared" / "captures"
"""Where the recordings lie, if they do: they are no part of this repository."""

BODYLESS = (204, 205, 304)

type Json = dict[str, Any]


@dataclass(slots=True)
class Captured:
    """One conversation of a recording."""

    profile: str
    complete_from_start: bool
    observations: list[Observation] = field(default_factory=list)

    def judged(self, rules: Iterable[Rule] | None = None) -> Judge:
        """The finished judge of this conversation; `rules` None: the default set."""
        return judged(self.observations, self.profile, rules, complete_from_start=self.complete_from_start)


def judged(
    observations: Iterable[Observation],
    profile: str,
    rules: Iterable[Rule] | None = None,
    *,
    complete_from_start: bool,
) -> Judge:
    """Judge some observations as a conversation of live traffic."""
    conversation = Conversation(PROFILES.get(profile), payloads_whole=True, complete_from_start=complete_from_start)
    judge = Judge(rules_of() if rules is None else rules, conversation, lambda evidence: f"({evidence.kind})")
    for observation in observations:
        judge.feed(observation)
    judge.finish()
    return judge


def recordings() -> list[Path]:
    """The recordings that are there, by name; none in a checkout that stands alone."""
    return sorted(FOLDER.glob("*.jsonl.gz"))


def findings_of(path: Path, rules: Iterable[Rule] | None = None) -> list[tuple[Captured, Finding]]:
    """Every finding on a recording, with its conversation."""
    chosen = None if rules is None else tuple(rules)
    return [(one, finding) for one in conversations_of(path) for finding in one.judged(chosen).findings()]


@cache
def conversations_of(path: Path) -> tuple[Captured, ...]:
    """The conversations of a recording, split by the same evidence as live traffic."""
    return split(seen_in(path))


@cache
def seen_in(path: Path) -> tuple[tuple[Origin, Observation], ...]:
    """Everything that a recording holds, in the order of time."""
    return tuple(_in_order(_flows(path)))


def split(seen: Iterable[tuple[Origin, Observation]]) -> tuple[Captured, ...]:
    """The conversations in what a tap saw."""
    directory = Directory()
    captured: dict[ConversationIdentity, Captured] = {}

    def take(placements: list[Placement]) -> None:
        for placed in placements:
            if isinstance(placed, Placed):
                identity = placed.conversation
                one = captured.setdefault(identity, Captured(identity.profile, False))
                one.complete_from_start = identity.complete_from_start
                one.observations.append(placed.observation)

    for origin, observation in seen:
        take(directory.place(origin, observation))
    take(directory.finish())
    return tuple(captured.values())


def _flows(path: Path) -> list[Json]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return [record for record in records if record["type"] in ("flow", "flow_open_at_shutdown")]


def _in_order(flows: list[Json]) -> Iterator[tuple[Origin, Observation]]:
    """All observations by time. Where two share a microsecond, the later one in the file comes a microsecond later."""
    timed = [
        (at, number, place, origin, observation)
        for number, flow in enumerate(flows)
        for place, (at, origin, observation) in enumerate(_observations(flow))
    ]
    timed.sort(key=lambda entry: entry[:3])
    zero = timed[0][0] if timed else 0.0
    last = -1
    for at, _, _, origin, observation in timed:
        last = max(last + 1, round((at - zero) * 1_000_000))
        yield origin, _at(observation, last / 1000)


def _at(observation: Observation, t_ms: float) -> Observation:
    return replace(observation, t_ms=t_ms)


def _observations(flow: Json) -> Iterator[tuple[float, Origin, Observation]]:
    exchange, request, response = f"x-{flow['seq']}", flow["req"], flow["resp"]
    hooks = dict(flow["hooks"])
    at = hooks.get("request", request["t_end"])
    endpoint = f"http://{request['host']}:{request['port']}{request['path'].partition('?')[0]}"
    origin = Origin(endpoint, flow["client_conn"], request["http_version"])
    seen = RequestSeen(
        exchange,
        None,
        request["method"],
        request["path"],
        _headers(request["headers"]),
        _body(request["body"]),
        request["http_version"],
    )
    yield at, origin, seen
    if response is not None:
        at = hooks.get("responseheaders", response["t_start"])
        yield at, origin, ResponseSeen(exchange, None, response["status"], _headers(response["headers"]))
        for chunk_at, data in response["chunks"] or ():
            at = chunk_at
            if data:
                yield at, origin, ResponseChunk(exchange, None, base64.b64decode(data))
        if not _is_event_stream(response):
            at = hooks.get("response", at)
            body = EMPTY if response["status"] in BODYLESS else _body(response["body"] or _joined(response))
            yield at, origin, ResponseBody(exchange, None, body)
    yield hooks.get("response", hooks.get("error", at)), origin, ExchangeEnded(exchange, None, _ended(flow))


def _ended(flow: Json) -> Ended | None:
    if flow["type"] == "flow_open_at_shutdown":
        return Ended.OPEN
    if flow["end"] == "complete":
        return Ended.COMPLETE
    if (flow["error"] or "").startswith("Client disconnected"):
        return Ended.CLIENT_CLOSED
    return Ended.SERVER_CLOSED if "without sending complete message body" in (flow["error"] or "") else None


def _is_event_stream(response: Json) -> bool:
    return (_headers(response["headers"]).get("content-type") or "").lower().startswith("text/event-stream")


def _joined(response: Json) -> Json:
    return {"b64": base64.b64encode(b"".join(base64.b64decode(data) for _, data in response["chunks"] or ())).decode()}


def _headers(lines: list[list[str]]) -> Headers:
    return Headers((name, value) for name, value in lines)


def _body(body: Json | None) -> Body:
    if body is None:
        return EMPTY
    return Body.read(body["utf8"].encode() if "utf8" in body else base64.b64decode(body["b64"]))

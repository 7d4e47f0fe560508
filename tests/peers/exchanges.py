"""What one side of the proxy saw of an exchange, and the comparison of both sides."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class SeenExchange:
    """One HTTP exchange as it passed one place. Bodies are free of transfer coding and framing."""

    method: str
    target: str
    request_body: bytes
    last_event_id: str = ""
    status: int | None = None  # None: no response head was seen
    http_version: str = ""
    response_body: bytes = b""
    complete: bool = False  # the response's proper end was seen
    client_left: bool = False  # the client closed or gave up before that end
    response_headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    @property
    def request_key(self) -> tuple[str, str, str, str]:
        return self.method, self.target, self.last_event_id, sha256(self.request_body).hexdigest()

    def __str__(self) -> str:
        digest = sha256(self.response_body).hexdigest()[:16]
        return f"{self.method} {self.status} {len(self.response_body)} bytes, sha256 {digest}…"


def assert_same_bytes(server_side: Sequence[SeenExchange], client_side: Sequence[SeenExchange]) -> None:
    """Every request the client sent reached the server, and every answer the server gave reached the client.

    A client that left a GET stream may have missed its end, but what it got must be its beginning. A POST's stream
    ends with the answer that the client waited for, so there whoever leaves has all of it.
    """
    assert sorted(e.request_key for e in server_side) == sorted(e.request_key for e in client_side)
    waiting = list(server_side)
    # Whole answers find their partners first: equal requests (polls, pings) may have several candidates.
    for received in sorted(client_side, key=lambda e: e.client_left):
        candidates = [sent for sent in waiting if sent.request_key == received.request_key]
        partner = next((sent for sent in candidates if _same_answer(sent, received)), None)
        assert partner is not None, f"the client received {received}; the server sent {[str(c) for c in candidates]}"
        waiting.remove(partner)


def _same_answer(sent: SeenExchange, received: SeenExchange) -> bool:
    if received.method == "GET" and received.client_left:
        same_body = sent.response_body.startswith(received.response_body)
        unanswered = received.status is None and not received.response_body
    else:
        same_body = sent.response_body == received.response_body
        unanswered = False
    same_head = (sent.status, sent.response_headers) == (received.status, received.response_headers)
    return same_body and (same_head or unanswered)


def write_exchange(file: Path, exchange: SeenExchange) -> None:
    """Appends one exchange to a file of JSON lines (response headers are left out: HTTP/2 changes them lawfully)."""
    line: dict[str, Any] = {name: getattr(exchange, name) for name in exchange.__slots__ if name != "response_headers"}
    for name in ("request_body", "response_body"):
        line[name] = base64.b64encode(line[name]).decode()
    with file.open("a") as output:
        output.write(json.dumps(line) + "\n")


def read_exchanges(file: Path) -> list[SeenExchange]:
    return list(_parse(file.read_text().splitlines()))


def _parse(lines: Iterable[str]) -> Iterable[SeenExchange]:
    for line in lines:
        members = json.loads(line)
        for name in ("request_body", "response_body"):
            members[name] = base64.b64decode(members[name])
        yield SeenExchange(**members)

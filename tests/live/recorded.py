"""Recorded real traffic, where the recordings lie beside the repository. They are no part of it."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

from mcp_wire.live.directory import Origin
from mcp_wire.wire.body import EMPTY, Body
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.media_types import essence
from mcp_wire.wire.observation import (
    Ended,
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)
from tests.live.mcp_traffic import Step

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "captures"


def recordings() -> list[Path]:
    return sorted(FOLDER.glob("*.jsonl.gz"))


def steps_of(recording: Path) -> list[Step]:
    """Everything that was seen, in the order of its times."""
    timed: list[tuple[float, int, Step]] = []
    with gzip.open(recording, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            if record["type"] in ("flow", "flow_open_at_shutdown"):
                timed += [(at, len(timed) + n, step) for n, (at, step) in enumerate(_flow(record))]
    timed.sort(key=lambda entry: entry[:2])
    return [step for _, _, step in timed]


def _flow(record: dict[str, Any]) -> list[tuple[float, Step]]:
    request, response = record["req"], record["resp"]
    exchange = record["flow_id"]
    where = Origin(
        f"http://{request['host']}:{request['port']}{request['path'].partition('?')[0]}",
        record["client_conn"],
        request["http_version"],
    )
    hooks = dict(record["hooks"])
    started = hooks.get("request", request["t_start"])
    seen: list[tuple[float, Observation]] = [
        (
            started,
            RequestSeen(
                exchange,
                None,
                request["method"],
                request["path"],
                Headers(map(tuple, request["headers"])),
                _body(request["body"]),
                request["http_version"],
            ),
        )
    ]
    last = started
    if response is not None:
        headers = Headers(map(tuple, response["headers"]))
        last = max(last, hooks.get("responseheaders", last))
        seen.append((last, ResponseSeen(exchange, None, response["status"], headers)))
        if essence(headers.get("content-type")) == "text/event-stream":
            for at, data in response["chunks"] or []:
                if data:
                    last = max(last, at)
                    seen.append((last, ResponseChunk(exchange, None, base64.b64decode(data))))
        else:
            last = max(last, response["t_end"] or last)
            seen.append((last, ResponseBody(exchange, None, _body(response["body"]))))
    if record["type"] == "flow":
        complete = record["end"] == "complete"
        at = max(last, hooks.get("response", last), hooks.get("error", last))
        client = "Client disconnected" in (record["error"] or "")
        ended = Ended.COMPLETE if complete else Ended.CLIENT_CLOSED if client else Ended.SERVER_CLOSED
        seen.append((at, ExchangeEnded(exchange, None, ended)))
    return [(at, Step(where, _at(observation, at))) for at, observation in seen]


def _at(observation: Observation, seconds: float) -> Observation:
    from dataclasses import replace

    return replace(observation, t_ms=seconds * 1000)


def _body(stored: dict[str, Any] | None) -> Body:
    if stored is None or not stored.get("len"):
        return EMPTY
    if "utf8" in stored:
        return Body.read(stored["utf8"].encode())
    return Body.read(base64.b64decode(stored["b64"]))

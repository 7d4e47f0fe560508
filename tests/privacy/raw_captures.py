"""A planted conversation as the files that people have of such: nothing in them is redacted."""

from __future__ import annotations

import base64
import io
import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from mitmproxy import connection, http, tcp
from mitmproxy.flow import Error, Flow
from mitmproxy.io import FlowWriter

from mcp_wire.live.marks import ENDED, NO_REQUEST_BODY, NO_RESPONSE_BODY, TIMES, MarkedChunks, SeenTimes
from tests.captures_read.sessions import STARTED_S, date_of, har
from tests.privacy.canary_shapes import LOOK_RANDOM
from tests.privacy.planting import ASCII, FRAMING, NO_NAME, Exchange, Planter, Talk

type Json = dict[str, Any]

HAR_PRODUCERS: Final = ("WebInspector", "Firefox", "Charles Proxy", "mitmproxy")
STEP_MS: Final = 200


def octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def header_text(value: str) -> str:
    """As whoever reads a head decodes it: UTF-8 where it is that, else each octet a character."""
    data = octets(value)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def lines_of(headers: Iterable[tuple[str, str]]) -> list[list[str]]:
    return [[name, header_text(value)] for name, value in headers]


# --- transcripts and journals ---


def transcript_of(talk: Talk) -> str:
    """JSON bodies stand in it as they were sent, escapes included."""
    bodies: list[str] = []
    exchanges = [_told(exchange, number, talk, bodies) for number, exchange in enumerate(talk.exchanges)]
    document = {
        "profile": f"stable-{talk.revision}",
        "complete_from_start": True,
        "payloads": "shape",
        "exchanges": exchanges,
    }
    text = json.dumps(document, ensure_ascii=False, indent=1)
    for number, body in enumerate(bodies):
        text = text.replace(f'"\ue010{number}\ue011"', body)
    return text


def _told(exchange: Exchange, number: int, talk: Talk, bodies: list[str]) -> Json:
    started = number * STEP_MS
    response: Json = {"status": exchange.status, "headers": lines_of(exchange.answer_headers)}
    if exchange.chunks is None:
        response |= _body(exchange.answer, bodies, talk.number + number)
    else:
        response["chunks"] = [
            _chunk(data) | {"t_ms": started + 10 + min(at, 100)} for at, data in enumerate(exchange.chunks)
        ]
    request: Json = {"method": exchange.method, "path": exchange.target, "headers": lines_of(exchange.headers)}
    request |= _body(exchange.body, bodies, talk.number + number)
    ended = {"started_ms": started, "ended_ms": started + 150}
    return {"id": f"x-{number + 1}", **ended, "request": request, "response": response}


def _body(data: bytes, bodies: list[str], turn: int) -> Json:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(data).decode()}
    if is_strict_json(text):
        bodies.append(text)
        return {"body": f"\ue010{len(bodies) - 1}\ue011"}
    return {"body_base64": base64.b64encode(data).decode()} if turn % 3 == 0 and data else {"body_text": text}


def is_strict_json(text: str) -> bool:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError
        return dict(pairs)

    def constant(name: str) -> Any:
        raise ValueError(name)

    def number(digits: str) -> float:
        value = float(digits)
        if value - value != 0:
            raise ValueError(digits)
        return value

    try:
        value = json.loads(text, object_pairs_hook=members, parse_constant=constant, parse_float=number)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict | list) and text.count("[") < 200


def _chunk(data: bytes) -> Json:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def journal_of(talk: Talk) -> str:
    """A line for each thing seen."""
    lines: list[Json] = [{"journal": 1, "profile": f"stable-{talk.revision}", "tuple": {}, "complete_from_start": True}]
    for number, exchange in enumerate(talk.exchanges):
        told = {"exchange": f"x-{number + 1}", "t_ms": number * STEP_MS}
        told_then = told | {"t_ms": number * STEP_MS + 10}
        request = {"method": exchange.method, "path": exchange.target, "headers": lines_of(exchange.headers)}
        lines.append({"seen": "request", **told, **request, **_body_text(exchange.body)})
        response = {"status": exchange.status, "headers": lines_of(exchange.answer_headers)}
        lines.append({"seen": "response", **told_then, **response})
        if exchange.chunks is None:
            lines.append({"seen": "body", **told_then, **_body_text(exchange.answer)})
        else:
            lines += ({"seen": "chunk", **told_then, **_chunk(data)} for data in exchange.chunks)
        lines.append({"seen": "end", **told_then, "ended": "complete"})
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _body_text(data: bytes) -> Json:
    try:
        return {"body_text": data.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(data).decode()}


# --- captures ---


def flows_of(talk: Talk, *, marked: bool) -> Iterator[Flow]:
    """`marked`: as the addon leaves them, with the places where chunks were cut."""
    client = connection.Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2))
    for number, exchange in enumerate(talk.exchanges):
        flow = http.HTTPFlow(client, connection.Server(address=("api.example.com", 443)))
        begun = STARTED_S + number * STEP_MS / 1000
        lines = [(octets(name), octets(value)) for name, value in exchange.headers]
        flow.request = http.Request.make(
            exchange.method, f"https://api.example.com{exchange.target}", exchange.body, http.Headers(lines)
        )
        flow.request.timestamp_start = flow.request.timestamp_end = begun
        answer_lines = [(octets(name), octets(value)) for name, value in exchange.answer_headers]
        flow.response = http.Response.make(exchange.status, exchange.answered, http.Headers(answer_lines))
        flow.response.timestamp_start, flow.response.timestamp_end = begun + 0.01, begun + 0.15
        if marked:
            at = round(begun * 1_000_000)
            flow.metadata[TIMES] = SeenTimes(at, at + 10_000, at + 150_000).packed()
            if exchange.chunks is not None:
                marks = MarkedChunks()
                for place, data in enumerate(exchange.chunks):
                    marks.add(at + 10_000 + min(place, 1000), len(data))
                flow.metadata |= marks.as_metadata
        yield flow


def flow_file_of(talk: Talk, *, marked: bool) -> bytes:
    written = io.BytesIO()
    writer = FlowWriter(written)  # type: ignore[no-untyped-call]
    for flow in flows_of(talk, marked=marked):
        writer.add(flow)
    return written.getvalue()


def har_of(talk: Talk, producer: str) -> bytes:
    return har(producer, (_entry(exchange, number, producer) for number, exchange in enumerate(talk.exchanges)))


def _entry(exchange: Exchange, number: int, producer: str) -> Json:
    begun = number * STEP_MS / 1000
    headers = [{"name": name, "value": value} for name, value in lines_of(exchange.headers)]
    if producer == "WebInspector":
        headers.insert(0, {"name": ":path", "value": exchange.target})
    cookies = [{"name": name, "value": value} for name, value in lines_of(exchange.headers) if name == "Cookie"]
    mime = next((value for name, value in exchange.answer_headers if name == "Content-Type"), "")
    content: Json = {"size": len(exchange.answered), "mimeType": mime}
    text = exchange.answered.decode("utf-8", "replace")
    if producer == "Charles Proxy" or text.encode() != exchange.answered:
        content |= {"text": base64.b64encode(exchange.answered).decode(), "encoding": "base64"}
    elif mime == "text/event-stream" and producer == "WebInspector":
        content["text"] = "".join(bytes((octet,)).decode("cp1252", "ignore") or chr(octet) for octet in text.encode())
    else:
        content["text"] = text
    entry: Json = {
        "startedDateTime": date_of(begun),
        "time": 150,
        "request": {
            "method": exchange.method,
            "url": f"https://api.example.com{exchange.target}",
            "httpVersion": "HTTP/1.1",
            "headers": headers,
            "cookies": cookies,
            "queryString": [{"name": "query", "value": exchange.target.partition("?")[2]}],
            "headersSize": -1,
            "bodySize": len(exchange.body),
        },
        "response": {
            "status": exchange.status,
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "headers": [{"name": name, "value": value} for name, value in lines_of(exchange.answer_headers)],
            "cookies": [],
            "content": content,
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": len(exchange.answered),
        },
        "cache": {},
        "timings": {"send": 0, "wait": 10, "receive": 140},
    }
    if exchange.body:
        entry["request"]["postData"] = {
            "mimeType": "application/json",
            "text": exchange.body.decode("utf-8", "replace"),
        }
    return entry


# --- what stands in such files besides the traffic ---


def annotated_transcript(talk: Talk) -> str:
    """A transcript into which a person has written: at every level, in members that there are and in others."""
    plant = Planter(talk, random.Random(talk.number), Counter())
    document = json.loads(transcript_of(talk))
    product = plant.name("tuple product", NO_NAME)
    document |= {
        "profile": plant.name("profile") if talk.number % 3 == 2 else document["profile"],
        "tuple": {
            "client": {"name": product, "version": plant.name("tuple version", LOOK_RANDOM)},
            "server": {
                "name": plant.name("tuple product", NO_NAME),
                plant.name("tuple member"): plant.json("tuple value"),
            },
            "sdk": [plant.name("tuple sdk", NO_NAME)],
            "intermediaries": [plant.name("tuple intermediary", NO_NAME)],
            "endpoint": f"/{plant.name('tuple endpoint')}",
            "user_agent": f"probe/1.0 ({plant.json('tuple user agent')})",
            "server_software": plant.name("tuple server", NO_NAME),
            "failure_time": plant.json("tuple failure time"),
            "request_ids": [plant.json("tuple request id")],
            "reproduction": f"curl {plant.json('tuple reproduction', NO_NAME)}",
            "tls": plant.name("tuple tls", NO_NAME),
            "http_version": plant.name("tuple http version", NO_NAME),
        },
        "comment": plant.json("comment"),
        plant.name("document member"): plant.json("document member value"),
    }
    for number, exchange in enumerate(document["exchanges"]):
        exchange["id"] = plant.name("exchange id")
        exchange["concurrent_group"] = plant.name("concurrent group")
        exchange["comment"] = plant.json("exchange comment")
        exchange["idempotent"] = number % 2 == 0
        request, response = exchange["request"], exchange["response"]
        request["comment"] = response["comment"] = plant.json("comment")
        match number % 8:
            case 0:
                exchange["server_side_of"] = plant.name("server_side_of")
            case 1:
                request["http_version"] = plant.name("http version")
            case 2:
                response["reset_code"] = plant.name("reset code")
            case 3:
                response["ended"] = plant.name("ending")
                response["not_captured"] = plant.json("reason not captured")
            case 4:
                request["not_captured"] = plant.json("reason not captured")
            case 5:
                request["method"] = plant.name("http method")
            case 6:
                exchange["started_ms"] = plant.json("time")
            case 7:
                response["status"] = plant.json("status")
        if isinstance(response.get("chunks"), list) and response["chunks"]:
            response["chunks"][0]["comment"] = plant.json("chunk comment")
        request["headers"] += lines_of(plant.header(*found) for found in FRAMING[number::5])
        response["headers"] += lines_of(plant.header(*found) for found in FRAMING[number::7])
        where = [plant.in_url(f"absolute {part}") for part in ("user", "host", "path", "fragment")]
        request["path"] = f"http://{where[0]}@{where[1]}.example.com/{where[2]}#{where[3]}"
    wrong = json.loads(json.dumps(document["exchanges"][0]))
    wrong |= {"request": {"method": "POST", "headers": plant.json("headers"), "body_base64": plant.json("body_base64")}}
    document["exchanges"] += [plant.json("exchange"), wrong]
    return plant.dumped(document)


def annotated_har(talk: Talk, producer: str) -> bytes:
    """A HAR file with all that producers put into it besides the messages."""
    plant = Planter(talk, random.Random(talk.number), Counter())
    document = json.loads(har_of(talk, producer))
    log = document["log"]
    log["creator"] |= {"comment": plant.json("har creator comment"), "version": plant.json("har creator version")}
    log |= {"comment": plant.json("har comment"), "browser": {"name": plant.json("har browser"), "version": "1"}}
    log["pages"] = [{"id": plant.json("har page id"), "title": plant.json("har page title"), "startedDateTime": "x"}]
    for number, entry in enumerate(log["entries"]):
        entry |= {
            "comment": plant.json("har entry comment"),
            "connection": plant.json("har connection"),
            "serverIPAddress": plant.json("har server address"),
            "pageref": plant.json("har page id"),
            "_initiator": {"type": plant.json("har initiator"), "stack": {"url": plant.json("har initiator url")}},
            plant.name("har member"): plant.json("har member value"),
        }
        entry["request"]["cookies"] = [{"name": plant.json("har cookie name"), "value": plant.json("har cookie")}]
        entry["request"]["queryString"] = [{"name": plant.json("har query name"), "value": plant.json("har query")}]
        entry["response"]["redirectURL"] = plant.json("har redirect")
        match number % 10:
            case 1:
                entry["response"]["statusText"] = plant.json("har status text")
            case 2:
                entry["response"]["_error"] = plant.json("har error")
                entry["response"]["_failureText"] = plant.json("har failure text")
            case 3:
                entry["request"]["httpVersion"] = plant.json("har http version")
            case 4:
                entry["response"]["_charlesStatus"] = plant.json("har charles status")
            case 5:
                entry["startedDateTime"] = plant.json("har date")
            case 6:
                entry["response"]["content"] |= {"encoding": plant.json("har encoding")}
            case 7:
                entry["timings"] = {"send": plant.json("har timing"), "comment": plant.json("har timing comment")}
            case 8:
                entry["request"]["url"] = f"https://{plant.in_url('har url')}/mcp"
            case 9:
                entry["response"]["status"] = plant.json("har status")
    log["entries"] += [plant.json("har entry"), {"request": plant.json("har request")}]
    return plant.dumped(document).encode()


def annotated_flow_file(talk: Talk) -> bytes:
    """A flow file with all that a flow has besides its messages' heads and bodies; and flows that are not HTTP."""
    plant = Planter(talk, random.Random(talk.number), Counter())
    flows: list[Flow] = []
    for number, flow in enumerate(flows_of(talk, marked=talk.number % 2 == 0)):
        assert isinstance(flow, http.HTTPFlow) and flow.response is not None
        flow.comment, flow.marked = plant.line("flow comment"), plant.line("flow marker")
        flow.metadata[plant.line("flow metadata name")] = plant.line("flow metadata")
        flow.response.reason = plant.line("reason phrase", ASCII)
        trailers = [(octets(plant.line("trailer name", LOOK_RANDOM)), octets(plant.line("trailer")))]
        flow.response.trailers = http.Headers(trailers)
        match number % 7:
            case 1:
                flow.metadata[ENDED] = plant.line("flow ending")
            case 2:
                flow.metadata[NO_REQUEST_BODY] = flow.metadata[NO_RESPONSE_BODY] = plant.line("flow reason")
                flow.request.raw_content = flow.response.raw_content = None
            case 3:
                flow.error = Error(plant.line("flow error"))
            case 4:
                flow.request.http_version = plant.line("flow http version", ASCII)
            case 5:
                flow.server_conn.sni = plant.line("server name")
            case 6:
                flow.request.host = f"{plant.in_url('host')}.example.com"
        flows.append(flow)
    talking = tcp.TCPFlow(flows[0].client_conn, flows[0].server_conn)
    talking.messages = [tcp.TCPMessage(True, octets(plant.line("tcp message")))]  # type: ignore[no-untyped-call]
    written = io.BytesIO()
    writer = FlowWriter(written)  # type: ignore[no-untyped-call]
    for one in (*flows, talking):
        writer.add(one)
    return written.getvalue()

"""Who spoke with whom over what: from evidence, from an operator, and what nobody has told."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.privacy.redactor import Redactor
from mcp_wire.transcript.document import Document
from mcp_wire.transcript.tuple_parts import PARTS, completed, contradicted, unknown_parts
from mcp_wire.transcript.tuple_words import WANTED, TupleError, asserted_parts
from mcp_wire.validation import validate
from tests.cli.test_validate import run
from tests.transcript.test_form_rules import GOOD

EVIDENCE: dict[str, Any] = {
    "profile": "stable-2025-11-25",
    "payloads": "shape",
    "exchanges": [
        {
            "id": "init",
            "request": {
                "method": "POST",
                "path": "/mcp?tenant=acme",
                "http_version": "HTTP/2.0",
                "headers": {
                    "Accept": "application/json, text/event-stream",
                    "Content-Type": "application/json",
                    "User-Agent": "python-httpx/0.28.1",
                    "Via": "1.1 edge/3.1",
                },
                "body": {
                    "jsonrpc": "2.0",
                    "id": 0,
                    "method": "initialize",
                    "params": {
                        "protocolVersion": "2025-11-25",
                        "capabilities": {},
                        "clientInfo": {"name": "example-client", "version": "1.4.0"},
                    },
                },
            },
            "response": {
                "status": 200,
                "headers": [
                    ["Content-Type", "text/event-stream"],
                    ["Server", "nginx/1.22.1"],
                    ["Via", "1.1 varnish"],
                    ["Via", "1.1 edge/3.1"],
                ],
                "chunks": [
                    'data: {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serv',
                    'erInfo":{"name":"example-server","version":"2.1.0","title":"Example"}}}\n\n',
                ],
            },
        }
    ],
}


def shown(document: Any, *words: str) -> dict[str, Any]:
    return dict(validate(Document(document), asserted=asserted_parts(words)).interoperability_tuple)


def test_the_tuple_is_filled_from_what_was_seen() -> None:
    assert shown(EVIDENCE) == {
        "client": {"name": "example-client", "version": "1.4.0"},
        "server": {"name": "example-server", "version": "2.1.0"},
        "intermediaries": ["1.1 edge/3.1", "1.1 varnish"],
        "endpoint": "/mcp",
        "revision": "2025-11-25",
        "http_version": "HTTP/2.0",
        "user_agent": "python-httpx/0.28.1",
        "server_software": "nginx/1.22.1",
    }
    assert list(shown(EVIDENCE)) == [name for name in PARTS if name in shown(EVIDENCE)]


def test_the_newest_revision_names_its_peers_in_meta() -> None:
    modern = copy.deepcopy(EVIDENCE) | {"profile": "stable-2026-07-28"}
    meta = "io.modelcontextprotocol"
    exchange = modern["exchanges"][0]
    exchange["request"]["body"] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "server/discover",
        "params": {"_meta": {f"{meta}/clientInfo": {"name": "new-client", "version": "3.0"}}},
    }
    result = {"resultType": "complete", "_meta": {f"{meta}/serverInfo": {"name": "new-server", "version": "4.0"}}}
    exchange["response"]["chunks"] = [f"data: {json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': result})}\n\n"]
    assert (shown(modern)["client"], shown(modern)["server"]) == (
        {"name": "new-client", "version": "3.0"},
        {"name": "new-server", "version": "4.0"},
    )


def test_what_the_document_says_stands_and_the_traffic_adds() -> None:
    said = EVIDENCE | {"tuple": {"client": {"name": "sdk-client", "version": "9"}, "tls": "TLSv1.3"}}
    assert (shown(said)["client"], shown(said)["tls"]) == ({"name": "sdk-client", "version": "9"}, "TLSv1.3")
    assert shown(said)["server"]["name"] == "example-server"


def test_what_is_secret_is_not_known() -> None:
    text = (
        json.dumps(EVIDENCE).replace("example-client", "qX7fKz02LmWv9RbTc5JdYs8P").replace("1.4.0", "4f1a9d2e3f5b6a7c")
    )
    report = validate(Document(json.loads(text)))
    assert "client" not in report.interoperability_tuple
    assert "client" in report.tuple_unknown


def test_an_operator_fills_in_what_the_traffic_does_not_show() -> None:
    words = [
        "client=another/7.0",
        "sdk=python-sdk/2.3.0",
        "sdk=typescript-sdk/1.32.2",
        "runtime=CPython/3.13.0",
        "intermediaries=envoy/1.30",
        "tls=TLSv1.3",
        "failure_time=2026-11-30T09:30:00Z",
        "request_ids=x-7",
        "reproduction=pytest tests/test_resume.py::test_it[stable-2025-11-25]",
    ]
    members = shown(EVIDENCE, *words)
    assert members["client"] == {"name": "example-client", "version": "1.4.0"}
    assert members["intermediaries"] == ["1.1 edge/3.1", "1.1 varnish", "envoy/1.30"]
    assert members["sdk"] == ["python-sdk/2.3.0", "typescript-sdk/1.32.2"]
    assert unknown_parts(members) == ()
    assert Redactor().redact_tuple(members) == members


def test_a_version_is_added_to_the_peer_of_that_name_only() -> None:
    seen: dict[str, Any] = {"client": {"name": "example-client"}}
    assert completed(seen, asserted_parts(["client=example-client 2.0"])) == {
        "client": {"name": "example-client", "version": "2.0"}
    }
    assert completed(seen, asserted_parts(["client=another/2.0"])) == seen
    assert completed({}, asserted_parts(["intermediaries=none"])) == {"intermediaries": []}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["client=example-client", "sdk=a/1", "tls=TLSv1.3"], {}),
        (["client=example-client/1.4.0", "intermediaries=envoy/1.30"], {}),
        (["client=example-client/1.5"], {"client": {"name": "example-client", "version": "1.5"}}),
        (["client=another"], {"client": {"name": "another"}}),
        (["intermediaries=none", "revision=2025-03-26"], {"intermediaries": [], "revision": "2025-03-26"}),
    ],
)
def test_what_is_stated_and_not_so_is_told(words: list[str], wrong: dict[str, Any]) -> None:
    stated = asserted_parts(words)
    report = validate(Document(EVIDENCE), asserted=stated)
    assert report.tuple_contradicted == wrong
    assert contradicted(report.interoperability_tuple, stated) == wrong


@pytest.mark.parametrize(
    ("members", "unknown"),
    [
        ({}, [*(name for name in PARTS if name not in ("user_agent", "server_software"))]),
        (
            {"client": {"name": "a"}, "server": {"version": "1"}, "intermediaries": [], "sdk": ["x"], "runtime": ["y"]},
            [
                *("client.version", "server.name", "endpoint", "revision", "http_version", "tls", "failure_time"),
                *("request_ids", "reproduction"),
            ],
        ),
    ],
)
def test_what_nobody_has_told_is_named(members: dict[str, Any], unknown: list[str]) -> None:
    assert list(unknown_parts(members)) == unknown


@pytest.mark.parametrize(
    ("word", "peer"),
    [
        ("example/1.0", {"name": "example", "version": "1.0"}),
        ("example 1.0", {"name": "example", "version": "1.0"}),
        ("Example Client v2", {"name": "Example Client", "version": "v2"}),
        ("mcp-servers/everything", {"name": "mcp-servers/everything"}),
        ("mcp-servers/everything/2.0", {"name": "mcp-servers/everything", "version": "2.0"}),
        ("@scope/name 1.0.0-beta.2", {"name": "@scope/name", "version": "1.0.0-beta.2"}),
    ],
)
def test_a_peer_is_a_name_and_perhaps_a_version(word: str, peer: dict[str, str]) -> None:
    assert asserted_parts([f"server={word}"]) == {"server": peer}


REFUSED = [
    ("sdk", "it has to be NAME=VALUE"),
    ("=x", "a part of the tuple is one of client, server, "),
    ("sdk=", "it has to be NAME=VALUE"),
    ("gateway=nginx/1.22", "a part of the tuple is one of client, server, "),
    ("client=qX7fKz02LmWv9RbTc5JdYs8P", "client has to be a name and a version"),
    ("server=example/build-qX7fKz02LmWv9RbTc5", "server has to be a name and a version"),
    ("sdk=python sdk (alice's build)", "sdk has to be the name of a product and perhaps its version"),
    ("intermediaries=acme-edge-gw", "intermediaries has to be a name with a version behind a slash"),
    ("user_agent=acme", "user_agent has to be a name with a version behind a slash"),
    ("tls=1.3", "tls has to be the version of TLS"),
    ("http_version=QUIC", "http_version has to be the version of HTTP"),
    ("failure_time=2026-11-30T09:30:00", "failure_time has to be a time with its zone"),
    ("failure_time=2026-11-30 09:30", "failure_time has to be a time with its zone"),
    ("endpoint=https://mcp.acme.example/mcp", "endpoint has to be a path of public words"),
    ("endpoint=/mcp?key=1", "endpoint has to be a path of public words"),
    ("revision=latest", "revision has to be a protocol version"),
    ("failure_time=yesterday", "failure_time has to be a time with its zone"),
    ("request_ids=4f1a9d2e3f5b6a7c", "request_ids has to be the id of an exchange"),
    (
        "reproduction=curl http://127.0.0.1:8081/mcp",
        "reproduction has to be a command or the name of a test, without URLs, ids, secrets, quotation marks and paths",
    ),
    ("reproduction=curl https://mcp.acme.example", "reproduction has to be a command"),
    ("reproduction=run --token qX7fKz02LmWv9RbTc5JdYs8P", "reproduction has to be a command"),
]


@pytest.mark.parametrize(("word", "why"), REFUSED)
def test_a_word_that_has_no_place_in_a_tuple_is_refused_without_repeating_it(word: str, why: str) -> None:
    with pytest.raises(TupleError) as refused:
        asserted_parts([word])
    assert str(refused.value).startswith(why)
    assert "qX7" not in str(refused.value) and "acme" not in str(refused.value)


@pytest.mark.parametrize("time", ["2026-11-30", "2026-11-30T09:30Z", "2026-11-30 09:30:00.5+01:00"])
def test_a_time_has_a_zone_and_a_day_needs_none(time: str) -> None:
    assert asserted_parts([f"failure_time={time}"]) == {"failure_time": time}


def test_every_part_says_what_it_has_to_be() -> None:
    assert set(WANTED) == set(PARTS)


def test_no_part_is_said_twice() -> None:
    with pytest.raises(TupleError, match=r"^tls is said twice$"):
        asserted_parts(["tls=TLSv1.2", "tls=TLSv1.3"])


def test_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "good.json"
    file.write_text(json.dumps(GOOD))
    code, out, err = run(
        capfd, "validate", file, "--tuple", "sdk=python-sdk/2.3.0", "--tuple", "tls=none", "--report", "json"
    )
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert report["tuple"] == {"sdk": ["python-sdk/2.3.0"], "endpoint": "/mcp", "revision": "2025-11-25", "tls": "none"}
    unknown = [
        "client",
        "server",
        "runtime",
        "intermediaries",
        "http_version",
        "failure_time",
        "request_ids",
        "reproduction",
    ]
    assert report["tuple_unknown"] == unknown
    code, out, _ = run(capfd, "validate", file)
    told = " ".join(out.split())
    assert "not known client, server, sdk, " in told and "reproduction (--tuple NAME=VALUE tells)" in told
    code, out, _ = run(capfd, "validate", file, "--report", "markdown")
    assert "| not known | `client`, `server`, `sdk`, " in out
    commands: list[list[str | Path]] = [["validate", file], ["convert", file, "--output", tmp_path / "out"]]
    for command in commands:
        code, out, err = run(capfd, *command, "--tuple", "sdk=")
        assert (code, out, err) == (2, "", "mcp-conformance: --tuple: it has to be NAME=VALUE\n")

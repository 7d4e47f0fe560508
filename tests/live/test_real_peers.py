"""Real clients and servers through a real mitmdump: not a byte is changed, and the files judge as the live run did."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.live.conftest import Bench
from tests.peers.exchanges import SeenExchange, assert_same_bytes, read_exchanges
from tests.peers.processes import REPOSITORY, run_to_end
from tests.peers.proxy import mitmdump
from tests.peers.verdicts import assert_offline_equals_live

pytestmark = pytest.mark.peers

STABLE_2025 = "stable-2025-11-25"
STABLE_2026 = "stable-2026-07-28"


def python_client(url: str, *arguments: str | Path) -> dict[str, Any]:
    seen = json.loads(run_to_end([sys.executable, "-m", "tests.peers.python_client", url, *arguments]))
    assert isinstance(seen, dict)
    return seen


def typescript_client(node: str, url: str) -> dict[str, Any]:
    seen = json.loads(run_to_end([node, REPOSITORY / "tests/peers/typescript_client.mjs", url]))
    assert isinstance(seen, dict)
    return seen


def streams(exchanges: list[SeenExchange]) -> list[SeenExchange]:
    return [e for e in exchanges if (b"content-type", b"text/event-stream") in lower_case(e.response_headers)]


def judged(output: Path) -> dict[str, list[str]]:
    """The profiles that were judged, each with the codes of its errors; offline must have said the same as live."""
    verdicts = assert_offline_equals_live(output)
    return {
        profile: sorted({code for verdict in by_profile for code, level, _, _ in verdict if level == "error"})
        for profile, by_profile in verdicts.items()
    }


def lower_case(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower(), value.split(b";")[0].strip().lower()) for name, value in headers]


def test_everything_server_with_the_typescript_client(bench: Bench, everything_server: int, node: str) -> None:
    with bench.before(everything_server) as url:
        saw = typescript_client(node, url)
    assert saw["sum"] == "The sum of 2 and 40 is 42."
    assert saw["steps"] == [1, 2, 3]
    assert saw["asked"] == ["elicitation", "roots", "sampling"]
    exchanges = bench.assert_bytes_untouched()
    assert len(streams(exchanges)) > 10
    assert judged(bench.output) == {STABLE_2025: []}


def test_everything_server_with_the_python_client(bench: Bench, everything_server: int) -> None:
    with bench.before(everything_server) as url:
        saw = python_client(url, "--tour", "everything")
    assert saw["protocol"] == "2025-11-25"
    assert saw["sum"] == "The sum of 2 and 40 is 42."
    assert saw["long progress"] == [1, 2, 3]
    exchanges = bench.assert_bytes_untouched()
    assert len(streams(exchanges)) > 8
    assert judged(bench.output) == {STABLE_2025: []}


def assert_python_tour(saw: dict[str, Any]) -> None:
    assert saw["echo"] == "naïve 文字 \u2028 one line"
    assert saw["large"] == 200_000
    assert saw["count progress"] == [1, 2, 3, 4, 5]
    assert saw["fail failed"] is True
    assert saw["greeting"] == ["Grüße, 世界 \u2028 one line still"]
    assert saw["together 2"] == "counted to 4"


def test_python_sdk_in_a_2025_11_25_session(bench: Bench, python_server: Callable[..., int]) -> None:
    with bench.before(python_server()) as url:
        saw = python_client(url, "--tour", "python")
    assert saw["protocol"] == "2025-11-25"
    assert_python_tour(saw)
    # The server closed this stream itself; the client came back with Last-Event-ID for the rest.
    assert saw["poll"] == "answered after the close"
    exchanges = bench.assert_bytes_untouched()
    assert [e.status for e in exchanges if e.last_event_id] == [200]
    assert judged(bench.output) == {STABLE_2025: []}


def test_python_sdk_resumes_after_a_cut_connection(bench: Bench, python_server: Callable[..., int]) -> None:
    with bench.before(python_server(), cut_after=b'"message":"step 2"') as url:
        saw = python_client(url, "--tour", "python")
    assert_python_tour(saw)
    exchanges = bench.assert_bytes_untouched()
    cut = [e for e in streams(exchanges) if not e.complete and not e.client_left]
    assert [e.response_body[-18:] for e in cut] == [b'"message":"step 2"']
    assert [e.status for e in exchanges if e.last_event_id] == [200, 200]
    assert judged(bench.output) == {STABLE_2025: ["incomplete_sse_event"]}


def test_python_sdk_answering_with_json(bench: Bench, python_server: Callable[..., int]) -> None:
    with bench.before(python_server("--json")) as url:
        saw = python_client(url, "--tour", "python_json")
    assert saw["echo"] == "naïve 文字 \u2028 one line"
    exchanges = bench.assert_bytes_untouched()
    assert {e.method for e in streams(exchanges)} == {"GET"}
    assert judged(bench.output) == {STABLE_2025: []}


def test_python_sdk_in_2026_07_28(bench: Bench, python_server: Callable[..., int]) -> None:
    with bench.before(python_server()) as url:
        saw = python_client(url, "--tour", "python", "--mode", "auto")
    assert saw["protocol"] == "2026-07-28"
    assert_python_tour(saw)
    exchanges = bench.assert_bytes_untouched()
    assert {e.method for e in exchanges} == {"POST"}
    assert judged(bench.output) == {STABLE_2026: []}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_python_sdk_over_http2_and_tls(tmp_path: Path, python_server: Callable[..., int], mode: str) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    port = python_server("--http2", str(tmp_path / "server.pem"), "--record", str(tmp_path / "sent.jsonl"))
    trusted = f"ssl_verify_upstream_trusted_ca={tmp_path / 'authority.pem'}"
    with mitmdump(f"https://127.0.0.1:{port}", tmp_path, trusted) as proxy_port:
        saw = python_client(
            f"https://127.0.0.1:{proxy_port}/mcp",
            *("--tour", "python", "--mode", mode),
            *("--authority", tmp_path / "authority" / "mitmproxy-ca-cert.pem", "--record", tmp_path / "received.jsonl"),
        )
    assert_python_tour(saw)
    sent, received = read_exchanges(tmp_path / "sent.jsonl"), read_exchanges(tmp_path / "received.jsonl")
    assert {e.http_version for e in sent} == {"HTTP/2"}
    assert {e.http_version for e in received} == {"HTTP/2"}
    assert_same_bytes(sent, received)
    assert judged(tmp_path / "output") == {STABLE_2025 if mode == "legacy" else STABLE_2026: []}

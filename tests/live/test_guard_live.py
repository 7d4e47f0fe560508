"""`mcp-conformance guard` over real traffic full of secrets: each is found in what is raw, none in what we write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_wire.cli.main import main
from mcp_wire.reports.form_names import FILE_NAMES
from tests.cli.test_validate import run
from tests.live.mcp import INITIALIZE, POST
from tests.live.peers import Server, ask
from tests.live.test_mitmdump_lines import STABLE, script
from tests.peers.proxy import mitmdump
from tests.privacy.planted_secrets import ANYBODYS, BY_SHAPE

pytestmark = pytest.mark.peers

SECRETS = [(kind, secret) for kind, secrets in BY_SHAPE.items() for secret in secrets]
BEARER = ANYBODYS["letters and digits"]


def talk(port: int) -> None:
    """Each secret in the arguments of a call of its own; credentials in the head of every one."""
    ask(port, "POST", "/mcp", POST, INITIALIZE).reader.exactly(10)
    head = STABLE | {"Authorization": f"Bearer {BEARER}", "Cookie": f"session={ANYBODYS['UUID']}"}
    for number, (_, secret) in enumerate(SECRETS):
        params = {"name": "slow", "arguments": {"text": f"here: {secret}"}}
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        list(ask(port, "POST", f"/mcp?key={BEARER}", head, json.dumps(call).encode()).reader.chunks())


def test_what_is_raw_and_what_is_not(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    upstream = Server()
    upstream.scripts["/mcp"] = script
    flows, har, output = tmp_path / "flows.mitm", tmp_path / "flows.har", tmp_path / "output"
    options = (
        f"save_stream_file={flows}",
        f"hardump={har}",
        f"mcp_reports={','.join(FILE_NAMES)}",
        "mcp_extended=true",
    )
    with (
        upstream.running(),
        mitmdump(f"http://127.0.0.1:{upstream.port}", tmp_path, "store_streamed_bodies=true", *options) as port,
    ):
        talk(port)
        journals = list((output / "journal").iterdir())
        assert run(capfd, "guard", *journals) == (0, "", "")
    written = [path for path in output.rglob("*") if path.is_file()]
    assert {"findings.jsonl", *FILE_NAMES.values()} <= {path.name for path in written}
    assert run(capfd, "guard", *written) == (0, "", "")

    assert main(["convert", str(flows), str(har), "--output", str(tmp_path / "converted")]) == 0
    converted = list((tmp_path / "converted").iterdir())
    assert len(converted) >= 4
    capfd.readouterr()
    assert run(capfd, "guard", *converted) == (0, "", "")

    for raw in (flows, har):
        code, out, _ = run(capfd, "guard", raw)
        told = set(out.splitlines())
        lines = raw.read_bytes().split(b"\n")
        assert code == 1
        for kind, secret in [*SECRETS, ("bearer token", BEARER)]:
            places = [number for number, line in enumerate(lines, 1) if f" {secret}".encode() in line]
            assert places
            assert [number for number in places if f"{raw}: line {number}: {kind}" not in told] == []
        assert not [secret for _, secret in SECRETS if secret in out]

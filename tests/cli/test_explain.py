"""`mcp-conformance explain`: one code or all of them, for people and for programs."""

from __future__ import annotations

import json

import pytest

from mcp_wire.cli.main import main
from mcp_wire.rules import ALL_RULES, own_findings


def test_a_code_is_explained(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "invalid_get_accept"]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out.startswith("invalid_get_accept: error; the client must act (request construction)\n")
    assert "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#" in out


def test_a_code_with_several_declarations_is_explained_whole(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "duplicate_header", "--json"]) == 0
    assert [one["party"] for one in json.loads(capfd.readouterr().out)] == ["pipeline", "client", "server"]


def test_all_codes_are_explained(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--all", "--json"]) == 0
    explained = [one["code"] for one in json.loads(capfd.readouterr().out)]
    assert explained == [rule.code for rule in (*ALL_RULES, *own_findings.BOOK.rules)]
    assert main(["explain", "--all"]) == 0
    out = capfd.readouterr().out
    assert all(f"\n{code}: " in f"\n{out}" for code in explained)


def test_an_unknown_code_exits_2_and_names_the_nearest(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "invalid_get_acept"]) == 2
    out, err = capfd.readouterr()
    assert (out, err) == (
        "",
        "mcp-conformance: invalid_get_acept is no code that is known here; did you mean invalid_get_accept?\n",
    )
    assert main(["explain", "\x1b[2J"]) == 2
    assert "\x1b" not in capfd.readouterr().err

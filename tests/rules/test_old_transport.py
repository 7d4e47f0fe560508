"""The transport of 2024-11-05 is recognised and left alone, whatever its streams carry."""

from __future__ import annotations

from mcp_wire.rules import ALL_RULES
from tests.rules.streams import answered, asked, calling, event, progressed, told
from tests.rules.talk import found, legacy, stream

FAMILIES = ("sse", "stream", "recovery", "cancellation", "progress")
CODES = [rule.code for rule in ALL_RULES if rule.family in FAMILIES]


def test_nothing_is_said_of_the_old_transport() -> None:
    endpoint = "event: endpoint\ndata: /messages?id=1\n\n"
    faults = [
        "retry: soon\nid: a\0\nnonsense\nevent: x\ndata: {oops\n\n",
        "\ufeffdata: {}\n\n",
        event({"type": "heartbeat"}, "1"),
        event(progressed("t", 2), "1"),
        event(progressed("t", 1), "2"),
        event(progressed(None, 1)),
        event(told("notifications/cancelled", requestId=5)),
        event(asked(1) | {"params": {"_meta": {"progressToken": None}}}),
        event(answered(5)),
        event(progressed("t", 3)),
        "data: {",
    ]
    talk = legacy(session=None).get(stream(endpoint, *faults, ended="complete"), at=0, until=900)
    talk.ask("tools/call", calling("t"), id=5, answer={"status": 202, "headers": {}, "body_text": ""}, at=1_000)
    talk.ask("tools/call", calling("t"), id=5, answer={"status": 202, "headers": {}, "body_text": ""}, at=2_000)
    talk.get(stream(event(answered(5)), ended="open"), {"Last-Event-ID": "1"}, at=3_000)
    assert found(talk, *CODES) == []

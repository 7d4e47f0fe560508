"""Transcripts told as data: each row names a revision and the steps of its conversation, in the words of `Talk`.

A step is an object whose `do` is `begin`, `initialize`, `ask`, `call`, `notify`, `post`, `get` or `add`; its other
members are what `Talk` takes, and these:

- `answer`: `{"events": […], "ended": …}` is an event stream; `{"json": …, "status": …}` a JSON body;
  `{"text": …, "status": …, "type": …}` any other body; anything else stands as it is. All may add `headers`.
- an event is text as it goes over the wire, or `{"message": …, "id": …, "retry": …, "type": …, "at": …}`, or a chunk of
  the transcript format, or `{"filler": N}`: a result of N octets in pieces of 32 KiB.
- `lines`, with `add`: header lines where a name stands on more than one.
- `times`, `every`: the step is repeated, each time so many milliseconds later.
"""

from __future__ import annotations

import json
from typing import Any

from tests.rules.talk import Json, Talk, legacy, modern

PIECE = 32 * 1024


def told(row: Json) -> Talk:
    """The transcript of one row."""
    options = dict(row.get("talk", {}))
    talk = modern(**options) if row["revision"] == "2026-07-28" else legacy(row["revision"], **options)
    for step in row["steps"]:
        every = step.get("every", 0)
        for number in range(step.get("times", 1)):
            _do(talk, _later(step, number * every))
    if row["revision"] == "2025-03-26":  # a revision before the header
        for exchange in talk.exchanges:
            exchange["request"]["headers"].pop("MCP-Protocol-Version", None)
    return talk


def _later(step: Json, by_ms: float) -> Json:
    moved = {name: value for name, value in step.items() if name not in ("times", "every")}
    return moved | {name: moved[name] + by_ms for name in ("at", "until") if name in moved}


def _do(talk: Talk, step: Json) -> None:
    members = {name: value for name, value in step.items() if name not in ("do", "answer")}
    if "answer" in step:
        members["answer"] = _answer(step["answer"])
    if step["do"] == "notify" and "answer" in members:
        body: Json = {"jsonrpc": "2.0", "method": members.pop("method", "notifications/initialized")}
        body |= {"params": members.pop("params")} if "params" in members else {}
        talk.post(body, **members)
    elif step["do"] == "add":
        lines = members.pop("lines", None)
        talk.add(members.pop("method"), members.pop("headers", {}), **members)
        if lines is not None:
            talk.exchanges[-1]["request"]["headers"] = lines
    else:
        getattr(talk, step["do"])(**members)


def _answer(answer: Any) -> Any:
    if not isinstance(answer, dict):
        return answer
    made = {name: value for name, value in answer.items() if name not in ("events", "json", "text", "type")}
    named = answer.get("headers", {})
    if "events" in answer:
        made = {"status": 200, "ended": "complete"} | made
        made["headers"] = {"Content-Type": "text/event-stream", **named}
        made["chunks"] = [chunk for event in answer["events"] for chunk in _chunks(event)]
    elif "json" in answer:
        made = {"status": 200} | made | {"body": answer["json"]}
        made["headers"] = {"Content-Type": "application/json", **named}
    elif "text" in answer:
        made["headers"] = ({"Content-Type": answer["type"]} if "type" in answer else {}) | named
        made["body_text"] = answer["text"]
    else:
        made["headers"] = named
    return made


def _chunks(event: Any) -> list[Any]:
    if isinstance(event, str) or "text" in event or "base64" in event:
        return [event]
    if "filler" in event:
        text = _event({"message": {"jsonrpc": "2.0", "id": event["of"], "result": _padded(event["filler"])}})
        return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
    text = _event(event)
    return [{"t_ms": event["at"], "text": text} if "at" in event else text]


def _padded(octets: int) -> Json:
    return {"content": [{"type": "text", "text": "x" * octets}]}


def _event(event: Json) -> str:
    lines = [
        f"{name}: {event[key]}" for name, key in (("event", "type"), ("id", "id"), ("retry", "retry")) if key in event
    ]
    message = event.get("message", "")
    lines.append(f"data: {message if isinstance(message, str) else json.dumps(message)}")
    return "\n".join(lines) + "\n\n"

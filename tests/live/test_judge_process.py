"""The judge's process judges what the proxy saw, all of it, in order; whatever becomes of it, the proxy goes on."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_wire.live import judge_process as module
from mcp_wire.live.directory import Origin
from mcp_wire.live.exchange import Exchanges
from mcp_wire.live.judge_messages import Message, Opening, Reported, Said
from mcp_wire.live.judge_process import JudgeProcess
from mcp_wire.live.observer import Observer, ObserverSettings
from mcp_wire.live.outbox import MAX_OCTETS
from mcp_wire.live.output import OutputFolder
from mcp_wire.live.parts import AskPart, Ending, EndPart, Entry, HeadPart, OverPart, Part, RequestPart
from mcp_wire.rules import rules_of
from mcp_wire.wire.headers import Headers
from mcp_wire.wire.observation import Ended
from tests.live.broken_judge import BROKEN
from tests.live.mcp import INITIALIZE, RESULT

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0
COMPLETE = Ending(Ended.COMPLETE, whole=True)
JSON = Headers([("Content-Type", "application/json")])
EVENTS = Headers([("Content-Type", "text/event-stream")])
ANSWER_OCTETS = 14 * 1024 * 1024


def origin(client: int) -> Origin:
    return Origin(f"http://example.test:80/mcp/{client}", f"c-{client}", "HTTP/1.1")


def request(client: int, body: bytes) -> RequestPart:
    lines = [("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")]
    if body != INITIALIZE:
        lines.append(("MCP-Protocol-Version", "2025-11-25"))
    return RequestPart(origin(client), "POST", f"/mcp/{client}", "HTTP/1.1", Headers(lines), body)


def conversation(client: int, events: int, large: bool) -> Iterator[tuple[str, Part]]:
    """An initialize, a stream of many events, and an answer of many octets, each part with its exchange."""

    def exchange(name: str, body: bytes, *parts: Part) -> Iterator[tuple[str, Part]]:
        yield from ((f"{client}.{name}", part) for part in (request(client, body), *parts))

    yield from exchange("i", INITIALIZE, HeadPart(200, JSON, False, True), EndPart(COMPLETE, len(RESULT), RESULT, ""))
    ready = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    yield from exchange("n", ready, HeadPart(202, Headers([("Content-Length", "0")]), False, True))
    yield f"{client}.n", EndPart(COMPLETE, 0, b"", "")
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}'
    wire = b"".join(event(number) for number in range(events))
    wire += b'data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n'
    chunks = [wire[start : start + 100] for start in range(0, len(wire), 100)]
    yield from exchange("s", call, HeadPart(200, EVENTS, True, True), *chunks, EndPart(COMPLETE, len(wire), None, ""))
    call = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}'
    size = ANSWER_OCTETS if large else 100
    image = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(bytes(size // 4 * 3)).decode()}
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"content": [image]}}).encode()
    yield from exchange("l", call, HeadPart(200, JSON, False, True), EndPart(COMPLETE, len(body), body, ""))


def event(number: int) -> bytes:
    params = {"progressToken": 1, "progress": number + 1, "message": f"step {number}"}
    return (
        b"data: %s\n\n" % json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).encode()
    )


def entries() -> list[Entry]:
    """Four clients at once, part by part in turn; one of them gets a large answer while the others go on."""
    waiting = [list(conversation(client, 40 * (client + 1), large=client == 0)) for client in range(4)]
    found: list[Entry] = []
    while any(waiting):
        for parts in waiting:
            if parts:
                name, part = parts.pop(0)
                found.append((name, 2 * len(found), part))
    return found


def octets(part: Part) -> int:
    content = part if isinstance(part, bytes) else getattr(part, "body", getattr(part, "raw", None))
    return len(content or b"")


class Heard:
    """What a judge said."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def codes(self) -> set[str]:
        return {message.finding.code for message in self.messages if isinstance(message, Reported)}

    def sentences(self, level: int) -> list[str]:
        return [said.sentence for said in self.messages if isinstance(said, Said) and said.level >= level]


def with_judge(
    folder: Path,
    heard: Callable[[Message], None],
    use: Callable[[JudgeProcess], Awaitable[None]],
    module_name: str = module.JUDGE,
) -> None:
    """Runs `use` with a judge on an event loop, as the proxy would, and ends as the proxy does."""

    async def run() -> None:
        judge = JudgeProcess(Opening(folder, None, False), heard, module=module_name)
        try:
            await use(judge)
        finally:
            judge.finish()

    asyncio.run(run())


async def until(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < limit
        await asyncio.sleep(0.01)


def written(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".in-use"
    }


def judged_here(folder: Path, seen: Sequence[Entry], *, interrupted: bool = False) -> dict[str, bytes]:
    observer = Observer(ObserverSettings(rules_of()), OutputFolder(folder))
    exchanges = Exchanges()
    for entry in seen:
        for where, observation in exchanges.take(entry):
            observer.observe(where, observation)
    if interrupted:
        observer.interrupted()
    observer.finish()
    return written(folder)


def test_all_of_it_is_judged_and_in_order(tmp_path: Path) -> None:
    """What the process writes is, to the byte, what the same parts give when they are judged one by one, right here."""
    heard, seen = Heard(), entries()

    async def use(judge: JudgeProcess) -> None:
        for entry in seen:
            assert not isinstance(entry[2], AskPart | OverPart)
            assert judge.offer(entry, octets(entry[2]))
            await asyncio.sleep(0)  # the pipe is written to while parts still come

    with_judge(tmp_path / "there", heard, use)
    expected = judged_here(tmp_path / "here", seen)
    assert written(tmp_path / "there") == expected
    transcripts = [json.loads(text) for name, text in expected.items() if name.startswith("transcripts/")]
    assert sorted(len(transcript["exchanges"][2]["response"]["chunks"]) for transcript in transcripts) == sorted(
        sum(isinstance(part, bytes) for _, part in conversation(client, 40 * (client + 1), False))
        for client in range(4)
    )
    assert heard.codes == {json.loads(line)["code"] for line in expected["findings.jsonl"].splitlines()}
    assert heard.sentences(logging.WARNING) == []


def test_findings_are_heard_while_traffic_runs(tmp_path: Path) -> None:
    heard = Heard()
    first = request(1, INITIALIZE)
    wrong = RequestPart(first.origin, "POST", first.target, "HTTP/1.1", JSON, INITIALIZE)

    async def use(judge: JudgeProcess) -> None:
        judge.put(("x-1", 0, wrong))
        judge.put(("x-1", 2, HeadPart(200, JSON, False, True)))
        judge.put(("x-1", 4, EndPart(COMPLETE, len(RESULT), RESULT, "")))
        await until(lambda: "invalid_post_accept" in heard.codes)
        (reported,) = [said for said in heard.messages if isinstance(said, Reported)]
        assert reported.flow == "x-1"

    with_judge(tmp_path, heard, use)


def test_a_folder_that_cannot_be_used_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async def use(judge: JudgeProcess) -> None:
        raise AssertionError("it was not refused")

    with pytest.raises(OSError) as refused:
        with_judge(tmp_path / "file", Heard(), use)
    assert refused.value.strerror == "it cannot be written (File exists)"


def test_a_judge_that_does_not_start(tmp_path: Path) -> None:
    async def use(judge: JudgeProcess) -> None:
        raise AssertionError("it started")

    with pytest.raises(OSError) as refused:
        with_judge(tmp_path, Heard(), use, "no.such.module")
    assert refused.value.strerror == ("the judge's process did not start (ModuleNotFoundError: No module named 'no')")


def test_a_rule_that_raises_is_said_once_and_costs_its_own_verdict_only(tmp_path: Path) -> None:
    heard = Heard()

    async def use(judge: JudgeProcess) -> None:
        for name, part in conversation(1, 10, large=False):
            judge.put((name, len(heard.messages), part))

    with_judge(tmp_path, heard, use, "tests.live.broken_judge")
    lines = [json.loads(line) for line in (tmp_path / "findings.jsonl").read_text().splitlines()]
    (error,) = [line for line in lines if line["code"] == "observer_error"]
    assert error["message"] == f"The rule {BROKEN} failed with RuntimeError; it could not tell."
    (told,) = json.loads((tmp_path / "report.json").read_text())["conversations"]
    assert told["coverage"][BROKEN]["outcome"] == "cannot_tell"
    assert told["coverage"]["invalid_response_content_type"]["outcome"] == "satisfied"


def test_a_judge_that_is_killed_is_said_once_and_nothing_waits_for_it(tmp_path: Path) -> None:
    heard = Heard()

    async def use(judge: JudgeProcess) -> None:
        parts = list(conversation(1, 10, large=False))
        for name, part in parts[:6]:
            judge.put((name, 0, part))
        await until(lambda: any((tmp_path / "journal").glob("*.jsonl")))
        os.kill(judge._process.pid, signal.SIGKILL)
        await until(lambda: heard.sentences(logging.WARNING) != [])
        for _ in range(300):
            assert judge.offer(("1.s", 0, bytes(1 << 20)), 1 << 20)
            await asyncio.sleep(0)
        assert judge.waiting_octets == 0

    with_judge(tmp_path, heard, use)
    (said,) = heard.sentences(logging.WARNING)
    assert said.startswith("observer_error: the judge's process ended too early (signal 9); the traffic goes on")
    assert any((tmp_path / "journal").glob("*.jsonl"))


def test_a_judge_that_is_stuck_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FINISH_PATIENCE_S", 0.2)
    monkeypatch.setattr(module, "NOTICEABLE_S", 0.1)
    heard = Heard()

    async def use(judge: JudgeProcess) -> None:
        taken = 0
        while judge.offer(("x-1", taken, bytes(1 << 20)), 1 << 20):
            taken += 1
            await asyncio.sleep(0)
        assert MAX_OCTETS - (1 << 21) < judge.waiting_octets <= MAX_OCTETS
        assert not judge.offer(("x-1", taken, bytes(1 << 21)), 1 << 21)

    with_judge(tmp_path, heard, use, "tests.live.stuck_judge")
    assert heard.sentences(logging.INFO)[0] == "The last of what was seen is still being judged."
    assert "(signal 9)" in heard.sentences(logging.WARNING)[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_asks_again_does_not_wait_for_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr(module, "NOTICEABLE_S", 0.1)
    heard = Heard()
    left: list[subprocess.Popen[bytes]] = []

    def hear(message: Message) -> None:
        heard(message)
        if message == Said(logging.INFO, "The last of what was seen is still being judged."):
            signal.raise_signal(number)

    async def use(judge: JudgeProcess) -> None:
        left.append(judge._process)

    handler = signal.getsignal(number)
    with_judge(tmp_path, hear, use, "tests.live.stuck_judge")
    (process,) = left
    assert process.poll() is None
    process.kill()
    process.wait()
    assert heard.sentences(logging.WARNING)[0].startswith(f"The judge goes on alone (process {process.pid})")
    assert signal.getsignal(number) == handler


def test_a_judge_outlives_a_proxy_that_is_killed(tmp_path: Path) -> None:
    """It judges what it was handed, writes transcripts and report, says that it is not all, and ends by itself."""
    script = tmp_path / "proxy.py"
    script.write_text(
        "import asyncio, os, signal, sys\n"
        "from pathlib import Path\n"
        "from mcp_wire.live.judge_messages import Opening\n"
        "from mcp_wire.live.judge_process import JudgeProcess\n"
        "from tests.live.test_judge_process import conversation\n"
        "async def run():\n"
        "    judge = JudgeProcess(Opening(Path(sys.argv[1]), None, False), print)\n"
        "    for at, (name, part) in enumerate(conversation(1, 200, False)):\n"
        "        judge.put((name, 2 * at, part))\n"
        "    judge.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(run())\n"
    )
    output = tmp_path / "output"
    paths = os.pathsep.join([str(REPOSITORY / "addon"), str(REPOSITORY)])
    killed = subprocess.run([sys.executable, script, output], env=os.environ | {"PYTHONPATH": paths}, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    asyncio.run(until(lambda: (output / "report.json").exists()))
    seen = [(name, 2 * at, part) for at, (name, part) in enumerate(conversation(1, 200, False))]
    assert written(output) == judged_here(tmp_path / "here", seen, interrupted=True)


def test_the_next_proxy_waits_for_the_judge_of_one_that_was_killed(tmp_path: Path) -> None:
    holding: list[Any] = [OutputFolder(tmp_path)]
    holding[0].expire()
    heard = Heard()

    async def use(judge: JudgeProcess) -> None:
        assert (tmp_path / "previous" / "1").is_dir()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        starting = loop.run_in_executor(None, lambda: with_judge(tmp_path, heard, use))
        await asyncio.sleep(0.5)
        holding.pop().close()
        await starting

    asyncio.run(run())

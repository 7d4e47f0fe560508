"""What the addon costs: the same traffic through mitmdump without it, with streams merely passed on, and with it.

    .venv/bin/python scripts/benchmark_live.py [--events N] [--rounds N]

Three sides are compared in one run, round after round in turn, so that a busy machine is busy for all of them:

    buffered   no addon; mitmproxy's own `stream_large_bodies=1` passes every body on as it comes
    identity   a script of two lines that passes every response on by a callable
    addon      addon/mcp_conformance.py, which judges and writes in a process of its own

Measured on each side: the proxy's processor time for one small event of a burst, how long a small request takes while
nothing else happens and while a 14 MiB answer has just passed and is being judged, and the peak of the memory. Reads
/proc, so it needs Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

REPOSITORY: Final = Path(__file__).resolve().parents[1]
ADDON: Final = REPOSITORY / "addon" / "mcp_conformance.py"
MITMDUMP: Final = Path(sys.executable).parent / "mitmdump"
IDENTITY: Final = """
def responseheaders(flow):
    flow.response.stream = lambda data: data
"""
SIDES: Final = ("buffered", "identity", "addon")

LARGE_OCTETS: Final = 14 * 1024 * 1024
EVENTS_A_WRITE: Final = 100
IDLE_REQUESTS: Final = 150
BUSY_REQUESTS: Final = 150
PAUSE_S: Final = 0.01
SESSION: Final = "5a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d"
REVISION: Final = "2025-11-25"
TICKS: Final = os.sysconf("SC_CLK_TCK")


# --- the server: a process of its own ---


async def serve() -> None:
    server = await asyncio.start_server(_connection, "127.0.0.1", 0)
    print(f"listening at 127.0.0.1:{server.sockets[0].getsockname()[1]}.", flush=True)
    await server.serve_forever()


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            message = json.loads(await _request_body(reader))
            await _answer(message, writer)
            await writer.drain()
    writer.close()


async def _request_body(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return await reader.readexactly(int(length[1])) if length else b""


async def _answer(message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    if "id" not in message:
        writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        return
    arguments = message.get("params", {}).get("arguments", {})
    if "events" in arguments:
        await _burst(message["id"], arguments["events"], writer)
        return
    result: dict[str, Any] = {}
    extra = ""
    if message["method"] == "initialize":
        result = {
            "protocolVersion": REVISION,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "b", "version": "1"},
        }
        extra = f"Mcp-Session-Id: {SESSION}\r\n"
    elif "octets" in arguments:
        record = {"name": "a record of the large answer", "tags": ["one", "two"], "score": 0.5, "open": True}
        size = len(json.dumps(record | {"number": 100_000})) + 2
        records = [record | {"number": number} for number in range(arguments["octets"] // size)]
        result = {"content": [{"type": "text", "text": "see below"}], "structuredContent": {"records": records}}
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    writer.write(
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{extra}Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


async def _burst(identifier: int, events: int, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunks: list[bytes] = []
    for number in range(1, events + 1):
        progress = {"progressToken": identifier, "progress": number, "total": events, "message": f"step {number}"}
        chunks.append(_chunk(number, {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}))
        if len(chunks) == EVENTS_A_WRITE:
            writer.write(b"".join(chunks))
            await writer.drain()
            chunks.clear()
    result = {"content": [{"type": "text", "text": "done"}]}
    chunks.append(_chunk(events + 1, {"jsonrpc": "2.0", "id": identifier, "result": result}))
    writer.write(b"".join(chunks) + b"0\r\n\r\n")


def _chunk(number: int, message: dict[str, Any]) -> bytes:
    event = f"event: message\nid: s_{number}\ndata: {json.dumps(message)}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(event), event)


# --- the client ---


class Client:
    """One connection to the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._ids = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def of(cls, port: int) -> AsyncIterator[Client]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    async def call(self, first_id: int, method: str, **params: Any) -> int:
        """Send a request; returns the octets of the answer's body, read to its end."""
        self._ids += 1
        identifier = first_id + self._ids
        await self._send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})
        return await self._read()

    async def notify(self, method: str) -> None:
        await self._send({"jsonrpc": "2.0", "method": method})
        await self._read()

    async def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        lines = ["POST /mcp HTTP/1.1", "Host: benchmark", "Accept: application/json, text/event-stream"]
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "User-Agent: benchmark/1.0"]
        if message["method"] != "initialize":
            lines += [f"Mcp-Session-Id: {SESSION}", f"MCP-Protocol-Version: {REVISION}"]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await self._writer.drain()

    async def _read(self) -> int:
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length:
            return len(await self._reader.readexactly(int(length[1])))
        octets = 0
        tail = b""
        while not tail.endswith(b"\r\n0\r\n\r\n"):
            data = await self._reader.read(1 << 20)
            if not data:
                raise ConnectionError("the stream was cut")
            octets += len(data)
            tail = (tail + data)[-7:]
        return octets


# --- one side ---


@dataclass
class Measured:
    """Of one side, one value a round. Times in seconds, memory in octets."""

    cpu_an_event: list[float] = field(default_factory=list)
    judge_cpu_an_event: list[float] = field(default_factory=list)
    wall_of_burst: list[float] = field(default_factory=list)
    wall_until_judged: list[float] = field(default_factory=list)
    idle: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    peak: list[int] = field(default_factory=list)
    judge_peak: list[int] = field(default_factory=list)


async def measure(port: int, process: int, events: int, measured: Measured) -> None:
    async with Client.of(port) as client, Client.of(port) as other:
        version = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        await client.call(0, "initialize", **version)
        await client.notify("notifications/initialized")
        await _small_requests(client, 1_000, IDLE_REQUESTS, measured.idle)

        before, judge_before, started = _cpu(process), _judge_cpu(process), time.perf_counter()
        await client.call(
            10_000, "tools/call", name="t", arguments={"events": events}, _meta={"progressToken": 10_000 + 153}
        )
        measured.wall_of_burst.append(time.perf_counter() - started)
        measured.cpu_an_event.append((_cpu(process) - before) / events)
        await _until_quiet(process)
        measured.wall_until_judged.append(time.perf_counter() - started)
        measured.judge_cpu_an_event.append((_judge_cpu(process) - judge_before) / events)

        await other.call(20_000, "tools/call", name="t", arguments={"octets": LARGE_OCTETS})
        judged = asyncio.create_task(_until_quiet(process))
        while not judged.done() or len(measured.busy) < BUSY_REQUESTS * len(measured.wall_of_burst):
            await _small_requests(client, 30_000, 1, measured.busy)
    measured.peak.append(_peak(process))
    measured.judge_peak.append(sum(map(_peak, _children(process))))


async def _small_requests(client: Client, first_id: int, count: int, times: list[float]) -> None:
    for _ in range(count):
        await asyncio.sleep(PAUSE_S)
        started = time.perf_counter()
        await client.call(first_id, "ping")
        times.append(time.perf_counter() - started)


async def _until_quiet(process: int) -> None:
    """Until the judge (or, without one, the proxy) has caught up: it is asleep most of the time."""
    asleep: collections.deque[bool] = collections.deque(maxlen=25)
    while len(asleep) < 25 or sum(asleep) < 18:
        await asyncio.sleep(0.02)
        asleep.append(all(map(_waits, _children(process) or [process])))


def _waits(process: int) -> bool:
    """Is it asleep, as opposed to running, ready to run, or writing to a disk?"""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _judge_cpu(process: int) -> float:
    return sum(map(_cpu, _children(process)))


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _peak(process: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) * 1024 if found else 0


@contextlib.contextmanager
def running(command: list[str | Path], log: Path) -> Iterator[tuple[int, int]]:
    """A process that says where it listens; yields its id and port."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ | {"PYTHONUNBUFFERED": "1"}
        )
    try:
        while not (found := re.search(r"listening at 127\.0\.0\.1:(\d+)", log.read_text())):
            if process.poll() is not None:
                raise SystemExit(f"{command[0]} ended:\n{log.read_text()}")
            time.sleep(0.05)
        yield process.pid, int(found[1])
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def proxy(side: str, upstream: int, folder: Path) -> Iterator[tuple[int, int]]:
    command: list[str | Path] = [MITMDUMP, "--mode", f"reverse:http://127.0.0.1:{upstream}@127.0.0.1:0"]
    command += ["--set", f"confdir={folder / 'authority'}", "--set", "flow_detail=0"]
    if side == "buffered":
        command += ["--set", "stream_large_bodies=1"]
    elif side == "identity":
        (folder / "identity.py").write_text(IDENTITY)
        command += ["-s", folder / "identity.py"]
    else:
        command += ["-s", ADDON, "--set", f"mcp_output={folder / 'output'}"]
    with running(command, folder / f"{side}.log") as started:
        yield started


# --- the table ---


def show(results: dict[str, Measured], events: int) -> None:
    rows: list[tuple[str, str, dict[str, float]]] = []

    def row(name: str, unit: str, scale: float, values: dict[str, float]) -> None:
        rows.append((name, unit, {side: value * scale for side, value in values.items()}))

    def median(of: str) -> dict[str, float]:
        return {side: statistics.median(getattr(measured, of)) for side, measured in results.items()}

    def quantile(of: str, part: float) -> dict[str, float]:
        sides = {side: sorted(getattr(measured, of)) for side, measured in results.items()}
        return {side: times[min(int(len(times) * part), len(times) - 1)] for side, times in sides.items()}

    row("proxy CPU an event", "µs", 1e6, median("cpu_an_event"))
    row("judge CPU an event", "µs", 1e6, median("judge_cpu_an_event"))
    row(f"burst of {events}: received", "s", 1, median("wall_of_burst"))
    row(f"burst of {events}: judged", "s", 1, median("wall_until_judged"))
    row("small request, idle: p50", "ms", 1e3, quantile("idle", 0.5))
    row("small request, idle: p99", "ms", 1e3, quantile("idle", 0.99))
    row("small request, 14 MiB judged: p50", "ms", 1e3, quantile("busy", 0.5))
    row("small request, 14 MiB judged: p99", "ms", 1e3, quantile("busy", 0.99))
    row("small request, 14 MiB judged: max", "ms", 1e3, quantile("busy", 1.0))
    row("proxy peak memory", "MiB", 1 / 1024 / 1024, median("peak"))
    row("judge peak memory", "MiB", 1 / 1024 / 1024, median("judge_peak"))
    print(f"{'':36}" + "".join(f"{side:>12}" for side in SIDES) + f"{'addon/buffered':>16}{'addon/identity':>16}")
    for name, unit, values in rows:
        line = f"{name:31} {unit:4}" + "".join(f"{values[side]:12.2f}" for side in SIDES)
        for other in SIDES[:2]:
            line += f"{values['addon'] / values[other]:16.2f}" if values[other] else f"{'–':>16}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=30_000, help="in one burst")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve())
        return
    results = {side: Measured() for side in SIDES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running([sys.executable, Path(__file__), "--serve"], folder / "server.log") as (_, upstream):
            for number in range(arguments.rounds):
                for side in SIDES:
                    place = folder / f"{side}-{number}"
                    place.mkdir()
                    with proxy(side, upstream, place) as (process, port):
                        asyncio.run(measure(port, process, arguments.events, results[side]))
                    print(f"round {number + 1}, {side}: done", file=sys.stderr)
    show(results, arguments.events)


if __name__ == "__main__":
    main()

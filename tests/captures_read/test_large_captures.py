"""Captures that do not fit into memory: what is read at a time is one exchange, whatever the size of the file."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.captures_read.sessions import Spoken, firefox_entry, flow_file, flow_of, session

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
PICTURE = bytes(range(256)) * 4096 * 3
PICTURE_TEXT = base64.b64encode(PICTURE).decode()
MEASURED = """
import resource, sys
from mcp_wire.cli.main import main
code = main(sys.argv[1:])
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
sys.exit(code)
"""


def converted(capture: Path, folder: Path) -> tuple[int, int]:
    """Converts in a process of its own; returns how many exchanges were written, and the peak in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "convert", str(capture), "-o", str(folder)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY / "addon")},
    )
    assert done.returncode == 0, done.stderr
    (transcript,) = [path for path in folder.iterdir() if not path.name.endswith(".expected.json")]
    exchanges = sum(line.startswith(b'  {"id":') for line in transcript.read_bytes().splitlines())
    return exchanges, int(done.stderr.rsplit("peak ", 1)[1])


def told(octets: int) -> Iterator[Spoken]:
    """A session among pictures: one of its exchanges before each."""
    first, second, call = session()
    yield first
    yield second
    for number in range(1, octets // len(PICTURE) + 2):
        at = float(number)
        request = {"jsonrpc": "2.0", "id": number, "method": "ping"}
        answer = f'{{"jsonrpc":"2.0","id":{number},"result":{{}}}}'
        times = (at, at + 0.1, at + 0.2)
        yield replace(call, request=request, response=answer, media_type="application/json", times=times, path="/mcp")
        yield Spoken("GET", None, 200, "x", "image/png", (at + 0.3, at + 0.4, at + 0.5), path="/picture.png")


def write_har(path: Path, octets: int) -> int:
    """Writes a HAR file of that size and returns the number of exchanges that are MCP."""
    exchanges = 0
    with path.open("w") as file:
        file.write('{"log": {"version": "1.2", "creator": {"name": "Firefox"}, "entries": [\n')
        for spoken in told(octets):
            entry = firefox_entry(spoken)
            if spoken.media_type == "image/png":
                entry["response"]["content"] = {"size": len(PICTURE), "text": PICTURE_TEXT, "encoding": "base64"}
            else:
                exchanges += 1
            file.write((",\n" if exchanges > 1 else "") + json.dumps(entry))
        file.write("\n]}}\n")
    return exchanges


def write_flows(path: Path, octets: int) -> int:
    """The same as a flow file."""
    exchanges = 0
    with path.open("wb") as file:
        for spoken in told(octets):
            flow = flow_of(spoken)
            if spoken.media_type == "image/png":
                assert flow.response is not None
                flow.response.raw_content = PICTURE
            else:
                exchanges += 1
            file.write(flow_file([flow]))
    return exchanges


@pytest.mark.parametrize(("write", "octets"), [(write_har, 2_000_000_000), (write_flows, 1_000_000_000)])
def test_memory_does_not_grow_with_the_file(write: Callable[[Path, int], int], octets: int, tmp_path: Path) -> None:
    peaks = []
    for size in (50_000_000, octets):
        capture = tmp_path / f"{size}.capture"
        written = write(capture, size)
        assert capture.stat().st_size >= size
        exchanges, peak = converted(capture, tmp_path / str(size))
        capture.unlink()
        assert exchanges == written
        peaks.append(peak)
    print(f"{write.__name__}: peak {peaks[0]} MiB for 50 MB, {peaks[1]} MiB for {octets // 10**6} MB")
    assert peaks[1] < peaks[0] + 100

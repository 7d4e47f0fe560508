"""A real mitmdump with the addon, in reverse mode on loopback."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.peers.processes import REPOSITORY, serving

ADDON = REPOSITORY / "addon" / "mcp_conformance.py"
TOOLS = Path(sys.executable).parent


@contextlib.contextmanager
def mitmdump(upstream: str, folder: Path, *options: str) -> Iterator[int]:
    """Proxies to `upstream` (an origin) for the block and yields the port.

    The addon writes to folder/output; mitmproxy's authority is folder/authority/mitmproxy-ca-cert.pem; the log is
    folder/mitmdump.log. Every option is a `name=value` for --set.
    """
    settings = [f"confdir={folder / 'authority'}", f"mcp_output={folder / 'output'}", *options]
    command: list[str | Path] = [
        TOOLS / "mitmdump",
        *("-s", str(ADDON)),
        *("--mode", f"reverse:{upstream}@127.0.0.1:0"),
        *(part for setting in settings for part in ("--set", setting)),
    ]
    with serving(command, folder / "mitmdump.log", r"listening at 127\.0\.0\.1:(\d+)") as port:
        yield int(port)

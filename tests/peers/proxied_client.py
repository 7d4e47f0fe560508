"""Started by the official suite in a client's place: runs the client, with the tap and a spoil before the suite.

Usage: proxied_client.py FOLDER SPOIL|none CLIENT… URL
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from tests.peers.official_suite import spoiling, tap
from tests.peers.processes import REPOSITORY


def main(folder: str, spoil: str, *command: str) -> int:
    *client, url = command
    target = urlsplit(url)
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(tap(f"http://{target.netloc}", Path(folder)))
        if spoil != "none":
            port = stack.enter_context(spoiling(spoil, f"http://127.0.0.1:{port}", Path(folder)))
        own = target._replace(netloc=f"127.0.0.1:{port}").geturl()
        return subprocess.run([*client, own], cwd=REPOSITORY).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""A real mitmweb with the addon, in reverse mode on loopback, and its HTTP interface."""

from __future__ import annotations

import contextlib
import json
import socket
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.peers.processes import serving
from tests.peers.proxy import ADDON, TOOLS

PASSWORD: Final = "pw"
PATIENCE_S: Final = 30.0
_XSRF: Final = "deadbeef"


@dataclass(frozen=True, slots=True)
class Web:
    """`proxy`: where clients go; `page`: what a browser opens."""

    proxy: str
    page: str
    log: Path
    _origin: str

    def get(self, path: str) -> Any:
        return self._json(urllib.request.Request(self._origin + path))

    def call(self, command: str, *arguments: str) -> Any:
        """Run a command, as the command bar does. Returns its value; fails with its error."""
        answer = self._send("POST", f"/commands/{command}", {"arguments": list(arguments)})
        assert "error" not in answer, answer
        return answer["value"]

    def put(self, path: str, body: object) -> None:
        self._send("PUT", path, body)

    def flows(self) -> list[dict[str, Any]]:
        return list(self.get("/flows"))

    def text(self, flow: str, part: str, view: str = "Auto") -> str:
        """What a content view shows of a request or a response."""
        return str(self.get(f"/flows/{flow}/{part}/content/{view}.json")["text"])

    def until[Value](self, ask: Callable[[], Value | None]) -> Value:
        """What it answers, once it answers something."""
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            if (answer := ask()) is not None:
                return answer
            time.sleep(0.05)
        raise AssertionError(f"it did not happen: {[flow['comment'] for flow in self.flows()]}")

    def commented(self, *words: str) -> dict[str, Any]:
        """The flow whose comment has all these words, once there is one."""
        return self.until(
            lambda: next((flow for flow in self.flows() if all(word in flow["comment"] for word in words)), None)
        )

    def _send(self, method: str, path: str, body: object) -> Any:
        request = urllib.request.Request(self._origin + path, json.dumps(body).encode(), method=method)
        request.add_header("Content-Type", "application/json")
        request.add_header("Cookie", f"_mitmproxy_xsrf={_XSRF}")
        request.add_header("X-XSRFToken", _XSRF)
        return self._json(request)

    def _json(self, request: urllib.request.Request) -> Any:
        request.add_header("Authorization", f"Bearer {PASSWORD}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=PATIENCE_S) as answer:
            text = answer.read()
        return json.loads(text) if text else None


@contextlib.contextmanager
def mitmweb(upstream: str, folder: Path, *options: str) -> Iterator[Web]:
    """Proxies to `upstream` (an origin) for the block. The addon writes to folder/output; the log is folder/web.log."""
    port = _free_port()
    settings = [
        f"confdir={folder / 'authority'}",
        f"mcp_output={folder / 'output'}",
        f"web_port={port}",
        f"web_password={PASSWORD}",
        *options,
    ]
    command: list[str | Path] = [
        TOOLS / "mitmweb",
        *("-s", str(ADDON)),
        *("--mode", f"reverse:{upstream}@127.0.0.1:0"),
        "--no-web-open-browser",
        *(part for setting in settings for part in ("--set", setting)),
    ]
    log = folder / "web.log"
    with serving(command, log, r"listening at 127\.0\.0\.1:(\d+)[\s\S]*Web server listening") as proxy:
        origin = f"http://127.0.0.1:{port}"
        token = urllib.parse.quote(PASSWORD)
        yield Web(f"http://127.0.0.1:{proxy}", f"{origin}/?token={token}", log, origin)


def _free_port() -> int:
    # mitmweb does not say which port it got when it is asked for any.
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

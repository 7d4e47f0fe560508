"""The few messages of MCP that the edge's tests need."""

from __future__ import annotations

import json
from typing import Final

INITIALIZE: Final = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
).encode()
RESULT: Final = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}},
    }
).encode()
POST: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
GET: Final = {"Accept": "text/event-stream"}

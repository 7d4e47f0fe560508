"""Pages and sections of the specification that several families cite, by revision."""

from __future__ import annotations

from typing import Final

from mcp_wire.protocol.profiles import R2026_07_28, SESSION_REVISIONS

LISTENING: Final = "basic/transports#listening-for-messages-from-the-server"
RESUMING: Final = "basic/transports#resumability-and-redelivery"

_SENDING: Final = dict.fromkeys(SESSION_REVISIONS, "basic/transports#sending-messages-to-the-server")
SENDING: Final = _SENDING | {R2026_07_28: "basic/transports/streamable-http#sending-messages"}
"""What a client posts, and how it is answered."""
RECEIVING: Final = _SENDING | {R2026_07_28: "basic/transports/streamable-http#receiving-messages"}
"""What comes on the stream that answers a POST."""

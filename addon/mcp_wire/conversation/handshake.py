"""Who spoke too early: the order that `initialize` asks for (2025-11-25 basic/lifecycle#initialization)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.facts import MAX_EARLY_MESSAGES_REMEMBERED, Message, Session
from mcp_wire.protocol.meta_keys import META_VERSION

IN_FLIGHT_GRACE_MS: Final = 1_000.0
"""Two POSTs may cross: for so long after a request the notification that was due before it may still arrive."""


def watch_handshake(session: Session, message: Message) -> None:
    """Note on the session what was sent before its turn. Called for every message, before rules read it."""
    if message.sender == "client" and _is_overdue(session, message):
        session.overdue = session.overdue or message
    if message.sender == "client" and message.method == "notifications/initialized":
        session.initialized = session.initialized or message
        return
    if not message.is_request or session.initialize is None or session.initialize is message.exchange:
        return
    if message.sender == "server":
        if session.initialized is None and message.method != "ping":
            _keep(session.early_server_requests, message)
    elif is_ordinary_request(message):
        if session.initialize_answered is None:
            _keep(session.early_requests, message)
        elif session.initialized is None and session.initialize_answered.result is not None:
            session.unready_request = session.unready_request or message


def _is_overdue(session: Session, message: Message) -> bool:
    unready = session.unready_request
    if unready is None or session.initialized is not None or message.t_ms is None or unready.t_ms is None:
        return False
    return message.t_ms - unready.t_ms > IN_FLIGHT_GRACE_MS


def is_ordinary_request(message: Message) -> bool:
    """A client request that has to wait for the handshake: none of it, no ping, and none of a later revision."""
    return (
        message.is_request
        and message.method not in ("initialize", "ping", "notifications/initialized")
        and META_VERSION not in message.meta
    )


def _keep(messages: list[Message], message: Message) -> None:
    if len(messages) < MAX_EARLY_MESSAGES_REMEMBERED:
        messages.append(message)

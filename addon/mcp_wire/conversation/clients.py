"""Telling clients of 2026-07-28 apart: that revision has no sessions, so only what each request carries can do it."""

from __future__ import annotations

from mcp_wire.conversation.digest import digest
from mcp_wire.conversation.facts import Request, Session
from mcp_wire.protocol.meta_keys import META_CLIENT_INFO
from mcp_wire.wire.strict_json import canonical


def client_mark(request: Request) -> bytes:
    """Equal for requests that the same client may have sent: same credentials, product and clientInfo.

    Equal marks do not prove one client; different marks do prove that no verdict may link the two requests. The mark
    is a digest that is only ever compared.
    """
    return _mark(request, *_client_info(request))


def client_key(request: Request, *, is_modern: bool) -> Session | bytes:
    """What stands for the client of a request in tables: its session, or in 2026-07-28 its mark."""
    return client_mark(request) if is_modern else request.exchange.session


def sender_mark(request: Request) -> bytes:
    """The same without clientInfo, which an `initialize` and a GET do not carry in `_meta`."""
    return _mark(request)


def authorization_mark(request: Request) -> bytes:
    """Equal for requests with the same credentials: what a server offers may depend on them (server/tools)."""
    return digest(request.headers.get("authorization") or "")


def client_info_mark(request: Request) -> bytes | None:
    """Equal for equal clientInfo; None where the request carries none."""
    info = _client_info(request)
    return digest(info[0]) if info else None


def _mark(request: Request, *more: str) -> bytes:
    headers = request.headers
    parts = (headers.get("authorization") or "", headers.get("user-agent") or "", *more)
    return digest("\n".join(parts))


def _client_info(request: Request) -> tuple[str, ...]:
    for message in request.messages:
        if message.is_request:
            info = message.meta.get(META_CLIENT_INFO)
            if info is None and message.method == "initialize":
                info = message.params.get("clientInfo")
            return () if info is None else (canonical(info),)
    return ()

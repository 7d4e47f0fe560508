"""Reads the exchanges out of the recorded bytes of HTTP/1.1 connections."""

from __future__ import annotations

from collections.abc import Iterable

import h11

from tests.peers.exchanges import SeenExchange
from tests.peers.wiretap import TappedConnection


def exchanges_of(connections: Iterable[TappedConnection]) -> list[SeenExchange]:
    return [exchange for connection in connections for exchange in _read(connection)]


def _read(connection: TappedConnection) -> list[SeenExchange]:
    server = h11.Connection(h11.SERVER)
    client = h11.Connection(h11.CLIENT)
    server.receive_data(bytes(connection.from_client))
    client.receive_data(bytes(connection.from_server))
    if connection.closed_by:
        client.receive_data(b"")
    exchanges: list[SeenExchange] = []
    while True:
        request = server.next_event()
        if not isinstance(request, h11.Request):
            return exchanges
        exchange = SeenExchange(
            method=request.method.decode(),
            target=request.target.decode(),
            request_body=b"",
            last_event_id=dict(request.headers).get(b"last-event-id", b"").decode(),
        )
        exchanges.append(exchange)
        client.send(request)
        while isinstance(part := server.next_event(), h11.Data):
            exchange.request_body += part.data
            client.send(part)
        if isinstance(part, h11.EndOfMessage):
            client.send(part)
        _read_response(client, exchange)
        exchange.client_left = connection.closed_by == "client" and not exchange.complete
        if not exchange.complete or client.our_state is not h11.DONE or client.their_state is not h11.DONE:
            return exchanges
        client.start_next_cycle()
        # The recorded answer is all that the reader of requests needs to go on.
        server.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
        server.send(h11.EndOfMessage())
        server.start_next_cycle()


def _read_response(client: h11.Connection, exchange: SeenExchange) -> None:
    while True:
        try:
            event = client.next_event()
        except h11.RemoteProtocolError:  # the connection ended inside the response
            return
        if isinstance(event, h11.Response):
            exchange.status = event.status_code
            exchange.http_version = f"HTTP/{event.http_version.decode()}"
            exchange.response_headers = list(event.headers.raw_items())
        elif isinstance(event, h11.Data):
            exchange.response_body += event.data
        elif isinstance(event, h11.EndOfMessage):
            exchange.complete = True
            return
        elif not isinstance(event, h11.InformationalResponse):
            return

"""A planted conversation through a proxy: a client and a server on real sockets, whose every octet is the planter's."""

from __future__ import annotations

import contextlib
import socket
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from mitmproxy.net import encoding

from tests.live.peers import LAST_CHUNK, Received, Script, Server, answer, chunked
from tests.privacy.planting import Exchange, Talk
from tests.privacy.raw_captures import octets

CODINGS: Final = ("identity", "gzip", "deflate", "br", "zstd")
_REASONS: Final = {200: "OK", 202: "Accepted", 400: "Bad Request", 401: "Unauthorized", 405: "Method Not Allowed"}


class _Scripts(dict[str, Script]):
    """The next answer, whatever the path."""

    def __init__(self, answers: deque[tuple[list[bytes], bool]]) -> None:
        super().__init__()
        self._answers = answers

    def __missing__(self, path: str) -> Script:
        return self._answer

    def _answer(self, request: Received) -> None:
        pieces, torn = self._answers.popleft()
        request.send(*pieces)
        if torn:
            raise EOFError


class Peers:
    """The server of planted conversations, and their client."""

    def __init__(self) -> None:
        self._answers: deque[tuple[list[bytes], bool]] = deque()
        self._server = Server()
        self._server.scripts = _Scripts(self._answers)

    @contextlib.contextmanager
    def serving(self) -> Iterator[int]:
        with self._server.running():
            yield self._server.port

    def hold(self, port: int, talk: Talk) -> None:
        """The whole conversation, one exchange after the other; the last answer is torn off before its end."""
        for number, exchange in enumerate(talk.exchanges):
            coding = CODINGS[(talk.number + number) % len(CODINGS)]
            torn = number == len(talk.exchanges) - 1
            self._answers.append((list(_answer(exchange, coding, torn=torn)), torn))
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.sendall(_request(exchange, coding if number % 3 == 2 else "identity"))
                with contextlib.suppress(EOFError):
                    _read(connection)


def _request(exchange: Exchange, coding: str) -> bytes:
    body = exchange.body
    lines = list(exchange.headers)
    if body and coding != "identity":
        body = _coded(body, coding)
        lines.append(("Content-Encoding", coding))
    if body:
        lines.append(("Content-Length", str(len(body))))
    return b"%s %s HTTP/1.1\r\n" % (octets(exchange.method), octets(exchange.target)) + _head(lines) + body


def _answer(exchange: Exchange, coding: str, *, torn: bool) -> Iterator[bytes]:
    lines = list(exchange.answer_headers)
    pieces = [exchange.answer] if exchange.chunks is None else exchange.chunks
    if coding != "identity" and exchange.answered:
        lines.append(("Content-Encoding", coding))
        whole = _coded(exchange.answered, coding)
        step = max(len(whole) // len(pieces), 1)
        pieces = [whole[at : at + step] for at in range(0, len(whole), step)]
    if exchange.chunks is not None:
        lines.append(("Transfer-Encoding", "chunked"))
    else:
        lines.append(("Content-Length", str(len(b"".join(pieces)) + 100 * torn)))
    reason = _REASONS.get(exchange.status, "Odd")
    yield f"HTTP/1.1 {exchange.status} {reason}\r\n".encode() + _head(lines)
    if exchange.chunks is None:
        yield from pieces
        return
    for piece in pieces:
        yield chunked(piece)
    if not torn:
        yield LAST_CHUNK


def _coded(data: bytes, coding: str) -> bytes:
    coded = encoding.encode(data, coding)
    assert isinstance(coded, bytes)
    return coded


def _head(lines: Iterable[tuple[str, str]]) -> bytes:
    return b"".join(octets(f"{name}: {value}\r\n") for name, value in lines) + b"\r\n"


def _read(connection: socket.socket) -> None:
    reply = answer(connection)
    if reply.header("transfer-encoding") == "chunked":
        for _ in reply.reader.chunks():
            pass
    else:
        reply.reader.exactly(int(reply.header("content-length") or 0))

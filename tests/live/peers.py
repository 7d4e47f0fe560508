"""A scripted HTTP/1.1 server and client on real sockets: every byte, and every cut, is the test's own."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

PATIENCE_S = 15.0


@dataclass
class Received:
    """A request as the server got it."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    socket: socket.socket

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.socket.sendall(piece)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


Script = Callable[[Received], None]


class Server:
    """Answers each path by its script, which runs in a thread of its own and owns the connection while it runs."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.scripts: dict[str, Script] = {}
        self.requests: list[Received] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[Server]:
        threading.Thread(target=self._accept, daemon=True).start()
        try:
            yield self
        finally:
            self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = Reader(connection)
        with contextlib.suppress(OSError, EOFError), connection:
            while True:
                head = reader.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
                method, path, _ = head[0].split(" ")
                headers = [(line.partition(":")[0], line.partition(":")[2].strip()) for line in head[1:] if line]
                request = Received(method, path, headers, b"", connection)
                if request.header("content-length"):
                    request.body = reader.exactly(int(request.header("content-length") or 0))
                elif request.header("transfer-encoding"):
                    request.body = b"".join(reader.chunks())
                self.requests.append(request)
                self.scripts[path.partition("?")[0]](request)


class Reader:
    """Blocking reads from one socket. EOFError where the peer closed first."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_S)
        self._socket = connection
        self._buffer = b""

    def _more(self) -> None:
        data = self._socket.recv(1 << 20)
        if not data:
            raise EOFError
        self._buffer += data

    def until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._more()
        end = self._buffer.index(mark) + len(mark)
        taken, self._buffer = self._buffer[:end], self._buffer[end:]
        return taken

    def exactly(self, octets: int) -> bytes:
        parts = [self._buffer[:octets]]
        missing = octets - len(parts[0])
        self._buffer = self._buffer[octets:]
        while missing:
            data = self._socket.recv(min(missing, 1 << 20))
            if not data:
                raise EOFError
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        parts = [self._buffer]
        self._buffer = b""
        with contextlib.suppress(ConnectionResetError):
            while data := self._socket.recv(1 << 20):
                parts.append(data)
        return b"".join(parts)

    def chunk(self) -> bytes:
        size = int(self.until(b"\r\n").split(b";")[0], 16)
        data = self.exactly(size)
        assert self.exactly(2) == b"\r\n"
        return data

    def chunks(self) -> Iterator[bytes]:
        while data := self.chunk():
            yield data


@dataclass
class Answer:
    status: int
    headers: list[tuple[str, str]]
    reader: Reader
    socket: socket.socket = field(repr=False)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


def ask(port: int, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None) -> Answer:
    """Send a request on a connection of its own and read the head of the answer."""
    connection = send(port, method, path, headers, body)
    return answer(connection)


def send(
    port: int, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    lines = [f"{method} {path} HTTP/1.1", "Host: example.test"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if body is not None and "Transfer-Encoding" not in (headers or {}):
        lines.append(f"Content-Length: {len(body)}")
    connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))
    return connection


def answer(connection: socket.socket) -> Answer:
    reader = Reader(connection)
    head = reader.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
    headers = [(line.partition(":")[0], line.partition(":")[2].strip()) for line in head[1:] if line]
    return Answer(int(head[0].split(" ")[1]), headers, reader, connection)


def reset(connection: socket.socket) -> None:
    """Close with a RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)


LAST_CHUNK = b"0\r\n\r\n"
EVENT_STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

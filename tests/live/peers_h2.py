"""A scripted HTTP/2 server and client over TLS: frames are the test's own."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import trustme

PATIENCE_S = 15.0


class Connection:
    """One end of an HTTP/2 connection, read in the calling thread."""

    def __init__(self, raw: ssl.SSLSocket, *, client: bool) -> None:
        raw.settimeout(PATIENCE_S)
        self.socket = raw
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=client, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.socket.sendall(self.h2.data_to_send())

    def events(self) -> Iterator[h2.events.Event]:
        """Every event until the peer closes the connection."""
        with contextlib.suppress(OSError):
            while data := self.socket.recv(1 << 18):
                for event in self.h2.receive_data(data):
                    if isinstance(event, h2.events.DataReceived):
                        self.h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
                    yield event
                self.flush()


@dataclass
class Request:
    connection: Connection
    stream: int
    headers: dict[str, str]
    body: bytes = b""

    def head(self, *headers: tuple[str, str], end: bool = False) -> None:
        self.connection.h2.send_headers(self.stream, [(":status", "200"), *headers], end_stream=end)
        self.connection.flush()

    def data(self, data: bytes, *, end: bool = False) -> None:
        self.connection.h2.send_data(self.stream, data, end_stream=end)
        self.connection.flush()

    def reset(self, code: int) -> None:
        self.connection.h2.reset_stream(self.stream, code)
        self.connection.flush()

    def go_away(self, code: int) -> None:
        self.connection.h2.close_connection(code, last_stream_id=self.stream)
        self.connection.flush()

    def hang_up(self) -> None:
        self.connection.socket.shutdown(socket.SHUT_RDWR)


Script = Callable[[Request], None]


class Server:
    """Answers each path by its script, in the connection's own thread."""

    def __init__(self, authority: trustme.CA) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost", "127.0.0.1").configure_cert(self._context)
        self._context.set_alpn_protocols(["h2"])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.scripts: dict[str, Script] = {}

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
                raw, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection = Connection(self._context.wrap_socket(raw, server_side=True), client=False)
            requests: dict[int, Request] = {}
            for event in connection.events():
                match event:
                    case h2.events.RequestReceived():
                        requests[event.stream_id] = Request(connection, event.stream_id, dict(event.headers))  # type: ignore[arg-type]
                    case h2.events.DataReceived():
                        requests[event.stream_id].body += event.data or b""
                    case h2.events.StreamEnded():
                        request = requests.pop(event.stream_id)
                        self.scripts[request.headers[":path"]](request)


@dataclass
class Client:
    """One connection to the proxy. `answers` has what came, by stream."""

    connection: Connection
    data: dict[int, list[bytes]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    resets: dict[int, int] = field(default_factory=dict)
    _events: Iterator[h2.events.Event] | None = None

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> int:
        stream: int = self.connection.h2.get_next_available_stream_id()
        pseudo = [(":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
        lines = [*pseudo, *((name.lower(), value) for name, value in headers.items())]
        self.connection.h2.send_headers(stream, lines, end_stream=body is None)
        if body is not None:
            self.connection.h2.send_data(stream, body, end_stream=True)
        self.connection.flush()
        self.data[stream] = []
        return stream

    def wait(self, is_enough: Callable[[Client], bool]) -> None:
        self._events = self._events or self.connection.events()
        while not is_enough(self):
            event = next(self._events)
            match event:
                case h2.events.DataReceived():
                    self.data[event.stream_id].append(event.data or b"")
                case h2.events.StreamEnded():
                    self.ended.add(event.stream_id)
                case h2.events.StreamReset():
                    self.resets[event.stream_id] = int(event.error_code or 0)

    def reset(self, stream: int, code: int) -> None:
        self.connection.h2.reset_stream(stream, code)
        self.connection.flush()

    def go_away(self) -> None:
        self.connection.h2.close_connection()
        self.connection.flush()

    def hang_up(self) -> None:
        self.connection.socket.shutdown(socket.SHUT_RDWR)

    def whole(self, stream: int) -> bytes:
        self.wait(lambda client: stream in client.ended)
        return b"".join(self.data[stream])


def connect(port: int, tunnel_to: str = "") -> Client:
    """Connect to the proxy; `tunnel_to` asks it for a tunnel first."""
    plain = socket.create_connection(("127.0.0.1", port))
    if tunnel_to:
        plain.sendall(f"CONNECT {tunnel_to} HTTP/1.1\r\nHost: {tunnel_to}\r\n\r\n".encode())
        assert b" 200 " in plain.recv(65536)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    raw = context.wrap_socket(plain, server_hostname="localhost")
    assert raw.selected_alpn_protocol() == "h2"
    return Client(Connection(raw, client=True))

"""A TCP relay that keeps every byte of both directions and adds none: what really passed at this place."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

READ_SIZE = 65536


@dataclass(slots=True)
class TappedConnection:
    from_client: bytearray = field(default_factory=bytearray)
    from_server: bytearray = field(default_factory=bytearray)
    closed_by: Literal["client", "server", "tap", ""] = ""


class Wiretap:
    """Relays 127.0.0.1:`port` to 127.0.0.1:`upstream_port` from a thread of its own.

    `cut_after`: the first connection whose server sends this text is cut right behind it, once; a broken network.
    """

    def __init__(self, upstream_port: int, cut_after: bytes = b"") -> None:
        self.port = 0
        self.connections: list[TappedConnection] = []
        self.cut_after = cut_after
        self.was_cut = False
        self._upstream_port = upstream_port
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    @contextlib.contextmanager
    def running(self) -> Iterator[Wiretap]:
        self._thread.start()
        self._listening.wait()
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join()
            self._loop.close()

    async def _serve(self) -> None:
        relays: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            relay = asyncio.create_task(self._relay(reader, writer))
            relays.add(relay)
            relay.add_done_callback(relays.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._listening.set()
        await self._over.wait()
        server.close()
        for relay in tuple(relays):
            relay.cancel()
        await asyncio.gather(*relays, return_exceptions=True)

    async def _relay(self, client_reader: asyncio.StreamReader, client_writer: asyncio.StreamWriter) -> None:
        connection = TappedConnection()
        self.connections.append(connection)
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._upstream_port)
        directions = [
            asyncio.create_task(self._pump(client_reader, server_writer, connection, from_server=False)),
            asyncio.create_task(self._pump(server_reader, client_writer, connection, from_server=True)),
        ]
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for direction in directions:
                direction.cancel()
            await asyncio.gather(*directions, return_exceptions=True)
            for writer in (client_writer, server_writer):
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connection: TappedConnection,
        *,
        from_server: bool,
    ) -> None:
        kept = connection.from_server if from_server else connection.from_client
        with contextlib.suppress(OSError):
            while data := await reader.read(READ_SIZE):
                if from_server and (cut_at := self._cut_position(kept, data)) is not None:
                    data = data[:cut_at]
                    connection.closed_by = "tap"
                kept += data
                writer.write(data)
                await writer.drain()
                if connection.closed_by == "tap":
                    return
        connection.closed_by = connection.closed_by or ("server" if from_server else "client")

    def _cut_position(self, kept: bytearray, data: bytes) -> int | None:
        if not self.cut_after or self.was_cut:
            return None
        found = (kept + data).find(self.cut_after)
        if found < 0:
            return None
        self.was_cut = True
        return found + len(self.cut_after) - len(kept)

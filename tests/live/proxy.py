"""A real mitmproxy with the addon in it, in a thread of its own, and what its observer was told."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mitmproxy.options import Options
from mitmproxy.tools.dump import DumpMaster

from mcp_wire.live.addon import ConformanceAddon
from mcp_wire.live.directory import Origin
from mcp_wire.live.exchange import Exchanges
from mcp_wire.live.judge_messages import Message
from mcp_wire.live.options import Settings
from mcp_wire.live.parts import Entry
from mcp_wire.wire.observation import (
    ExchangeEnded,
    Observation,
    RequestSeen,
    ResponseBody,
    ResponseChunk,
    ResponseSeen,
)

PATIENCE_S = 15.0


class Recorder:
    """Stands for the judge's process: keeps what an observer would be told, and throws where a test asks it to."""

    waiting_octets = 0

    def __init__(self) -> None:
        self.seen: list[tuple[Origin, Observation]] = []
        self.throw_at: type | None = None
        self.finished = 0
        self._exchanges = Exchanges()
        self._news = threading.Condition()

    def offer(self, entry: Entry, octets: int) -> bool:
        self.put(entry)
        return True

    def put(self, entry: Entry) -> None:
        with self._news:
            self.seen += self._exchanges.take(entry)
            self._news.notify_all()
        if self.throw_at is not None and isinstance(entry[2], self.throw_at):
            raise RuntimeError("thrown for a test")

    def flush(self) -> None:
        """Nothing ever waits."""

    def finish(self) -> bool:
        self.finished += 1
        return True

    def wait(self, path: str, is_enough: Callable[[Told], bool]) -> Told:
        """What was told of the one exchange with this path, once it is enough."""
        with self._news:
            assert self._news.wait_for(lambda: is_enough(self.of(path)), PATIENCE_S), self.of(path).all
            return self.of(path)

    def ended(self, path: str) -> Told:
        return self.wait(path, lambda told: told.end is not None)

    def of(self, path: str) -> Told:
        return Told(list(self.seen), path)


class Told:
    """Everything that was told of the exchanges with one path, in order."""

    def __init__(self, seen: list[tuple[Origin, Observation]], path: str) -> None:
        names = {
            observation.exchange
            for _, observation in seen
            if isinstance(observation, RequestSeen) and observation.path.partition("?")[0] == path
        }
        self.all = [observation for _, observation in seen if observation.exchange in names]
        self.origins = [origin for origin, observation in seen if observation.exchange in names]

    def _every[Kind](self, kind: type[Kind]) -> list[Kind]:
        return [observation for observation in self.all if isinstance(observation, kind)]

    @property
    def request(self) -> RequestSeen:
        (request,) = self._every(RequestSeen)
        return request

    @property
    def head(self) -> ResponseSeen:
        (head,) = self._every(ResponseSeen)
        return head

    @property
    def chunks(self) -> list[bytes]:
        return [chunk.data for chunk in self._every(ResponseChunk)]

    @property
    def body(self) -> ResponseBody:
        (body,) = self._every(ResponseBody)
        return body

    @property
    def bodies(self) -> list[ResponseBody]:
        return self._every(ResponseBody)

    @property
    def end(self) -> ExchangeEnded | None:
        ends = self._every(ExchangeEnded)
        assert len(ends) <= 1, "an exchange ended twice"
        return ends[0] if ends else None


class Proxy:
    """One mitmproxy. `ports` has a port for each of the modes that it was started with."""

    def __init__(
        self,
        modes: list[str],
        confdir: Path,
        before: Sequence[object] = (),
        after: Sequence[object] = (),
        **options: Any,
    ) -> None:
        self.recorder = Recorder()
        self.addon = ConformanceAddon(self._open)
        self.ports: list[int] = []
        self.settings: Settings | None = None
        self._modes = [f"{mode}@127.0.0.1:0" for mode in modes]
        self._confdir = confdir
        self._before, self._after = before, after
        self._options = options
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def _open(self, settings: Settings, hear: Callable[[Message], None]) -> Recorder:
        self.settings = settings
        self.hear = hear
        return self.recorder

    @contextlib.contextmanager
    def running(self) -> Iterator[Proxy]:
        self._thread.start()
        assert self._ready.wait(PATIENCE_S)
        try:
            yield self
        finally:
            self.stop()

    def stop(self) -> None:
        if self._thread.is_alive():
            self.master.shutdown()  # type: ignore[no-untyped-call]
            self._thread.join(PATIENCE_S)
            assert not self._thread.is_alive()

    def call[Result](self, function: Callable[[], Result]) -> Result:
        """Run something in the proxy's own thread."""

        async def run() -> Result:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(PATIENCE_S)

    @contextlib.contextmanager
    def options(self, **changed: Any) -> Iterator[None]:
        before = {name: getattr(self.master.options, name) for name in changed}
        self.call(lambda: self.master.options.update(**changed))  # type: ignore[no-untyped-call]
        try:
            yield
        finally:
            self.call(lambda: self.master.options.update(**before))  # type: ignore[no-untyped-call]

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        options = Options(mode=self._modes, confdir=str(self._confdir), ssl_insecure=True)
        self.master = DumpMaster(options, with_termlog=False, with_dumper=False)
        self.master.addons.add(*self._before, self.addon, *self._after, _Running(self._set_ready))  # type: ignore[no-untyped-call]
        # Scripts stand there, before the addons that save flows.
        chain = self.master.addons.chain
        place = chain.index(self.master.addons.get("scriptloader"))  # type: ignore[no-untyped-call]
        added = [*self._before, self.addon, *self._after]
        chain[place:] = [*added, *(addon for addon in chain[place:] if addon not in added)]
        self.master.options.update(**self._options)  # type: ignore[no-untyped-call]
        await self.master.run()

    def _set_ready(self) -> None:
        servers = self.master.addons.get("proxyserver").servers  # type: ignore[no-untyped-call]
        for mode in self._modes:
            (instance,) = [server for server in servers if server.mode.full_spec == mode]
            self.ports.append(instance.listen_addrs[0][1])
        self._ready.set()


class _Running:
    def __init__(self, running: Callable[[], None]) -> None:
        self.running = running


_paths = itertools.count(1)


def fresh_path(prefix: str = "/mcp") -> str:
    """An endpoint of which no proxy knows anything yet."""
    return f"{prefix}/{next(_paths)}"

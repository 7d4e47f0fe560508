"""How often something that was told to a client became stale: what was told before counts no longer."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from mcp_wire.conversation.bounded import BoundedTable


@dataclass(slots=True)
class Generations[Client: Hashable]:
    """The current generation of each client. What belongs to another generation is stale.

    Numbers are never used twice, so that a client which was forgotten is not taken for one that was told of nothing.
    """

    _current: BoundedTable[Client, int]
    _latest: int = 0

    def of(self, client: Client) -> int | None:
        """The generation that the client is in; None where that is not known any more."""
        current = self._current.get(client)
        return None if current is None and self._current.forgotten else current or 0

    def begin(self, client: Client) -> int:
        """What the client was told so far is stale. Returns the number of the generation that begins."""
        self._latest += 1
        self._current.put(client, self._latest)
        return self._latest

    def known(self, client: Client) -> int:
        """The generation that the client is in, a new one where it had been forgotten."""
        current = self.of(client)
        return self.begin(client) if current is None else current

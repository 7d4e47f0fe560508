"""A table with a ceiling that knows whether it ever had to forget."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator


class BoundedTable[Key: Hashable, Value]:
    """A mapping in order of insertion. Beyond `ceiling` entries the oldest one that `is_done` goes, else the oldest.

    `forgotten` counts what went: from then on "was never there" can no longer be said of this table.
    """

    __slots__ = ("_ceiling", "_entries", "_is_done", "forgotten")

    def __init__(self, ceiling: int, is_done: Callable[[Value], bool] | None = None) -> None:
        self._ceiling = ceiling
        self._is_done = is_done
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self.forgotten = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: Key | None) -> Value | None:
        return None if key is None else self._entries.get(key)

    def values(self) -> Iterator[Value]:
        return iter(self._entries.values())

    def put(self, key: Key, value: Value) -> None:
        """Add or replace; a replaced entry counts as the newest."""
        self._entries.pop(key, None)
        self._entries[key] = value
        if len(self._entries) > self._ceiling:
            self._forget_one()

    def discard(self, key: Key) -> None:
        self._entries.pop(key, None)

    def _forget_one(self) -> None:
        victim = next(iter(self._entries))
        if self._is_done is not None:
            # Only the oldest few are asked, so that forgetting stays cheap when none of many entries is done.
            for key, value in zip(list(self._entries)[:64], list(self._entries.values())[:64], strict=True):
                if self._is_done(value):
                    victim = key
                    break
        del self._entries[victim]
        self.forgotten += 1

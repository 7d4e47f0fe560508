"""A table with a ceiling that knows whether it ever had to forget."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import Final

OLDEST_ASKED: Final = 64
"""How many of the oldest entries are asked whether they are done, so that forgetting stays cheap."""


class BoundedTable[Key: Hashable, Value]:
    """A mapping in order of insertion, bounded in entries and, if asked, in the weight of what it holds.

    Beyond a ceiling the oldest entry that `is_done` goes, else the oldest. `forgotten` counts what went: from then on
    "was never there" can no longer be said of this table.
    """

    __slots__ = ("_ceiling", "_entries", "_is_done", "_weight", "_weight_ceiling", "_weights", "forgotten")

    def __init__(
        self, ceiling: int, is_done: Callable[[Value], bool] | None = None, *, weight_ceiling: int | None = None
    ) -> None:
        self._ceiling = ceiling
        self._is_done = is_done
        self._weight_ceiling = weight_ceiling
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._weights: dict[Key, int] = {}
        self._weight = 0
        self.forgotten = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: Key | None) -> Value | None:
        return None if key is None else self._entries.get(key)

    def values(self) -> Iterator[Value]:
        return iter(self._entries.values())

    def put(self, key: Key, value: Value, weight: int = 0) -> None:
        """Add or replace; a replaced entry counts as the newest. `weight` is in bytes, roughly."""
        if key in self._entries:
            self.discard(key)
        self._entries[key] = value
        if self._weight_ceiling is None:
            if len(self._entries) <= self._ceiling:
                return
        else:
            self._weights[key] = weight
            self._weight += weight
        while self._is_over() and len(self._entries) > 1:
            self.discard(self._next_victim())
            self.forgotten += 1

    def discard(self, key: Key) -> None:
        if key in self._entries:
            del self._entries[key]
            self._weight -= self._weights.pop(key, 0)

    def _is_over(self) -> bool:
        if len(self._entries) > self._ceiling:
            return True
        return self._weight_ceiling is not None and self._weight > self._weight_ceiling

    def _next_victim(self) -> Key:
        if self._is_done is not None:
            for key, value in islice(self._entries.items(), OLDEST_ASKED):
                if self._is_done(value):
                    return key
        return next(iter(self._entries))

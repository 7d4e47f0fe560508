"""What is remembered only up to a limit, and the word that is given where a limit was reached.

Every limit of a conversation belongs to a `Memory`, which says what is remembered and which rules ask for it. What goes
beyond a limit and could have been asked for becomes a `Loss`; the judge makes of it the finding `evidence_forgotten`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from typing import Final

OLDEST_ASKED: Final = 64
"""How many of the oldest entries are asked whether they are done, so that forgetting stays cheap."""

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """One kind of evidence. `what` is a plural, as in "not all {what} could be kept".

    `rules`: the codes that ask for it; where none of them is in force, losing it loses nothing. `follows`: a sentence
    on what else becomes unknown, whichever rules are in force. `told_by`: the `what` of another memory that always
    loses at the same time, so that this one need not be told of as well.
    """

    what: str
    rules: tuple[str, ...] = ()
    follows: str = ""
    told_by: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """Something that a limit made unknown: of which kind, and beyond which limit (in words, with its number)."""

    memory: Memory
    limit: str


class Limit:
    """One limit of one memory. `reached` counts what was lost beyond it, each time telling whoever listens."""

    __slots__ = ("_loss", "reached", "tell")

    def __init__(self, memory: Memory, limit: str) -> None:
        self._loss = Loss(memory, limit)
        self.reached = 0
        self.tell: Callable[[Loss], None] | None = None

    @property
    def memory(self) -> Memory:
        return self._loss.memory

    def lose(self) -> None:
        """Something that a rule could have asked for is not known any more."""
        self.reached += 1
        if self.tell is not None and not self._loss.memory.told_by:
            self.tell(self._loss)


class BoundedTable[Key: Hashable, Value]:
    """A mapping in order of insertion, bounded in entries and, if asked, in the weight of what it holds.

    Beyond a ceiling one of the `oldest_asked` entries that `is_done` goes, else the oldest. `forgotten` counts what
    went: from then on "was never there" can no longer be said of this table; `forgotten_undone` counts what was not
    done. `memory`: what a conversation remembers in it. `done_is_spent`: nothing will ask for an entry that is done, so
    that it is no loss.
    """

    __slots__ = (
        "_ceiling",
        "_entries",
        "_is_done",
        "_oldest_asked",
        "_weight",
        "_weight_ceiling",
        "_weights",
        "done_is_spent",
        "forgotten",
        "forgotten_undone",
        "limit",
    )

    def __init__(
        self,
        ceiling: int,
        is_done: Callable[[Value], bool] | None = None,
        *,
        done_is_spent: bool = False,
        oldest_asked: int = OLDEST_ASKED,
        weight_ceiling: int | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._ceiling = ceiling
        self._is_done = is_done
        self._oldest_asked = oldest_asked
        self.done_is_spent = done_is_spent
        self._weight_ceiling = weight_ceiling
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._weights: dict[Key, int] = {}
        self._weight = 0
        self.forgotten = 0
        self.forgotten_undone = 0
        self.limit = Limit(memory, _in_words(ceiling, weight_ceiling)) if memory is not None else None

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: Key | None) -> Value | None:
        return None if key is None else self._entries.get(key)

    def values(self) -> Iterator[Value]:
        return iter(self._entries.values())

    def latest(self, count: int) -> Iterator[Value]:
        return islice(reversed(self._entries.values()), count)

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
            self._forget(self._next_victim())

    def discard(self, key: Key) -> None:
        if key in self._entries:
            del self._entries[key]
            self._weight -= self._weights.pop(key, 0)

    def _forget(self, key: Key) -> None:
        is_done = self._is_done is not None and self._is_done(self._entries[key])
        self.discard(key)
        self.forgotten += 1
        self.forgotten_undone += not is_done
        if self.limit is not None and not (is_done and self.done_is_spent):
            self.limit.lose()

    def _is_over(self) -> bool:
        if len(self._entries) > self._ceiling:
            return True
        return self._weight_ceiling is not None and self._weight > self._weight_ceiling

    def _next_victim(self) -> Key:
        if self._is_done is not None:
            for key, value in islice(self._entries.items(), self._oldest_asked):
                if self._is_done(value):
                    return key
        return next(iter(self._entries))


def limits_in(owner: object) -> Iterator[Limit]:
    """Every limit that a dataclass, its tables, or the dataclasses that it is made of hold."""
    assert is_dataclass(owner)
    for one in fields(owner):
        value = getattr(owner, one.name)
        for held in value.values() if isinstance(value, dict) else (value,):
            if isinstance(held, Limit):
                yield held
            elif isinstance(held, BoundedTable):
                if held.limit is not None:
                    yield held.limit
            elif is_dataclass(held) and not isinstance(held, type):
                yield from limits_in(held)


def _in_words(ceiling: int, weight_ceiling: int | None) -> str:
    if weight_ceiling is None:
        return f"{ceiling:,}"
    weight = f"{weight_ceiling // MIB} MiB" if weight_ceiling >= MIB else f"{weight_ceiling:,} octets"
    return f"{ceiling:,}, or {weight} of what they belong to"

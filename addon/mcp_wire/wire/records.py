"""How small immutable values on the path of every event are declared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import dataclass_transform


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record[Class](cls: type[Class]) -> type[Class]:
    """A dataclass that is frozen for the type checker alone.

    Freezing at run time makes building one several times slower, and an event of an ordinary stream builds dozens.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)

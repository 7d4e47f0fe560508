"""A value from the wire that is to be shown to somebody."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """A value from the wire inside a message. It is shown only as far as redaction allows for its `kind`.

    Kinds: `header:<name>`, `method`, `id`, `name`, `uri`, `token`, `cursor`, `session`, `version`, `code`, `text`.
    """

    kind: str
    value: object

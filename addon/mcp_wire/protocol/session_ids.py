"""What a session id looks like (basic/transports#session-management, up to 2025-11-25)."""

from __future__ import annotations

from typing import Final

MIN_UNGUESSABLE_LENGTH: Final = 16
"""Ids shorter than this count as easily guessed (2025-11-25 basic/security_best_practices#session-hijacking)."""
MAX_COUNTER_DIGITS: Final = 19
"""So do decimal numbers of up to this length: counters and times."""


def is_visible_ascii(session_id: str) -> bool:
    """Not empty, and nothing but the characters 0x21 to 0x7E."""
    return bool(session_id) and all("\x21" <= character <= "\x7e" for character in session_id)


def is_short(session_id: str) -> bool:
    return len(session_id) < MIN_UNGUESSABLE_LENGTH


def looks_counted(session_id: str) -> bool:
    """A decimal number of the length that counters and times have."""
    return session_id.isascii() and session_id.isdigit() and len(session_id) <= MAX_COUNTER_DIGITS

"""JSON-RPC error codes that MCP uses, under the names that the specification gives them.

Sources: JSON-RPC 2.0 section 5.1, schema/<revision>/schema.ts, 2026-07-28 basic/index#error-codes, and for -32002 and
-32042 the resources and elicitation pages of the revisions before it.
"""

from __future__ import annotations

from typing import Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602

RESOURCE_NOT_FOUND: Final = -32002
"""Retired in 2026-07-28, which has INVALID_PARAMS for it."""
URL_ELICITATION_REQUIRED: Final = -32042
"""Only in 2025-11-25."""

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
MODERN_CODES: Final = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
"""Defined by 2026-07-28: only a server that speaks it sends them."""

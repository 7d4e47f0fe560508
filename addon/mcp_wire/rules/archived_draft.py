"""What the archived profile `draft-2026-07-28` judges: what its own checks judged, that it is fit to be shown, and no
more (docs/profiles.md).
"""

from typing import Final

ARCHIVED_DRAFT_CODES: Final = frozenset(
    {
        "invalid_document",
        "unknown_profile",
        "profile_superseded",
        "invalid_exchanges",
        "invalid_exchange",
        "invalid_exchange_id",
        "duplicate_exchange_id",
        "invalid_concurrent_group",
        "invalid_exchange_shape",
        "invalid_http_method",
        "invalid_headers",
        "duplicate_header",
        "invalid_chunks",
        "invalid_status",
        "invalid_disconnected",
        "unredacted_secret",
        "invalid_post_accept",
        "invalid_get_accept",
        "unsupported_http_method",
        "protocol_version_mismatch",
        "get_removed_in_profile",
        "delete_removed_in_profile",
        "invalid_jsonrpc_body",
        "draft_response_post_removed",
        "invalid_response_content_type",
        "invalid_get_response_content_type",
        "invalid_get_response_status",
        "method_header_mismatch",
        "body_version_mismatch",
        "session_header_removed",
        "incomplete_sse_event",
        "invalid_sse_json",
        "invalid_sse_jsonrpc",
        "invalid_sse_retry",
        "ignored_sse_id_nul",
        "event_id_removed",
        "cross_stream_duplicate",
        "resumability_removed",
        "invalid_resume_method",
    }
)

"""Transcripts that reach a limit of what one conversation remembers, for each kind of evidence."""

from __future__ import annotations

from tests.rules.streams import calling, event, primed, told
from tests.rules.talk import META, Json, Talk, legacy, modern, stream, tool

type Kind = tuple[str, str, int, str | Talk, list[str]]
"""Module and constant, the limit to be tried, a fixture or a talk, and what is lost as `told` has it."""


def two_sessions(method: str, params: Json, headers: Json | None = None) -> Talk:
    talk = legacy()
    for session in ("a5f0c7a1e-9b64-4d2f-8a37", "b5f0c7a1e-9b64-4d2f-8a37"):
        talk.session = session
        talk.begin(headers=headers).ask(method, params, result={}, headers=headers)
    return talk


def with_credentials(*given: str) -> Talk:
    talk = legacy()
    for number, credential in enumerate(given):
        talk.ask("ping", id=number, result={}, headers={"Authorization": f"Bearer {credential}"})
    return talk


def pages_asked_for() -> Talk:
    talk = legacy().begin()
    for number in range(3):
        talk.ask("tools/list", {"cursor": f"c-{number}"}, answer=stream(), id=number)
    return talk


def read_by_everybody() -> Talk:
    talk = modern()
    for number in range(3):
        result = {"contents": [], "ttlMs": 1_000, "cacheScope": "public"}
        times: Json = {"at": number * 10, "until": number * 10 + 5}
        talk.ask("resources/read", {"uri": f"file:///{number}"}, result=result, **times)
    return talk


def sent_on() -> Talk:
    talk = legacy().begin()
    for number in range(3):
        talk.ask("ping", id=number, result={})
    return talk.ask("ping", id=0, result={}, server_side_of="x-0", path="/upstream")


def cut(number: int) -> Talk:
    talk = legacy()
    for one in range(number):
        answer = stream(primed(f"e-{one}"), ended="complete")
        talk.ask("tools/call", calling(n=one), id=one, answer=answer, at=one, until=1_000 + one)
    return talk


def left(number: int) -> Talk:
    talk = legacy()
    for one in range(number):
        talk.ask("tools/call", calling(n=one), id=one, answer=stream(ended="client_closed"), at=one, until=1_000 + one)
    return talk


def listening(number: int) -> Talk:
    talk = modern()
    for one in range(number):
        talk.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, answer=stream(), id=one)
    return talk


def retried_without_an_answer() -> Talk:
    talk = modern()
    for one in range(3):
        params = {"name": "sum", "arguments": {}, "inputResponses": {}, "requestState": f"s-{one}"}
        talk.ask("tools/call", params, answer=stream(), id=one)
    return talk


def called_and_unanswered() -> Talk:
    talk = legacy().begin().ask(result={"tools": [tool("sum")]})
    for one in range(3):
        talk.ask("tools/call", calling(n=one), answer=stream(), id=one)
    return talk


def asked_after_a_task() -> Talk:
    talk = legacy().begin()
    ended = {"taskId": "t", "status": "completed", "createdAt": "2025-11-25T10:30:00Z", "ttl": None}
    talk.ask("tasks/get", {"taskId": "t"}, result=ended)
    for one in range(3):
        talk.ask("tasks/get", {"taskId": "t"}, answer=stream(), id=one)
    return talk


def clients() -> list[Json]:
    return [{META + "clientInfo": {"name": name, "version": "1"}} for name in ("one", "two", "three")]


def each_lists(*tools: Json) -> Talk:
    talk = modern()
    for meta in clients():
        talk.list(*tools, meta=meta)
    return talk


def each_begins_a_list() -> Talk:
    talk = modern()
    for meta in clients():
        result = {"tools": [], "nextCursor": "c", "ttlMs": 0, "cacheScope": "private"}
        talk.ask(result=result, meta=meta)
    return talk


def each_is_told_of_changes() -> Talk:
    talk = modern()
    for meta in clients():
        changed = stream(event(told("notifications/tools/list_changed")), ended="complete")
        talk.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, answer=changed, meta=meta)
    return talk


def refused_for_its_headers() -> Talk:
    talk = modern()
    for name in ("a", "b", "c"):
        talk.call(name, error={"code": -32020, "message": "no"}, status=400)
    return talk


def lists_that_do_not_come() -> Talk:
    talk = legacy().begin()
    for number, method in enumerate(("tools/list", "prompts/list", "resources/list")):
        talk.ask(method, answer=stream(), id=number)
    return talk


def tasks_that_ended() -> Talk:
    talk = legacy().begin()
    for name in ("a", "b", "c"):
        ended = {"taskId": name, "status": "completed", "createdAt": "2025-11-25T10:30:00Z", "ttl": None}
        talk.ask("tasks/get", {"taskId": name}, result=ended)
    return talk


def each_discovers() -> Talk:
    talk = modern()
    for credential in ("a", "b", "c"):
        result: Json = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}
        talk.ask("server/discover", result=result, headers={"Authorization": f"Bearer {credential}"})
    return talk


def each_is_refused() -> Talk:
    talk = modern()
    error = {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"], "requested": "2027-01-01"}}
    for agent in ("a/1", "b/1", "c/1"):
        talk.ask(error=error, status=400, headers={"User-Agent": agent})
    return talk


def repeatable(name: str) -> Json:
    return tool(name) | {"annotations": {"readOnlyHint": True}}


def annotated(name: str) -> Json:
    return tool(name, region={"type": "string", "x-mcp-header": "Region"})


def changed_in_each_session() -> Talk:
    talk = legacy()
    for session in ("a5f0c7a1e-9b64-4d2f-8a37", "b5f0c7a1e-9b64-4d2f-8a37"):
        talk.session = session
        talk.begin(server={"tools": {"listChanged": True}})
        talk.get(stream(event(told("notifications/tools/list_changed")), ended="complete"))
    return talk


KINDS: list[Kind] = [
    ("conversation", "MAX_SESSIONS_REMEMBERED", 1, "initialize_with_session_id/fail-after-404", ["sessions: 1"]),
    (
        "conversation",
        "MAX_UNPROVEN_FACTS",
        1,
        "log_not_requested/fail-not-asked-for",
        ["messages of a server that had not yet shown its revision: 0"],
    ),
    ("session_ids", "MAX_IDS_REMEMBERED", 1, two_sessions("ping", {}), ["session ids that were given out: 3"]),
    (
        "session_ids",
        "MAX_IDS_REMEMBERED",
        1,
        two_sessions("ping", {}, {"Authorization": "Bearer x"}),
        ["session ids that were given out: 3", "credentials that sessions were used with: 5"],
    ),
    (
        "session_ids",
        "MAX_CREDENTIALS_A_SESSION",
        2,
        with_credentials(*"abcbd"),
        ["credentials that sessions were used with: 2-4 (2)"],
    ),
    ("facts", "MAX_CALLS_REMEMBERED", 1, "post_replayed_same_id/pass-new-id", ["requests of the client: 1"]),
    ("facts", "MAX_CALLS_REMEMBERED", 1, "cross_stream_duplicate/pass-two-pings", ["requests of the server: 1"]),
    ("progress_tokens", "MAX_TOKENS_REMEMBERED", 1, "post_replayed_same_id/fail-same-id", ["progress tokens: 1"]),
    ("event_ids", "MAX_EVENT_IDS_REMEMBERED", 1, "invalid_sse_retry/pass-milliseconds", ["event ids: 0"]),
    (
        "deliveries",
        "MAX_DELIVERIES_REMEMBERED",
        1,
        "invalid_sse_jsonrpc/pass-one-message-an-event",
        ["messages on open streams: 0"],
    ),
    (
        "deliveries",
        "MAX_EQUAL_DELIVERIES",
        1,
        "cross_stream_duplicate/fail-ping-on-both-streams",
        ["streams that carried the same message: 1"],
    ),
    (
        "interruptions",
        "MAX_INTERRUPTIONS_REMEMBERED",
        2,
        cut(4),
        ["streams that were cut: 2-3 (2)", "requests that were cut: 2-3 (2)"],
    ),
    (
        "interruptions",
        "MAX_WAITING",
        2,
        cut(4),
        [
            "streams that wait for their client to come back: 2-3 (2)",
            "streams whose end waits for an explanation: 2-3 (2)",
        ],
    ),
    ("relays", "MAX_RECENT_EXCHANGES", 1, sent_on(), ["exchanges to be compared with what an intermediary sent on: 5"]),
    (
        "relays",
        "MAX_UPSTREAM_REMEMBERED",
        1,
        "intermediary_replayed_post/fail-sent-again",
        ["exchanges to be compared with what an intermediary sent on: 2"],
    ),
    (
        "unanswered",
        "MAX_ENDS_WAITING",
        2,
        left(4),
        ["ends of unanswered requests that wait for an explanation: 2-3 (2)"],
    ),
    (
        "tool_definitions",
        "MAX_DEFINITIONS_REMEMBERED",
        1,
        modern().list(annotated("a"), annotated("b")),
        ["tool definitions that name headers: 0"],
    ),
    (
        "tool_definitions",
        "MAX_CLIENTS_REMEMBERED",
        1,
        each_lists(),
        ["clients that asked for the tools again: 1-2 (2)"],
    ),
    (
        "tool_definitions",
        "MAX_CLIENTS_REMEMBERED",
        1,
        each_is_told_of_changes(),
        ["clients whose definitions of headers became stale: 1-2 (2)"],
    ),
    (
        "tool_definitions",
        "MAX_REFUSED_CALLS_REMEMBERED",
        1,
        refused_for_its_headers(),
        ["calls that were refused for their headers: 1-2 (2)"],
    ),
    (
        "tool_interfaces",
        "MAX_TOOLS_REMEMBERED",
        1,
        legacy().begin().ask(result={"tools": [tool("a"), tool("b")]}),
        ["definitions of tools: 2"],
    ),
    (
        "tool_interfaces",
        "MAX_CLIENTS_REMEMBERED",
        1,
        changed_in_each_session(),
        ["clients that were told of changed tools: 5"],
    ),
    ("tool_interfaces", "MAX_CALLS_REMEMBERED", 1, called_and_unanswered(), ["tool calls in flight: 4-5 (2)"]),
    (
        "tool_hints",
        "MAX_TOOLS_REMEMBERED",
        1,
        legacy().begin().ask(result={"tools": [repeatable("a"), repeatable("b")]}),
        ["tools that may be called again: 2"],
    ),
    (
        "listings",
        "MAX_LISTS_REMEMBERED",
        1,
        "list_varies_per_connection/fail-in-turns",
        ["latest lists of each client: 1-3 (3)"],
    ),
    (
        "listings",
        "MAX_LISTS_REMEMBERED",
        1,
        "public_cache_varies_by_auth/fail-in-turns",
        ["latest lists of each client: 1-3 (3)", "latest lists for each authorization: 1-3 (3)"],
    ),
    (
        "listings",
        "MAX_LISTS_REMEMBERED",
        1,
        "batch_removed_in_profile/fail-batch-in-an-event",
        ["clients that were told of changed lists: 2"],
    ),
    ("listings", "MAX_LISTS_REMEMBERED", 1, each_begins_a_list(), ["lists of which more pages are to come: 1-2 (2)"]),
    ("listings", "MAX_NAMES_IN_A_LIST", 1, "tool_name_invalid/pass-plain", ["names of one list: 2"]),
    (
        "listings",
        "MAX_EARLIER_LISTS",
        1,
        "list_varies_per_connection/fail-in-turns",
        ["latest lists for each authorization: 1-3 (3)"],
    ),
    (
        "list_changes",
        "MAX_CHANGES_PENDING",
        0,
        "list_change_not_notified/fail-silent-get-stream",
        ["changed lists whose notification may still come: 4"],
    ),
    (
        "pages",
        "MAX_CURSORS_REMEMBERED",
        1,
        "cache_scope_inconsistent/pass-three-pages",
        ["cursors that were given: 1", "cache scopes of pages: 1"],
    ),
    ("pages", "MAX_REQUESTS_REMEMBERED", 1, pages_asked_for(), ["unanswered requests for a further page: 3-4 (2)"]),
    (
        "pages",
        "MAX_LISTS_REMEMBERED",
        1,
        lists_that_do_not_come(),
        ["lists that were asked for and did not come: 3-4 (2)"],
    ),
    (
        "public_results",
        "MAX_REQUESTS_REMEMBERED",
        1,
        read_by_everybody(),
        ["results that may be cached for everybody: 1-2 (2)"],
    ),
    (
        "log_levels",
        "MAX_SESSIONS_REMEMBERED",
        1,
        two_sessions("logging/setLevel", {"level": "info"}),
        ["log levels of sessions: 5"],
    ),
    ("tasks", "MAX_TASKS_REMEMBERED", 1, tasks_that_ended(), ["tasks that came to their end: 3-4 (2)"]),
    (
        "tasks",
        "MAX_QUESTIONS_REMEMBERED",
        1,
        asked_after_a_task(),
        ["unanswered questions after a task's state: 4-5 (2)"],
    ),
    ("subscriptions", "MAX_SUBSCRIPTIONS_REMEMBERED", 1, listening(3), ["open subscriptions: 1-2 (2)"]),
    (
        "subscriptions",
        "MAX_RESOURCES_REMEMBERED",
        1,
        "unrequested_notification/fail-acknowledges-another-resource",
        ["URIs of a subscription's filter: 1"],
    ),
    (
        "resource_subscriptions",
        "MAX_SESSIONS_REMEMBERED",
        1,
        two_sessions("resources/subscribe", {"uri": "file:///a"}),
        ["resource subscriptions of sessions: 5"],
    ),
    (
        "resource_subscriptions",
        "MAX_SUBSCRIPTIONS_REMEMBERED",
        0,
        "resource_update_without_subscription/fail-another",
        ["resource subscriptions of sessions: 2"],
    ),
    (
        "round_trips",
        "MAX_RESULTS_REMEMBERED",
        1,
        "input_required_wrong_method/pass-three-methods",
        ["results that ask for input: 1-2 (2)"],
    ),
    (
        "round_trips",
        "MAX_RESULTS_REMEMBERED",
        1,
        "missing_input_returned_error/pass-asked-again",
        ["request states that were given: 1"],
    ),
    (
        "round_trips",
        "MAX_RESULTS_A_KEY",
        1,
        "input_request_undeclared_capability/fail-declared-earlier-only",
        ["results that ask for input: 1"],
    ),
    (
        "round_trips",
        "MAX_RETRIES_REMEMBERED",
        1,
        retried_without_an_answer(),
        ["unanswered requests that give input: 1-2 (2)"],
    ),
    (
        "round_trips",
        "MAX_UNSETTLED",
        0,
        "request_state_misused/fail-none-was-given",
        ["requests of which it is open what input they give: 1"],
    ),
    (
        "round_trips",
        "MAX_INPUTS_REMEMBERED",
        1,
        "input_request_invalid_method/pass-three-methods",
        ["inputs of one request: 0"],
    ),
    (
        "server_era",
        "MAX_VERSIONS_REMEMBERED",
        1,
        "version_not_echoed/fail-supported-before",
        ["versions that an initialize was answered with: 2"],
    ),
    (
        "server_era",
        "MAX_VERSIONS_REMEMBERED",
        1,
        "unsupported_version_error_data/pass-supported-and-requested",
        ["versions in the server's own list: 0"],
    ),
    (
        "server_era",
        "MAX_CREDENTIALS_REMEMBERED",
        1,
        each_discovers(),
        ["capabilities that server/discover gave to different credentials: 1-2 (2)"],
    ),
    (
        "server_era",
        "MAX_CLIENTS_REMEMBERED",
        1,
        each_is_refused(),
        ["clients whose latest request was refused for its version: 1-2 (2)"],
    ),
]

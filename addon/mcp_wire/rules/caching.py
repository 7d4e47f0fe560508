"""Caching hints of 2026-07-28: ttlMs and cacheScope (server/utilities/caching)."""

from __future__ import annotations

from typing import Final

from mcp_wire.conversation.conversation import Conversation
from mcp_wire.conversation.facts import Message
from mcp_wire.conversation.pages import CACHE_SCOPES
from mcp_wire.judging.declaration import SATISFIED, CannotTell, RuleBook, Verdicts, Violated
from mcp_wire.protocol.methods import Method, method_of
from mcp_wire.protocol.profiles import MODERN_REVISIONS, R2026_07_28
from mcp_wire.wire.strict_json import MISSING, JsonValue, LongInteger

BOOK: Final = RuleBook("caching")
rule = BOOK.rule

CACHEABLE_RESULTS: Final = {R2026_07_28: "server/utilities/caching#cacheable-results"}
HINTS: Final = ("ttlMs", "cacheScope")
CUT_BY_HAND: Final = CannotTell("members may have been removed from this transcript by hand")


def _result_and_method(message: Message) -> tuple[dict[str, JsonValue], Method] | None:
    """The result of a client's request, and the method that it answers; None for everything else."""
    call, result = message.call, message.result
    if message.sender != "server" or call is None or call.sender != "client" or result is None:
        return None
    method = method_of(R2026_07_28, "client", call.method or "")
    return (result, method) if method is not None else None


@rule(
    "cache_hints_invalid",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites=CACHEABLE_RESULTS,
    says=(
        "Complete results of server/discover, of the four lists and of resources/read carry a ttlMs that is not "
        "negative, and a cacheScope `public` or `private`."
    ),
    fix='Add both members; `"ttlMs": 0, "cacheScope": "private"` is always safe.',
    exceptions=(
        "Results that ask for input carry no hints. A result without resultType is `result_type_invalid`. A fraction "
        "is a warning: the page asks for an integer, the schema only for a number; 300000.0 is an integer."
    ),
    evidence="The whole result, and the request that it answers.",
)
def cacheable_results_have_hints(message: Message, conversation: Conversation) -> Verdicts:
    found = _result_and_method(message)
    if found is None or not found[1].cacheable or found[0].get("resultType") != "complete":
        return
    ttl, scope = found[0].get("ttlMs", MISSING), found[0].get("cacheScope", MISSING)
    faults = [("ttlMs", _fault_of_ttl(ttl)), ("cacheScope", _fault_of_scope(scope))]
    shown = [f"{member} {fault}" for member, fault in faults if fault is not None]
    if not shown:
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    elif [fault for _, fault in faults if fault is not None] == [FRACTION]:
        yield Violated(message.path, f"In the {found[1].name} result {shown[0]}.", level="warning", about="fraction")
    else:
        yield Violated(message.path, f"In the {found[1].name} result {' and '.join(shown)}.")


FRACTION: Final = "is a fraction"


def _fault_of_ttl(ttl: object) -> str | None:
    if ttl is MISSING:
        return "is absent"
    if isinstance(ttl, LongInteger):
        return "is negative" if ttl.text.startswith("-") else None
    if isinstance(ttl, bool) or not isinstance(ttl, int | float):
        return "is no number"
    if ttl < 0:
        return "is negative"
    return FRACTION if isinstance(ttl, float) and not ttl.is_integer() else None


def _fault_of_scope(scope: object) -> str | None:
    if scope is MISSING:
        return "is absent"
    return None if isinstance(scope, str) and scope in CACHE_SCOPES else "is neither public nor private"


@rule(
    "cache_scope_inconsistent",
    level="error",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    cites={R2026_07_28: "server/utilities/caching#interaction-with-pagination"},
    says="All pages of one list have the same cacheScope.",
    fix="Decide the scope once for the whole list.",
    exceptions=(
        "Pages are linked by the cursor, for the same client and credentials. Where two pages with different scopes "
        "gave the same cursor, the link is not known. Different ttlMs are legal."
    ),
    evidence="The page that gave the cursor, and the page that it led to.",
)
def pages_share_their_scope(message: Message, conversation: Conversation) -> Verdicts:
    found = _result_and_method(message)
    if found is None or not found[1].paginated or message.call is None:
        return
    before, scope = conversation.pages.scope_before(message.call.request), found[0].get("cacheScope")
    if before is None or scope not in CACHE_SCOPES:
        return
    if scope == before:
        yield SATISFIED
    else:
        yield Violated(message.path, f"This page of the {found[1].name} is {scope}; the page before it was {before}.")


@rule(
    "cache_hint_on_interim",
    level="warning",
    party="server",
    layer="payload",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites=CACHEABLE_RESULTS,
    says="Results that ask for input carry no caching hints.",
    fix="Leave ttlMs and cacheScope out of them.",
    exceptions="The text says that such results carry none, with no MUST: a warning.",
    evidence="The whole result.",
)
def interim_results_have_no_hints(message: Message, _conversation: Conversation) -> Verdicts:
    found = _result_and_method(message)
    if found is None or found[0].get("resultType") != "input_required":
        return
    hints = [hint for hint in HINTS if hint in found[0]]
    if hints:
        yield Violated(message.path, f"A result that asks for input carries {' and '.join(hints)}.")
    else:
        yield SATISFIED


@rule(
    "public_cache_varies_by_auth",
    level="warning",
    party="server",
    layer="security",
    revisions=MODERN_REVISIONS,
    rule_set="extended",
    cites={R2026_07_28: "server/utilities/caching#cache-scope-field"},
    says="A result with cacheScope `public` is the same for all credentials.",
    fix="Use `private` for results that depend on the user.",
    exceptions=(
        "Data may change before it is stale, so one difference proves nothing: two credentials have to get their own "
        "result each, in turns and twice, each within the ttlMs of the one before. `_meta` and the order of lists do "
        "not count."
    ),
    evidence="Four whole results of equal requests with two credentials, and their times.",
)
def public_results_are_for_everybody(message: Message, conversation: Conversation) -> Verdicts:
    varies = conversation.public_results.varies_with(message)
    if varies is None:
        return
    if not varies:
        yield SATISFIED
    elif not conversation.payloads_whole:
        yield CUT_BY_HAND
    else:
        yield Violated(message.path, "Two credentials get two different results in turns, and both are called public.")

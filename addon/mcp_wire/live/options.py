"""The options of the addon: declared as text and checked here.

mitmproxy checks typed options of a script where nobody hears the answer: a value of the wrong type leaves the proxy
running without the script. So every option is a string for mitmproxy, and `refusal` says what is wrong with it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mitmproxy import flowfilter

from mcp_wire.protocol.profiles import PROFILES
from mcp_wire.reports.form_names import FILE_NAMES

PREFIX: Final = "mcp_"
AUTO: Final = "auto"
LIVE_PROFILES: Final = tuple(name for name, profile in PROFILES.items() if not profile.archived)
MAX_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked options. `profile` None: by evidence. `scope` None: MCP is recognised by evidence."""

    output: Path
    profile: str | None
    scope: flowfilter.TFilter | None
    extended: bool
    reports: tuple[str, ...] = ()
    annotate: bool = True
    view_redacted: bool = False
    redact_names: bool = False
    tuple_words: tuple[str, ...] = ()
    """What the operator says of the interoperability tuple, as `asserted_parts` takes it."""
    idempotency: Path | None = None
    """The file with decisions about repeating requests. It is read once, by `open_judge`."""


@dataclass(frozen=True, slots=True)
class _Option:
    default: str
    help: str
    allowed: str
    accepts: Callable[[str], bool]


class BadOption(Exception):
    """One sentence that names the option, the value and what is allowed."""


def _is_folder_name(value: str) -> bool:
    # A folder that cannot be made or written is the observer's to report; here only what can never be one.
    if not value.strip() or "\0" in value:
        return False
    path = Path(value).expanduser()
    return path.is_dir() or not path.exists()


def _names(value: str) -> list[str]:
    return [name.strip() for name in value.split(",")] if value.strip() else []


def _tuple_fault(value: str) -> str | None:
    """What is wrong with words for the interoperability tuple, as a clause that does not repeat them."""
    words = _names(value)
    if not words:
        return None
    # Imported when it is needed: it brings what redacts, which takes half a second.
    from mcp_wire.transcript.tuple_words import TupleError, asserted_parts

    try:
        asserted_parts(words)
    except TupleError as problem:
        return str(problem)
    return None


def _is_filter(value: str) -> bool:
    if not value:
        return True
    try:
        flowfilter.parse(value)
    except ValueError:
        return False
    return True


OPTIONS: Final[dict[str, _Option]] = {
    "mcp_output": _Option(
        "mcp-conformance",
        "Folder for findings, transcripts and the report; made if it is not there.",
        "the name of a folder, existing or new",
        _is_folder_name,
    ),
    "mcp_profile": _Option(
        AUTO,
        f"Protocol profile to judge by: {AUTO} (each conversation by its own evidence), {', '.join(LIVE_PROFILES)}.",
        f"one of {', '.join((AUTO, *LIVE_PROFILES))}",
        lambda value: value in (AUTO, *LIVE_PROFILES),
    ),
    "mcp_scope": _Option(
        "",
        "mitmproxy flow filter: exactly what it matches is judged. Empty: MCP traffic is recognised by evidence.",
        "a mitmproxy flow filter such as '~d example.com & ~u /mcp', or nothing",
        _is_filter,
    ),
    "mcp_extended": _Option(
        "false",
        "Judge by the extended rule set as well: true or false.",
        "true or false",
        lambda value: value in ("true", "false"),
    ),
    "mcp_annotate": _Option(
        "true",
        "Put markers and comments on flows, never over one that a person has set: true or false.",
        "true or false",
        lambda value: value in ("true", "false"),
    ),
    "mcp_view_redacted": _Option(
        "false",
        "Show the values of the traffic in the MCP content view redacted, for screens that others see: true or false.",
        "true or false",
        lambda value: value in ("true", "false"),
    ),
    "mcp_redact_names": _Option(
        "false",
        "Replace the names of tools by labels as well, in everything that is written and shown: true or false.",
        "true or false",
        lambda value: value in ("true", "false"),
    ),
    "mcp_tuple": _Option(
        "",
        "What is known of the interoperability tuple and the traffic does not show: NAME=VALUE, with commas between "
        "them. Of a list, each item is a NAME=VALUE of its own.",
        "NAME=VALUE, with commas between them, or nothing",
        lambda value: _tuple_fault(value) is None,
    ),
    "mcp_idempotency": _Option(
        "",
        "File with owners' decisions about what may be sent again after it was cut, for the recovery advice; read at "
        "the start, once.",
        "a file of idempotency decisions (docs/idempotency.md), or nothing",
        lambda value: "\0" not in value,  # it is read at the start, and may be gone later
    ),
    "mcp_reports": _Option(
        "",
        f"Forms of the report to write beside report.json, with commas between them: {', '.join(FILE_NAMES)}.",
        f"names out of {', '.join(FILE_NAMES)}, with commas between them, or nothing",
        lambda value: all(name in FILE_NAMES for name in _names(value)),
    ),
}


CHANGEABLE: Final = frozenset({"mcp_scope", "mcp_view_redacted"})
"""What can be set while the proxy runs; everything else only at the start."""


def refusal(name: str, value: object) -> str | None:
    """Why `value` is no value for this option, as one sentence; None if it is one."""
    option = OPTIONS[name]
    if isinstance(value, str) and option.accepts(value):
        return None
    if name == "mcp_tuple" and isinstance(value, str):
        # The value is not repeated: what is wrong with it may be that it is a secret.
        return f"{name} is refused: {_tuple_fault(value)}; allowed is {option.allowed}."
    profile = PROFILES.get(value) if isinstance(value, str) else None
    if name == "mcp_profile" and profile is not None and profile.archived:
        return (
            f"{name}={value} is refused: this archived profile is never chosen for live traffic; "
            f"allowed is {option.allowed}."
        )
    return f"{name}={_shown(value)} is refused: allowed is {option.allowed}."


def settings_of(values: Mapping[str, object]) -> Settings:
    """The checked settings. Raises BadOption for the first value that is refused."""
    for name in OPTIONS:
        problem = refusal(name, values[name])
        if problem is not None:
            raise BadOption(problem)
    text = {name: str(values[name]) for name in OPTIONS}
    return Settings(
        output=Path(text["mcp_output"]).expanduser(),
        profile=None if text["mcp_profile"] == AUTO else text["mcp_profile"],
        scope=flowfilter.parse(text["mcp_scope"]) if text["mcp_scope"] else None,
        extended=text["mcp_extended"] == "true",
        reports=tuple(_names(text["mcp_reports"])),
        annotate=text["mcp_annotate"] == "true",
        view_redacted=text["mcp_view_redacted"] == "true",
        redact_names=text["mcp_redact_names"] == "true",
        tuple_words=tuple(_names(text["mcp_tuple"])),
        idempotency=Path(text["mcp_idempotency"]).expanduser().absolute() if text["mcp_idempotency"] else None,
    )


def command_lines(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Command of `mcp-conformance` -> options with which it judges and redacts as this run does."""
    options = [word for said in settings.tuple_words for word in ("--tuple", said)]
    if settings.extended:
        options.append("--extended")
    if settings.redact_names:
        options.append("--redact-names")
    profile = ("--profile", settings.profile) if settings.profile is not None else ()
    decisions = ("--idempotency", str(settings.idempotency)) if settings.idempotency is not None else ()
    return {"convert": (*options, *profile), "validate": (*options, *decisions)}


def repair_deferred(deferred: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Look at what `--set` and config.yaml said before the options existed. Returns (refusals, warnings).

    mitmproxy sets these values after `load`, and where a value does not fit it stops loading without a word. A YAML
    boolean or number is what the same word is on the command line, and is made that.
    """
    refusals: list[str] = []
    warnings: list[str] = []
    for name in list(deferred):
        if name in OPTIONS:
            problem = _repair(name, deferred)
            if problem is not None:
                refusals.append(problem)
                # Set as it stands, it would silence the whole addon, this refusal included.
                del deferred[name]
        elif name.startswith(PREFIX):
            # Without the prefix: it is the same in all of them, and another addon's options may have it too.
            known = [option.removeprefix(PREFIX) for option in OPTIONS]
            near = difflib.get_close_matches(name.removeprefix(PREFIX), known, n=1, cutoff=0.75)
            if near:
                meant = f"did you mean {PREFIX}{near[0]}?"
                refusals.append(f"{name} is no option; {meant} The options are {', '.join(OPTIONS)}.")
            else:
                warnings.append(f"{name} is not an option of mcp_conformance.py; they are {', '.join(OPTIONS)}.")
    return refusals, warnings


def _repair(name: str, deferred: dict[str, Any]) -> str | None:
    value = deferred[name]
    given = getattr(value, "val", None)
    if isinstance(given, list):  # from --set, not yet converted
        allowed = OPTIONS[name].allowed
        if not given:
            return f"{name} was set without a value; allowed is {allowed}."
        if len(given) > 1:
            return f"{name} was set {len(given)} times ({', '.join(map(_shown, given))}); allowed is once, {allowed}."
        return None
    if isinstance(value, bool):
        deferred[name] = "true" if value else "false"
    elif not isinstance(value, str):
        return refusal(name, value)
    return None


def _shown(value: object) -> str:
    text = value if isinstance(value, str) and value.isprintable() and value else repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"

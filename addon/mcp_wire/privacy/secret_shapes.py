"""What secrets look like: the shapes by which their issuers make them known, each with who issues it.

A shape stands here only if it is issued with a mark of its own, so that ordinary text does not have it by chance. What
is secret by its place alone is found in `secret_search`. Written by hand: the libraries that keep such lists come with
HTTP clients, YAML readers or a git history scanner, and with hundreds of shapes that need a network to be told apart.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from mcp_wire.wire.strict_json import read_json

MAX_SECRET_LENGTH: Final = 8_192
"""Characters of a match that are looked at; servers take no longer header lines."""

RANDOM_LENGTH: Final = 16
"""Letters and digits from which on a text can be told to be drawn at random."""
VARIETY: Final = 8
"""Different characters that such a text has at least."""


PRIVATE_KEY: Final = "private key"


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret. `marks`: every secret of this kind holds one of these texts. The first group of `pattern`, or
    the whole of its match where it has none, is the secret; `proof` looks at that once more."""

    kind: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    proof: Callable[[str], bool] = lambda secret: True


def shapes_in(text: str) -> Iterator[tuple[str, int]]:
    """Kind and place of everything in a text that has the shape of a secret. Linear in the length of the text."""
    if _ANY_MARK.search(text) is None:
        return
    for shape in SHAPES:
        if not any(mark in text for mark in shape.marks):
            continue
        for found in shape.pattern.finditer(text):
            if shape.proof(found[shape.pattern.groups and 1][:MAX_SECRET_LENGTH]):
                yield shape.kind, found.start()


def has_secret_shape(text: str) -> bool:
    """Does a text hold something that its issuer made known as a secret?"""
    return next(shapes_in(text), None) is not None


def is_drawn_at_random(text: str) -> bool:
    """Is this as long and as mixed as what nobody has thought up? Random hexadecimal, Base32, Base62 and UUIDs are.

    Words, in whatever spelling, change between letters and digits seldom; so do dates, which have hardly any letters.
    """
    characters = [one for one in text if one.isalnum()]
    if len(characters) < RANDOM_LENGTH or len(set(characters)) < VARIETY or sum(map(str.isalpha, characters)) < 4:
        return False
    kinds = ["." if not one.isalnum() else "0" if one.isdigit() else "A" if one.isupper() else "a" for one in text]
    changes = Counter(one + other for one, other in pairwise(kinds) if one != other and "." not in (one, other))
    with_digits = sum(count for change, count in changes.items() if "0" in change)
    # An upper-case letter before a lower-case one begins a word.
    return with_digits >= 3 or 3 * (changes.total() - changes["Aa"]) >= len(characters)


def _issued(pattern: str) -> re.Pattern[str]:
    """The pattern, standing by itself rather than in the middle of a longer word."""
    return re.compile(rf"(?<![A-Za-z0-9_]){pattern}(?![A-Za-z0-9_])")


def _is_web_token(token: str) -> bool:
    """Its first part is a JOSE header: a JSON object with an algorithm (RFC 7515 4, RFC 7516 4)."""
    header = _json_of(token.partition(".")[0])
    return isinstance(header, dict) and isinstance(header.get("alg"), str)


def _json_of(part: str) -> object:
    try:
        return read_json(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))).value
    except (binascii.Error, ValueError):
        return None


def _has_variety(secret: str) -> bool:
    return any(map(str.isdigit, secret)) and any(map(str.isalpha, secret)) and len(set(secret)) >= VARIETY


SHAPES: Final[tuple[Shape, ...]] = (
    # RFC 7519: access tokens of most authorization servers. Signed ones have three parts, encrypted ones five.
    Shape(
        "JSON Web Token",
        ("eyJ",),
        re.compile(
            r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{0,8192}\.[A-Za-z0-9_-]{0,8192}"
            r"(?:\.[A-Za-z0-9_-]{1,8192}\.[A-Za-z0-9_-]{1,8192})?"
        ),
        _is_web_token,
    ),
    # RFC 7468, OpenSSH and OpenPGP: keys of TLS servers, SSH users and signers. The first line is enough.
    Shape(
        PRIVATE_KEY,
        ("PRIVATE KEY",),
        re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
    ),
    Shape(PRIVATE_KEY, ("PuTTY-User-Key-File-",), re.compile(r"PuTTY-User-Key-File-[0-9]")),
    Shape(PRIVATE_KEY, ("AGE-SECRET-KEY-1",), _issued(r"AGE-SECRET-KEY-1[A-Z0-9]{40,80}")),
    # Amazon: ids of long-lived and temporary keys. The key itself has no mark, and is never far from its id.
    Shape(
        "AWS access key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        _issued(r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})"),
        lambda secret: len(set(secret)) >= 8,
    ),
    # Google: API keys, OAuth access and refresh tokens, OAuth client secrets.
    Shape("Google API key", ("AIza",), _issued(r"AIza[A-Za-z0-9_-]{35}")),
    Shape("Google OAuth token", ("ya29.",), _issued(r"ya29\.[A-Za-z0-9_-]{20,512}")),
    Shape("Google OAuth token", ("1//0",), _issued(r"1//0[A-Za-z0-9_-]{40,512}")),
    Shape("Google OAuth client secret", ("GOCSPX-",), _issued(r"GOCSPX-[A-Za-z0-9_-]{20,64}")),
    # Azure: storage account keys, and client secrets of Entra ID with their mark in the middle.
    Shape("Azure storage key", ("AccountKey=",), re.compile(r"AccountKey=[A-Za-z0-9+/]{80,120}={0,2}")),
    Shape(
        "Azure client secret",
        ("Q~",),
        re.compile(r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])"),
        _has_variety,
    ),
    # Code hosts: personal, application, runner and deploy tokens.
    Shape("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _issued(r"gh[pousr]_[A-Za-z0-9]{36,255}")),
    Shape("GitHub token", ("github_pat_",), _issued(r"github_pat_[A-Za-z0-9_]{60,255}")),
    Shape(
        "GitLab token",
        ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-", "glft-", "glagent-", "gloas-"),
        _issued(r"gl(?:pat|dt|rt|cbt|ptt|soat|ft|agent|oas)-[A-Za-z0-9_.=-]{20,255}"),
        _has_variety,
    ),
    # Package registries and container registries: what is published under somebody's name.
    Shape("npm token", ("npm_",), _issued(r"(npm_[A-Za-z0-9]{36})"), _has_variety),
    Shape("PyPI token", ("pypi-AgE",), _issued(r"pypi-AgE[A-Za-z0-9_-]{50,1024}")),
    Shape("Docker token", ("dckr_pat_", "dckr_oat_"), _issued(r"dckr_[po]at_[A-Za-z0-9_-]{20,64}")),
    # Model vendors: what MCP hosts have in their environment. All begin with sk-, so what follows has to look random.
    Shape(
        "model vendor's API key",
        ("sk-",),
        re.compile(r"(?<![A-Za-z0-9_-])(sk-(?:[a-z]{2,8}[0-9]{0,2}-){0,3}[A-Za-z0-9_-]{20,300})(?![A-Za-z0-9_-])"),
        lambda secret: is_drawn_at_random(secret[3:]),
    ),
    Shape("Hugging Face token", ("hf_",), _issued(r"(hf_[A-Za-z0-9]{34,40})"), lambda secret: len(set(secret)) >= 12),
    Shape("Groq API key", ("gsk_",), _issued(r"(gsk_[A-Za-z0-9]{40,64})"), _has_variety),
    Shape("xAI API key", ("xai-",), _issued(r"(xai-[A-Za-z0-9]{60,100})"), _has_variety),
    Shape("Replicate token", ("r8_",), _issued(r"(r8_[A-Za-z0-9]{37})"), _has_variety),
    # What MCP servers most often stand in front of: chat, tickets, documents, payments, mail, monitoring, clouds.
    Shape("Slack token", ("xox",), _issued(r"xox[a-z](?:\.xox[a-z])?-[0-9]{1,16}-[A-Za-z0-9-]{10,255}")),
    Shape("Slack token", ("xapp-",), _issued(r"xapp-[0-9]-[A-Z0-9]{8,16}-[0-9]{8,16}-[A-Za-z0-9]{20,128}")),
    Shape(
        "Slack webhook",
        ("hooks.slack.com/",),
        re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Z0-9]{6,16}/[A-Za-z0-9/_-]{10,128}"),
    ),
    Shape("Telegram bot token", (":AA",), _issued(r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}")),
    Shape("Atlassian token", ("ATATT3", "ATCTT3"), _issued(r"AT[AC]TT3[A-Za-z0-9_=-]{60,255}")),
    Shape("Linear API key", ("lin_api_", "lin_oauth_"), _issued(r"lin_(?:api|oauth)_[A-Za-z0-9]{32,80}")),
    Shape("Notion token", ("ntn_",), _issued(r"(ntn_[A-Za-z0-9]{40,60})"), _has_variety),
    Shape("Figma token", ("figd_",), _issued(r"(figd_[A-Za-z0-9_-]{36,60})"), _has_variety),
    Shape("Stripe key", ("k_live_", "k_test_"), _issued(r"([rs]k_(?:live|test)_[A-Za-z0-9]{16,255})"), _has_variety),
    Shape("webhook signing secret", ("whsec_",), _issued(r"whsec_[A-Za-z0-9+/]{24,64}=?")),
    Shape("Shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), _issued(r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}")),
    Shape("SendGrid key", ("SG.",), _issued(r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}")),
    Shape("Sentry token", ("sntrys_", "sntryu_"), _issued(r"sntry[su]_[A-Za-z0-9_=+/-]{40,512}")),
    Shape("Postman API key", ("PMAK-",), _issued(r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}")),
    Shape("DigitalOcean token", ("dop_v1_", "doo_v1_", "dor_v1_"), _issued(r"do[opr]_v1_[a-f0-9]{64}")),
    Shape("Databricks token", ("dapi",), _issued(r"(dapi[a-f0-9]{32}(?:-[0-9])?)"), _has_variety),
    Shape("Supabase token", ("sbp_",), _issued(r"sbp_[a-f0-9]{40}")),
    Shape("Vault token", ("hvs.", "hvb.", "hvr."), _issued(r"(hv[sbr]\.[A-Za-z0-9_-]{24,255})"), _has_variety),
)
"""In the order of the table; a secret that has two shapes is told twice."""

_ANY_MARK: Final = re.compile("|".join(re.escape(mark) for shape in SHAPES for mark in shape.marks))

"""Secrets that nobody has, of every kind that is known here. Each is put together when a test runs, so that no scanner
takes this file for a leak."""

from __future__ import annotations

import base64
import json
import random
import string
from typing import Final

_chance: Final = random.Random(20_260_728)
ALPHANUMERIC: Final = string.ascii_letters + string.digits
URL_SAFE: Final = ALPHANUMERIC + "-_"
HEXADECIMAL: Final = "0123456789abcdef"
BASE32: Final = string.ascii_uppercase + "234567"


def drawn(length: int, alphabet: str = ALPHANUMERIC) -> str:
    """Characters at random, the same in every run; the first and the last are letters or digits."""
    inner = "".join(_chance.choices(alphabet, k=length - 2))
    return _chance.choice(alphabet[:16]) + inner + _chance.choice(alphabet[:16])


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


HEADER: Final = encoded({"alg": "RS256", "typ": "JWT"})

BY_SHAPE: Final = {
    "JSON Web Token": [
        f"{HEADER}.{encoded({'sub': 'nobody', 'exp': 1})}.{drawn(86, URL_SAFE)}",
        f"{encoded({'alg': 'dir', 'enc': 'A256GCM'})}..{drawn(16)}.{drawn(60)}.{drawn(22)}",
        f"{encoded({'alg': 'none'})}.{encoded({'sub': 'nobody'})}.",
    ],
    "private key": [
        "-----BEGIN " + "PRIVATE KEY-----",
        "-----BEGIN " + "RSA PRIVATE KEY-----",
        "-----BEGIN " + "OPENSSH PRIVATE KEY-----",
        "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----",
        "PuTTY-" + "User-Key-File-3",
        "AGE-SECRET-" + "KEY-1" + drawn(58, BASE32),
    ],
    "AWS access key": ["AK" + "IA" + drawn(16, BASE32), "AS" + "IA" + drawn(16, BASE32)],
    "Google API key": ["AI" + "za" + drawn(35, URL_SAFE)],
    "Google OAuth token": ["ya" + "29." + drawn(120, URL_SAFE), "1/" + "/0" + drawn(60, URL_SAFE)],
    "Google OAuth client secret": ["GOC" + "SPX-" + drawn(28, URL_SAFE)],
    "Azure storage key": ["Account" + "Key=" + drawn(86, ALPHANUMERIC + "+/") + "=="],
    "Azure client secret": [drawn(3) + "8" + "Q~" + drawn(34, ALPHANUMERIC + "_~.-")],
    "GitHub token": [*("gh" + kind + "_" + drawn(36) for kind in "pousr"), "github_" + "pat_" + drawn(82)],
    "GitLab token": ["gl" + "pat-" + drawn(20, URL_SAFE), "gl" + "rt-" + drawn(20, URL_SAFE)],
    "npm token": ["np" + "m_" + drawn(36)],
    "PyPI token": ["py" + "pi-AgEIcHlwaS5vcmc" + drawn(120, URL_SAFE)],
    "Docker token": ["dckr_" + "pat_" + drawn(27, URL_SAFE)],
    "model vendor's API key": [
        "sk" + "-" + drawn(48),
        "sk" + "-proj-" + drawn(120, URL_SAFE),
        "sk" + "-ant-api03-" + drawn(93, URL_SAFE) + "AA",
        "sk" + "-or-v1-" + drawn(64, HEXADECIMAL),
    ],
    "Hugging Face token": ["h" + "f_" + drawn(34, string.ascii_letters)],
    "Groq API key": ["gs" + "k_" + drawn(52)],
    "xAI API key": ["xa" + "i-" + drawn(80)],
    "Replicate token": ["r" + "8_" + drawn(37)],
    "Slack token": [
        "xo" + "xb-" + drawn(12, string.digits) + "-" + drawn(13, string.digits) + "-" + drawn(24),
        "xo" + "xe.xoxp-1-" + drawn(160),
        "xa"
        + "pp-1-A"
        + drawn(10, string.ascii_uppercase)
        + "-"
        + drawn(13, string.digits)
        + "-"
        + drawn(64, HEXADECIMAL),
    ],
    "Slack webhook": [
        "https://hooks." + "slack.com/services/T" + drawn(8, BASE32) + "/B" + drawn(10, BASE32) + "/" + drawn(24)
    ],
    "Telegram bot token": [drawn(10, string.digits) + ":" + "AA" + drawn(33, URL_SAFE)],
    "Atlassian token": ["ATA" + "TT3xFfGF0" + drawn(180, URL_SAFE) + "=" + drawn(8, "0123456789ABCDEF")],
    "Linear API key": ["lin_" + "api_" + drawn(40)],
    "Notion token": ["nt" + "n_" + drawn(46)],
    "Figma token": ["fi" + "gd_" + drawn(40, URL_SAFE)],
    "Stripe key": ["sk_" + "live_" + drawn(24), "rk_" + "test_" + drawn(99)],
    "webhook signing secret": ["wh" + "sec_" + drawn(32)],
    "Shopify token": ["sh" + "pat_" + drawn(32, HEXADECIMAL)],
    "SendGrid key": ["S" + "G." + drawn(22, URL_SAFE) + "." + drawn(43, URL_SAFE)],
    "Sentry token": ["sntr" + "yu_" + drawn(64, HEXADECIMAL)],
    "Postman API key": ["PM" + "AK-" + drawn(24, HEXADECIMAL) + "-" + drawn(34, HEXADECIMAL)],
    "DigitalOcean token": ["dop_" + "v1_" + drawn(64, HEXADECIMAL)],
    "Databricks token": ["da" + "pi" + drawn(32, HEXADECIMAL)],
    "Supabase token": ["sb" + "p_" + drawn(40, HEXADECIMAL)],
    "Vault token": ["hv" + "s." + drawn(90, URL_SAFE)],
}
"""Kind -> secrets that show themselves wherever they stand."""

ANYBODYS: Final = {
    "hexadecimal": drawn(32, HEXADECIMAL),
    "UUID": "-".join(drawn(length, HEXADECIMAL) for length in (8, 4, 4, 4, 12)),
    "Base32": drawn(32, BASE32),
    "URL-safe Base64": drawn(43, URL_SAFE),
    "letters and digits": drawn(24),
}
"""Secrets without a mark: only where they stand says what they are."""

BASIC: Final = base64.b64encode(b"nobody:" + drawn(12).encode()).decode()

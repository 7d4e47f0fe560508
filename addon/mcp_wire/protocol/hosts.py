"""What the name or address of a host says of where it is."""

from __future__ import annotations

import ipaddress
from typing import Final

_PRIVATE_SUFFIXES: Final = (".local", ".internal", ".localhost", ".lan", ".home", ".home.arpa", ".svc", ".test")


def is_loopback(host: str) -> bool:
    """The own machine. `host` in lower case, without brackets."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = address_of(host)
    return address is not None and address.is_loopback


def is_private(host: str) -> bool:
    """Not reachable from the Internet, by its name or its address."""
    address = address_of(host)
    if address is not None:
        return address.is_private
    return "." not in host or host.endswith(_PRIVATE_SUFFIXES)


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None

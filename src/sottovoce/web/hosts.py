"""Which name a request was sent to: a page of another site must not reach a service under a name of its own.

Such a page can have its name lead to any address, also to this machine's (DNS rebinding), and browsers then take the
service for a part of that site. But the name stays in the header `Host`. An address written in digits is nobody's name.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection

from sottovoce.web.http import Request

HOST_HEADER = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?", re.ASCII)

LOOPBACK_ADDRESSES = ("127.0.0.1", "::1", "")
"""Where a request from this machine comes from; one over a socket of the file system has no address."""


def host_of(request: Request) -> str:
    """The name or address, without brackets and port, in the one header `Host`; nothing if there is none or two."""
    lines = [value.decode("latin-1") for name, value in request.headers if name == b"host"]
    found = HOST_HEADER.fullmatch(lines[0]) if len(lines) == 1 else None
    return found[1].strip("[]").rstrip(".").lower() if found else ""


def is_own_host(host: str, names: Collection[str] = ()) -> bool:
    """Whether a service may be asked for under this name: an address, localhost, or one of its names.

    >>> [is_own_host(host, ["north.example"]) for host in ("10.0.0.7", "localhost", "north.example", "evil.example")]
    [True, True, True, False]
    """
    return _address(host) is not None or host == "localhost" or host in {name.lower() for name in names}


def is_loopback(host: str) -> bool:
    """Whether this names the machine itself, and nothing else can."""
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def from_this_machine(request: Request) -> bool:
    """Whether a program on this machine sent this itself: not a page, and not somebody else through a proxy."""
    passed_on = request.header(b"forwarded") or request.header(b"x-forwarded-for")
    near = request.address in LOOPBACK_ADDRESSES and is_loopback(host_of(request))
    return near and not passed_on and not from_a_page(request)


def from_a_page(request: Request) -> bool:
    """Whether the page of another site sent this; browsers say so."""
    return bool(request.header(b"origin")) or request.header(b"sec-fetch-site") in ("cross-site", "same-site")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None

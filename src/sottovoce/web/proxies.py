"""Where a request comes from, when servers in front of this one pass requests on.

Headers say whom a request was passed on for, and everybody can write headers. So they are believed only as far as they
were written by servers that the operator trusts: read from the right, the first address that is not trusted counts.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence

from sottovoce.core.errors import ParameterError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Headers = Iterable[tuple[bytes, bytes]]

MAX_HOPS = 32
"""Entries of a header that are looked at, from the right."""

MAPPED_BITS = 96
"""Bits before the IPv4 address in an IPv6 address that stands for it (::ffff:1.2.3.4)."""

ADDRESS_AND_PORT = re.compile(r"(?:\[(?P<six>[^\]]*)\]|(?P<four>[^:\[\]]*))(?::\d{1,5})?")
FORWARDED_PAIR = re.compile(r'\s*([\w!#$%&\'*+.^`|~-]+)=("(?:[^"\\]|\\.)*"|[^\s";,]*)\s*', re.ASCII)


class Proxies:
    """The servers that are trusted to say whom they pass a request on for: addresses, or networks such as 10.0.0.0/8.

    >>> trusted = Proxies(["127.0.0.1", "10.0.0.0/8"])
    >>> headers = [(b"x-forwarded-for", b"1.1.1.1, 203.0.113.9, 10.0.0.7")]
    >>> trusted.client("127.0.0.1", headers), trusted.client("198.51.100.1", headers)
    ('203.0.113.9', '198.51.100.1')
    """

    def __init__(self, trusted: Sequence[str] = ()) -> None:
        self.networks = tuple(map(_network, trusted))

    def trusts(self, address: str) -> bool:
        found = _address(address) if self.networks else None
        return found is not None and any(found in network for network in self.networks)

    def client(self, peer: str, headers: Headers) -> str:
        """The address that a request came from, as far as that is known for sure.

        If the two kinds of header differ, one of them was not written by the proxy, and neither is believed.
        """
        if not self.trusts(peer):
            return peer
        lines = list(headers)
        told = {self._walk(peer, hops) for hops in (_forwarded(lines), _for(lines)) if hops}
        return told.pop() if len(told) == 1 else peer

    def _walk(self, peer: str, hops: Sequence[str]) -> str:
        """From the right as long as whoever wrote an entry is trusted; what is no address ends the walk."""
        known = peer
        for hop in reversed(hops[-MAX_HOPS:]):
            found = _address(hop)
            if found is None:
                return known
            known = str(found)
            if not self.trusts(known):
                return known
        return known


def _network(text: str) -> Network:
    """A network, of IPv4 also where it is written in IPv6, as the addresses are that are looked up in it."""
    try:
        found = ipaddress.ip_network(text, strict=False)
        mapped = found.network_address.ipv4_mapped if isinstance(found, ipaddress.IPv6Network) else None
        if mapped is None or found.prefixlen < MAPPED_BITS:
            return found
        return ipaddress.ip_network((mapped, found.prefixlen - MAPPED_BITS))
    except ValueError:
        raise ParameterError(
            f"a proxy must be an address or a network such as 10.0.0.0/8 or ::1, got {text!r:.60}"
        ) from None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address, of IPv4 also where it is written in IPv6; None if it is none."""
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None) or found


def _lines(headers: Headers, name: bytes) -> str:
    """A header that may occur several times, as one line."""
    return ",".join(value.decode("latin-1") for key, value in headers if key == name)


def _for(headers: Headers) -> list[str]:
    """The entries of X-Forwarded-For, without ports."""
    return [_without_port(entry.strip()) for entry in _lines(headers, b"x-forwarded-for").split(",") if entry.strip()]


def _forwarded(headers: Headers) -> list[str]:
    """The addresses in Forwarded, by RFC 7239: one for each element, and nothing for one that names none."""
    return [_element(element) for element in _split(_lines(headers, b"forwarded"), ",") if element.strip()]


def _element(text: str) -> str:
    for pair in _split(text, ";"):
        found = FORWARDED_PAIR.fullmatch(pair)
        if found and found[1].lower() == "for":
            value = found[2]
            return _without_port(re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value)
    return ""


def _split(text: str, mark: str) -> list[str]:
    """Parts between marks that stand outside quotes."""
    parts, quoted, escaped = [""], False, False
    for character in text:
        if character == mark and not quoted:
            parts.append("")
            continue
        parts[-1] += character
        quoted = quoted != (character == '"' and not escaped)
        escaped = quoted and character == "\\" and not escaped
    return parts


def _without_port(text: str) -> str:
    """An address, which may be in brackets and have a port; an address of IPv6 may also stand alone."""
    found = ADDRESS_AND_PORT.fullmatch(text)
    return (found["six"] or found["four"] or "") if found else text

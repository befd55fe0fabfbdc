"""Limits on how much one address may ask for. Addresses are kept in memory only, and not for long."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from sottovoce.core.errors import ParameterError

MAX_ADDRESSES = 2**16
"""Addresses remembered; the one that was quiet for longest is forgotten first."""

MIN_REQUESTS_PER_SECOND = 1e-6
"""With a lower rate the time to wait would be uselessly long."""

SMALL_BODY_BYTES = 2**15
"""A body as small as this finds room when large ones have taken all that there is for them."""


class RateLimit:
    """A bucket of tokens for each address: `burst` requests at once, and `rate` more each second.

    >>> limit = RateLimit(rate=1.0, burst=2, clock=lambda: 0.0)
    >>> [limit.wait("127.0.0.1") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        if not MIN_REQUESTS_PER_SECOND <= rate < math.inf:
            raise ParameterError(
                f"a rate must be at least {MIN_REQUESTS_PER_SECOND:g} requests a second, and finite, got {rate}"
            )
        self.rate, self.burst, self.clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str, cost: float = 1.0) -> float:
        """Seconds until a request from this address is welcome; 0.0 if it is now, and then its cost is counted."""
        now, key = self.clock(), network(address)
        left, last = self._buckets.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - last) * self.rate)
        taken = left >= cost
        self._buckets[key] = (left - cost if taken else left, now)
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (cost - left) / self.rate


class AddressQuota:
    """How many of something each address has, and all together; neither may have too many.

    >>> places = AddressQuota(most=3, each=2)
    >>> [places.take(address) for address in ("10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3")]
    [True, True, False, True, False]
    """

    def __init__(self, most: int, each: int) -> None:
        self.most, self.each = most, each
        self._taken: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._taken.total()

    def take(self, address: str) -> bool:
        """Take a place, if there is one; whoever has one must give it back."""
        key = network(address)
        if len(self) >= self.most or self._taken[key] >= self.each:
            return False
        self._taken[key] += 1
        return True

    def give(self, address: str) -> None:
        key = network(address)
        self._taken[key] -= 1
        if not self._taken[key]:
            del self._taken[key]


class ByteBudget:
    """The bytes of bodies that are kept at a time: over all connections, and of one address, by default half of that.

    A small body still finds room when large ones have taken it all, up to a quarter more: reports of people are small.

    >>> budget = ByteBudget(2**20)
    >>> budget.take("10.0.0.1", 0, 2**19), budget.take("10.0.0.1", 2**19, 2**16), budget.take("10.0.0.1", 0, 2**10)
    (True, False, True)
    """

    def __init__(self, most: int, each: int | None = None) -> None:
        self.most, self.each, self.taken = most, most // 2 if each is None else each, 0
        self._by_address: Counter[str] = Counter()

    def take(self, address: str, held: int, count: int) -> bool:
        """Take room for `count` more bytes of a body of which `held` are here already; False if there is none."""
        key = network(address)
        more = self.most // 4 if held + count <= SMALL_BODY_BYTES else 0
        room = self.taken + count <= self.most + more and self._by_address[key] + count <= self.each + more
        if room:
            self.taken += count
            self._by_address[key] += count
        return room

    def give(self, address: str, count: int) -> None:
        key = network(address)
        self.taken -= count
        self._by_address[key] -= count
        if not self._by_address[key]:
            del self._by_address[key]


def network(address: str) -> str:
    """An address, or the network of one in IPv6, where everybody has 2^64 of them."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found), 64), strict=False))

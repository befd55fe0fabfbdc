"""Limits on how much one address may ask for. Addresses are kept in memory only, and not for long."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

MOST = 2**16
"""Addresses remembered; the one that was quiet for longest is forgotten first."""


class RateLimit:
    """A bucket of tokens for each address: `burst` requests at once, and `rate` more each second.

    >>> limit = RateLimit(rate=1.0, burst=2, clock=lambda: 0.0)
    >>> [limit.wait("127.0.0.1") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds until a request from this address is welcome; 0.0 if it is now, and then it is counted."""
        now, key = self.clock(), _network(address)
        left, last = self._buckets.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - last) * self.rate)
        taken = left >= 1
        self._buckets[key] = (left - 1 if taken else left, now)
        if len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (1 - left) / self.rate


def _network(address: str) -> str:
    """An address, or the network of one in IPv6, where everybody has 2^64 of them."""
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network((address.partition("%")[0], 64), strict=False))
    except ValueError:
        return address

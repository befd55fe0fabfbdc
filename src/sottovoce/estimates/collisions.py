"""What values that share buckets by chance do to estimates from hashed reports."""

from __future__ import annotations


def shared(buckets: int, hashes: int) -> float:
    """The probability r that one bucket of a value is among those of another value."""
    return 1 - (1 - 1 / buckets) ** hashes


def noise(p: float, q: float, buckets: int, hashes: int) -> tuple[float, float]:
    """The variance of one report about a value: of a respondent with another value, and of one who holds it.

    With h functions, the mean support of h buckets counts; two of them coincide with probability 1/m.
    """
    m, h, r = buckets, hashes, shared(buckets, hashes)
    coins = (1 + (h - 1) / m) / h
    both = 1 - 2 * (1 - r) + (1 - 2 / m) ** h  # Two different buckets are both among those of another value.
    together = r / m + (1 - 1 / m) * both - r * r
    hits = (r * (1 - r) + (h - 1) * together) / h
    other = coins * (r * p * (1 - p) + (1 - r) * q * (1 - q)) + (p - q) ** 2 * hits
    apart = ((p - q) * (1 - r)) ** 2
    return other / apart, coins * p * (1 - p) / apart

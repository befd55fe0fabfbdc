"""Frequent texts that nobody listed: found, tested on other people than those who found them, and estimated."""

from sottovoce.discovery.discover import discover
from sottovoce.discovery.found import Found

__all__ = ["Found", "discover"]

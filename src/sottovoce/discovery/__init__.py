"""Frequent texts that nobody listed: found, tested on other people than those who found them, and estimated."""

from sottovoce.discovery.discover import discover
from sottovoce.discovery.found import Found
from sottovoce.discovery.rounds import Ask, Rounds

__all__ = ["Ask", "Found", "Rounds", "discover"]

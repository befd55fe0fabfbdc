"""Frequent texts that nobody listed: found, tested on other people than those who found them, and estimated."""

from sottovoce.statistics.discovery.discover import discover
from sottovoce.statistics.discovery.found import Found
from sottovoce.statistics.discovery.rounds import Ask, Rounds

__all__ = ["Ask", "Found", "Rounds", "discover"]

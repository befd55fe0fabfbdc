"""Mechanisms made of others: sets, key-value pairs, ranges, several attributes."""

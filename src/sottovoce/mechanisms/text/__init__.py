"""Mechanisms over texts that nobody listed: hashing to buckets, Bloom filters, discovery."""

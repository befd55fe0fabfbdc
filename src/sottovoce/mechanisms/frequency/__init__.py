"""Mechanisms for one value of a list. All are pure: a report supports a set of values."""

"""Intervals that hold at every peek, for results that are watched live."""

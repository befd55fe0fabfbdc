"""Mechanisms for numbers: their mean, and their distribution."""

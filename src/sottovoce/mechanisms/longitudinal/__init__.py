"""Mechanisms for answers that are sent again and again: the device remembers something."""

"""Demonstrations: a town that is asked by devices and HTTP (`whole`), and occupations from a census (`adult`)."""

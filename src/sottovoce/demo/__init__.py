"""Demonstrations: a town that is asked by devices and HTTP (`town_survey`), and occupations from a census (`adult`)."""

"""The tables of a device's or curator's store, and the way from older versions to this one.

Version 1 kept a secret, and with each draft a digest of the answers under it: who had the file could try all answers.
Version 2 dropped both, but its file may still hold those bytes. In version 3 the file was written anew.
Version 4 knows by which personal key a survey was begun.
Version 5 has a table for the steps of curators, which were kept among the reports, with the number of a step as wave.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from sottovoce.core.sqlite_file import REWRITE, Upgrade

APPLICATION_ID = 0x736F7474  # "sott"
VERSION = 5

OWNER = "CREATE TABLE owner (budget REAL NOT NULL, delta REAL NOT NULL, unit REAL)"
DRAFTS = """CREATE TABLE drafts (
    number INTEGER PRIMARY KEY, digest TEXT NOT NULL, wave INTEGER NOT NULL, body BLOB NOT NULL, submission BLOB,
    costs TEXT NOT NULL, UNIQUE (digest, wave)
)"""
HIDING = "CREATE TABLE hiding (way TEXT NOT NULL, salt BLOB NOT NULL, proof BLOB NOT NULL)"
"""How the names of values in memories are hidden: no row, or one. What it takes besides is not in the file."""
CURATOR_STEPS = """CREATE TABLE curator_steps (
    task TEXT NOT NULL, step TEXT NOT NULL, answer BLOB NOT NULL, at TEXT NOT NULL, PRIMARY KEY (task, step)
)"""
"""What a curator gave out in each step of a task, by the digest of the task."""
SCHEMA = (
    OWNER,
    HIDING,
    "CREATE TABLE pins (survey TEXT PRIMARY KEY, digest TEXT NOT NULL, key TEXT)",
    """CREATE TABLE charges (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, survey TEXT NOT NULL, digest TEXT NOT NULL, wave INTEGER NOT NULL,
    question TEXT NOT NULL, epsilon REAL NOT NULL
)""",
    """CREATE TABLE memories (
    digest TEXT NOT NULL, question TEXT NOT NULL, memory TEXT NOT NULL, PRIMARY KEY (digest, question)
)""",
    DRAFTS,
    """CREATE TABLE reports (
    digest TEXT NOT NULL, wave INTEGER NOT NULL, body BLOB NOT NULL, at TEXT NOT NULL, PRIMARY KEY (digest, wave)
)""",
    CURATOR_STEPS,
)

FROM_VERSION_1 = (
    "ALTER TABLE owner RENAME TO old_owner",
    OWNER,
    "INSERT INTO owner SELECT budget, delta, unit FROM old_owner",
    "DROP TABLE old_owner",
    "DROP TABLE drafts",  # Several for one wave, of which the owner could choose. None of them was sent or charged.
    DRAFTS,
    HIDING,
)

TASK_DIGEST = "length(digest) = 64 AND digest NOT GLOB '*[^0-9a-f]*'"
"""Tells the digest of a task from that of a survey, which begins with `sha256:`."""

FROM_VERSION_4 = (
    CURATOR_STEPS,
    f"""INSERT INTO curator_steps
    SELECT digest, CASE wave WHEN 0 THEN 'agree' WHEN 1 THEN 'share' WHEN 2 THEN 'confirm' WHEN 3 THEN 'sum' END,
    body, at FROM reports WHERE {TASK_DIGEST}""",  # noqa: S608
    f"DELETE FROM reports WHERE {TASK_DIGEST}",  # noqa: S608
)


def make(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty database."""
    _run(connection, SCHEMA)


def _run(connection: sqlite3.Connection, statements: tuple[str, ...]) -> None:
    for statement in statements:
        connection.execute(statement)


def _add_personal_key(connection: sqlite3.Connection) -> None:
    """Earlier programs added the column before they noted the version: it may be there already."""
    if "key" not in {row[1] for row in connection.execute("PRAGMA table_info(pins)")}:
        connection.execute("ALTER TABLE pins ADD COLUMN key TEXT")


UPGRADES: Mapping[int, Upgrade | None] = {
    1: lambda connection: _run(connection, FROM_VERSION_1),
    2: REWRITE,
    3: _add_personal_key,
    4: lambda connection: _run(connection, FROM_VERSION_4),
}
"""How a file leaves each version for the next."""

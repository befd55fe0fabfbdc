"""The tables of a device's store, and the way from older versions to this one.

Version 1 kept a secret, and with each draft a digest of the answers under it: who had the file could try all answers.
Version 2 has the tables of today, but its file may still hold those bytes. In version 3 the file was written anew.
Version 4 knows by which personal key a survey was begun.
"""

from __future__ import annotations

import sqlite3

APPLICATION = 0x736F7474  # "sott"
FIRST_VERSION = 1
TABLES_OF_TODAY = 2
VERSION = 4

OWNER = "CREATE TABLE owner (budget REAL NOT NULL, delta REAL NOT NULL, unit REAL)"
DRAFTS = """CREATE TABLE drafts (
    number INTEGER PRIMARY KEY, digest TEXT NOT NULL, wave INTEGER NOT NULL, body BLOB NOT NULL, submission BLOB,
    costs TEXT NOT NULL, UNIQUE (digest, wave)
)"""
HIDING = "CREATE TABLE hiding (way TEXT NOT NULL, salt BLOB NOT NULL, proof BLOB NOT NULL)"
"""How the names of values in memories are hidden: no row, or one. What it takes besides is not in the file."""
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


def make(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty database."""
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    set_version(connection, VERSION)


def update(connection: sqlite3.Connection, version: int) -> None:
    """Bring the tables up to date, inside a transaction. What they held is then to be written over."""
    if version == FIRST_VERSION:
        for statement in FROM_VERSION_1:
            connection.execute(statement)
        set_version(connection, TABLES_OF_TODAY)
    if "key" not in {row[1] for row in connection.execute("PRAGMA table_info(pins)")}:
        connection.execute("ALTER TABLE pins ADD COLUMN key TEXT")


def rewrite(connection: sqlite3.Connection) -> None:
    """Write the whole file anew, outside a transaction: no byte stays of what was ever deleted from it."""
    connection.execute("PRAGMA temp_store = MEMORY")  # The copy does not lie in a folder that others share.
    connection.execute("VACUUM")
    set_version(connection, VERSION)


def set_version(connection: sqlite3.Connection, version: int) -> None:
    connection.execute(f"PRAGMA user_version = {version}")

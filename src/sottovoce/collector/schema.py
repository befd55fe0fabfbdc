"""The tables of a store, and how a store of an older version becomes one of this version.

There is no column for who sent a report, from where, or when. A tally is a vector of counts in parts, so that a report
that changes few counts writes few bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sottovoce.core.errors import StoreError

VERSION = 4


class Runner(Protocol):
    """What runs the statements: {blob}, {whole}, {keyed} and {empty} are put in by the dialect."""

    def script(self, statements: str) -> None: ...

    def finds(self, statement: str) -> bool: ...


def version_1(store: Runner) -> None:
    """Surveys, reports, tallies and tokens."""
    store.script("""
        CREATE TABLE surveys (
            number {whole} PRIMARY KEY, id TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, document {blob} NOT NULL,
            state TEXT NOT NULL, published_at TEXT NOT NULL, closed_at TEXT
        );
        CREATE TABLE reports (
            survey {whole} NOT NULL, id {blob} NOT NULL, wave {whole} NOT NULL, covariates TEXT NOT NULL,
            body {blob} NOT NULL, PRIMARY KEY (survey, id)
        ) {keyed};
        CREATE TABLE tallies (
            survey {whole} NOT NULL, wave {whole} NOT NULL, covariates TEXT NOT NULL, part {whole} NOT NULL,
            counts {blob} NOT NULL, PRIMARY KEY (survey, wave, covariates, part)
        ) {keyed};
        CREATE TABLE tokens (
            hash TEXT PRIMARY KEY, role TEXT NOT NULL, name TEXT NOT NULL UNIQUE, created TEXT NOT NULL
        );
    """)


def version_2(store: Runner) -> None:
    """Invitations: a hash for each, and whether it is spent."""
    store.script("""
        ALTER TABLE surveys ADD COLUMN invited {whole} NOT NULL DEFAULT 0;
        CREATE TABLE invitations (
            survey {whole} NOT NULL, hash {blob} NOT NULL, spent {whole} NOT NULL, PRIMARY KEY (survey, hash)
        ) {keyed};
    """)


def version_3(store: Runner) -> None:
    """The random ids of the batches that came from shufflers, each taken once."""
    store.script("CREATE TABLE batches (survey {whole} NOT NULL, id {blob} NOT NULL, PRIMARY KEY (survey, id)) {keyed}")


def version_4(store: Runner) -> None:
    """Reports that wait with their invitations, locked, and the name of the key that opens them.

    The places of the rows that an older version wrote tell which invitation was spent by which report. Rows of one
    transaction, in the order of their hashes and ids, do not.
    """
    store.script("""
        CREATE TABLE waiting (
            invitation {blob} PRIMARY KEY, report {blob} NOT NULL UNIQUE, survey {whole} NOT NULL,
            wave {whole} NOT NULL, data {blob} NOT NULL
        ) {keyed};
        CREATE TABLE waiting_key (name {blob} PRIMARY KEY, secret {blob} NOT NULL) {keyed};
    """)
    if store.finds("SELECT 1 FROM invitations WHERE spent = 1"):
        for table, order in (("invitations", "survey, hash"), ("reports", "survey, id")):
            store.script(f"""
                CREATE TABLE moved AS SELECT * FROM {table};
                {{empty}} {table};
                INSERT INTO {table} SELECT * FROM moved ORDER BY {order};
                DROP TABLE moved
            """)  # noqa: S608


MIGRATIONS: tuple[Callable[[Runner], None], ...] = (version_1, version_2, version_3, version_4)
"""The step to each version from the one before."""


def check_version(version: int) -> None:
    if not 0 <= version <= VERSION:
        raise StoreError(f"the store has version {version}, this program knows versions up to {VERSION}: upgrade it")

"""The tables of a store, and how a store of an older version becomes one of this version.

There is no column for who sent a report, from where, or when. A tally is a vector of counts in parts, so that a report
that changes few counts writes few bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sottovoce.errors import StoreError

VERSION = 3


class Runner(Protocol):
    """What runs the statements: {blob}, {whole} and {keyed} are put in by the dialect."""

    def script(self, statements: str) -> None: ...


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
    """Invitations: a hash for each, and whether it is spent. Nothing says by which report."""
    store.script("""
        ALTER TABLE surveys ADD COLUMN invited {whole} NOT NULL DEFAULT 0;
        CREATE TABLE invitations (
            survey {whole} NOT NULL, hash {blob} NOT NULL, spent {whole} NOT NULL, PRIMARY KEY (survey, hash)
        ) {keyed};
    """)


def version_3(store: Runner) -> None:
    """The random ids of the batches that came from shufflers, each taken once."""
    store.script("CREATE TABLE batches (survey {whole} NOT NULL, id {blob} NOT NULL, PRIMARY KEY (survey, id)) {keyed}")


MIGRATIONS: tuple[Callable[[Runner], None], ...] = (version_1, version_2, version_3)
"""The step to each version from the one before."""


def check_version(version: int) -> None:
    if not 0 <= version <= VERSION:
        raise StoreError(f"the store has version {version}, this program knows versions up to {VERSION}: upgrade it")

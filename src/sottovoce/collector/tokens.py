"""Secrets that open a collector: 256 random bits each, of which the store has only a hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from sottovoce.collector.database import Database
from sottovoce.collector.records import StoredSurvey
from sottovoce.collector.surveys import today
from sottovoce.core.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.collector.store import Store

ROLES = ("analyst", "admin")
"""An admin may do all that an analyst may."""

MAX_NAME_CHARACTERS = 64


class Tokens:
    """The table of tokens, by their hashes."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, digest: str, role: str, name: str) -> None:
        with self.database.transaction() as connection:
            if self.database.run(connection, "SELECT 1 FROM tokens WHERE name = ?", [name]).fetchone():
                raise ParameterError(f"a token must have a name of its own, {name!r} is taken")
            self.database.run(connection, "INSERT INTO tokens (hash, role, name, created) VALUES (?, ?, ?, ?)",
                              [digest, role, name, today()])  # fmt: skip

    def all(self) -> list[dict[str, str]]:
        rows = self.database.read("SELECT hash, role, name, created FROM tokens ORDER BY created, name")
        return [dict(zip(("hash", "role", "name", "created"), row, strict=True)) for row in rows]

    def revoke(self, name: str) -> bool:
        """Delete a token; whether there was one of this name."""
        with self.database.transaction() as connection:
            return bool(self.database.run(connection, "DELETE FROM tokens WHERE name = ?", [name]).rowcount)


def create(store: Store, role: str, name: str | None = None) -> tuple[str, str]:
    """A new token and its name. The token is shown this once, and cannot be found out later."""
    if role not in ROLES:
        raise ParameterError(f"a role must be one of {', '.join(ROLES)}, got {role!r:.40}")
    name = f"{role}-{secrets.token_hex(4)}" if name is None else name
    if not name.isprintable() or not 1 <= len(name) <= MAX_NAME_CHARACTERS:
        most = MAX_NAME_CHARACTERS
        raise ParameterError(f"a token's name must be 1 to {most} printable characters, got {name!r:.80}")
    token = f"sotto_{secrets.token_urlsafe(32)}"
    store.add_token(_hash(token).hex(), role, name)
    return token, name


def role_of(store: Store, token: str) -> str | None:
    """The role of a token, or None. All tokens are compared, each in constant time."""
    digest, found = _hash(token).hex(), None
    for known in store.tokens():
        if hmac.compare_digest(known["hash"], digest):
            found = known["role"]
    return found


def invite(store: Store, to: StoredSurvey, count: int) -> list[str]:
    """New invitations, each good for one report. The store has their hashes, linked to reports by groups alone."""
    made = [secrets.token_urlsafe(16) for _ in range(count)]
    store.add_invitations(to, [invitation_hash(code) for code in made])
    return made


def invitation_hash(code: str) -> bytes:
    return _hash(f"invitation {code}")


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()

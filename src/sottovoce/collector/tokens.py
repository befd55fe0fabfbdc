"""Secrets that open a collector: 256 random bits each, of which the store has only a hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from sottovoce.collector.records import Published
from sottovoce.collector.store import Store
from sottovoce.errors import ParameterError

ROLES = ("analyst", "admin")
"""An admin may do all that an analyst may."""

NAME = 64


def create(store: Store, role: str, name: str | None = None) -> tuple[str, str]:
    """A new token and its name. The token is shown this once, and cannot be found out later."""
    if role not in ROLES:
        raise ParameterError(f"a role must be one of {', '.join(ROLES)}, got {role!r:.40}")
    name = f"{role}-{secrets.token_hex(4)}" if name is None else name
    if not name.isprintable() or not 1 <= len(name) <= NAME:
        raise ParameterError(f"a token's name must be 1 to {NAME} printable characters, got {name!r:.80}")
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


def invite(store: Store, to: Published, count: int) -> list[str]:
    """New invitations, each good for one report. The store has their hashes, linked to reports by groups alone."""
    made = [secrets.token_urlsafe(16) for _ in range(count)]
    store.add_invitations(to, [invitation_hash(code) for code in made])
    return made


def invitation_hash(code: str) -> bytes:
    return _hash(f"invitation {code}")


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()

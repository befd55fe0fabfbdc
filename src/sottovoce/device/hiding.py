"""The names under which a store keeps permanent answers, so that the file does not show which values were held.

A device must recognise a value that it had before, so the name follows from the value. It is an HMAC whose key is not
in the file: the personal key, a secret made from a passphrase, or one in the system's keyring. Where there is none of
these, the names are the values' own.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import unicodedata
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError, StoreError
from sottovoce.device.ledger import Entries
from sottovoce.device.personal_key import KEY_BYTES, PersonalKey

if TYPE_CHECKING:
    from sottovoce.mechanisms.longitudinal.base import Hide, Memory

BY_KEY, BY_PASSPHRASE, BY_KEYRING = "personal key", "passphrase", "keyring"
KEYRING_SERVICE = "sottovoce"
SALT_BYTES = 16
PROOF_LABEL = b"sottovoce store 1"
SCRYPT_COSTS: dict[str, int] = {"n": 2**15, "r": 8, "p": 1, "maxmem": 2**26}
"""32 MiB and some 100 ms for each try of a passphrase."""


class Hiding:
    """What a person can hide the names in a store with. The first way that a store was hidden in stays."""

    def __init__(self, key: PersonalKey | None = None, passphrase: str | None = None, keyring: bool = True) -> None:
        if passphrase is not None and (not isinstance(passphrase, str) or not passphrase):
            raise ParameterError("a passphrase must be text and not empty")
        self._key, self._passphrase, self._keyring = key, passphrase, keyring
        self._known: tuple[bytes, PersonalKey] | None = None

    def names(self, entries: Entries, digest: str, question: str) -> Hide | None:
        """The function that hides the name of a value in a question's memory; None where nothing hides it."""
        secret = self._secret(entries)
        return None if secret is None else secret.for_survey(digest).hide(question)

    def _secret(self, entries: Entries) -> PersonalKey | None:
        row = entries.connection.execute("SELECT way, salt, proof FROM hiding").fetchone()
        if row is None:
            return self._begin(entries)
        way, salt, proof = str(row[0]), bytes(row[1]), bytes(row[2])
        if self._known is None or self._known[0] != salt:
            secret = self._derive(way, salt)
            if secret is None:
                raise StoreError(f"the values in the store are hidden by a {way}, which is missing")
            if not hmac.compare_digest(_proof(secret, salt), proof):
                raise StoreError(f"the values in the store are hidden by another {way}")
            self._known = salt, secret
        return self._known[1]

    def _begin(self, entries: Entries) -> PersonalKey | None:
        """Hide the names in a store for the first time, also those that it has already."""
        salt = os.urandom(SALT_BYTES)
        for way in (BY_KEY, BY_PASSPHRASE, BY_KEYRING):
            secret = self._derive(way, salt, new=True)
            if secret is not None:
                row = (way, salt, _proof(secret, salt))
                entries.connection.execute("INSERT INTO hiding VALUES (?, ?, ?)", row)
                _hide_all(entries, secret)
                self._known = salt, secret
                return secret
        return None

    def _derive(self, way: str, salt: bytes, new: bool = False) -> PersonalKey | None:
        if way == BY_KEY:
            return self._key
        if way == BY_PASSPHRASE:
            return None if self._passphrase is None else _from_passphrase(self._passphrase, salt)
        return _from_keyring(salt.hex(), new) if self._keyring else None


def _from_passphrase(passphrase: str, salt: bytes) -> PersonalKey:
    text = unicodedata.normalize("NFKC", passphrase).encode()
    return PersonalKey(hashlib.scrypt(text, salt=salt, dklen=KEY_BYTES, **SCRYPT_COSTS))


def _from_keyring(name: str, new: bool) -> PersonalKey | None:
    """The secret of a store in the system's keyring, made there if it is new; None if there is no keyring."""
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    try:
        if keyring.get_keyring().priority <= 0:  # A backend that keeps nothing.
            return None
        if new:
            keyring.set_password(KEYRING_SERVICE, name, PersonalKey.generate().to_text())
        text = keyring.get_password(KEYRING_SERVICE, name)
    except keyring.errors.KeyringError:
        return None
    return None if text is None else PersonalKey.from_text(text)


def _proof(secret: PersonalKey, salt: bytes) -> bytes:
    """Kept in the store, so that a wrong secret is noticed before anything is drawn under it."""
    return hmac.digest(secret.data, PROOF_LABEL + salt, hashlib.sha256)


def _hide_all(entries: Entries, secret: PersonalKey) -> None:
    for digest, question, memory in entries.connection.execute("SELECT * FROM memories").fetchall():
        hidden = hide_names(json.loads(memory), secret.for_survey(digest).hide(question))
        entries.remember(digest, {question: hidden})


def hide_names(memory: Memory, hide: Hide) -> Memory:
    """A memory in which the names of values are replaced by hidden ones."""
    if not isinstance(memory.get("answers"), dict):
        return memory
    hidden = memory | {"answers": {hide(name): answer for name, answer in memory["answers"].items()}}
    return hidden | {"last": hide(memory["last"])} if isinstance(memory.get("last"), str) else hidden

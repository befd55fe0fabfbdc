"""The key that locks the reports which wait for their group, and is destroyed when the group closes.

A log of the database keeps what was written long after it was deleted. So whatever waits is written locked, and what is
erased in the end is its key: 32 bytes in a file of their own. Old bytes of the log then say nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from sottovoce.core.errors import StoreError

KEY_BYTES = 32
KEY_NAME_BYTES = 8
TAG_BYTES = 16
NONCE_BYTES = 12


class GroupKey:
    """Locks rows, and makes the tags under which they are found again.

    >>> key = GroupKey(bytes(8), bytes(32))
    >>> key.open(key.lock(b"a row", b"survey 1"), b"survey 1")
    b'a row'
    """

    def __init__(self, name: bytes, secret: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self.name = name
        self._tags = hmac.digest(secret, b"sottovoce waiting tags", hashlib.sha256)
        self._cipher = AESGCM(hmac.digest(secret, b"sottovoce waiting rows", hashlib.sha256))

    def tag(self, kind: str, survey: int, value: bytes) -> bytes:
        """What stands for an invitation or for the id of a report. Without the key nobody can tell of which."""
        return hmac.digest(self._tags, f"{kind} {survey} ".encode() + value, hashlib.sha256)[:TAG_BYTES]

    def lock(self, row: bytes, about: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, row, about)

    def open(self, locked: bytes, about: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(locked[:NONCE_BYTES], locked[NONCE_BYTES:], about)
        except InvalidTag:
            raise StoreError("a waiting report does not open: the store or its key was changed") from None


class KeyFiles:
    """Keys in files beside a database, for their owner alone: `collector.sqlite-key-` and the name of the key."""

    def __init__(self, database: Path) -> None:
        self.folder, self.prefix = database.parent, database.name + "-key-"

    def path(self, name: bytes) -> Path:
        return self.folder / (self.prefix + name.hex())

    def write(self, name: bytes, secret: bytes) -> None:
        """Keep a key. On return it is on the disk, as what will be locked with it must be."""
        with os.fdopen(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secret)
            file.flush()
            os.fsync(file.fileno())
        self._sync_folder()

    def read(self, name: bytes) -> bytes:
        try:
            secret = self.path(name).read_bytes()
        except FileNotFoundError:
            raise StoreError(f"{self.path(name)}: is missing, and the waiting reports do not open without it") from None
        if len(secret) != KEY_BYTES:
            raise StoreError(f"{self.path(name)}: must have {KEY_BYTES} bytes, got {len(secret)}")
        return secret

    def destroy_all_but(self, name: bytes | None) -> None:
        """Write over all other keys, then remove their files."""
        others = [path for path in self.folder.glob(self.prefix + "*") if name is None or path != self.path(name)]
        for path in others:
            with path.open("r+b") as file:
                file.write(bytes(max(KEY_BYTES, path.stat().st_size)))
                file.flush()
                os.fsync(file.fileno())
            path.unlink()
        if others:
            self._sync_folder()

    def _sync_folder(self) -> None:
        if os.name != "nt":  # Windows opens no folders, and needs no such thing.
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

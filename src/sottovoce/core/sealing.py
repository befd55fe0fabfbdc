"""Sealing bytes to a public key, so that those who carry them cannot read them: HPKE (RFC 9180), base mode.

The suite is fixed: X25519, HKDF-SHA256, AES-128-GCM. `info` binds a message to its purpose (a survey, a task, a round,
a sender): opened with another `info`, it does not open. A sealed message is 48 bytes longer than what it holds.

    >>> key = PrivateKey.generate()
    >>> sealed = key.public.seal(b"a report", info=b"survey 7")
    >>> len(sealed) - len(b"a report") == SEALING_BYTES
    True
    >>> key.open(sealed, info=b"survey 7")
    b'a report'
    >>> key.open(sealed, info=b"survey 8")
    Traceback (most recent call last):
    sottovoce.core.errors.SealError: the message does not open with this key and this purpose
"""

from __future__ import annotations

import base64
import binascii
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sottovoce.core import durable, private_files
from sottovoce.core.errors import SealError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.hpke import Suite

SEALING_BYTES = 48
"""Bytes that sealing adds: the sender's fresh public key (32) and the tag of AES-GCM (16)."""

_KEY_BYTES = 32


@dataclass(frozen=True)
class PublicKey:
    """The key that anybody may have; its text form goes into surveys."""

    data: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes) or len(self.data) != _KEY_BYTES:
            raise SealError(f"a public key has {_KEY_BYTES} bytes")

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(_from_text(text))

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(self.data).rstrip(b"=").decode()

    def seal(self, message: bytes, *, info: bytes) -> bytes:
        """The sealed message: the encapsulated key, then the ciphertext. No two are alike."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        try:
            return bytes(_suite().encrypt(message, X25519PublicKey.from_public_bytes(self.data), info))
        except ValueError:
            raise SealError("the public key is not a point that can be sealed to") from None


@dataclass(frozen=True)
class PrivateKey:
    """The key that opens what was sealed to its public half."""

    data: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes) or len(self.data) != _KEY_BYTES:
            raise SealError(f"a private key has {_KEY_BYTES} bytes")

    def __repr__(self) -> str:
        return f"<PrivateKey of {self.public}>"

    @classmethod
    def generate(cls) -> Self:
        return cls(os.urandom(_KEY_BYTES))

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(_from_text(text))

    def to_text(self) -> str:
        """The secret itself, for a file that only its owner reads."""
        return base64.urlsafe_b64encode(self.data).rstrip(b"=").decode()

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Self:
        """The key kept in a file that only its owner may read; made there the first time."""
        where = Path(path)
        private_files.close_to_others(where)
        try:
            return cls.from_text(where.read_text().strip())
        except FileNotFoundError:
            pass
        except (OSError, UnicodeDecodeError) as error:
            raise SealError(f"the key file {where} cannot be read: {error}") from None
        key = cls.generate()
        try:
            durable.create(where, f"{key.to_text()}\n".encode())
        except FileExistsError:
            return cls.from_text(where.read_text().strip())
        except OSError as error:
            raise SealError(f"the key file {where} cannot be written: {error.strerror}") from None
        return key

    @functools.cached_property
    def public(self) -> PublicKey:
        return PublicKey(self._key.public_key().public_bytes_raw())

    @functools.cached_property
    def _key(self) -> X25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return X25519PrivateKey.from_private_bytes(self.data)

    def open(self, sealed: bytes, *, info: bytes) -> bytes:
        """What was sealed, or `SealError`: nothing is said of what did not open."""
        from cryptography.exceptions import InvalidTag

        try:
            return bytes(_suite().decrypt(sealed, self._key, info))
        except (InvalidTag, ValueError):
            raise SealError("the message does not open with this key and this purpose") from None


@functools.cache
def _suite() -> Suite:
    from cryptography.hazmat.primitives import hpke

    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.AES_128_GCM)


def _from_text(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise SealError("a key is written in base64url, 43 characters") from None

"""Who a curator is: a key that shares are sealed to, and a key that its messages are signed with, from one secret.

Every message says for which task and at which step it was made and by whom, and is signed: it cannot be forged by those
who pass it on, nor be taken for an answer to something else.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Self

from sottovoce.core import canonical
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ReportError, SealError
from sottovoce.core.sealing import PrivateKey, PublicKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SIGNING_PURPOSE = b"sottovoce curator: signing key"
MESSAGE_FIELDS = {"task", "step", "from", "body", "signature"}


@dataclass(frozen=True)
class Card:
    """The two public keys of a curator. Its text form is what curators give to each other.

    >>> card = Identity(PrivateKey.generate()).card
    >>> Card.from_text(str(card)) == card, len(str(card))
    (True, 87)
    """

    sealing: PublicKey
    signing: bytes

    @classmethod
    def from_text(cls, text: object) -> Self:
        first, dot, second = text.partition(".") if isinstance(text, str) else ("", "", "")
        try:
            signing = base64.b64decode(second + "=", altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            signing = b""
        if not dot or len(signing) != 32 or str(card := cls(PublicKey.from_text(first), signing)) != text:
            raise SealError("a curator's key is two keys in base64url with a dot between them, 87 characters")
        return card

    def __str__(self) -> str:
        return f"{self.sealing}.{base64.urlsafe_b64encode(self.signing).rstrip(b'=').decode()}"

    def verified(self, message: object, task: str, step: str, sender: str) -> object:
        """The body of a message that this curator signed for this task and step, or an error."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if not isinstance(message, Mapping) or set(message) != MESSAGE_FIELDS:
            raise ReportError("a message has a task, a step, a sender, a body and a signature")
        for name, wanted in (("task", task), ("step", step), ("from", sender)):
            if message[name] != wanted:
                raise ReportError(f"the {name} of a message must be {wanted:.80}, got {message[name]!r:.80}")
        try:
            signature = from_base64(message["signature"])
            Ed25519PublicKey.from_public_bytes(self.signing).verify(signature, _signed(message))
        except (InvalidSignature, ValueError):
            raise ReportError(f"the message is not signed by {sender:.80}") from None
        return message["body"]


@dataclass(frozen=True)
class Identity:
    """A curator's secret."""

    key: PrivateKey

    @classmethod
    def at(cls, path: str | PathLike[str]) -> Self:
        """The secret kept in a file that only its owner may read; made there the first time."""
        return cls(PrivateKey.at(path))

    @cached_property
    def _signing(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        seed = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=SIGNING_PURPOSE).derive(self.key.data)
        return Ed25519PrivateKey.from_private_bytes(seed)

    @cached_property
    def card(self) -> Card:
        return Card(self.key.public, self._signing.public_key().public_bytes_raw())

    def signed(self, task: str, step: str, sender: str, body: object) -> JsonObject:
        """A message about a task and a step, with this curator's signature."""
        message = {"task": task, "step": step, "from": sender, "body": body}
        return {**message, "signature": to_base64(self._signing.sign(_signed(message)))}


def _signed(message: Mapping[str, object]) -> bytes:
    return canonical.dumps({name: message[name] for name in MESSAGE_FIELDS - {"signature"}})


def digest(value: object) -> str:
    """The SHA-256 of bytes, or of the canonical JSON of anything else, in hexadecimal digits."""
    return hashlib.sha256(value if isinstance(value, bytes) else canonical.dumps(value)).hexdigest()


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def from_base64(text: object) -> bytes:
    try:
        if isinstance(text, str):
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise ReportError("bytes must be in base64")

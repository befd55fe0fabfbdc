"""Sealing: what opens, what does not, and that files of keys are kept from others."""

import dataclasses
import hmac
import itertools
import os
import stat

import pytest
import shuffler_service
from cryptography.hazmat.primitives.asymmetric import x25519

from sottovoce.core.errors import SealError
from sottovoce.core.sealing import SEALING_BYTES, PrivateKey, PublicKey
from sottovoce.device import envelope
from sottovoce.device.envelope import ShuffledBatch


def test_what_is_sealed_opens_with_its_key_and_purpose_alone() -> None:
    key, other = PrivateKey.generate(), PrivateKey.generate()
    sealed = key.public.seal(b"yes", info=b"a")
    assert len(sealed) == 3 + SEALING_BYTES and key.public.seal(b"yes", info=b"a") != sealed
    assert key.open(sealed, info=b"a") == b"yes"
    for who, what, why in ((other, sealed, b"a"), (key, sealed, b"b"), (key, sealed[:-1], b"a"), (key, b"", b"a")):
        with pytest.raises(SealError, match="does not open"):
            who.open(what, info=why)


def test_every_changed_bit_is_noticed() -> None:
    key = PrivateKey.generate()
    sealed = key.public.seal(b"yes", info=b"a")
    for at in range(8 * len(sealed)):
        changed = bytearray(sealed)
        changed[at // 8] ^= 1 << at % 8
        with pytest.raises(SealError):
            key.open(bytes(changed), info=b"a")


def test_a_vector_of_rfc_9180() -> None:
    """Appendix A.1: X25519, HKDF-SHA256, AES-128-GCM in base mode, the first message sealed without additional data
    is not among them, so the key pair alone is checked here; the JavaScript suite holds the rest."""
    key = PrivateKey(bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8"))
    assert key.public.data.hex() == "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"


def test_keys_as_text_and_in_files(tmp_path: object) -> None:
    path = os.path.join(str(tmp_path), "key")
    key = PrivateKey.at(path)
    assert PrivateKey.at(path) == key == PrivateKey.from_text(key.to_text())
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert PublicKey.from_text(str(key.public)) == key.public
    assert key.to_text() not in repr(key)
    with pytest.raises(SealError, match="cannot be written"):
        PrivateKey.at(os.path.join(str(tmp_path), "no", "such", "folder"))
    for bad in ("", "x", "ü" * 43, "A" * 44):
        with pytest.raises(SealError):
            PublicKey.from_text(bad)
    with pytest.raises(SealError, match="not a point"):
        PublicKey(bytes(32)).seal(b"", info=b"")


def test_keys_do_not_change() -> None:
    key = PrivateKey.generate()
    for holder in (key, key.public):
        with pytest.raises(dataclasses.FrozenInstanceError):
            holder.data = bytes(32)  # type: ignore[misc]


def test_a_key_has_32_bytes() -> None:
    for kind, size in itertools.product((PrivateKey, PublicKey), (0, 31, 33)):
        with pytest.raises(SealError, match="key has 32 bytes"):
            kind(bytes(size))


def test_the_code_of_a_batch_by_hand() -> None:
    """HMAC-SHA256 of the batch, under one of the survey's digest, under the secret that the two keys share."""
    asked = shuffler_service.survey()
    batch = ShuffledBatch(b"\x01" * 16, 1, [b"\x02" * envelope.inner_size(asked)] * 3)
    content = b"\x01" * 16 + b"\x00\x00\x00\x01" + 3 * (b"\x02" * envelope.inner_size(asked))
    shared = x25519.X25519PrivateKey.from_private_bytes(shuffler_service.ANALYST.data).exchange(
        x25519.X25519PublicKey.from_public_bytes(shuffler_service.SHUFFLER.public.data)
    )
    secret = hmac.new(shared, f"sottovoce batch {asked.digest}".encode(), "sha256").digest()
    code = hmac.new(secret, content, "sha256").digest()
    assert batch.to_bytes(asked, shuffler_service.SHUFFLER) == content + code
    assert ShuffledBatch.read(content + code, asked, shuffler_service.ANALYST) == batch

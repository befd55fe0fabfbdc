"""What a coordinator puts into the head of a request, so that a curator knows whom it is from before it reads the body.

It is a signature over the SHA-256 of the body, its length, the step and the name of the curator. It may be sent again,
as the request may be: a step that is asked for again has the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from sottovoce.core import canonical
from sottovoce.core.errors import Refusal, SottovoceError
from sottovoce.curators.identity import Card, Identity, digest, from_base64, to_base64

HEADER = "sottovoce-coordinator"
SENDER = "coordinator"
MAX_HEADER_CHARACTERS = 2048


def sign(identity: Identity, curator: str, step: str, body: bytes) -> str:
    """The header for a request to a curator."""
    about = {"bytes": len(body), "to": curator}
    return to_base64(canonical.dumps(identity.signed(digest(body), _step(step), SENDER, about)))


def signed_digest(text: str, card: Card, curator: str, step: str, length: int | None) -> str:
    """The SHA-256 that the body must have; `Refusal` if the head is not signed by this coordinator for this request."""
    try:
        message = canonical.loads(from_base64(text if 0 < len(text) <= MAX_HEADER_CHARACTERS else None))
        task = message["task"] if isinstance(message, Mapping) and isinstance(message.get("task"), str) else ""
        about = card.verified(message, task, _step(step), SENDER)
    except SottovoceError:
        raise Refusal("the request is not signed by the coordinator that is known here") from None
    if about != {"bytes": length, "to": curator}:
        raise Refusal("the coordinator signed another request than this one")
    return task


def check_body(body: bytes, wanted: str) -> None:
    if digest(body) != wanted:
        raise Refusal("the coordinator signed another body than this one")


def _step(step: str) -> str:
    """A step with a prefix, so that no request passes for a message of a curator, which is signed in the same form."""
    return f"request {step}"

"""Asking a curator over HTTP, again for a while if it does not answer: it may be starting up again."""

from __future__ import annotations

from sottovoce.core import canonical
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import SottovoceError
from sottovoce.curators import signature
from sottovoce.curators.identity import Identity
from sottovoce.device.http_client import HTTPClient

MAX_ANSWER_BYTES = 2**27
FIRST_WAIT_SECONDS = 0.2


def doubled_wait(attempt: int) -> float:
    """Seconds to wait after an attempt: a curator that starts again needs a moment, and there are few of them."""
    return FIRST_WAIT_SECONDS * 2.0**attempt


class Remote:
    """Asks curators at their addresses. A step may be asked for again: it is answered with the same bytes.

    With an `identity` every request is signed by it, for curators that take requests from one coordinator alone.
    """

    def __init__(
        self, urls: dict[str, str], timeout: float = 60.0, attempts: int = 4, identity: Identity | None = None
    ) -> None:
        self.urls, self.identity = urls, identity
        self._client = HTTPClient(
            "curator", "no answer", attempts, timeout, MAX_ANSWER_BYTES, proxies=False, wait=doubled_wait
        )

    def ask(self, name: str, step: str, request: JsonObject) -> object:
        """The answer of a curator; `Rejected` if it refuses, `Undelivered` if none comes."""
        body, headers = canonical.dumps(request), {"content-type": "application/json"}
        if self.identity is not None:
            headers[signature.HEADER] = signature.sign(self.identity, name, step, body)
        answer = self._client.request(f"{self.urls[name]}/v1/tasks/{step}", body, headers)
        try:
            return canonical.loads(answer)
        except (SottovoceError, ValueError):
            raise self._client.unreadable() from None

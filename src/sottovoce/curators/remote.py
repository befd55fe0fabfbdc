"""Asking a curator over HTTP, again for a while if it does not answer: it may be starting up again."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any

from sottovoce import canonical
from sottovoce.curators import signature
from sottovoce.curators.identity import Identity
from sottovoce.errors import SottovoceError
from sottovoce.transport import AGAIN, Rejected, Undelivered

MAX_ANSWER = 2**27
WAIT = 0.2
"""Seconds until the second attempt; twice as long before each one after it."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))


class Remote:
    """Asks curators at their addresses. A step may be asked for again: it is answered with the same bytes.

    With an `identity` every request is signed by it, for curators that take requests from one coordinator alone.
    """

    def __init__(
        self, urls: dict[str, str], timeout: float = 60.0, attempts: int = 4, identity: Identity | None = None
    ) -> None:
        self.urls, self.timeout, self.attempts, self.identity = urls, timeout, attempts, identity

    def ask(self, name: str, step: str, request: Any) -> Any:
        """The answer of a curator; `Rejected` if it refuses, `Undelivered` if none comes."""
        url, body, reason = f"{self.urls[name]}/v1/tasks/{step}", canonical.dumps(request), "no attempt was made"
        headers = {"user-agent": "sottovoce", "content-type": "application/json"}
        if self.identity is not None:
            headers[signature.HEADER] = signature.sign(self.identity, name, step, body)
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(WAIT * 2 ** (attempt - 1))
            try:
                return self._once(url, body, headers)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in AGAIN:
                        raise _rejected(error) from None
                    reason = f"status {error.code}"
            except (OSError, HTTPException) as error:
                reason = str(getattr(error, "reason", "") or error) or type(error).__name__
            except (SottovoceError, ValueError):
                raise Undelivered("the answer is not that of a curator") from None
        raise Undelivered(f"no answer after {self.attempts} attempts: {reason}")

    def _once(self, url: str, body: bytes, headers: dict[str, str]) -> Any:
        with _OPENER.open(urllib.request.Request(url, body, headers), timeout=self.timeout) as answer:  # noqa: S310
            return canonical.loads(answer.read(MAX_ANSWER))


def _rejected(error: urllib.error.HTTPError) -> Rejected:
    try:
        about = json.loads(error.read(2**16))["error"]
        return Rejected(error.code, str(about["code"])[:80], str(about["message"])[:400])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return Rejected(error.code, "unknown", "the answer is not that of a curator")

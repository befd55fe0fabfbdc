"""An HTTP client of the standard library alone: it asks again until there is an answer, and follows no redirect.

Use it only for requests that may come twice. What the server refuses is not sent again.
"""

from __future__ import annotations

import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException

from sottovoce.core.errors import SottovoceError

RETRY_STATUSES = (408, 425, 429, 500, 502, 503, 504, 507)
"""After these statuses the same request may succeed later."""

MAX_ANSWER_BYTES = 2**21
MAX_ERROR_BYTES = 2**16
FIRST_WAIT_SECONDS = 0.25
LONGEST_WAIT_SECONDS = 30.0


class Rejected(SottovoceError):  # noqa: N818
    """The server refused; sending the same again would not help."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"refused ({status} {code}): {message}")
        self.status, self.code = status, code


class Undelivered(SottovoceError):  # noqa: N818
    """No acknowledgement came. It may have arrived all the same: send the same bytes again later."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


@cache
def _opener(proxies: bool) -> urllib.request.OpenerDirector:
    """Made once: it reads the certificates of the system."""
    return urllib.request.build_opener(_NoRedirect, *([] if proxies else [urllib.request.ProxyHandler({})]))


def random_wait(attempt: int) -> float:
    """Seconds to wait after an attempt, at most twice as long each time: many devices do not come back at once."""
    return random.uniform(0, min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2**attempt))


@dataclass(frozen=True)
class HTTPClient:
    """How to ask a server: how often, how patiently, and for how large an answer.

    Errors call the other side `server`, and say `silence` if no answer comes. Without `proxies` those of the
    environment are not used.
    """

    server: str = "collector"
    silence: str = "not acknowledged"
    attempts: int = 8
    timeout: float = 10.0
    max_answer_bytes: int = MAX_ANSWER_BYTES
    proxies: bool = True
    wait: Callable[[int], float] = random_wait
    sleep: Callable[[float], None] = field(default=time.sleep)

    def request(self, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """The answer to a POST of `body`, or to a GET; `Rejected` if it is refused, `Undelivered` if none comes."""
        reason = "no attempt was made"
        for attempt in range(self.attempts):
            wait = self.wait(attempt)
            try:
                return self._once(url, body, headers or {})
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in RETRY_STATUSES:
                        raise self._rejected(error) from None
                    reason, wait = f"status {error.code}", max(wait, _requested_wait(error))
            except (OSError, HTTPException, ValueError) as error:
                reason = str(getattr(error, "reason", "") or error) or type(error).__name__
            if attempt + 1 < self.attempts:
                self.sleep(wait)
        raise Undelivered(f"{self.silence} after {self.attempts} attempts: {reason}")

    def unreadable(self) -> Undelivered:
        """The error for an answer that such a server does not give."""
        return Undelivered(f"the answer is not that of a {self.server}")

    def _once(self, url: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        request = urllib.request.Request(url, body, {"user-agent": "sottovoce", **headers})  # noqa: S310
        with _opener(self.proxies).open(request, timeout=self.timeout) as answer:
            data: bytes = answer.read(self.max_answer_bytes)
            return data

    def _rejected(self, error: urllib.error.HTTPError) -> Rejected:
        try:
            about = json.loads(error.read(MAX_ERROR_BYTES))["error"]
            return Rejected(error.code, str(about["code"])[:80], str(about["message"])[:400])
        except (OSError, HTTPException, ValueError, KeyError, TypeError):
            return Rejected(error.code, "unknown", str(self.unreadable()))


def _requested_wait(error: urllib.error.HTTPError) -> float:
    """The seconds that a server asks to wait for, within reason."""
    text = error.headers.get("retry-after", "")
    return min(float(text), LONGEST_WAIT_SECONDS) if text.isascii() and text.isdecimal() else 0.0

"""A refusal as it is shown: a page in plain words to a person who asked for one, JSON to a program."""

from __future__ import annotations

from sottovoce import pages
from sottovoce.web.http import HTML, Problem, Request, Response

WAIT_STATUSES = (429, 503)
"""After these the same request may succeed: a person is told to wait, and the page loads itself again."""

MIN_WAIT_SECONDS = 3
"""A page loads itself again after this at least, so that many of them do not come back at once."""


def refusal(problem: Problem, request: Request) -> Response:
    """The answer to a request that is refused for a while, or for good."""
    if problem.status in WAIT_STATUSES and "text/html" in request.header(b"accept"):
        return _page(problem, request)
    return problem.response()


def _page(problem: Problem, request: Request) -> Response:
    language = pages.language_for(request.header(b"accept-language"))
    asked = problem.headers.get("retry-after", "")
    seconds = max(int(asked) if asked.isdecimal() else 0, MIN_WAIT_SECONDS)
    again = pages.strings()["wait"]["again"][language].format(seconds=seconds)
    body = pages.page("wait.html", language, again=again, seconds=str(seconds))
    headers = pages.HEADERS | problem.headers | {"retry-after": str(seconds), "cache-control": "no-store"}
    return Response(problem.status, body, HTML, headers)

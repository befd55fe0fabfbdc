"""The pages of a collector: for those who answer, for those who look at the results, and for those who plan."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sottovoce import pages
from sottovoce.collector.records import StoredSurvey, SurveyEntry
from sottovoce.web.http import HTML, Problem, Request, Response
from sottovoce.web.routing import Table

if TYPE_CHECKING:
    from sottovoce.collector.app import Collector


class Pages:
    """Handlers over a collector. Pages are files; what is known about a survey without JavaScript is put into them."""

    def __init__(self, app: Collector) -> None:
        self.app, self.store = app, app.store

    def routes(self) -> Table:
        return {
            "/": {"GET": self.index},
            "/s/{id}": {"GET": self.respondent},
            "/s/{id}/results": {"GET": self.analyst},
            "/plan": {"GET": self.planner},
            "/assets/{name}": {"GET": self.asset},
        }

    async def index(self, request: Request) -> Response:
        """The surveys that are open to everybody; if there is one, that one."""
        found = await asyncio.to_thread(self._open)
        if len(found) == 1:
            return Response(302, headers={"location": f"/s/{found[0].survey.id}", "cache-control": "no-cache"})
        language = _language(request)
        titles = {f"/s/{one.survey.id}": one.survey.title for one in found}
        shown = pages.links(titles) if titles else pages.strings()["index"]["none"][language]
        return _page(pages.page("index.html", language, list=shown))

    def _open(self) -> list[StoredSurvey]:
        known = [self.store.survey(one["id"]) for one in self.store.surveys() if self._listed(one)]
        return [one for one in known if one is not None and not self.app.expired(one)]

    @staticmethod
    def _listed(entry: SurveyEntry) -> bool:
        return entry["state"] == "open" and not entry["invited"]

    async def respondent(self, request: Request, name: str) -> Response:
        page = await self._survey_page(request, "respondent.html", name)
        known = self.store.known(name)
        if known is not None and known.survey.shuffle is not None:
            page.headers = pages.headers(known.survey.shuffle.address)
        return page

    async def analyst(self, request: Request, name: str) -> Response:
        return await self._survey_page(request, "analyst.html", name)

    async def planner(self, request: Request) -> Response:
        return _page(pages.page("planner.html", _language(request)))

    async def _survey_page(self, request: Request, file: str, name: str) -> Response:
        try:
            to = await self.app.find(name)
        except Problem:
            lost = pages.strings()["index"]["lost"][_language(request)]
            return _page(pages.page("index.html", _language(request), list=lost), 404)
        state = "expired" if self.app.expired(to) else await asyncio.to_thread(self.store.state, name)
        contact = to.survey.contact
        asked = f"{pages.strings()['noscript']['contact'][_language(request)]} {contact}" if contact else ""
        results = "public" if self.app.public_estimates else "token"
        values = {
            "survey": to.survey.id, "state": state, "results": results, "title": to.survey.title, "contact": asked,
        }  # fmt: skip
        return _page(pages.page(file, _language(request), **values))

    async def asset(self, request: Request, name: str) -> Response:
        found = pages.asset(name)
        if found is None:
            raise Problem(404, "not_found", "there is nothing at this address")
        headers = pages.HEADERS | {"etag": found.etag}
        if found.etag in request.header(b"if-none-match"):
            return Response(304, kind=found.kind, headers=headers)
        return Response(200, found.data, found.kind, headers)


def _page(body: bytes, status: int = 200) -> Response:
    return Response(status, body, HTML, pages.HEADERS)


def _language(request: Request) -> str:
    """The language of what is said without JavaScript."""
    return pages.language_for(request.header(b"accept-language"))

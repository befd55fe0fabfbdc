"""A page for the wall of a room: the address of a survey, and a QR code of it for the phones of those who are there."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from sottovoce import pages
from sottovoce.core.lazy import load
from sottovoce.web.http import HTML, Request, Response

if TYPE_CHECKING:
    from sottovoce.collector.app import Collector
    from sottovoce.web.routing import Table


def routes(app: Collector, address: str, alone: bool = False) -> Table:
    """Routes for a collector that others reach at an address, such as http://192.168.1.20:8000.

    If a survey is `alone` there, the address leads to it, and is shorter to type.
    """

    async def join(request: Request, name: str) -> Response:
        survey = (await app.find(name)).survey
        values = {"survey": name, "title": survey.title, "link": address if alone else f"{address}/s/{name}"}
        language = pages.language_for(request.header(b"accept-language"))
        return Response(200, pages.page("join.html", language, **values), HTML, pages.HEADERS)

    async def code(request: Request, name: str) -> Response:
        survey = (await app.find(name)).survey
        return Response(200, qr_image(f"{address}/s/{survey.id}"), "image/svg+xml", pages.HEADERS)

    return {"/s/{id}/join": {"GET": join}, "/s/{id}/qr.svg": {"GET": code}}


def qr_image(text: str) -> bytes:
    """A QR code as SVG, dark on white in every colour scheme.

    >>> qr_image("http://192.168.1.20:8000/s/tea")[:4]
    b'<svg'
    """
    image = io.BytesIO()
    code = load("segno").make(text, error="m", micro=False)
    code.save(image, kind="svg", xmldecl=False, omitsize=True, border=3, dark="#10201f", light="#fff")
    return image.getvalue()

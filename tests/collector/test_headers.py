"""What every answer forbids browsers to do, and what pages of other sites may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import shuffler_service
from collector_service import Inside, survey

from sottovoce import pages
from sottovoce.collector import qr_page
from sottovoce.collector.sqlite import sqlite_store
from sottovoce.survey import Survey
from sottovoce.web.application import Application

DIRECTIVES = {
    "default-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
VALUES = {"{id}": ("habits", "mixed", "nothing"), "{name}": ("style.css", "nothing")}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Inside]:
    store = sqlite_store(tmp_path / "site.sqlite")
    store.publish(survey())
    store.publish(Survey.from_dict(shuffler_service.document(id="mixed")).publish())
    made = Inside(store, rate=None, public_estimates=True)
    made.app.router.add(qr_page.routes(made.app, "http://192.0.2.1:8000"))
    yield made
    made.close()


def addresses(app: Application) -> list[str]:
    """Every address that takes GET, with each value for its parts in braces."""
    found = [pattern for pattern, methods in app.router.table.items() if "GET" in methods]
    for brace, values in VALUES.items():
        found = [one.replace(brace, value) for one in found for value in (values if brace in one else values[:1])]
    return found


def directives(policy: str) -> dict[str, str]:
    return dict(part.strip().partition(" ")[::2] for part in policy.split(";"))


def test_every_page_of_every_service_has_a_policy(site: Inside) -> None:
    """The pages are found by asking for every address: one that is added later is checked too."""
    shown = []
    for address in addresses(site.app):
        answer = site("GET", address + ("?events=1" if address.endswith("/live") else ""), accept="text/html")
        assert answer.headers["x-content-type-options"] == "nosniff", address
        if answer.headers["content-type"].startswith("text/html"):
            shown.append(address)
            policy = directives(answer.headers.get("content-security-policy", ""))
            assert {name: policy.get(name) for name in DIRECTIVES} == DIRECTIVES, address
            assert "*" not in answer.headers["content-security-policy"], address
            assert answer.headers["referrer-policy"] == "no-referrer", address
    wanted = {"/", "/plan", "/docs", "/s/habits", "/s/mixed", "/s/nothing", "/s/habits/results", "/s/habits/join"}
    assert wanted <= set(shown)


def test_scripts_come_from_the_service_alone() -> None:
    policy = directives(pages.POLICY)
    assert (policy["script-src"], policy["style-src"], policy["connect-src"]) == ("'self'", "'self'", "'self'")
    assert policy["require-trusted-types-for"] == "'script'"


PUBLIC = {"/v1/surveys/habits", "/v1/surveys/habits/guarantee", "/v1/surveys/habits/reports", "/openapi.json"}


def test_pages_of_other_sites_may_ask_for_surveys_and_send_reports_and_nothing_else(site: Inside) -> None:
    """A browser asks first, by OPTIONS, before it lets such a page send JSON or a header of its own."""
    for pattern in site.app.router.table:
        address = pattern.replace("{id}", "habits").replace("{name}", "style.css")
        answer = site("OPTIONS", address, origin="https://evil.example", access_control_request_method="POST")
        assert ("access-control-allow-origin" in answer.headers) == (address in PUBLIC), address
        assert "authorization" not in answer.headers.get("access-control-allow-headers", ""), address
    for address in ("/v1/surveys", "/v1/surveys/habits/estimates", "/v1/surveys/habits/live?events=1", "/metrics"):
        assert "access-control-allow-origin" not in site("GET", address, token=site.admin).headers, address


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_foreign_form_can_send_changes_nothing(site: Inside, kind: str) -> None:
    """Without asking first, a page can send these types with POST, and no token."""
    for pattern, methods in site.app.router.table.items():
        if "POST" in methods:
            answer = site("POST", pattern.replace("{id}", "habits"), b"{}", kind, origin="https://evil.example")
            assert answer.status in (401, 403, 415), pattern

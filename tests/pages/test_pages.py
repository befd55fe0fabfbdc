"""The pages as they are served: files, headers, what is said without JavaScript. Browsers come in other tests."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser_site import survey
from collector_service import Inside

from sottovoce import pages
from sottovoce.collector import open_store

ROOT = Path(__file__).parents[2]
RESPONDENT = {
    "respondent", "odds", "fields", "rehearsal", "check", "send", "receipt", "ledger", "refused", "rejected", "failed",
}  # fmt: skip
NASTY = "<script>alert(1)</script>&\"'"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Inside]:
    store = open_store(tmp_path)
    store.publish(survey("pills", (0,), title=NASTY, contact="<b>me</b>"))
    made = Inside(store)
    yield made
    made.close()


def test_every_page_forbids_what_it_does_not_need(site: Inside) -> None:
    for path in ("/s/pills", "/s/nothing", "/assets/style.css", "/assets/sottovoce.js"):
        headers = site("GET", path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in headers


def test_nothing_in_a_page_is_inline_or_from_elsewhere() -> None:
    for path in pages.FOLDER.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<style|<script(?![^>]* src=)| style=| on[a-z]+=|https?:|javascript:", text), path.name
    for path in pages.FOLDER.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?:", text.replace(
            "http://www.w3.org/2000/svg", "")), path.name  # fmt: skip


def test_a_title_is_text(site: Inside) -> None:
    body = site("GET", "/s/pills").body.decode()
    assert NASTY not in body and "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in body and "&lt;b&gt;me" in body
    assert site("GET", "/").headers["location"] == "/s/pills"


def test_the_list_of_surveys(site: Inside) -> None:
    site.store.publish(survey("travel", (1,), title=NASTY))
    site.store.publish(survey("secret", (1,)), invited=True)
    site.store.publish(survey("old", (1,), expires="2020-01-01T00:00:00Z"))
    listed = site("GET", "/").body.decode()
    assert NASTY not in listed and 'href="/s/travel"' in listed and 'href="/s/pills"' in listed
    assert "secret" not in listed and "/s/old" not in listed
    for name in ("pills", "travel"):
        site.store.close_survey(name)
    assert "No survey is open" in site("GET", "/").body.decode()
    assert 'data-state="closed"' in site("GET", "/s/pills").body.decode()
    assert 'data-state="expired"' in site("GET", "/s/old").body.decode()


def test_without_javascript_it_says_why(site: Inside) -> None:
    english = site("GET", "/s/pills").body.decode()
    italian = site("GET", "/s/pills", accept_language="it-IT,it;q=0.9").body.decode()
    assert "<noscript>" in english and "changed at random on your own device" in english and "&lt;b&gt;me" in english
    assert '<html lang="it"' in italian and "sul tuo dispositivo" in italian


def test_assets_are_known_by_their_content(site: Inside) -> None:
    first = site("GET", "/assets/style.css")
    assert first.status == 200 and first.headers["content-type"] == "text/css; charset=utf-8"
    again = site("GET", "/assets/style.css", if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert site("GET", "/assets/respondent.html").status == site("GET", "/assets/__init__.py").status == 404
    assert site("GET", "/assets/..%2F__init__.py").status == site("GET", "/assets/nothing.js").status == 404
    assert site("GET", "/s/nothing").status == 404 and site("POST", "/s/pills").status == 405


def test_the_client_is_that_of_the_repository(site: Inside) -> None:
    """There is no second copy in the repository, and a wheel gets the one there is."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for name in pages.CLIENT_FILES:
        assert site("GET", f"/assets/{name}").body == (ROOT / "clients" / "js" / name).read_bytes()
        assert not (pages.FOLDER / name).exists()
        assert included[f"clients/js/{name}"] == f"sottovoce/pages/{name}"


def test_every_string_is_there_in_every_language_with_the_same_places() -> None:
    for section, entries in pages.strings().items():
        for key, said in entries.items():
            assert tuple(said) == pages.languages(), f"{section}.{key}"
            places = {language: sorted(set(re.findall(r"\{(\w+)\}", text))) for language, text in said.items()}
            assert len({tuple(names) for names in places.values()}) == 1, f"{section}.{key}: {places}"


def test_every_string_that_a_page_says_is_there_and_none_is_left_over() -> None:
    texts = [p.read_text(encoding="utf-8") for p in pages.FOLDER.iterdir() if p.suffix in (".js", ".html")]
    said = set(re.findall(r'(?:say|paragraph|button|has)\((?:fresh \? )?"([a-z]+\.\w+)"', "\n".join(texts)))
    known = {f"{section}.{key}" for section, entries in pages.strings().items() for key in entries}
    assert said <= known, said - known
    parts = [key.partition(".") for key in known]
    own = {name.removeprefix("step_").removesuffix("_help") for section, _, name in parts if section in RESPONDENT}
    assert {name for name in own if not re.search(rf"\b{name}", "\n".join(texts))} == set()

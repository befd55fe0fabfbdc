"""The pages people see: hand-written HTML, one style sheet and ES modules, which load nothing from elsewhere.

A page is a file. JavaScript fills it in from the published survey, by text alone; what it must say without JavaScript
is put into its `{{places}}` here, escaped. Nothing in it is inline, so that the policy below can forbid all that is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

from sottovoce.core.errors import FileError

FOLDER = Path(__file__).parent
CLIENT = FOLDER.parents[2] / "clients" / "js"
"""Where the client for browsers is in a checkout. A wheel holds it beside the pages."""

CLIENT_FILES = ("sottovoce.js", "chances.js", "seal.js", "send.js", "personal-key.js")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
OWN = "connect-src 'self'"
HEADERS = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", "cache-control": "no-cache"}

ORIGIN = re.compile(r"https?://[\w.:\[\]-]+", re.ASCII)
PLACE = re.compile(r"\{\{([a-z_.]+)\}\}")


@dataclass(frozen=True)
class Asset:
    """A file as it is served."""

    data: bytes
    kind: str

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.data).hexdigest()[:32]}"'


@cache
def names() -> tuple[str, ...]:
    """What pages may load: all but the pages themselves and this module."""
    there = {path.name for path in FOLDER.iterdir() if path.suffix in KINDS and path.suffix != ".html"}
    return tuple(sorted(there | {name for name in CLIENT_FILES if (CLIENT / name).is_file()}))


@cache
def asset(name: str) -> Asset | None:
    """A file by its name, or nothing.

    >>> asset("style.css").kind, asset("__init__.py"), asset("../errors.py")
    ('text/css; charset=utf-8', None, None)
    """
    return Asset(_read(name), KINDS[Path(name).suffix]) if name in names() else None


def headers(address: str | None = None) -> dict[str, str]:
    """The headers of a page, which may send to one address besides its own.

    >>> "connect-src 'self' https://mixer.example;" in headers("https://mixer.example/x;y")["content-security-policy"]
    True
    """
    origin = ORIGIN.match(address or "")
    return HEADERS | ({"content-security-policy": POLICY.replace(OWN, f"{OWN} {origin[0]}")} if origin else {})


class Markup(str):
    """HTML that is put into a page as it is."""

    __slots__ = ()


def page(name: str, language: str = "en", **values: str) -> bytes:
    """A page with its places filled in: values and, by their keys, strings in a language, escaped unless `Markup`.

    >>> b"<title>&lt;b&gt;</title>" in page("respondent.html", title="<b>")
    True
    """
    said = strings()
    known = {"language": language, **values}

    def fill(match: re.Match[str]) -> str:
        section, _, key = match[1].partition(".")
        text = said[section][key][language] if key else known.get(section, "")
        return text if isinstance(text, Markup) else escape(text)

    return PLACE.sub(fill, _read(name).decode()).encode()


def links(places: Mapping[str, str]) -> Markup:
    """A list of links, from addresses to what they are called.

    >>> links({"/s/sleep": "Sleep & pills"})
    '<ul><li><a href="/s/sleep" dir="auto">Sleep &amp; pills</a></li></ul>'
    """
    rows = [f'<li><a href="{escape(place)}" dir="auto">{escape(title)}</a></li>' for place, title in places.items()]
    return Markup(f"<ul>{''.join(rows)}</ul>")


@cache
def strings() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """All that the pages say: by section, key and language."""
    found: dict[str, dict[str, dict[str, str]]] = json.loads(_read("strings.json"))
    return found


@cache
def languages() -> tuple[str, ...]:
    """The languages of the pages; the first is for whoever speaks none of them."""
    return tuple(strings()["common"]["language"])


def language_for(accepted: str) -> str:
    """The first language of an Accept-Language header that there is.

    >>> language_for("de-CH, it;q=0.8, en;q=0.5"), language_for("")
    ('it', 'en')
    """
    wished = (part.partition(";")[0].strip().partition("-")[0].lower() for part in accepted.split(","))
    return next((one for one in wished if one in languages()), languages()[0])


def _read(name: str) -> bytes:
    for folder in (FOLDER, CLIENT):
        if (folder / name).is_file():
            return (folder / name).read_bytes()
    raise FileError(f"{name}: the pages are not complete, install sottovoce again")

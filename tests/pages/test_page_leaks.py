"""Nothing but the report depends on the answer: neither what the page sends, nor what it stores, nor when.

Two people give different answers whose draws happen to give the same report: the coins of each visit are chosen so.
Then everything that leaves the browser must be the same to the byte, and so must everything that it stores. Mistakes
that are planted in the page show that the comparison notices.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
import service_processes
from browser_site import Site, survey
from playwright.sync_api import Browser, Page
from request_recorder import Edit, Visit, proxy, recorded, storage

LATE_SECONDS = 1.5
"""By how much a request may come later for one answer than for the other, on a busy machine."""
SETTLE_MILLISECONDS = 150
"""For what a phase has begun to be sent and stored."""
NOW = datetime(2026, 3, 1, 12)
SEEDS = 400

COINS = """
let word = 1;
globalThis.reseed = (seed) => { word = Math.imul(seed + 1, 2654435761) | 1; };
crypto.getRandomValues = (array) => {
  if (!(array instanceof Uint32Array)) return array.fill(7);
  return array.map(() => {
    for (const [left, shift] of [[true, 13], [false, 17], [true, 5]]) word ^= left ? word << shift : word >>> shift;
    return word >>> 0;
  }).reduce((all, drawn, at) => { all[at] = drawn; return all; }, array);
};
"""
"""Coins that a test can choose by a seed; the ids of reports are always the same."""

FIND_SEEDS = """async ([text, first, second, seeds]) => {
  const { Survey } = await import("/assets/sottovoce.js");
  const asked = new Survey(text);
  const reports = (answers, seed) => {
    reseed(seed);
    return JSON.stringify(asked.questions.map(({ id, mechanism }) => {
      const report = mechanism.randomize(answers[id]);
      return report instanceof Uint8Array ? [...report] : String(report);
    }));
  };
  const places = new Map();
  for (let seed = seeds - 1; seed >= 0; seed--) places.set(reports(first, seed), seed);
  for (let seed = 0; seed < seeds; seed++) {
    const found = reports(second, seed);
    if (places.has(found)) return [places.get(found), seed];
  }
  return null;
}"""

SURVEYS = {one.id: one for one in (survey("pills", (0,)), survey("drinks", (2,)), survey("town", (5,)))}
PAIRS: dict[str, tuple[Any, Any]] = {
    "pills": ("yes", "no"),
    "drinks": ([], ["tea", "coffee", "beer", "wine"]),
    "town": ("Ur", "Llanfairpwllgwyngyllgogerychwyrndrobwll"),
}


@pytest.fixture(scope="module")
def site(nest: service_processes.Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(nest, tmp_path_factory.mktemp("site"), *SURVEYS.values())
    yield made
    made.kill()


def fill_in(page: Page, name: str, answer: Any) -> None:
    fields = page.locator(".question > fieldset")
    if name == "town":
        fields.locator("input").fill(answer)
    elif name == "pills":
        fields.get_by_label(answer.capitalize()).check()
    else:
        for value in answer:
            fields.get_by_label(value).check()


def visit(browser: Browser, site: Site, name: str, answer: Any, seed: int, edits: dict[str, Edit]) -> Visit:
    """Answer a survey, make the answers final, look at the bytes, send them, and come back."""
    made = Visit()
    with proxy(edits) as through, recorded(browser, through, COINS) as (context, page):
        page.clock.install(time=NOW)
        page.clock.set_fixed_time(NOW)

        def end(phase: str) -> None:
            """Let every timer of the page run out, and look at what is stored."""
            page.clock.fast_forward("01:00:00")
            page.clock.set_fixed_time(NOW)
            page.wait_for_timeout(SETTLE_MILLISECONDS)
            made.storage[phase] = storage(context, page)

        page.goto(f"{site.url}/s/{name}")
        page.locator("form").wait_for()
        end("load")
        through.begin("answer")
        fill_in(page, name, answer)
        page.evaluate("reseed", seed)
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("button", name="My answers are final").click()
        made.shown = page.locator("#bytes").inner_text()
        end("answer")
        through.begin("send")
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("heading", name="Thank you").wait_for()
        end("send")
        through.begin("again")
        page.reload()
        page.get_by_role("heading", name="You have answered already").wait_for()
        end("again")
        made.requests = list(through.requests)
    return made


def ordered(made: Visit) -> list[Any]:
    """Requests to compare. A page loads its files side by side, in any order; after that the order counts."""
    loading = ("load", "again")
    return [
        *sorted((one for one in made.requests if one.phase in loading), key=lambda one: repr(one.content)),
        *(one for one in made.requests if one.phase not in loading),
    ]


def differences(first: Visit, second: Visit) -> list[str]:
    """What tells two visits apart, besides the report."""
    assert first.shown == second.shown, "the coins must give both the same report"
    one, other = ordered(first), ordered(second)
    found = [f"{len(one)} requests, {len(other)} requests"] if len(one) != len(other) else []
    for a, b in zip(one, other, strict=False):
        if a.content != b.content:
            found.append(f"request: {a.content} and {b.content}")
        elif a.phase in ("answer", "send") and abs(a.seconds - b.seconds) > LATE_SECONDS:
            found.append(f"time: {a.url} after {a.seconds:.1f} and {b.seconds:.1f} seconds")
    return found + [
        f"storage, {phase}: {kept} and {second.storage[phase]}"
        for phase, kept in first.storage.items()
        if kept != second.storage[phase]
    ]


def compare(browser: Browser, site: Site, name: str, edits: dict[str, Edit] | None = None) -> list[str]:
    """What tells apart two people with different answers and the same report."""
    asked, pair = SURVEYS[name], PAIRS[name]
    with proxy() as through, recorded(browser, through, COINS) as (_, page):
        page.goto(f"{site.url}/s/{name}")
        given = [{name: answer} for answer in pair]
        seeds = page.evaluate(FIND_SEEDS, [asked.canonical().decode(), *given, SEEDS])
    assert seeds is not None, "no coins give both answers the same report"
    visits = [visit(browser, site, name, *at, edits or {}) for at in zip(pair, seeds, strict=True)]
    reports = [one for one in visits[0].requests if one.method == "POST"]
    assert [one.body.decode() for one in reports] == [visits[0].shown]
    elsewhere = {one.url for made in visits for one in made.requests if not one.url.startswith(site.url + "/")}
    assert not elsewhere
    return differences(*visits)


@pytest.mark.parametrize("name", PAIRS)
def test_nothing_but_the_report_depends_on_the_answer(browser: Browser, site: Site, name: str) -> None:
    """Requests, headers, order, times and everything that is stored are the same for two answers."""
    assert compare(browser, site, name) == []


PLACE = "check({ ...context, body: await me.preview("
"""Where the page has the draw made for the answers: mistakes are planted before this."""
SENDING = "const { survey, body } = context;"
"""Where the page begins to send what was drawn."""
LONG = "String(Object.values(answers)).length > 9"
MISTAKES = {
    "request header": 'fetch("/assets/icon.svg", { headers: { "x-trace": btoa(JSON.stringify(answers)) } });',
    "request or none": f'if ({LONG}) fetch("/assets/icon.svg");',
    "localStorage": 'localStorage.setItem("last", JSON.stringify(answers));',
    "late request": f'if ({LONG}) setTimeout(() => fetch("/assets/icon.svg"), 600_000);',
    "address": 'new Image().src = `/assets/icon.svg?${btoa(JSON.stringify(answers))}`;',
    "order": f'{{ const two = ["icon.svg", "style.css"]; if ({LONG}) two.reverse(); '
             'for (const one of two) await fetch(`/assets/${one}`, { cache: "reload" }); }',
    "time": f"const {{ answers = {{}} }} = context; "
            f"if ({LONG}) await new Promise((done) => setTimeout(done, 4000));",
    "sessionStorage": 'sessionStorage.setItem("last", JSON.stringify(answers));',
    "cookie": 'document.cookie = `last=${btoa(JSON.stringify(answers))}`;',
    "history": "history.replaceState(answers, '');",
    "window.name": "window.name = JSON.stringify(answers);",
    "cache": 'await (await caches.open("x")).put("/x", new Response(JSON.stringify(answers)));',
    "database": 'await new Promise((done) => { const open = indexedDB.open("x"); open.onsuccess = done; '
                'open.onupgradeneeded = () => open.result.createObjectStore("x").put(answers, 1); });',
}  # fmt: skip
QUICK = ("request header", "request or none", "localStorage")


def planted(mistake: str, place: str) -> Edit:
    def edit(script: str) -> str:
        assert script.count(place) == 1
        return script.replace(place, f"{mistake}\n  {place}")

    return edit


@pytest.mark.parametrize(
    "mistake", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in MISTAKES]
)
def test_a_planted_mistake_is_noticed(browser: Browser, site: Site, mistake: str) -> None:
    place = SENDING if mistake == "time" else PLACE
    found = compare(browser, site, "town", {"/assets/respondent.js": planted(MISTAKES[mistake], place)})
    assert found, f"{mistake}: it was not noticed"

"""The page of those who answer, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import service_processes
from browser_site import DESK, Log, Site, survey, visitor
from playwright.sync_api import Browser, Page, Route, expect

from sottovoce.core.sealing import PrivateKey
from sottovoce.device import envelope, wire
from sottovoce.mechanisms import KRR, Hadamard, LocalHash, Memoized, Projective, RandomizedResponse, Sets, Subset, Unary
from sottovoce.survey import Survey

NASTY = "<img src=x onerror=\"document.title='owned'\"><b>&amp;</b>"
CANARY = "Zanzibar-7731"
ALL = (0, 1, 2, 3, 4, 5)
PAST = "2020-01-01T00:00:00Z"

MANY = range(200)
SURVEYS = {
    one.id: one
    for one in (
        survey("pills", (0,), title="Sleep and pills"),
        survey("kinds", ALL, covariates=[{"id": "region", "text": "Where do you live?", "values": ["north", "south"]}]),
        survey("closing", (0,)),
        survey("closed", (0,)),
        survey("old", (0,), expires=PAST),
        survey("waves", (0,), schedule={"waves": 3, "every": "week"}),
        survey("dear", (), questions=[{"id": "a", "text": "A?", "kind": "yes_no", "epsilon": 11}]),
        survey("nasty", (), title=NASTY, description=NASTY, contact="<i>x</i>", questions=[
            {"id": "a", "text": NASTY + "?", "kind": "choice", "epsilon": 1,
             "values": [NASTY, "x" * 200, "مرحبا بالعالم"]}]),
        survey("long", (), title="שלום עולם, סקר", questions=[
            {"id": "a", "text": "Which?", "kind": "choice", "epsilon": 1, "values": [f"option {n}" for n in MANY]},
            {"id": "b", "text": "Any?", "kind": "multiple", "epsilon": 1, "values": [f"thing {n}" for n in MANY]},
        ]),
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def site(nest: service_processes.Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(nest, tmp_path_factory.mktemp("site"), *SURVEYS.values(), public_estimates=True)
    made.close_survey("closed")
    yield made
    made.kill()


def question(page: Page, at: int) -> Any:
    """The form of a question, without its rehearsal."""
    return page.locator(".question > fieldset").nth(at)


def see(page: Page) -> str:
    """Make the answers final; the bytes that are shown."""
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="My answers are final").click()
    return page.locator("#bytes").inner_text()


def answer_yes(page: Page, site: Site, name: str = "pills") -> str:
    page.goto(f"{site.url}/s/{name}")
    question(page, 0).get_by_label("Yes").check()
    return see(page)


def check_log(log: Log, site: Site, *bodies: str) -> None:
    """All that left is the loading of the page and the reports that were shown; nothing names the answer."""
    assert log.bodies == list(bodies)
    for request, text in zip(log.requests, log.texts, strict=True):
        assert request.url.startswith((site.url, "blob:")) and "?" not in request.url
        assert CANARY.lower() not in text.lower() and "cookie" not in text.lower()
        assert request.method == "GET" or request.url.endswith("/reports")


def test_all_kinds_of_questions(browser: Browser, site: Site) -> None:
    """What is shown is what is sent, byte for byte, and the collector can read it."""
    asked = SURVEYS["kinds"]
    with visitor(browser) as (context, page, log):
        page.goto(f"{site.url}/s/kinds")
        page.get_by_role("button", name="Go on").click()
        expect(page.locator(".wrong:visible")).to_have_count(6)  # Any number of drinks, also none, is an answer.
        question(page, 0).get_by_label("No").check()
        question(page, 1).get_by_label("No answer").check()
        question(page, 2).get_by_label("tea").check()
        question(page, 2).get_by_label("wine").check()
        question(page, 3).locator("input").fill("99")
        question(page, 4).locator("input").fill("42")
        question(page, 5).locator("input").fill(CANARY)
        page.get_by_label("south").check()
        expect(page.locator(".wrong:visible")).to_have_text("The answer must be a number from 0 to 24.")
        question(page, 3).locator("input").fill("7,5")
        body = see(page)
        expect(page.locator(".sent").first).to_contain_text("Stays here")
        assert page.locator(".sent").nth(5).inner_text().count(CANARY) == 1
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Thank you. It has arrived.")
        assert CANARY not in page.content()
        check_log(log, site, body)
        sent = wire.decode(body.encode(), asked)
        assert sent.covariates == {"region": "south"} and sent.wave == 0
        assert set(json.loads(body)) == {"covariates", "id", "reports", "survey", "wave"}
        assert [row[1].hex() for row in site.reports("kinds")] == [sent.id]
        stored = page.evaluate("""() => new Promise((done) => { indexedDB.open("sottovoce").onsuccess = ({ target }) =>
            target.result.transaction("store").objectStore("store").get("store").onsuccess = (found) =>
            done(JSON.stringify(found.target.result)); })""")
        assert CANARY not in stored and "7.5" not in stored
        assert log.complaints == [] and context.cookies() == []


def test_the_device_lies_when_its_coin_says_so(browser: Browser, site: Site) -> None:
    """With coins that always fall on one side the report is the opposite of the answer: nothing else goes along."""
    with visitor(browser) as (context, page, _log):
        context.add_init_script("crypto.getRandomValues = (array) => array.fill(2 ** 32 - 1)")
        body = answer_yes(page, site)
        assert json.loads(body)["reports"] == {"pills": 0}
        expect(page.locator(".sent")).to_contain_text(re.compile(r"Stays here\s*Yes\s*Is sent\s*No"))


def test_one_draw_only(browser: Browser, site: Site) -> None:
    """Answers can be changed before the draw and never after it; a reload shows the bytes, and not the answers."""
    with visitor(browser) as (_, page, log):
        page.goto(f"{site.url}/s/pills")
        question(page, 0).get_by_label("No").check()
        page.get_by_role("button", name="Go on").click()
        expect(page.get_by_role("heading", name="Your answers are final once you go on")).to_be_visible()
        expect(page.locator("#bytes")).to_have_count(0)  # Nothing has been drawn.
        page.get_by_role("button", name="Change my answers").click()
        expect(question(page, 0).get_by_label("No")).to_be_checked()
        question(page, 0).get_by_label("Yes").check()
        page.get_by_role("button", name="Go on").click()
        expect(page.locator(".sent")).to_contain_text(re.compile(r"Your answer\s*Yes"))
        page.get_by_role("button", name="My answers are final").click()
        body = page.locator("#bytes").inner_text()
        expect(page.get_by_role("button", name="Change my answers")).to_have_count(0)
        page.reload()
        assert page.locator("#bytes").inner_text() == body
        expect(page.get_by_text("Stays here")).to_have_count(0)
        expect(page.get_by_text("but not your answers")).to_be_visible()
        page.go_back()
        page.goto(f"{site.url}/s/pills")
        assert page.locator("#bytes").inner_text() == body
        assert log.bodies == []  # A draw that was only shown is not sent by itself.
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("heading", name="Thank you").wait_for()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the receipt").click()
        receipt = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
        assert (receipt["sent"], receipt["digest"]) == (body, SURVEYS["pills"].digest)
        assert receipt["charges"][0]["epsilon"] == SURVEYS["pills"].epsilon
        page.reload()
        page.get_by_role("heading", name="You have answered already").wait_for()
        page.get_by_text("The exact bytes").click()
        assert page.locator("#bytes").inner_text() == body
        check_log(log, site, body)


def test_a_rehearsal_is_no_answer(browser: Browser, site: Site) -> None:
    with visitor(browser) as (_, page, log):
        page.goto(f"{site.url}/s/pills")
        expect(page.locator(".below > p")).to_contain_text("Of 100 people who answer No, 27 send Yes.")
        page.get_by_text("Rehearse a made-up answer").click()
        rehearsal = page.locator("details[open]")
        rehearsal.get_by_label("No", exact=True).check()
        for _ in range(10):
            rehearsal.get_by_role("button", name="Draw 10 reports").click()
        expect(rehearsal).to_contain_text("All 100 draws")
        counts = [int(text.split()[0]) for text in rehearsal.locator("ul").last.locator("li").all_inner_texts()]
        assert sum(counts) == 100 and len(counts) == 2  # One kind alone: less than once in 10^13 runs.
        expect(page.locator("#ledger")).to_contain_text("Spent: ε = 0 of a budget of 10")
        assert log.bodies == []


def test_a_kill_and_a_restart_of_the_collector_are_survived(
    browser: Browser, nest: service_processes.Nursery, tmp_path: Path
) -> None:
    """An open page sends the same report until it is acknowledged, also after it was closed and opened again."""
    site = Site(nest, tmp_path, SURVEYS["pills"])
    with visitor(browser) as (context, page, log):
        body = answer_yes(page, site)
        site.kill()
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_text("The collector cannot be reached now.").wait_for()
        site.restart()
        page.get_by_role("heading", name="Thank you").wait_for()
        assert len(log.bodies) > 1 and set(log.bodies) == {body}
        check_log(log, site, *log.bodies)
        assert len(site.reports("pills")) == 1
    with visitor(browser) as (context, page, log):
        body = answer_yes(page, site)
        context.set_offline(True)
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_text("This device is offline.").wait_for()
        page.close()
        context.set_offline(False)
        again = context.new_page()
        again.goto(f"{site.url}/s/pills")
        again.get_by_role("heading", name="Thank you").wait_for()
        assert set(log.bodies) == {body} and len(site.reports("pills")) == 2
    site.kill()


def test_a_survey_with_a_shuffler(browser: Browser, nest: service_processes.Nursery, tmp_path: Path) -> None:
    """The report is sealed, sent to the shuffler alone, and opens with both keys to the bytes that were shown."""
    analyst, shuffler = PrivateKey.generate(), PrivateKey.generate()
    place = "http://mixer.test/v1/surveys/mixed"
    mixed = survey("mixed", (0,), trust="shuffle", shuffle={
        "analyst": str(analyst.public), "shuffler": str(shuffler.public), "address": place, "minimum": 50,
        "honest": 45, "delta": 1e-6})  # fmt: skip
    site = Site(nest, tmp_path, mixed)
    taken: list[bytes] = []

    def take(route: Route) -> None:
        allowed = {"access-control-allow-origin": "*", "access-control-allow-headers": "content-type"}
        if route.request.method == "POST":
            taken.append(route.request.post_data_buffer or b"")
        said = {"accepted": 1, "duplicates": 0} if len(taken) > 2 else {}  # {} acknowledges nothing.
        route.fulfill(status=200 if len(taken) != 1 else 503, headers=allowed, json=said)

    with visitor(browser) as (_, page, log):
        page.route("http://mixer.test/**", take)
        page.goto(f"{site.url}/s/mixed#invitation=let-me-in")
        page.get_by_text("Who could learn what?").click()
        added = page.get_by_text("learns still less: ε = ")  # Beside what holds against everybody.
        expect(added).to_be_visible(timeout=30_000)  # The collector works it out when it is first asked.
        body = answer_yes(page, site, "mixed")
        expect(page.get_by_text("They are sealed first")).to_be_visible()
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("heading", name="Thank you").wait_for()
        assert len(taken) == 3 and len(set(taken)) == 1
        wave, inner = envelope.take_off(mixed, shuffler, taken[0])
        assert envelope.unseal(mixed, analyst, wave, inner).decode().rstrip() == body
        assert [one.url for one in log.requests if one.method == "POST"] == [f"{place}/reports"] * 3
        assert all("sottovoce-invitation" not in one.headers for one in log.requests)  # It would name the person.
        assert all(json.loads(body)["id"] not in text for text in log.texts)
    site.kill()


def test_what_a_collector_may_refuse(browser: Browser, site: Site) -> None:
    """Closed while the page was open, an invitation, an error of its own: each has words, and none gets the answer."""
    with visitor(browser) as (_, page, log):
        body = answer_yes(page, site, "closing")
        site.close_survey("closing")
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("heading", name="The survey has been closed").wait_for()
        check_log(log, site, body)
    with visitor(browser) as (_, page, log):
        refusal = {"error": {"code": "invitation", "message": "no such invitation"}}
        page.route("**/reports", lambda route: route.fulfill(status=403, json=refusal))
        body = answer_yes(page, site)
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_label("Invitation code").fill("let-me-in")
        page.unroute("**/reports")
        page.route("**/reports", lambda route: route.fulfill(status=500, json={}))
        page.get_by_role("button", name="Send with this code").click()
        page.get_by_text("The collector cannot be reached now.").wait_for()
        assert log.requests[-1].headers["sottovoce-invitation"] == "let-me-in"
        assert set(log.bodies) == {body}
        page.unroute("**/reports")
        page.route("**/reports", lambda route: route.fulfill(status=400, json={"error": {"code": NASTY}}))
        page.get_by_role("heading", name="The collector refused the report").wait_for()
        assert page.title() != "owned"
        check_log(log, site, *log.bodies)


@pytest.mark.parametrize(("name", "words"), [
    ("closed", "This survey is closed"), ("old", "This survey has ended"),
    ("dear", "Your privacy budget does not allow it"),
])  # fmt: skip
def test_what_a_device_refuses(browser: Browser, site: Site, name: str, words: str) -> None:
    with visitor(browser) as (_, page, log):
        page.goto(f"{site.url}/s/{name}")
        page.get_by_role("heading", name=words).wait_for()
        expect(page.locator("form")).to_have_count(0)
        if name == "dear":
            page.get_by_text("Change my budget").click()
            page.get_by_label("Budget").fill("12")
            page.get_by_role("button", name="Set the budget").click()
            expect(page.locator("form")).to_have_count(1)
        assert log.bodies == [] and log.complaints == []


def test_a_survey_that_changed_is_refused(browser: Browser, site: Site) -> None:
    """A collector that shows another document under a known id gets no answer."""
    with visitor(browser) as (_, page, log):
        answer_yes(page, site)
        changed = SURVEYS["pills"].to_dict() | {"title": "Another survey"}
        page.route("**/v1/surveys/pills", lambda route: route.fulfill(json=changed))
        page.reload()
        page.get_by_role("heading", name="This survey has changed").wait_for()
        page.route("**/v1/surveys/pills", lambda route: route.fulfill(body="{}"))
        page.reload()
        page.get_by_role("heading", name="The survey cannot be shown").wait_for()
        assert log.bodies == []


def test_waves(browser: Browser, site: Site) -> None:
    with visitor(browser) as (_, page, log):
        first = answer_yes(page, site, "waves")
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("button", name="Answer the next wave").click()
        expect(page.get_by_text("Wave 2 of 3")).to_be_visible()
        question(page, 0).get_by_label("No").check()
        second = see(page)
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("heading", name="Thank you").wait_for()
        assert [json.loads(body)["wave"] for body in (first, second)] == [0, 1]
        expect(page.locator("#ledger tbody tr")).to_have_count(2)
        page.reload()
        expect(page.get_by_text("Wave 2 of 3")).to_be_visible()
        check_log(log, site, first, second)


def test_text_of_others_is_text(browser: Browser, site: Site) -> None:
    """Titles and options with HTML, very long ones, right to left, 200 of them: all are shown, none breaks the page."""
    with visitor(browser) as (_, page, log):
        page.goto(f"{site.url}/s/nasty")
        expect(page.get_by_role("heading", level=1)).to_have_text(NASTY)
        expect(page.locator("legend").first).to_have_text(NASTY + "?")
        page.get_by_text("Rehearse a made-up answer").click()
        page.locator("details[open]").get_by_label("مرحبا").check()
        page.get_by_role("button", name="Draw 10").click()
        question(page, 0).get_by_label("x" * 200).check()
        see(page)
        assert page.title() == NASTY
        page.goto(f"{site.url}/s/long")
        expect(question(page, 0).get_by_role("radio")).to_have_count(150)
        question(page, 0).get_by_role("searchbox").fill("199")
        question(page, 0).get_by_label("option 199").check()
        question(page, 1).get_by_label("thing 1", exact=True).check()
        question(page, 1).get_by_role("searchbox").fill("150")
        question(page, 1).get_by_label("thing 150").check()
        expect(question(page, 1).locator("input:checked")).to_have_count(2)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        see(page)
        expect(page.locator(".sent").last).to_contain_text("thing 1, thing 150")
        assert log.bodies == [] and log.complaints == []


def test_keyboard_alone(browser: Browser, site: Site) -> None:
    with visitor(browser, viewport=DESK) as (_, page, _log):
        page.goto(f"{site.url}/s/pills")
        question(page, 0).get_by_label("No").focus()
        page.keyboard.press("ArrowDown")
        expect(question(page, 0).get_by_label("Yes")).to_be_checked()
        page.keyboard.press("Enter")
        for step, words in (("Are these your answers?", "My answers are final"), ("This is all", "Send")):
            page.get_by_role("heading", name=step).wait_for()
            for _ in range(12):
                if page.evaluate("document.activeElement.textContent") == words:
                    break
                page.keyboard.press("Tab")
            page.keyboard.press("Enter")
        page.get_by_role("heading", name="Thank you").wait_for()


def test_another_language(browser: Browser, site: Site) -> None:
    with visitor(browser, locale="it-IT") as (_, page, _log):
        page.goto(f"{site.url}/s/pills")
        expect(page.locator(".below > p")).to_contain_text("Su 100 persone che rispondono No, 27 inviano Sì.")
        assert page.evaluate("document.documentElement.lang") == "it"
        page.get_by_role("combobox").select_option("en")
        expect(page.locator(".below > p")).to_contain_text("Of 100 people")
        page.goto(f"{site.url}/s/pills")
        expect(page.locator(".below > p")).to_contain_text("Of 100 people")


def test_without_javascript(browser: Browser, site: Site) -> None:
    with visitor(browser, java_script_enabled=False) as (_, page, _log):
        page.goto(f"{site.url}/s/pills")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sleep and pills")
        expect(page.locator(".note")).to_contain_text("changed at random on your own device")
        expect(page.locator("noscript > p")).to_have_text("Whom to ask: study@example.org")


def test_a_browser_that_keeps_nothing_does_not_answer(browser: Browser, site: Site) -> None:
    with visitor(browser) as (context, page, log):
        context.add_init_script("IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); }")
        page.goto(f"{site.url}/s/pills")
        page.get_by_role("heading", name="This browser cannot remember").wait_for()
        assert log.bodies == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_no_violations_of_accessibility(browser: Browser, site: Site, scheme: str) -> None:
    """Every state of the page passes axe, in light and in dark."""
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()

    def look(state: str) -> None:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        found = axe.run(page)
        assert found.violations_count == 0, f"{state}: {found.generate_report()}"

    with visitor(browser, color_scheme=scheme, bypass_csp=True) as (_, page, _log):
        page.goto(f"{site.url}/s/kinds")
        page.get_by_role("button", name="Go on").click()
        look("wrong")
        page.goto(f"{site.url}/s/pills")
        question(page, 0).get_by_label("Yes").check()
        page.get_by_role("button", name="Go on").click()
        look("final")
        page.get_by_role("button", name="My answers are final").click()
        page.locator("#bytes").wait_for()
        look("check")
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("heading", name="Thank you").wait_for()
        look("receipt")
        for name, words in (("closed", "closed"), ("dear", "budget")):
            page.goto(f"{site.url}/s/{name}")
            page.locator(".note h2", has_text=words).wait_for()
            look(name)


MECHANISMS: list[Any] = [
    RandomizedResponse(p=0.75), KRR(7, epsilon=1), Unary(9, epsilon=1), LocalHash(30, epsilon=2),
    Hadamard(20, epsilon=1), Subset(12, epsilon=1), Subset(90, epsilon=0.5), Projective(40, epsilon=1),
    Projective(500, epsilon=2), Sets(6, epsilon=1),
    *(Memoized.of(5, kind, permanent=2, first=1) for kind in ("krr", "unary", "local_hash")),
]  # fmt: skip


def test_the_odds_are_those_of_the_mechanism(browser: Browser, site: Site) -> None:
    """The page's p and q are Python's, and what it says of a report is what the report supports."""
    with visitor(browser) as (_, page, _log):
        page.goto(f"{site.url}/s/pills")
        page.locator("form").wait_for()
        for m in MECHANISMS:
            known = page.evaluate("async (m) => (await import('/assets/chances.js')).chances(m)", m.to_dict())
            assert known["p"] == pytest.approx(float(m.p), rel=1e-12), m
            assert known["q"] == pytest.approx(float(m.q), rel=1e-12), m
        for m in (KRR(7, epsilon=1), Unary(9, epsilon=1), LocalHash(30, epsilon=2), Hadamard(20, epsilon=1),
                  Subset(12, epsilon=1), Subset(90, epsilon=0.5)):  # fmt: skip
            for report in (m.randomize(3) for _ in range(5)):
                written = wire_form(report)
                asked = {"kind": "choice", "values": m.domain.size, "missing": "refuse"}
                told = page.evaluate(
                    "async ([q, m, r]) => (await import('/assets/odds.js')).meaning(q, m, r).values",
                    [asked, m.to_dict(), written],
                )
                assert told == sorted(m.supports(report)), (m, report)


def wire_form(report: Any) -> Any:
    import base64

    return base64.urlsafe_b64encode(report).decode().rstrip("=") if isinstance(report, bytes) else report


def test_every_mechanism_has_its_words(browser: Browser, site: Site) -> None:
    """Reports of every kind of mechanism that a survey may have are put into words, without a hitch."""
    waves: dict[str, Any] = {"schedule": {"waves": 3}}
    choice = {"text": "?", "kind": "choice", "values": ["a", "b", "c", "d", "e"], "epsilon": 1}
    number = {"text": "?", "kind": "number", "low": 0, "high": 10, "epsilon": 4}
    kinds = ["krr", "unary", "local_hash", "subset", "hadamard", "projective"]
    questions: list[dict[str, Any]] = [
        *({"id": kind, "mechanism": kind, **choice} for kind in kinds),
        *({"id": kind, "mechanism": kind, **number} for kind in ("rounding", "piecewise", "hybrid")),
        {"id": "wave", "estimate": "distribution", "bins": 16, **number},
        {"id": "kept", "memoize": True, **choice},
        {"id": "age", "text": "?", "kind": "ordered", "values": 60, "epsilon": 1},
        {"id": "name", "text": "?", "kind": "text", "max_bytes": 20, "epsilon": 1},
        {"id": "any", "text": "?", "kind": "multiple", "values": ["a", "b"], "epsilon": 1},
    ]
    asked = Survey.from_dict({"sottovoce": 1, "id": "all", "title": "All", "questions": questions, **waves}).publish()
    answers = {"name": "x", "any": ["a"], "age": 7} | dict.fromkeys(("rounding", "piecewise", "hybrid", "wave"), 3)
    with visitor(browser) as (_, page, _log):
        page.goto(f"{site.url}/s/pills")
        page.locator("form").wait_for()
        told = page.evaluate(
            """async ([text, answers]) => {
              const { Survey } = await import("/assets/sottovoce.js");
              const { meaning, oddsOf } = await import("/assets/odds.js");
              const written = JSON.parse(text).questions.map(({ mechanism }) => mechanism);
              return new Survey(text).questions.map((question, at) => {
                const { id, mechanism } = question;
                const reports = Array.from({ length: 20 }, () => mechanism.randomize(answers[id] ?? "c"));
                return [id, oddsOf(question, written[at]).map(({ text }) => text),
                  reports.map((report) => meaning(question, written[at], report).text)];
              });
            }""",
            [asked.canonical().decode(), answers],
        )
        for name, odds, said in told:
            assert odds and all(odds) and all(said), name
            assert not any(word in text for text in [*odds, *said] for word in ("NaN", "undefined", "{")), (
                name,
                odds,
                said,
            )

"""The page of results in a real browser: it follows what comes in, survives its collector, and trusts no text."""

from __future__ import annotations

import csv
import io
import re
import time
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest
import service_processes
from browser_site import DESK, KINDS, PHONE, Site, survey, visitor
from collector_service import ARROW, LINES, request

from sottovoce.collector import columns, open_store, tokens
from sottovoce.core.sealing import PrivateKey
from sottovoce.device import transport, wire
from sottovoce.survey import Survey
from sottovoce.survey.shuffle_guarantee import ShuffleGuarantee

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

REGION = [{"id": "region", "values": ["north", "south"]}]
ANSWERS: dict[str, Any] = {
    "pills": "yes",
    "travel": "car",
    "drinks": ["tea"],
    "sleep": 7.0,
    "age": 40,
    "town": "Torino",
    "income": 2.5,
}
INCOME = {"id": "income", "text": "What do you earn?", "kind": "number", "low": 0, "high": 8, "bins": 8, "epsilon": 2,
          "estimate": "distribution"}  # fmt: skip
NASTY = "<img src=x onerror=alert(1)>\"';=cmd|' /C calc'!A0"
LONG = "A very long name that goes on and on " * 12
ARABIC = "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645"

PRINTED = """
const rows = () => document.querySelectorAll("details[open] tbody tr").length;
window.print = () => (document.documentElement.dataset.rows = rows());
"""


@pytest.fixture
def site(nest: service_processes.Nursery, tmp_path: Path) -> Iterator[Site]:
    """Surveys whose results everybody may see."""
    made = Site(nest, tmp_path, survey("poll", (0,)), whole(), public_estimates=True)
    yield made
    made.kill()


def whole() -> Survey:
    """A survey with a question of every kind."""
    return survey("whole", questions=[*KINDS, INCOME], covariates=REGION, minimum=20)


def lines(asked: Survey, count: int, region: str | None = None) -> bytes:
    bodies = []
    for at in range(count):
        reports = {item.id: item.mechanism.randomize(_answer(item)) for item in asked.questions}
        public = {one.id: region or one.values[at % len(one.values)] for one in asked.covariates}
        bodies.append(wire.encode(wire.Submission(token_hex(16), asked.digest, 0, reports, public)))
    return b"\n".join(bodies)


def _answer(item: Any) -> Any:
    return ANSWERS[item.id] if item.id in ANSWERS else item.mechanism.domain.labels[0]


def send(site: Site, asked: Survey, count: int, **options: Any) -> None:
    status, answer = request(f"{site.url}/v1/surveys/{asked.id}/reports", lines(asked, count, **options), LINES)
    assert status == 200, answer


def counted(page: Page, n: int) -> None:
    """Wait until the page shows so many reports."""
    page.locator(f"html[data-reports='{n}']").wait_for(state="attached")


def mark(page: Page) -> None:
    page.evaluate("window.here = 'still'")


def assert_no_reload(page: Page) -> None:
    assert page.evaluate("window.here") == "still"


def answer(page: Page, site: Site, label: str) -> None:
    """As a person does it: choose, look, send."""
    page.goto(f"{site.url}/s/poll")
    page.get_by_label(label, exact=True).first.check()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="My answers are final").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("heading", level=1, name=re.compile("receipt|thank|sent", re.IGNORECASE)).wait_for()


# It follows what comes in.


def test_two_people_answer_and_the_page_follows_without_a_reload(browser: Browser, site: Site) -> None:
    with (
        visitor(browser, viewport=DESK) as (_, page, log),
        visitor(browser) as (_, one, _),
        visitor(browser) as (_, two, _),
    ):
        page.goto(f"{site.url}/s/poll/results")
        counted(page, 0)
        assert "0 reports of at least 1" in page.locator("#question-pills").inner_text()
        mark(page)
        answer(one, site, "Yes")
        counted(page, 1)
        answer(two, site, "No")
        counted(page, 2)
        assert_no_reload(page)
        assert page.locator("#question-pills svg[role=img]").first.is_visible()
        assert sum("/live" in request.url for request in log.requests) == 1
        assert log.complaints == []


def test_a_killed_collector_is_survived(browser: Browser, site: Site) -> None:
    poll = survey("poll", (0,))
    with visitor(browser) as (_, page, _):
        page.goto(f"{site.url}/s/poll/results")
        send(site, poll, 30)
        counted(page, 30)
        mark(page)
        before = page.locator("#question-pills svg[role=img]").first.text_content()
        site.kill()
        page.get_by_text("Not connected").wait_for()
        assert page.locator("#question-pills svg[role=img]").first.text_content() == before  # What is known stays.
        site.restart()
        page.get_by_text("Live", exact=True).wait_for()
        send(site, poll, 12)
        counted(page, 42)
        assert_no_reload(page)


def test_every_kind_of_question_has_its_charts(browser: Browser, site: Site) -> None:
    with visitor(browser, viewport=DESK) as (_, page, log):
        send(site, whole(), 60)
        page.goto(f"{site.url}/s/whole/results")
        counted(page, 60)
        for name in ("pills", "travel", "drinks", "sleep", "age", "income"):
            card = page.locator(f"#question-{name}")
            card.locator("svg[role=img]").first.wait_for()
            for chart in card.locator("svg[role=img]").all():
                assert chart.locator("title").first.text_content() and chart.locator("desc").first.text_content()
        page.locator("#question-town textarea").fill("Torino\nRoma")
        page.locator("#question-town svg[role=img]").wait_for()
        page.locator(".groups svg[role=img]").wait_for()
        assert "differences stand out" in page.locator(".groups").inner_text()
        for part in ("Nothing unusual", "wave 1: 60", "What a respondent spends", "randomized on the device"):
            assert part in page.locator("main").inner_text()
        assert log.complaints == []


def test_values_that_nobody_listed_are_found_and_shown(
    browser: Browser, nest: service_processes.Nursery, tmp_path: Path
) -> None:
    drink = {"id": "drink", "text": "What?", "kind": "text", "max_bytes": 8, "mechanism": "discovery", "epsilon": 6}
    asked = survey("drinks", questions=[drink])
    site = Site(nest, tmp_path, asked, public_estimates=True)
    answers = ["tea"] * 3000 + ["кофе"] * 2000
    body = columns.encode(asked, {"drink": asked.question("drink").mechanism.randomize_many(answers)})
    status, said = request(f"{site.url}/v1/surveys/drinks/reports", body, ARROW)
    assert status == 200, said
    with visitor(browser, viewport=DESK) as (_, page, log):
        page.goto(f"{site.url}/s/drinks/results")
        card = page.locator("#question-drink")
        card.get_by_text("values found among").wait_for()
        assert "tea" in str(card.locator("svg[role=img] desc").text_content())
        assert "кофе" in str(card.locator("svg[role=img] desc").text_content())
        card.locator("textarea").fill("coffee")
        card.get_by_text("values found among").wait_for(state="hidden")
        assert log.complaints == []
    site.kill()


def test_a_shuffled_survey_shows_both_guarantees(
    browser: Browser, nest: service_processes.Nursery, tmp_path: Path
) -> None:
    keys = {name: str(PrivateKey.generate().public) for name in ("analyst", "shuffler")}
    shuffle = keys | {"address": "http://127.0.0.1:1", "minimum": 1000, "honest": 1000, "delta": 1e-6}
    asked = survey("mixed", (0,), trust="shuffle", shuffle=shuffle)
    site = Site(nest, tmp_path, asked, public_estimates=True)
    with visitor(browser, viewport=DESK) as (_, page, _):
        page.goto(f"{site.url}/s/mixed/results")
        said = page.locator(".guarantee").inner_text()
    site.kill()
    assert isinstance(asked.guarantee, ShuffleGuarantee)
    assert asked.guarantee.central and asked.guarantee.central < asked.epsilon
    shown = re.search(r"learns still less: ε = ([\d.]+), δ = 0.000001", said)
    assert shown and asked.guarantee.central <= float(shown[1]) < 1.02 * asked.guarantee.central


def test_the_kind_of_interval_is_a_choice(browser: Browser, site: Site) -> None:
    with visitor(browser, viewport=DESK) as (_, page, _):
        send(site, survey("poll", (0,)), 100)
        page.goto(f"{site.url}/s/poll/results")
        counted(page, 100)
        widths = []
        for kind in ("respondents", "population", "anytime"):
            page.get_by_role("combobox", name="Intervals").select_option(kind)
            cells = (
                page.locator("#question-pills details.data")
                .first.locator("tbody tr")
                .nth(1)
                .locator("td")
                .all_inner_texts()
            )
            low, high = (float(cell.rstrip("%")) for cell in cells[3:5])
            widths.append(high - low)
        assert widths[0] < widths[1] < widths[2]


def test_the_target_says_how_many_reports_it_takes(browser: Browser, site: Site) -> None:
    with visitor(browser, viewport=DESK) as (_, page, _):
        send(site, survey("poll", (0,)), 100)
        page.goto(f"{site.url}/s/poll/results")
        counted(page, 100)
        takes = page.get_by_text(re.compile(r"takes about [\d,]+ reports"))
        needed = []
        for target in ("10", "5"):
            page.get_by_role("spinbutton", name="Target").fill(target)
            needed.append(int(re.search(r"about ([\d,]+)", takes.inner_text())[1].replace(",", "")))  # type: ignore[index]
        assert 3 < needed[1] / needed[0] < 6 and needed[0] > 100
        page.get_by_role("spinbutton", name="Target").fill("90")
        page.get_by_text("is reached").wait_for()


def test_tables_are_files_too(browser: Browser, site: Site) -> None:
    with visitor(browser, viewport=DESK) as (_, page, _):
        send(site, survey("poll", (0,)), 50)
        page.goto(f"{site.url}/s/poll/results")
        counted(page, 50)
        with page.expect_download() as saved:
            page.locator("#question-pills details.data").first.get_by_role("button").click()
        rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text("utf-8"))))
        assert [row["label"] for row in rows] == ["no", "yes"]
        assert sum(float(row["estimate"]) for row in rows) == pytest.approx(1, abs=1e-5)
        assert all(float(row["low"]) < float(row["estimate"]) < float(row["high"]) for row in rows)


# Who may see it.


def test_a_token_is_asked_for_and_stays_out_of_addresses(
    browser: Browser, nest: service_processes.Nursery, tmp_path: Path
) -> None:
    store = open_store(tmp_path / "data")
    token, _ = tokens.create(store, "analyst")
    store.close()
    site = Site(nest, tmp_path, survey("poll", (0,)))
    with visitor(browser) as (_, page, log):
        page.goto(f"{site.url}/s/poll/results")
        field = page.get_by_label("Analyst token")
        field.fill("sotto_wrong")
        page.get_by_role("button", name="Show the results").click()
        page.get_by_text("This token is not valid.").wait_for()
        page.get_by_label("Analyst token").fill(token)
        page.get_by_role("button", name="Show the results").click()
        counted(page, 0)
        page.reload()
        counted(page, 0)
        assert all(token not in one.url for one in log.requests)
        assert page.evaluate("document.cookie + localStorage.length") == "0"
    with visitor(browser) as (_, page, log):
        page.goto(f"{site.url}/s/poll/results#token={token}")
        counted(page, 0)
        assert token not in page.url and all(token not in one.url for one in log.requests)
    site.kill()


def test_a_closed_an_expired_and_an_unknown_survey(
    browser: Browser, nest: service_processes.Nursery, tmp_path: Path
) -> None:
    done, old = survey("done", (0,)), survey("old", (0,), expires="2020-01-01T00:00:00Z")
    site = Site(nest, tmp_path, done, old, public_estimates=True)
    with visitor(browser) as (_, page, _):
        page.goto(f"{site.url}/s/done/results")
        counted(page, 0)
        send(site, done, 3)
        counted(page, 3)
        site.close_survey("done")
        page.locator(".count").get_by_text("closed").wait_for()
        assert request(f"{site.url}/v1/surveys/done/reports", lines(done, 1), LINES)[0] == 410
        page.get_by_text("after it was closed: 1").wait_for()
        page.goto(f"{site.url}/s/old/results")
        page.locator(".count").get_by_text("expired").wait_for()
        assert page.goto(f"{site.url}/s/none/results").status == 404  # type: ignore[union-attr]
    site.kill()


def test_reports_by_invitation_wait_and_are_counted_together(
    browser: Browser, nest: service_processes.Nursery, tmp_path: Path
) -> None:
    asked = survey("guests", (0,), minimum=3)
    store = open_store(tmp_path / "data")
    store.publish(asked, invited=True)
    to = store.survey("guests")
    assert to is not None
    codes = tokens.invite(store, to, 5)
    site = Site(nest, tmp_path, asked, public_estimates=True)
    with visitor(browser) as (_, page, _):
        page.goto(f"{site.url}/s/guests/results")
        counted(page, 0)
        assert page.locator(".count .waiting").count() == 0
        for code in codes:
            transport.send(f"{site.url}/v1/surveys/guests", lines(asked, 1), invitation=code)
        page.locator(".count").get_by_text("5 more came by invitation").wait_for()
        counted(page, 0)
        store.close_survey("guests")
        counted(page, 5)
        assert page.locator(".count .waiting").count() == 0
    store.close()
    site.kill()


# What surveys say is text.


def test_hostile_long_and_foreign_texts(browser: Browser, nest: service_processes.Nursery, tmp_path: Path) -> None:
    options = {"kind": "choice", "epsilon": 3}
    asked = survey("odd", title=NASTY, description=NASTY, questions=[
        {"id": "first", "text": NASTY, "values": [NASTY, "=1+1", LONG[:200]], **options},
        {"id": "second", "text": ARABIC, "values": [ARABIC, ARABIC * 9], **options},
        {"id": "third", "text": "Many", "values": [f"option {at}" for at in range(200)], **options},
    ], covariates=[{"id": "who", "text": NASTY, "values": [NASTY, ARABIC]}])  # fmt: skip
    site = Site(nest, tmp_path, asked, public_estimates=True)
    send(site, asked, 60)
    violations: list[str] = []
    for size in (DESK, PHONE):
        with visitor(browser, viewport=size) as (_, page, log):
            page.expose_function("violated", lambda directive: violations.append(directive))
            page.add_init_script("addEventListener('securitypolicyviolation', (e) => violated(e.violatedDirective))")
            page.on("dialog", lambda dialog: violations.append(dialog.message))
            page.goto(f"{site.url}/s/odd/results")
            counted(page, 60)
            page.locator("#question-third svg[role=img]").first.wait_for()
            page.locator(".groups svg[role=img]").wait_for()
            assert page.locator("h1").inner_text() == NASTY and page.locator("main img").count() == 0
            assert "The 25 most frequent of 200 are drawn." in page.locator("#question-third").inner_text()
            table = page.locator("#question-third details.data").first
            table.locator("summary").click()
            table.locator("tbody tr").nth(199).wait_for()
            assert table.locator("tbody tr").count() == 200
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
            assert violations == [] and log.complaints == []
            if size == DESK:
                with page.expect_download() as saved:
                    page.locator("#question-first details.data").first.get_by_role("button").click()
                rows = list(csv.DictReader(io.StringIO(Path(saved.value.path()).read_text("utf-8"))))
                assert [row["label"] for row in rows[:2]] == [NASTY.replace(";=", ";'="), "'=1+1"]
    site.kill()


def test_reports_that_no_answers_lead_to_are_called_out(browser: Browser, site: Site) -> None:
    poll = survey("poll", (0,))
    bodies = [wire.encode(wire.Submission(token_hex(16), poll.digest, 0, {"pills": 1}, {})) for _ in range(200)]
    request(f"{site.url}/v1/surveys/poll/reports", b"\n".join(bodies), LINES)
    request(f"{site.url}/v1/surveys/poll/reports", b"{", "application/json")
    with visitor(browser) as (_, page, _):
        page.goto(f"{site.url}/s/poll/results")
        page.get_by_text("No answers explain these reports").wait_for()
        health = page.locator(".health").inner_text()
        assert "Some estimates cannot be" in health and "not a report to this survey: 1" in health


# For a projector, on paper, for everybody.


def test_a_class_sees_it_step_by_step(browser: Browser, site: Site) -> None:
    with visitor(browser, viewport=DESK) as (_, page, log):
        send(site, survey("poll", (0,)), 80)
        page.goto(f"{site.url}/s/poll/results?class")
        counted(page, 80)
        said = page.locator(".said")
        assert "yet" in said.inner_text() and page.locator("main svg[role=img]").count() == 0
        seen = []
        for key in ("ArrowRight", " ", "PageDown", "ArrowRight", "ArrowRight"):
            page.keyboard.press(key)
            seen.append(said.inner_text())
        for text, part in zip(
            seen, ("devices sent", "That is wrong", "So (", "standard deviation", "ε = 1:"), strict=True
        ):
            assert part in text
        raw, q, p = (float(part) / 100 for part in re.findall(r"([\d.]+)% − ([\d.]+)%\) / \(([\d.]+)%", seen[2])[0])
        assert float(re.findall(r"= (-?[\d.]+)%", seen[2])[0]) / 100 == pytest.approx((raw - q) / (p - q), abs=0.03)
        page.keyboard.press("ArrowLeft")
        assert said.inner_text() == seen[3]
        send(site, survey("poll", (0,)), 20)
        counted(page, 100)  # It stays live.
        assert page.evaluate("document.documentElement.dataset.step") == "deviation"
        assert log.complaints == []


def test_a_printed_report_has_methods_and_tables(browser: Browser, site: Site) -> None:
    with visitor(browser) as (_, page, _):
        send(site, whole(), 40)
        page.add_init_script(PRINTED)
        page.goto(f"{site.url}/s/whole/results")
        counted(page, 40)
        page.get_by_role("button", name="Print a report").click()
        page.locator("html[data-rows]").wait_for(state="attached")
        assert int(page.locator("html").get_attribute("data-rows") or 0) > 30
        page.emulate_media(media="print")
        assert not page.locator(".controls").first.is_visible()
        methods = page.locator(".methods").inner_text()
        assert whole().digest in methods and "40 reports" in methods and "confidence sequences" in methods
        assert len(page.pdf()) > 10_000


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_nobody_is_shut_out(browser: Browser, site: Site, scheme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    send(site, whole(), 40)
    with visitor(browser, color_scheme=scheme) as (_, page, _):
        for place in ("/s/whole/results", "/s/poll/results?class", "/plan"):
            page.goto(site.url + place)
            page.locator("h1").wait_for()
            if "results" in place:
                page.locator("html[data-reports]").wait_for(state="attached")
            page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))")
            page.wait_for_timeout(300)
            found = Axe().run(page).response["violations"]
            assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []


def test_it_speaks_italian_too(browser: Browser, site: Site) -> None:
    with visitor(browser, locale="it-IT") as (_, page, log):
        send(site, whole(), 40)
        for place, words in (("/s/whole/results", "Quanto spende chi risponde"), ("/plan", "Pianifica un sondaggio")):
            page.goto(site.url + place)
            page.get_by_text(words).wait_for()
        assert log.complaints == []


@pytest.mark.slow
def test_three_hundred_voters_in_a_minute(browser: Browser, site: Site) -> None:
    """One report after the other, with random pauses; the page keeps up and shows each number within three seconds."""
    poll = survey("poll", (0,))
    bodies = lines(poll, 300).split(b"\n")
    with visitor(browser, viewport=DESK) as (_, page, log):
        page.goto(f"{site.url}/s/poll/results")
        counted(page, 0)
        mark(page)
        began, delays = time.monotonic(), []
        for at, body in enumerate(bodies, 1):
            assert request(f"{site.url}/v1/surveys/poll/reports", body)[0] == 200
            if at % 50 == 0:
                sent = time.monotonic()
                counted(page, at)
                delays.append(time.monotonic() - sent)
            time.sleep(max(0.0, began + at * 0.15 - time.monotonic()))
        assert time.monotonic() - began < 60 and max(delays) < 3
        assert_no_reload(page)
        assert log.complaints == []

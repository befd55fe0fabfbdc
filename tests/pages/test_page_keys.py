"""What a page does so that nothing is drawn twice: persistent storage, and a key of the person's own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import segno
import service_processes
from browser_site import DESK, Site, survey, visitor
from playwright.sync_api import Browser, BrowserContext, Page, expect
from request_recorder import DUMP_STORAGE

from sottovoce.pages import strings

WAVES = 20
DIARY = survey("diary", (), budget=20, schedule={"waves": WAVES}, questions=[
    {"id": "mood", "text": "How do you feel today?", "kind": "choice", "epsilon": 0.5, "memoize": True,
     "values": ["very well", "well", "not so well", "badly"]},
])  # fmt: skip
SURVEYS = [DIARY, survey("pills", (0,)), survey("twice", (0,), schedule={"waves": 2})]
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
OTHER = "BBECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
PROMISE = "StorageManager.prototype.persist = async () => {kept}"


@pytest.fixture(scope="module")
def site(nest: service_processes.Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(nest, tmp_path_factory.mktemp("site"), *SURVEYS)
    yield made
    made.kill()


def answer(page: Page, label: str) -> str:
    """Give an answer, make it final, and look at the bytes."""
    page.locator(".question > fieldset").get_by_label(label, exact=True).check()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="My answers are final").click()
    return page.locator("#bytes").inner_text()


def send(page: Page) -> None:
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("heading", name="Thank you").wait_for()


def forget(context: BrowserContext, page: Page, site: Site) -> None:
    """All that the browser keeps is gone, as after 'clear data'."""
    page.goto("about:blank")
    session = context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": site.url, "storageTypes": "all"})
    session.detach()


def memories(page: Page) -> Any:
    kept = page.evaluate(DUMP_STORAGE)["databases"]["sottovoce"]["tables"]["store"][1][0]
    return kept["surveys"][DIARY.digest]["memories"]


@pytest.mark.slow
def test_a_key_gives_the_same_permanent_answers_after_storage_was_lost(browser: Browser, site: Site) -> None:
    """Over twenty waves, with all storage cleared before each. Drawn anew, they would agree less than once in 10^6."""
    drawn = []
    with visitor(browser) as (context, page, _log):
        for wave in range(WAVES):
            forget(context, page, site)
            page.goto(f"{site.url}/s/diary?wave={wave + 1}#key={KEY}")
            answer(page, "well")
            drawn.append(memories(page))
    assert [one["mood"]["answers"] for one in drawn] == [drawn[0]["mood"]["answers"]] * WAVES
    assert all("1" not in one["mood"]["answers"] for one in drawn)  # Nor does the store show which value was held.


def test_a_later_wave_that_costs_nothing_is_not_refused(browser: Browser, site: Site) -> None:
    """Nothing is left of the budget: an answer given before is sent all the same, and a new one is refused in words."""
    set_budget = "spent => import('/assets/device.js').then(({ me }) => me.setBudget(spent))"
    spent = DIARY.question("mood").mechanism.epsilon_forever  # type: ignore[attr-defined]
    with visitor(browser) as (_context, page, _log):
        page.goto(f"{site.url}/s/diary")
        answer(page, "well")
        send(page)
        page.evaluate(set_budget, spent)
        page.goto(f"{site.url}/s/diary?wave=2")
        expect(page.get_by_text("To answer costs at most")).to_contain_text("0 if all your answers are ones")
        expect(page.get_by_text("A new answer costs more than is left")).to_be_visible()
        page.locator(".question > fieldset").get_by_label("badly", exact=True).check()
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("button", name="My answers are final").click()
        expect(page.get_by_text(strings()["failed"]["device"]["en"])).to_be_visible()
        page.goto(f"{site.url}/s/diary?wave=2")
        answer(page, "well")
        send(page)
        assert len(page.evaluate("() => import('/assets/device.js').then(({ me }) => me.ledger())")["charges"]) == 1


def test_two_devices_with_one_key_send_one_report(browser: Browser, site: Site) -> None:
    bodies = []
    for _ in range(2):
        with visitor(browser) as (_context, page, _log):
            page.goto(f"{site.url}/s/pills#key={KEY}")
            bodies.append(answer(page, "Yes"))
            send(page)
    assert bodies[0] == bodies[1]
    assert len(site.reports("pills")) == 1


def test_a_key_leaves_the_address_and_is_kept_nowhere(browser: Browser, site: Site) -> None:
    """It goes from the address and the history at once; no request and no storage holds it."""
    with visitor(browser) as (_, page, log):
        page.goto(f"{site.url}/s/diary?wave=2#invitation=abc&key={KEY}")
        expect(page.locator("#memory")).to_contain_text("Your key is in use")
        assert page.url == f"{site.url}/s/diary?wave=2#invitation=abc"
        answer(page, "well")
        expect(page.get_by_text("“id” comes from your key")).to_be_visible()
        kept = json.dumps(page.evaluate(DUMP_STORAGE))
        send(page)
        assert KEY not in kept and KEY not in json.dumps(page.evaluate(DUMP_STORAGE))
        assert all(KEY not in text for text in log.texts) and KEY not in page.content()
        page.go_back()
        assert KEY not in page.url
    with visitor(browser) as (_, page, _log):
        page.goto(f"{site.url}/s/diary")
        page.locator("form").wait_for()
        page.evaluate(f"location.hash = 'key={KEY}'")  # A link that is opened in the same tab.
        expect(page.locator("#memory")).to_contain_text("Your key is in use")
        assert "key=" not in page.url
        page.get_by_role("combobox").select_option("it")
        expect(page.locator("#memory")).to_contain_text("La tua chiave è in uso")
        assert "key=" not in page.url
        page.goto(f"{site.url}/s/diary#key=short")
        page.reload()
        page.goto(f"{site.url}/s/pills#key=short")
        page.get_by_role("heading", name="non è una chiave").wait_for()
        expect(page.locator("form")).to_have_count(0)


@pytest.mark.parametrize(("kept", "words"), [("true", "keeps this until you delete it"), ("false", "may forget")])
def test_the_browser_is_asked_to_keep_what_it_remembers(browser: Browser, site: Site, kept: str, words: str) -> None:
    """The page says what the browser promised, and lets the person go on. Nobody is asked for the sake of one wave."""
    with visitor(browser) as (context, page, log):
        context.add_init_script(PROMISE.replace("{kept}", kept))
        page.goto(f"{site.url}/s/diary")
        expect(page.locator("#memory [role=status]").first).to_contain_text(words)
        answer(page, "badly")
        send(page)
        page.goto(f"{site.url}/s/pills")
        page.locator("form").wait_for()
        expect(page.locator("#memory")).to_have_count(0)
        assert log.complaints == []


def test_without_a_secure_connection_there_must_be_a_key(browser: Browser, site: Site) -> None:
    """Neither a promise nor a key: a survey that must be remembered is refused, in words, and others are not."""
    with visitor(browser) as (context, page, log):
        context.add_init_script("Object.defineProperty(globalThis, 'isSecureContext', { get: () => false })")
        page.goto(f"{site.url}/s/diary")
        page.get_by_role("heading", name="This page did not come by a secure connection").wait_for()
        expect(page.locator("form")).to_have_count(0)
        page.get_by_role("button", name="Make a key").click()
        page.get_by_role("button", name="I have kept it").click()
        expect(page.locator("form")).to_have_count(1)
        answer(page, "well")
        page.goto(f"{site.url}/s/pills")
        expect(page.locator("form")).to_have_count(1)
        assert log.complaints == []


def test_a_key_as_a_link_a_code_and_a_file(browser: Browser, site: Site, tmp_path: Path) -> None:
    """What is made here comes back by each of the ways, and is the same key."""
    with visitor(browser) as (_, page, log):
        page.goto(f"{site.url}/s/diary")
        page.locator("summary", has_text="Keep a key of your own").click()
        expect(page.get_by_text("can find out your true answers")).to_be_visible()
        page.get_by_role("button", name="Make a key").click()
        link = page.locator("#key-link").inner_text()
        assert re.fullmatch(re.escape(f"{site.url}/s/diary#key=") + r"[\w-]{43}", link)
        with page.expect_download() as download:
            page.get_by_role("button", name="Save it as a file").click()
        file = tmp_path / "key.txt"
        download.value.save_as(file)
        assert file.read_text(encoding="utf-8") == link + "\n"
        page.get_by_role("button", name="I have kept it").click()
        expect(page.locator("#memory")).to_contain_text("Your key is in use")
        first = answer(page, "well")
        assert all(link[-43:] not in text for text in log.texts)

    def paste(page: Page) -> None:
        page.get_by_label("Paste the link").fill(link)
        page.get_by_role("button", name="Use this key").click()

    ways: list[Any] = [
        lambda page: page.goto(link),
        paste,
        lambda page: page.get_by_label("Or choose the file").set_input_files(file),
    ]  # fmt: skip
    for way in ways:
        with visitor(browser) as (_, page, _log):
            page.goto(f"{site.url}/s/diary")
            page.get_by_text("I have a key already").click()
            page.get_by_role("button", name="Use this key").click()
            expect(page.locator(".wrong:visible")).to_have_text("That is not a key for a survey")
            way(page)
            expect(page.locator("#memory")).to_contain_text("Your key is in use")
            assert answer(page, "well") == first


def test_a_survey_goes_on_with_the_key_it_was_begun_with(browser: Browser, site: Site) -> None:
    with visitor(browser) as (_, page, _log):
        page.goto(f"{site.url}/s/diary?wave=1#key={KEY}")
        answer(page, "well")
        page.reload()
        send(page)  # What was drawn needs no key.
        for fragment, words in (("", "was begun with a key"), (f"#key={OTHER}", "was begun with a key")):
            page.goto("about:blank")
            page.goto(f"{site.url}/s/diary?wave=2{fragment}")
            page.get_by_role("heading", name=words).wait_for()
            expect(page.locator("form")).to_have_count(0)
        page.goto("about:blank")
        page.goto(f"{site.url}/s/diary?wave=2#key={KEY}")
        expect(page.locator("form")).to_have_count(1)
    with visitor(browser) as (_, page, _log):
        page.goto(f"{site.url}/s/twice")
        answer(page, "Yes")
        send(page)
        page.goto("about:blank")
        page.goto(f"{site.url}/s/twice?wave=2#key={KEY}")
        page.get_by_role("heading", name="was begun without a key").wait_for()
        page.get_by_role("button", name="Go on without the key").click()
        answer(page, "No")
        send(page)


LENGTHS = (5, 17, 18, 32, 53, 54, 78, 91, 106, 134)
QR_TEXTS = [("https://survey.example.org/s/sleep#key=" + KEY * 4)[:length] for length in LENGTHS]


def test_qr_codes_are_those_of_another_program(browser: Browser, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every version, full and padded. Segno pads one byte too many, which readers skip."""

    def pad(buffer: Any, _version: int, length: int) -> None:
        buffer.extend([0] * (-length % 8))

    monkeypatch.setattr("segno.encoder.write_padding_bits", pad)
    with visitor(browser) as (_, page, _log):
        page.goto(f"{site.url}/s/pills")
        page.locator("form").wait_for()
        make = "async (texts) => { const { qrCode } = await import('/assets/qr-code.js'); return texts.map(qrCode); }"
        codes = page.evaluate(make, [*QR_TEXTS, "x" * 135])
    assert codes.pop() is None
    for text, code in zip(QR_TEXTS, codes, strict=True):
        expected = segno.make(text, error="l", mode="byte", mask=0, boost_error=False, micro=False)
        assert code == [[bool(module) for module in row] for row in expected.matrix]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_no_violations_of_accessibility(browser: Browser, site: Site, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()

    def look(state: str) -> None:
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        found = axe.run(page)
        assert found.violations_count == 0, f"{state}: {found.generate_report()}"

    with visitor(browser, viewport=DESK, color_scheme=scheme, bypass_csp=True) as (_, page, _log):
        page.goto(f"{site.url}/s/diary")
        page.locator("summary", has_text="Keep a key of your own").click()
        page.get_by_role("button", name="Make a key").click()
        look("a new key")
        page.get_by_role("button", name="I have kept it").click()
        look("a key in use")
        answer(page, "well")
        send(page)
        page.goto("about:blank")
        page.goto(f"{site.url}/s/diary?wave=2")
        page.get_by_role("heading", name="was begun with a key").wait_for()
        look("another key")


def test_words_are_short() -> None:
    """What is said about keys and final answers has no word that a child has not met, in sentences that end."""
    for section in ("key", "final"):
        for name, texts in strings()[section].items():
            for language, text in texts.items():
                longest = max(len(sentence.split()) for sentence in re.split(r"[.:;?]", text))
                assert longest <= 28, (section, name, language)
                assert not re.search(r"epsilon|ε|HMAC|bit|byte|fragment|digest|IndexedDB", text), (section, name)

"""Pictures of the pages for the docs, in light and dark, as a phone and as a desk shows them.

python benchmarks/screenshots.py [FOLDER]      (needs Playwright and Chromium; FOLDER is docs/figures)
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sottovoce.core.lazy import load

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
LIMIT = 150_000
SOTTO = [sys.executable, "-c", "import sys; from sottovoce.cli import main; sys.exit(main(sys.argv[1:]))"]
POLL = [
    "Have you ever read a friend's messages in secret?",
    "--simulate",
    "300",
    "--seconds",
    "1",
    "--share",
    "7/10,3/10",
]

Shot = Callable[["Page", str], None]


@contextlib.contextmanager
def poll(folder: str) -> Iterator[dict[str, Any]]:
    """A poll with some votes, on this machine alone."""
    command = [*SOTTO, "poll", *POLL, "--port", "0", "--host", "127.0.0.1", "--json", "--duration", "300"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(60)


def ask(page: Page, url: str) -> None:
    page.goto(url)
    page.locator(".question > fieldset").get_by_label("Yes").check()


def rehearse(page: Page, url: str) -> None:
    ask(page, url)
    page.get_by_text("Rehearse a made-up answer").click()
    page.locator("details[open]").get_by_label("No", exact=True).check()
    for _ in range(5):
        page.get_by_role("button", name="Draw 10 reports").click()
    page.locator(".question").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('.question').scrollIntoView()")


def final(page: Page, url: str) -> None:
    ask(page, url)
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("heading", name="Are these your answers?").wait_for()


def check(page: Page, url: str) -> None:
    final(page, url)
    page.get_by_role("button", name="My answers are final").click()
    page.locator("#bytes").wait_for()


def receipt(page: Page, url: str) -> None:
    check(page, url)
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("heading", name="Thank you").wait_for()


def join(page: Page, url: str) -> None:
    page.goto(f"{url}/join")
    page.wait_for_load_state("networkidle")


def results(page: Page, url: str) -> None:
    page.goto(f"{url}/results")
    page.locator("html[data-reports^='30']").wait_for(state="attached")
    page.get_by_role("spinbutton", name="Target").first.fill("8")
    page.wait_for_timeout(300)


def results_phone(page: Page, url: str) -> None:
    page.goto(f"{url}/results")
    page.locator("html[data-reports^='30']").wait_for(state="attached")
    page.locator("details.progress > summary").first.click()
    page.evaluate("document.querySelector('.figure').scrollIntoView()")


def classroom(page: Page, url: str) -> None:
    page.goto(f"{url}/results?class")
    page.locator("html[data-reports^='30']").wait_for(state="attached")
    for _ in range(4):
        page.keyboard.press("ArrowRight")


def plan(page: Page, url: str) -> None:
    page.goto(url.partition("/s/")[0] + "/plan")
    page.locator("#margin").wait_for()
    page.get_by_role("slider", name="Privacy").press("ArrowRight")
    page.get_by_text("at ε = 1.1 give").wait_for()


def plan_phone(page: Page, url: str) -> None:
    plan(page, url)
    page.get_by_role("heading", name="What an attacker could conclude").evaluate("(node) => node.scrollIntoView()")


SHOTS: list[tuple[str, Shot, dict[str, int], str]] = [
    ("page-answer", ask, PHONE, "light"),
    ("page-rehearsal", rehearse, PHONE, "light"),
    ("page-final", final, PHONE, "light"),
    ("page-check", check, PHONE, "dark"),
    ("page-receipt", receipt, PHONE, "light"),
    ("page-answer-desk", ask, DESK, "dark"),
    ("page-join", join, DESK, "light"),
    ("page-results", results, DESK, "light"),
    ("page-results-phone", results_phone, PHONE, "dark"),
    ("page-class", classroom, DESK, "light"),
    ("page-plan", plan, DESK, "light"),
    ("page-plan-phone", plan_phone, PHONE, "dark"),
]


def take(browser: Browser, shot: tuple[str, Shot, dict[str, int], str], url: str, folder: Path) -> Path:
    """One picture, in a browser of its own, with no more colours than it needs."""
    name, go, size, scheme = shot
    context = browser.new_context(viewport=size, color_scheme=scheme, locale="en-US", device_scale_factor=1.5)  # type: ignore[arg-type]
    page = context.new_page()
    go(page, url)
    path = folder / f"{name}.png"
    page.screenshot(path=path, animations="disabled")
    context.close()
    image = load("PIL.Image").open(path).convert("RGB").quantize(128)
    image.save(path, optimize=True)
    if path.stat().st_size > LIMIT:
        raise SystemExit(f"{path}: {path.stat().st_size:,} bytes, more than {LIMIT:,}")
    return path


def main(folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as work, poll(work) as started, sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for shot in SHOTS:
            path = take(browser, shot, started["local"], folder)
            print(f"{path.name}: {path.stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURES)

"""Fixtures that several files share. One PostgreSQL and one nursery of collectors serve a whole run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_site import chromium, require_browser
from collector_service import STORES, Inside, Postgres, open_place, place_of, postgres, survey
from compiled_loops import compiled_loops
from service_processes import Nursery, nursery

from sottovoce.collector import Store
from sottovoce.collector.sqlite import sqlite_store
from sottovoce.core import kernels

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(params=["numpy", "compiled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways that a hot loop can go, in turn, whatever the amount of work."""
    compiled = request.param == "compiled"
    found = compiled_loops() if compiled else None
    monkeypatch.setattr(kernels.loops, "found", found)
    return str(request.param)


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    with postgres() as started:
        yield started


@pytest.fixture(scope="session")
def nest() -> Iterator[Nursery]:
    with nursery() as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each module: while it is there, its event loop runs in this thread."""
    require_browser()
    with chromium() as opened:
        yield opened


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The options that name a fresh store, of each kind in turn."""
    started = request.getfixturevalue("server") if request.param == "postgres" else None
    return place_of(request.param, tmp_path, started)


@pytest.fixture
def store(place: list[str]) -> Iterator[Store]:
    opened = open_place(place)
    opened.publish(survey())
    yield opened
    opened.close()


@pytest.fixture
def inside(store: Store) -> Iterator[Inside]:
    made = Inside(store, rate=None)
    yield made
    made.close()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Inside]:
    """On SQLite alone, for what does not depend on the store."""
    opened = sqlite_store(tmp_path / "small.sqlite")
    opened.publish(survey())
    made = Inside(opened, rate=None)
    yield made
    made.close()

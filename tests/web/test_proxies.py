"""Whose request it is, behind proxies and behind an address that many share; what people see when they must wait."""

from __future__ import annotations

import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
import shuffler_service
from collector_service import Inside, request, submission, survey
from service_processes import Nursery

from sottovoce import pages
from sottovoce.cli import main
from sottovoce.collector import Collector, Store
from sottovoce.collector.sqlite import sqlite_store
from sottovoce.core.errors import ParameterError
from sottovoce.web.limits import AddressQuota, ByteBudget, RateLimit, network
from sottovoce.web.proxies import Proxies
from sottovoce.web.service import DEFAULTS

TRUSTED = Proxies(["127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48"])
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def headers(**given: str) -> list[tuple[bytes, bytes]]:
    return [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()]


@pytest.mark.parametrize(
    ("given", "client"),
    [
        ({}, "127.0.0.1"),
        ({"x_forwarded_for": "203.0.113.9"}, "203.0.113.9"),
        ({"x_forwarded_for": "6.6.6.6, 203.0.113.9"}, "203.0.113.9"),
        ({"x_forwarded_for": "6.6.6.6, 203.0.113.9, 10.1.2.3"}, "203.0.113.9"),
        ({"x_forwarded_for": "10.9.9.9, 10.1.2.3"}, "10.9.9.9"),
        ({"x_forwarded_for": "203.0.113.9:4711"}, "203.0.113.9"),
        ({"x_forwarded_for": "2001:db8::1"}, "2001:db8::1"),
        ({"x_forwarded_for": "[2001:db8::1]:4711"}, "2001:db8::1"),
        ({"x_forwarded_for": "::ffff:203.0.113.9"}, "203.0.113.9"),
        ({"x_forwarded_for": "203.0.113.9, nonsense"}, "127.0.0.1"),
        ({"x_forwarded_for": "203.0.113.9, nonsense, 10.1.2.3"}, "10.1.2.3"),
        ({"x_forwarded_for": ", ,"}, "127.0.0.1"),
        ({"forwarded": "for=203.0.113.9"}, "203.0.113.9"),
        ({"forwarded": 'FOR="[2001:db8::1]:4711";proto=http;by=203.0.113.43'}, "2001:db8::1"),
        ({"forwarded": 'for=6.6.6.6, for=203.0.113.9;by="a,b;for=7.7.7.7"'}, "203.0.113.9"),
        ({"forwarded": "for=6.6.6.6, for=unknown"}, "127.0.0.1"),
        ({"forwarded": "for=6.6.6.6, for=_hidden, for=10.1.2.3"}, "10.1.2.3"),
        ({"forwarded": "proto=https"}, "127.0.0.1"),
        ({"forwarded": 'for="203.0.113.9'}, "127.0.0.1"),
        ({"forwarded": "for=203.0.113.9", "x_forwarded_for": "203.0.113.9"}, "203.0.113.9"),
        ({"forwarded": "for=6.6.6.6", "x_forwarded_for": "203.0.113.9"}, "127.0.0.1"),
    ],
)
def test_the_first_address_from_the_right_that_is_not_trusted(given: dict[str, str], client: str) -> None:
    assert TRUSTED.client("127.0.0.1", headers(**given)) == client


@pytest.mark.parametrize("name", ["forwarded", "x_forwarded_for"])
def test_nobody_else_is_believed(name: str) -> None:
    said = headers(**{name: "for=1.2.3.4" if name == "forwarded" else "1.2.3.4"})
    assert TRUSTED.client("203.0.113.9", said) == "203.0.113.9"
    assert Proxies().client("127.0.0.1", said) == "127.0.0.1"
    assert TRUSTED.client("2001:db8:1::7", said) == TRUSTED.client("::ffff:10.0.0.1", said) == "1.2.3.4"


def test_a_header_may_come_in_several_lines() -> None:
    lines = [*headers(x_forwarded_for="6.6.6.6"), *headers(x_forwarded_for="203.0.113.9")]
    assert TRUSTED.client("127.0.0.1", lines) == "203.0.113.9"


@pytest.mark.parametrize("proxy", ["", "proxy.example", "10.0.0.0/33", "1.2.3"])
def test_a_proxy_is_an_address(proxy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ParameterError, match="a proxy must be an address or a network"):
        Proxies([proxy])
    assert main(["serve", "--data", str(tmp_path / "data"), "--proxy", proxy]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not (tmp_path / "data").exists()


def test_a_proxy_of_ipv4_may_be_written_in_ipv6() -> None:
    trusted = Proxies(["::ffff:127.0.0.1", "::ffff:10.0.0.0/104"])
    assert [trusted.trusts(one) for one in ("127.0.0.1", "::ffff:10.9.9.9", "127.0.0.2", "11.0.0.1")] == [
        True,
        True,
        False,
        False,
    ]


def test_addresses_of_ipv6_are_one_for_each_network() -> None:
    assert network("2001:db8::1") == network("2001:db8::ffff:2") == "2001:db8::/64" != network("2001:db8:0:1::1")
    assert network("::ffff:192.0.2.7") == network("192.0.2.7") == "192.0.2.7"
    assert network("fe80::1%eth0") == "fe80::/64" and network("nonsense") == "nonsense"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = sqlite_store(tmp_path / "store.sqlite")
    opened.publish(survey())
    return opened


def test_limits_are_for_each_client_of_a_proxy(store: Store) -> None:
    inside = Inside(store, rate=0.001, burst=2, proxies=["127.0.0.1"])
    ask = "/v1/surveys/habits"
    assert [inside("GET", ask, x_forwarded_for="203.0.113.9").status for _ in range(3)] == [200, 200, 429]
    assert inside("GET", ask, x_forwarded_for="1.1.1.1, 203.0.113.9").status == 429
    assert inside("GET", ask, x_forwarded_for="203.0.113.8").status == 200
    inside.close()


# Many behind one address.


def test_the_default_rate_limit_is_on(store: Store) -> None:
    """A hundred requests a second, and a thousand at once: whoever makes a collector gets that without asking."""
    limit = Collector(store).limit
    assert limit is not None and (limit.rate, limit.burst) == (100.0, 1000.0)
    assert (DEFAULTS["rate"], DEFAULTS["burst"]) == (100.0, 1000.0)
    still = RateLimit(limit.rate, limit.burst, clock=lambda: 0.0)
    assert [still.wait("192.0.2.1") > 0 for _ in range(1001)] == [False] * 1000 + [True]
    store.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rate", "nan"], "a rate must be at least 1e-06 requests a second, and finite, got nan"),
        (["--rate", "inf"], "got inf"),
        (["--rate", "5e-324"], "got 5e-324"),
        (["--host", ""], "the host to listen on must be an address or a name, got ''"),
        (["--host", "nowhere.invalid"], "cannot listen on nowhere.invalid"),
    ],
)
def test_a_start_that_fails_uses_up_no_tokens(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tokens are printed by the first start only, which must be one that starts."""
    assert main(["serve", "--port", "0", "--data", str(tmp_path), *arguments]) == 2
    assert said in capsys.readouterr().err
    store = sqlite_store(tmp_path / "collector.sqlite")
    assert store.tokens() == []
    store.close()


@pytest.mark.parametrize("name", ["nobody", "a\udcff", "a\0b"])
def test_a_token_that_is_not_there_is_not_revoked(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", "revoke", name, "--data", str(tmp_path)]) == 2
    assert "there is no token" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "rate"), [([], 100.0), (["--rate", "7"], 7.0), (["--rate", "0"], None)])
@pytest.mark.parametrize("service", ["serve", "shuffler"])
def test_the_commands_have_the_limit_too(
    service: str, arguments: list[str], rate: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    def serve(app: Any, listener: socket.socket, *_: Any) -> None:
        made.append(app)
        listener.close()
        app.stop()

    monkeypatch.setattr("sottovoce.web.server.run", serve)
    given = ["--data", str(tmp_path / "data")]
    if service == "shuffler":
        (tmp_path / "survey.json").write_bytes(shuffler_service.survey().canonical())
        (tmp_path / "key").write_text(shuffler_service.SHUFFLER.to_text())
        given += [str(tmp_path / "survey.json"), "--key", str(tmp_path / "key")]
    assert main([service, "--port", "0", *given, *arguments]) == 0
    assert (made[0].limit.rate if made[0].limit else None) == rate


def test_a_class_of_sixty_behind_one_address_loads_everything(nest: Nursery, tmp_path: Path) -> None:
    """Each loads the page and all its files, fetches the survey and sends a report, at once; nobody misses anything."""
    store = sqlite_store(tmp_path / "collector.sqlite")
    store.publish(survey())
    store.close()
    child = nest.start(["--data", str(tmp_path)], {"rate": 100.0})
    paths = ["/s/habits", "/v1/surveys/habits", "/v1/surveys/habits/guarantee"]
    paths += [f"/assets/{name}" for name in pages.names()]
    wrong: list[tuple[str, int]] = []

    def visit() -> None:
        for path in paths:
            status, _ = request(f"{child.url}{path}", None)
            if status != 200:
                wrong.append((path, status))
        if request(f"{child.url}/v1/surveys/habits/reports", submission(survey()))[0] != 200:
            wrong.append(("report", 0))

    visitors = [threading.Thread(target=visit) for _ in range(60)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join(120)
    child.kill(signal.SIGTERM)
    assert len(paths) * 60 > 1000 and wrong == []


def test_files_count_but_little(store: Store) -> None:
    inside = Inside(store, rate=0.001, burst=1)
    assert [inside("GET", "/assets/style.css").status for _ in range(51)] == [200] * 50 + [429]
    assert inside("GET", "/healthz").status == 200  # Whoever watches gets through.
    inside.close()


def test_who_must_wait_is_told_so_in_plain_words(store: Store) -> None:
    inside = Inside(store, rate=0.01, burst=1)
    inside("GET", "/s/habits")
    page = inside("GET", "/s/habits", accept=BROWSER, accept_language="it")
    assert page.status == 429 and page.headers["content-type"].startswith("text/html")
    assert int(page.headers["retry-after"]) == 100 and page.headers["content-security-policy"] == pages.POLICY
    assert b"Un momento" in page.body and b'content="100"' in page.body and b"100 secondi" in page.body
    english = inside("GET", "/s/habits", accept=BROWSER).body
    assert b"Please wait a moment" in english and b"{{" not in english and b"429" not in english
    assert inside("GET", "/s/habits", accept="*/*").code == "too_many_requests"
    inside.close()


def test_a_full_house_is_told_to_a_person_too(nest: Nursery, tmp_path: Path) -> None:
    child = nest.start(["--data", str(tmp_path)], run={"connections": 1})
    place = ("127.0.0.1", child.port)
    with socket.create_connection(place), socket.create_connection(place, 5) as me:
        me.sendall(b"GET / HTTP/1.1\r\nhost: x\r\naccept: text/html\r\n\r\n")
        text = b"".join(iter(lambda: me.recv(65536), b""))
    child.kill(signal.SIGTERM)
    assert text.startswith(b"HTTP/1.1 503 ") and b"Please wait a moment" in text and b"retry-after: 3" in text


# The counters themselves.


def test_places_end_where_they_should() -> None:
    places = AddressQuota(most=3, each=2)
    assert [places.take(one) for one in ("a", "a", "a", "b", "c")] == [True, True, False, True, False]
    places.give("a")
    assert len(places) == 2 and places.take("c") and not places.take("c")


def test_a_budget_of_bytes_ends_where_it_should() -> None:
    budget = ByteBudget(2**20)
    assert not budget.take("a", 0, 2**19 + 1) and budget.take("a", 0, 2**19)
    assert not budget.take("a", 2**19, 2**15 + 1) and budget.take("b", 0, 2**19) and not budget.take("c", 0, 2**16)
    small = 0
    while budget.take("c", 0, 2**15):
        small += 2**15
    assert small == 2**18
    budget.give("a", 2**19)
    assert budget.taken == 2**19 + 2**18


def test_small_bodies_of_one_address_leave_room_for_others() -> None:
    budget, small = ByteBudget(2**20), 0
    while budget.take("a", 0, 2**15):
        small += 2**15
    assert small == 2**19 + 2**18 and budget.take("b", 0, 2**15)

"""Who may ask a curator: no web page, nobody under a strange name, and one coordinator alone if it is named."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from curator_group import Group, write

from sottovoce.cli import main
from sottovoce.core import canonical
from sottovoce.core.errors import Refusal, StoreError
from sottovoce.core.sealing import PrivateKey
from sottovoce.curators import Identity, app, signature
from sottovoce.curators.app import CuratorApp
from sottovoce.curators.identity import digest, to_base64
from sottovoce.web.hosts import host_of
from sottovoce.web.http import Request

JSON = {"content-type": "application/json", "host": "127.0.0.1:8100"}


@pytest.fixture
def group(tmp_path: Path) -> Group:
    return Group(tmp_path, {name: write(tmp_path / f"{name}.csv", ["a", "b"]) for name in ("north", "south")})


def call(
    made: CuratorApp, path: str, body: bytes = b"", headers: dict[str, str] = JSON, method: str = "POST"
) -> tuple[int, Any]:
    """The answer to one request, and whether its body was asked for is in `made.read`."""
    sent: list[dict[str, Any]] = []
    known = {"content-length": str(len(body)), **headers}
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "client": ("127.0.0.1", 1),
             "headers": [(name.encode(), value.encode()) for name, value in known.items() if value]}  # fmt: skip
    made.read = False  # type: ignore[attr-defined]

    async def receive() -> dict[str, Any]:
        made.read = True  # type: ignore[attr-defined]
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(made(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


def proposal(group: Group, name: str = "jobs") -> bytes:
    return canonical.dumps({"task": group.task(name).to_dict()})


def test_a_task_is_agreed_to_when_it_comes_as_json(group: Group) -> None:
    made = CuratorApp(group.curators["north"])
    status, answer = call(made, "/v1/tasks/agree", proposal(group))
    assert status == 200 and answer["body"] == {"agreed": True}
    named = JSON | {"content-type": "application/json; charset=utf-8"}
    assert call(made, "/v1/tasks/agree", proposal(group), named)[0] == 200


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"content-type": "text/plain"}, 415, "bad_type"),
        ({"content-type": ""}, 415, "bad_type"),
        ({"content-type": "application/x-www-form-urlencoded"}, 415, "bad_type"),
        ({"origin": "https://evil.example"}, 403, "foreign_page"),
        ({"origin": "null"}, 403, "foreign_page"),
        ({"origin": "http://127.0.0.1:8100"}, 403, "foreign_page"),
        ({"sec-fetch-site": "cross-site"}, 403, "foreign_page"),
        ({"host": "evil.example:8100"}, 421, "wrong_host"),
        ({"host": "127.0.0.1.evil.example"}, 421, "wrong_host"),
        ({"host": "localhost.evil.example"}, 421, "wrong_host"),
        ({"host": "[::1].evil.example"}, 421, "wrong_host"),
        ({"host": "a@127.0.0.1"}, 421, "wrong_host"),
        ({"host": ""}, 421, "wrong_host"),
    ],
)
def test_a_foreign_page_makes_no_curator_agree(group: Group, headers: dict[str, str], status: int, code: str) -> None:
    made = CuratorApp(group.curators["north"], hosts=lambda: ["north.example"])
    answer = call(made, "/v1/tasks/agree", proposal(group), JSON | headers)
    assert (answer[0], answer[1]["error"]["code"]) == (status, code)
    assert not made.read  # type: ignore[attr-defined]
    if status != 415:
        assert call(made, "/healthz", b"", JSON | headers, "GET")[0] == status


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3:8100", "[::1]:8100", "localhost:8100", "North.example:80"])
def test_a_curator_is_asked_by_its_address_or_its_names(group: Group, host: str) -> None:
    made = CuratorApp(group.curators["north"], hosts=lambda: ["north.example"])
    assert call(made, "/v1/tasks/agree", proposal(group), JSON | {"host": host})[0] == 200


def test_what_a_curator_counts_is_for_its_own_machine(group: Group) -> None:
    made = CuratorApp(group.curators["north"])
    assert call(made, "/v1/tasks/agree", proposal(group))[0] == 200
    assert call(made, "/v1/tasks/share", b"{}")[0] == 400
    assert call(made, "/metrics", headers=JSON | {"x-forwarded-for": "10.1.2.3"}, method="GET")[0] == 404
    assert call(made, "/metrics", headers=JSON | {"origin": "https://evil.example"}, method="GET")[0] == 403
    text = made.metrics.text(local=True).decode()
    assert 'sottovoce_requests_total{status="400"} 1.0\n' in text
    assert 'sottovoce_request_seconds_count{method="POST",route="/v1/tasks/agree"} 1.0\n' in text


def test_errors_of_a_curator_have_the_shape_of_all_services(
    group: Group, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And a failure that nobody foresaw is logged without what was sent."""
    made = CuratorApp(group.curators["north"])
    assert call(made, "/v1/tasks/agree", method="GET")[1]["error"]["code"] == "bad_method"
    assert call(made, "/v1/tasks/more")[1]["error"]["code"] == "not_found"
    for error, status, code in ((StoreError("x"), 503, "storage_unavailable"), (KeyError("secret"), 500, "internal")):
        monkeypatch.setattr(made.curator, "agree", fail_with(error))
        answer = call(made, "/v1/tasks/agree", proposal(group))
        assert (answer[0], answer[1]["error"]["code"]) == (status, code)
        assert made.metrics.counts["failed", code] == 1
    assert "KeyError" in caplog.text and "secret" not in caplog.text and "jobs" not in caplog.text


def fail_with(error: Exception) -> Callable[..., Any]:
    def fail(task: Any) -> Any:
        raise error

    return fail


def test_two_hosts_are_none(group: Group) -> None:
    twice = [(b"host", b"127.0.0.1"), (b"host", b"evil.example")]
    request = Request({"method": "GET", "path": "/", "headers": twice}, None)  # type: ignore[arg-type]
    assert host_of(request) == ""


# The coordinator.


@pytest.fixture
def coordinator() -> Identity:
    return Identity(PrivateKey.generate())


def signed(identity: Identity, body: bytes, name: str = "north", step: str = "agree") -> dict[str, str]:
    return JSON | {signature.HEADER: signature.sign(identity, name, step, body)}


def test_a_named_coordinator_is_the_only_one_who_may_propose(group: Group, coordinator: Identity) -> None:
    made, body = CuratorApp(group.curators["north"], coordinator=coordinator.card), proposal(group)
    strangers = [
        JSON, JSON | {signature.HEADER: "!"}, JSON | {signature.HEADER: "e30="}, JSON | {signature.HEADER: "W10="},
        JSON | {signature.HEADER: "A" * 10_000},
        signed(Identity(PrivateKey.generate()), body), signed(group.identities["north"], body),
        signed(coordinator, body, "south"), signed(coordinator, body, step="share"), signed(coordinator, body + b" "),
    ]  # fmt: skip
    for headers in strangers:
        status, answer = call(made, "/v1/tasks/agree", body, headers)
        assert (status, answer["error"]["code"]) == (403, "not_the_coordinator")
        assert not made.read  # type: ignore[attr-defined]
    assert call(made, "/v1/tasks/agree", body, signed(coordinator, body))[0] == 200


def test_the_signature_is_good_for_one_body(group: Group, coordinator: Identity) -> None:
    made = CuratorApp(group.curators["north"], coordinator=coordinator.card)
    body, other = proposal(group, "jobs"), proposal(group, "soup")
    assert len(body) == len(other)
    status, answer = call(made, "/v1/tasks/agree", other, signed(coordinator, body))
    assert status == 409 and "another body" in answer["error"]["message"]


def test_messages_of_curators_are_no_requests(group: Group, coordinator: Identity) -> None:
    """A coordinator that is also a curator signs in the same form; one is not taken for the other."""
    body = proposal(group)
    about = {"bytes": len(body), "to": "north"}
    text = to_base64(canonical.dumps(coordinator.signed(digest(body), "agree", signature.SENDER, about)))
    with pytest.raises(Refusal, match="not signed by the coordinator"):
        signature.signed_digest(text, coordinator.card, "north", "agree", len(body))


def test_bodies_of_curators_end_where_they_should(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    body = proposal(group)
    assert call(CuratorApp(group.curators["north"], max_body=len(body)), "/v1/tasks/agree", body)[0] == 200
    small = CuratorApp(group.curators["north"], max_body=len(body) - 1)
    assert call(small, "/v1/tasks/agree", body)[0] == 413
    values = sum(map(body.count, (b",", b"[", b"{")))
    for most, status in ((values, 200), (values - 1, 413)):
        monkeypatch.setattr(app, "MAX_VALUES", most)
        assert call(CuratorApp(group.curators["north"]), "/v1/tasks/agree", body)[0] == status


def test_keys_of_coordinators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "coordinator.key")
    assert main(["key", "new", file, "--signing"]) == 0
    text = capsys.readouterr().out.strip()
    assert text == str(Identity.at(file).card)
    assert main(["key", "show", file, "--signing", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["public"] == text
    arguments = ["curator", str(tmp_path / "x.csv"), "--name", "north", "--home", str(tmp_path / "home")]
    assert main([*arguments, "--coordinator", "nonsense"]) == 2
    assert "two keys in base64url" in capsys.readouterr().err

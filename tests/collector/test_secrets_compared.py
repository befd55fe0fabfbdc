"""Secrets are compared in constant time: one function decides, over all of them, and what is looked up is a hash."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import shuffler_service
from collector_service import submission, survey
from shuffler_service import ANALYST, SHUFFLER, noise

from sottovoce.collector import intake, tokens
from sottovoce.collector.sqlite import SQLite, sqlite_store
from sottovoce.core.errors import ReportError
from sottovoce.device import envelope
from sottovoce.device.envelope import ShuffledBatch

Pairs = list[tuple[Any, Any]]


@pytest.fixture
def decide(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], Pairs]:
    """Makes every comparison in constant time come out as told; what was compared is noted."""

    def told(equal: bool) -> Pairs:
        compared: Pairs = []

        def compare(one: Any, other: Any) -> bool:
            compared.append((one, other))
            return equal

        monkeypatch.setattr(hmac, "compare_digest", compare)
        return compared

    return told


def test_only_the_comparison_in_constant_time_knows_a_token(tmp_path: Path, decide: Callable[[bool], Pairs]) -> None:
    store = sqlite_store(tmp_path / "x.sqlite")
    made = [tokens.create(store, role)[0] for role in ("admin", "analyst", "analyst")]
    assert tokens.role_of(store, made[0]) == "admin" and tokens.role_of(store, made[0][:-1] + "~") is None
    for token in (made[0], "sotto_wrong"):
        compared = decide(False)
        assert tokens.role_of(store, token) is None and len(compared) == len(made)
        compared = decide(True)
        assert tokens.role_of(store, token) is not None and len(compared) == len(made)
        assert all(len(one) == len(other) == 64 for one, other in compared)  # Hashes: of one length, for any token.
    store.close()


def test_only_the_comparison_in_constant_time_knows_the_code_of_a_batch(decide: Callable[[bool], Pairs]) -> None:
    asked = shuffler_service.survey()
    good = ShuffledBatch(bytes(16), 0, [inner for _, inner in noise(asked, 3)]).to_bytes(asked, SHUFFLER)
    bad = good[:-1] + bytes([good[-1] ^ 1])
    assert len(ShuffledBatch.read(good, asked, ANALYST).reports) == 3
    with pytest.raises(ReportError, match="must come whole from the shuffler"):
        ShuffledBatch.read(bad, asked, ANALYST)
    for data in (good, bad):
        compared = decide(False)
        with pytest.raises(ReportError, match="must come whole from the shuffler"):
            ShuffledBatch.read(data, asked, ANALYST)
        assert [len(one) for one in compared[0]] == [32, 32]
        decide(True)
        assert len(ShuffledBatch.read(data, asked, ANALYST).reports) == 3


def test_only_the_comparison_in_constant_time_knows_the_head_of_a_batch(decide: Callable[[bool], Pairs]) -> None:
    asked = shuffler_service.survey()
    good = envelope.batch_pass(asked, SHUFFLER, 1000)
    bad = good[:-1] + ("0" if good[-1] != "0" else "1")
    envelope.check_pass(asked, ANALYST, good, 1000)
    with pytest.raises(ReportError, match="must be announced"):
        envelope.check_pass(asked, ANALYST, bad, 1000)
    for head in (good, bad):
        compared = decide(False)
        with pytest.raises(ReportError, match="must be announced"):
            envelope.check_pass(asked, ANALYST, head, 1000)
        assert len(compared) == 1
        decide(True)
        envelope.check_pass(asked, ANALYST, head, 1000)


def test_the_database_compares_hashes_of_invitations_and_never_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How long a look-up takes tells at most how a hash begins, and no code can be made for that."""
    store = sqlite_store(tmp_path / "x.sqlite")
    asked = survey("invited")
    store.publish(asked, invited=True)
    to = store.survey("invited")
    seen: list[Any] = []
    assert to is not None
    run = SQLite.run

    def noted(self: Any, connection: Any, sql: str, values: Sequence[Any] = ()) -> Any:
        seen.extend(values)
        return run(self, connection, sql, values)

    monkeypatch.setattr(SQLite, "run", noted)
    (code,) = tokens.invite(store, to, 1)
    block = intake.read(submission(asked), intake.JSON, to, 1)
    for given, accepted in ((code[:-1], 0), (code, 1), (code, 0)):
        outcome = store.add([block.marked(tokens.invitation_hash(given), False)])[0]
        assert outcome.accepted == accepted
    assert tokens.invitation_hash(code) in seen and code not in seen and code.encode() not in seen
    store.close()

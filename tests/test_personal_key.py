"""The personal key: its derivation, its files, and devices that send the same report because they have one key."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from sottovoce.errors import DomainError, FileError, ParameterError
from sottovoce.personal_key import PersonalKey, answer_text

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "personal_key.json").read_text(encoding="utf-8")
)


def spelled(*fields: object) -> bytes:
    """The documented encoding, written a second time."""
    texts = [("" if field is None else str(field)).encode("utf-8") for field in fields]
    return b"".join(len(text).to_bytes(4, "big") + text for text in texts)


def mac(key: bytes, *fields: object) -> bytes:
    return hmac.new(key, spelled(*fields), hashlib.sha256).digest()


@pytest.mark.parametrize("vector", VECTORS["keys"], ids=lambda vector: vector["hex"][:8])
def test_vectors_follow_from_the_documented_derivation(vector: dict[str, Any]) -> None:
    key = bytes.fromhex(vector["hex"])
    assert PersonalKey.from_text(vector["text"]) == PersonalKey(key)
    for survey in vector["surveys"]:
        digest = survey["digest"]
        of_survey = mac(key, "sottovoce survey key 1", digest)
        assert of_survey.hex() == survey["survey_key"]
        for draw in survey["draws"]:
            wave = None if draw["role"] in ("cohort", "permanent") else draw["wave"]
            fields = (digest, draw["question"], draw["role"], draw["code"], wave, draw["number"])
            expected = mac(of_survey, "sottovoce draw 1", *fields)
            assert expected.hex() == draw["mac"]
            assert int.from_bytes(expected[:7], "little") >> 3 == int(draw["draw"])
        for report in survey["report_ids"]:
            expected = mac(of_survey, "sottovoce draw 1", digest, "", "report", "", report["wave"], 0)
            assert expected[:16].hex() == report["id"]
        for entry in survey["memory_keys"]:
            expected = mac(of_survey, "sottovoce memory 1", digest, entry["question"], entry["key"])
            assert expected.hex() == entry["hidden"]


@pytest.mark.parametrize("vector", VECTORS["keys"], ids=lambda vector: vector["hex"][:8])
def test_a_device_draws_what_the_vectors_say(vector: dict[str, Any]) -> None:
    key = PersonalKey.from_text(vector["text"])
    for survey in vector["surveys"]:
        own = key.for_survey(survey["digest"])
        assert survey["fragment"] == f"#key={own.to_text()}"
        for entry in survey["draws"]:
            source = own.source(entry["question"], entry["wave"], None).role(entry["role"], entry["code"])
            assert [source.draw() for _ in range(entry["number"] + 1)][-1] == int(entry["draw"])
        assert all(own.report_id(report["wave"]) == report["id"] for report in survey["report_ids"])
        assert all(own.hide(entry["question"])(entry["key"]) == entry["hidden"] for entry in survey["memory_keys"])


def test_answers_have_one_spelling() -> None:
    for entry in VECTORS["answer_texts"]:
        assert answer_text(entry["answer"]) == entry["text"]
    assert answer_text({"b", "a"}) == answer_text(("b", "a", "a")) == '["a","b"]'
    assert answer_text(float("nan")) == "null"
    for odd in (b"no", 2**60, object()):
        with pytest.raises(DomainError, match="with a personal key an answer must have a form in JSON"):
            answer_text(odd)


@pytest.mark.parametrize("vector", VECTORS["bad_texts"], ids=lambda vector: vector["why"])
def test_texts_that_are_no_key_are_refused(vector: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a personal key must"):
        PersonalKey.from_text(vector["text"])
    (tmp_path / "key").write_text(vector["text"])
    with pytest.raises(FileError, match="key: a personal key must"):
        PersonalKey.read(tmp_path / "key")


def test_roles_share_no_draw() -> None:
    """Roles, codes and repeated requests for one role: each has its own count, and none repeats a draw."""
    root = PersonalKey(bytes(32)).for_survey("sha256:0").source("q", 3, "no")
    twice = [root.role("permanent", 1).draw(), root.role("permanent", 1).draw()]
    rest = [root.draw(), root.role("fresh").draw(), root.role("permanent", 2).draw(), root.role("cohort").draw(),
            root.role("instantaneous", 1).draw()]  # fmt: skip
    assert len({*twice, *rest}) == 7
    with pytest.raises(ParameterError, match="a role must be one of"):
        root.role("other")


def test_a_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        key = PersonalKey.generate()
        key.write(tmp_path / "me.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "me.key").stat().st_mode) == 0o600
    assert PersonalKey.read(tmp_path / "me.key") == key != PersonalKey.generate()
    with pytest.raises(FileError, match="exists already"):
        PersonalKey.generate().write(tmp_path / "me.key")
    with pytest.raises(FileError, match="cannot be read"):
        PersonalKey.read(tmp_path / "none")
    with pytest.raises(FileError, match="cannot be written"):
        key.write(tmp_path / "no" / "me.key")
    assert key.to_text() not in repr(key) and key.for_survey("sha256:0").to_text() not in repr(key.for_survey("x"))

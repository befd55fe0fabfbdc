"""Write vectors/personal_key.json: draws, report ids, names in memories and spellings of answers under a key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sottovoce.device.personal_key import PersonalKey, answer_text

HERE = Path(__file__).parent
KEYS = [PersonalKey(bytes(range(32))), PersonalKey(bytes(range(255, 223, -1)))]
DIGESTS = [f"sha256:{'0' * 64}", f"sha256:{'7f' * 32}"]
DRAWS: list[tuple[str, str, int | str | None, int, int]] = [
    ("pills", "cohort", None, 0, 0),
    ("pills", "cohort", None, 0, 1),
    ("pills", "permanent", 0, 0, 0),
    ("pills", "permanent", 0, 5, 0),
    ("pills", "permanent", 17, 0, 3),
    ("pills", "permanent", "0,4,7", 0, 0),
    ("pills", "instantaneous", 0, 0, 0),
    ("pills", "instantaneous", 0, 12, 0),
    ("pills", "instantaneous", None, 12, 1),
    ("pills", "fresh", '"no"', 0, 0),
    ("pills", "fresh", '"no"', 1, 0),
    ("pills", "fresh", '"yes"', 0, 10),
    ("hôtel €", "fresh", '["a","b"]', 0, 0),
]
ANSWERS: list[Any] = [
    "no", "", "été 🎲", 'a "quoted" \\ line\n', 7, 7.0, 7.5, -0.0, 1e21, True, None, [], ["b", "a", "b"], [10, 9, 2],
    ["\ufb33", "🎲"],
]  # fmt: skip
BAD_TEXTS = {
    "no prefix": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
    "another version": "sottovoce-key:2:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
    "too short": "sottovoce-key:1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg",
    "too long": "sottovoce-key:1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8A",
    "padding": "sottovoce-key:1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    "bits to spare": "sottovoce-key:1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9",
    "the other alphabet": "sottovoce-key:1:++ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
}


def _draw(key: PersonalKey, digest: str, entry: tuple[str, str, int | str | None, int, int]) -> dict[str, Any]:
    """One draw through the source that a device uses, after the draws before it."""
    question, role, code, wave, number = entry
    survey_key = key.for_survey(digest)
    source = survey_key.source(question, wave, None).role(role, code)
    for _ in range(number):
        source.draw()
    mac = survey_key.mac(question, role, code, wave, number)
    return {"question": question, "role": role, "code": code, "wave": wave, "number": number, "mac": mac.hex(),
            "draw": str(source.draw())}  # fmt: skip


def _survey(key: PersonalKey, digest: str) -> dict[str, Any]:
    survey_key = key.for_survey(digest)
    hidden = [("pills", "0"), ("pills", "17"), ("mood", "0,4,7"), ("hôtel €", "été")]
    return {
        "digest": digest,
        "survey_key": survey_key.data.hex(),
        "fragment": f"#key={survey_key.to_text()}",
        "draws": [_draw(key, digest, entry) for entry in DRAWS],
        "report_ids": [{"wave": wave, "id": survey_key.report_id(wave)} for wave in (0, 1, 19)],
        "memory_keys": [{"question": q, "key": k, "hidden": survey_key.hide(q)(k)} for q, k in hidden],
    }


def content() -> dict[str, Any]:
    keys = [
        {"hex": key.data.hex(), "text": key.to_text(), "surveys": [_survey(key, digest) for digest in DIGESTS]}
        for key in KEYS
    ]
    return {
        "keys": keys,
        "answer_texts": [{"answer": answer, "text": answer_text(answer)} for answer in ANSWERS],
        "bad_texts": [{"why": why, "text": text} for why, text in BAD_TEXTS.items()],
    }


if __name__ == "__main__":
    (HERE / "personal_key.json").write_text(json.dumps(content(), indent=1) + "\n", encoding="utf-8")

"""Write the test vectors: for each mechanism, draws -> report -> tally -> estimate, and what must be refused.

Run it only when a mechanism is added: published vectors never change, but for the order of draws, which they name.
`python vectors/make.py`
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import sottovoce as sv
from sottovoce.core.hashing import Hashes, P
from sottovoce.core.privacy import GRID
from sottovoce.core.randomness import Source
from sottovoce.core.reports import Index, Report
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.longitudinal.base import Longitudinal
from sottovoce.mechanisms.text.cohorts import Cohorts

HERE = Path(__file__).parent
ORDER_OF_DRAWS = 2
"""In order 1 a mechanism drew only what its outcome needed; in order 2 it draws all that any outcome needs."""

GAPPED = sv.Domain(["a", "b", "c"], missing="category")
CUT = sv.Text(16, missing="category", longer="cut", normalise="NFC")
INSTANCES: dict[str, list[Mechanism]] = {
    "rr": [
        sv.RandomizedResponse(epsilon=1.0),
        sv.RandomizedResponse.from_coins(domain=["no", "yes"]),
        sv.RandomizedResponse.warner(0.3),
    ],
    "krr": [sv.KRR(["red", "green", "blue"], epsilon=1.0), sv.KRR(GAPPED, epsilon=0.5), sv.KRR(1000, epsilon=4.0)],
    "unary": [sv.Unary(14, p=0.75, q=0.25), sv.Unary(GAPPED, epsilon=1.0), sv.Unary(64, epsilon=2.0, kind="symmetric")],
    "subset": [sv.Subset(14, epsilon=1.0), sv.Subset(GAPPED, epsilon=1.0, size=2), sv.Subset(64, epsilon=3.0)],
    "hadamard": [sv.Hadamard(5, epsilon=1.0), sv.Hadamard(GAPPED, epsilon=0.5), sv.Hadamard(1000, epsilon=0.25)],
    "projective": [
        sv.Projective(7, epsilon=0.5, order=2),
        sv.Projective(GAPPED, epsilon=1.0),
        sv.Projective(1000, epsilon=1.0),
        sv.Projective(300, epsilon=2.0, order=7),
    ],
    "local_hash": [
        sv.LocalHash(5, epsilon=1.0, kind="binary"),
        sv.LocalHash(GAPPED, epsilon=1.0),
        sv.LocalHash(1024, epsilon=1.0),
        sv.LocalHash(1000, epsilon=3.0),
    ],
    "sets": [
        sv.Sets(["tea", "coffee", "water"], epsilon=1.0),
        sv.Sets(10, epsilon=3.0),
        sv.Sets(["a", "b"], p=0.3),
    ],
    "key_value": [
        sv.KeyValue(["film", "book"], 1, 5, epsilon=1.0),
        sv.KeyValue(6, -1, 1, epsilon=3.0),
        sv.KeyValue(["a", "b", "c"], 0, 10, epsilon=2.0, outside="clip"),
    ],
    "mean": [
        sv.Mean(0, 100, epsilon=1.0),
        sv.Mean(-1, 1, epsilon=0.5, kind="rounding"),
        sv.Mean(0, 0.3, epsilon=2.0, kind="piecewise", steps=10),
        sv.Mean(-5, 5, epsilon=3.0, kind="hybrid", outside="clip"),
    ],
    "square_wave": [
        sv.SquareWave(0, 100, epsilon=1.0),
        sv.SquareWave(-0.1, 0.2, bins=5, epsilon=3.0, steps=10),
        sv.SquareWave(0, 1, bins=2, epsilon=0.5, outside="clip"),
    ],
    "ranges": [
        sv.Ranges(100, epsilon=1.0),
        sv.Ranges(GAPPED, epsilon=2.0, fanout=2),
        sv.Ranges(["low", "middle", "high"], epsilon=0.5),
    ],
    "several": [
        sv.Several({"sex": ["f", "m"], "age": 5}, epsilon=1.0, how="sample"),
        sv.Several({"sex": ["f", "m"], "age": GAPPED}, epsilon=2.0, how="split"),
        sv.Several({"sex": ["f", "m"], "age": 30}, epsilon=1.0, how="joint"),
        sv.Several({"a": 2, "b": 3, "c": GAPPED}, epsilon=3.0, how="pairs"),
    ],
    "memoized": [
        sv.Memoized.of([False, True], "rr", permanent=2.0, first=1.0),
        sv.Memoized.of(GAPPED, "krr", permanent=3.0, first=1.0),
        sv.Memoized.rappor(["red", "green", "blue"], f=0.5, p=0.5, q=0.75),
        sv.Memoized.of(20, "unary", permanent=2.0, first=0.5),
        sv.Memoized.loloha(100, permanent=2.0, first=1.0, kind="binary"),
        sv.Memoized.loloha(GAPPED, permanent=3.0, first=1.0),
        sv.Memoized.rappor(CUT, f=0.5, p=0.5, q=0.75, bits=20, hashes=3, cohorts=5, salt="vectors"),
        sv.Memoized.of(sv.Text(16), "bloom", permanent=3.0, first=1.0, buckets=9, hashes=1, cohorts=1),
        sv.Memoized.of(sv.Text(16), "hashed", permanent=2.0, first=1.0, cohorts=300, salt="caf\u00e9"),
        sv.Memoized.pair(sv.Hashed(sv.Unary(12, 2.0), cohorts=3, domain=CUT), sv.Unary(12, p=0.75, q=0.25)),
        sv.Memoized.of(6, "krr", permanent=2.0, first=1.0, changes=1),
        sv.Memoized.loloha(100, permanent=2.0, first=1.0, changes=0),
        sv.Memoized.of(sv.Text(16), "bloom", permanent=3.0, first=1.0, buckets=9, cohorts=2, changes=2),
    ],
    "d_bit_flip": [
        sv.DBitFlip(["red", "green", "blue"], epsilon=1.0, sampled=1),
        sv.DBitFlip(GAPPED, epsilon=2.0, sampled=2),
        sv.DBitFlip(32, epsilon=1.0, sampled=8),
    ],
    "changes": [
        sv.Changes(8, 2, epsilon=1.0),
        sv.Changes(12, 1, epsilon=3.0, domain=["no", "yes"]),
        sv.Changes(100, 5, p=0.75),
    ],
}

INSTANCES |= {
    "hashed": [
        sv.Hashed("krr", 16, 4, 1.0, salt="vectors"),
        sv.Hashed(sv.Unary(12, 2.0, kind="symmetric"), cohorts=3, salt="café \U0001f600", domain=CUT),
        sv.Hashed("hadamard", 31, 8, 0.5),
        sv.Hashed("subset", 14, 5, 1.0, domain=sv.Text(100)),
        sv.Hashed("local_hash", 8, 2, 2.0),
    ],
    "bloom": [
        sv.Hashed.rappor(16, 2, 3, f=0.5, p=0.5, q=0.75, salt="vectors"),
        sv.Hashed.rappor(13, 3, 1, f=0.25, domain=CUT),
    ],
    "discovery": [
        sv.Discovery(1.0, 4, base="krr", buckets=16, cohorts=12, salt="vectors"),
        sv.Discovery(2.0, 3, "fragments", base="subset", buckets=14, cohorts=14, domain=CUT),
        sv.Discovery(0.5, base="hadamard", buckets=31, spans=[(0, 4), (0, 4), (0, 65)], cohorts=3, salt="café"),
        sv.Discovery(4.0, 16, "fragments", buckets=8, cohorts=38, tag=24, domain=sv.Text(16)),
    ],
}

TEXTS = [
    "tea",
    "coffee",
    "Tea",
    " tea",
    "a",
    "0",
    "caf\u00e9",
    "cafe\u0301",
    "\u65e5\u672c\u8a9e",
    "\U0001f600",
    "\x00",
    "x" * 16,
]
"""Texts of one to four bytes a character, two spellings of one word, and one that is just as long as allowed."""

INVALID: dict[str, list[Any]] = {
    "sets": [["no such option"], [None], [-1], [["tea"]], {"tea": True}],
    "several": [["f"], {"sex": "f", "agee": 1}, {}, ["f", 1, 2], ["x", "y", "z"], [["f"], ["m"]]],
    "key_value": [["film"], {"no such key": 1}, {"film": 6}, {"film": None}, {"film": "5"}, [["film", 1], ["film", 1]]],
}
"""Answers that a kind of mechanism refuses beside those that all of them do."""


CHANGES: dict[str, list[dict[str, Any]]] = {
    "hashed": [
        *({"cohorts": cohorts} for cohorts in (0, -1, 2.5, "4", 2**16 + 1)),
        *({"salt": salt} for salt in (5, None, "\ud800", "x" * 1025)),
        *({"base": base} for base in ("krr", None, {}, sv.KRR(["a", "b"], 1.0).to_dict(), sv.Sets(3, 1.0).to_dict())),
        {"base": sv.KRR(16, 1.0).to_dict() | {"epsilon": 0.5}},
        {"domain": {"max_bytes": 0, "missing": "refuse", "longer": "refuse", "normalise": "none"}},
        {"domain": {"max_bytes": 3, "missing": "refuse", "longer": "cut", "normalise": "none"}},
        {"domain": {"max_bytes": 64, "missing": "refuse", "longer": "refuse", "normalise": "NFD"}},
    ],
    "memoized": [
        *(
            {name: part}
            for name in ("permanent", "instantaneous")
            for part in ("rr", None, {}, sv.Sets(2, 1.0).to_dict())
        ),
        {"permanent": sv.KRR(3, 2.0).to_dict()},
        {"permanent": sv.RandomizedResponse(2.0).to_dict() | {"epsilon": 0.5}},
        {"permanent": sv.RandomizedResponse.warner(0.3).to_dict()},
        {"instantaneous": sv.Unary([False, True], 1.0).to_dict()},
        {"permanent": sv.Hashed("krr", 4, 2, 1.0).to_dict()},
        {"permanent": sv.Hashed("subset", 6, 2, 1.0).to_dict(), "instantaneous": sv.KRR(6, 1.0).to_dict()},
        {"permanent": sv.Hashed.rappor(8, 2, 2, f=0.5).to_dict(), "instantaneous": sv.Unary(9, 1.0).to_dict()},
        {"permanent": sv.Hashed.rappor(8, 2, 2, f=0.5).to_dict(), "instantaneous": sv.KRR(8, 1.0).to_dict()},
        {"instantaneous": sv.Hashed.rappor(8, 2, 2, f=0.5).to_dict()},
        *({"changes": changes} for changes in (-1, 1.5, "1", None, 2**20 + 1)),
    ],
    "d_bit_flip": [*({"sampled": sampled} for sampled in (0, -1, 4, 1.5, "1", None, True)), {"p": 0.5}, {"p": 0.25}],
    "changes": [
        *({"waves": waves} for waves in (1, 0, -8, 8.5, "8", 2**21)),
        *({"changes": changes} for changes in (0, 9, 2.5, None)),
        {"p": 0.5},
        {"p": 0.25},
        {"domain": {"values": 3, "missing": "refuse"}},
    ],
    "discovery": [
        *({"cohorts": cohorts} for cohorts in (0, -6, 7, 1.5, "12", 6 * 2**16)),
        *({"tag": tag} for tag in (-1, 1, 25, 1.5, "0", None)),
        *({"spans": spans} for spans in ([], [[0, 65]] * 7, "all", [5] * 6, [[0, 2]] * 6, [[0, 2, 65]] * 6)),
        *({"spans": [span, *[[0, 65]] * 5]} for span in ([1, 2], [0, 0], [0, 66], [0, 1.5], [0, "2"], [-1, 2])),
        {"spans": [[0, 3], [0, 2], *[[0, 65]] * 4]},
        {"tag": 8, "spans": [[0, 1], [0, 65], [2, 3], *[[0, 65]] * 3]},
        {"tag": 8, "spans": [[0, 2], *[[0, 65]] * 5]},
        {"base": sv.Sets(3, 1.0).to_dict()},
    ],
    "bloom": [{"hashes": 0}, {"hashes": 9}, {"buckets": 3}, {"cohorts": 0}, {"q": 0.9}, {"q": 0.3}],
}
"""What is wrong with a kind of mechanism beside what is wrong with all."""


class Recorder(Source):
    """Seeded draws, written down. Now and then a draw at either end of the range, where mistakes hide."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.draws: list[int] = []

    def draw(self) -> int:
        corner = self._random.random()
        bits = 0 if corner < 0.02 else GRID - 1 if corner > 0.98 else self._random.getrandbits(53)
        self.draws.append(bits)
        return bits


def to_json(report: Report) -> int | str:
    return report.hex() if isinstance(report, bytes) else report


def vector(m: Mechanism, seed: int) -> dict[str, Any]:
    labels = texts(m.domain) if isinstance(m.domain, sv.Text) else listed(m, seed)
    labels += between(m) if isinstance(m, sv.KeyValue) else []
    labels += between_points(m.domain) if isinstance(m.domain, sv.Scale) else []
    cases, tally = [], m.tally()
    for at, label in enumerate(labels):
        source = Recorder(1000 * seed + at)
        report = m._perturb(m._encode(label, source), source)
        tally.add(report)
        cases.append({"value": label, "draws": source.draws, "report": to_json(report)})
    return {
        "mechanism": m.to_dict(),
        "bits": m.bits,
        "cases": cases,
        "tally": {"n": tally.n, "cells": tally.cells.tolist()},
        **(frequencies(m, tally) if isinstance(m, Pure) else {}),
        **(mean(m, tally) if isinstance(m, sv.Mean) else {}),
        **(decoded(tally) if isinstance(m, Cohorts) else {}),
        **({"histories": histories(m, seed)} if isinstance(m, Longitudinal) else {}),
        "invalid_values": invalid_values(m),
        "invalid_reports": invalid_reports(m),
    }


def listed(m: Mechanism, seed: int) -> list[Any]:
    return [m.domain.labels[code] for code in random.Random(seed).choices(range(m.domain.size), k=24)]


def texts(domain: sv.Text) -> list[Any]:
    """Texts, and what a domain may allow beside them: a missing answer, a text that is cut within a character."""
    more = [None, ""] if domain.missing == "category" else []
    return [*TEXTS, *TEXTS[:4], *more, *(["x" * 15 + "\u00e9" * 9] if domain.longer == "cut" else [])]


def decoded(tally: sv.Tally[Any]) -> dict[str, Any]:
    values = ["tea", "coffee", "milk", "caf\u00e9"]
    e = tally.estimate(values=values)
    return {"decoded": {"values": values, "frequency": e.frequency.tolist(), "stderr": e.stderr.tolist()}}


def hashing(salt: str, buckets: int, cohorts: int, functions: int) -> dict[str, Any]:
    """Text -> fingerprint -> a bucket for each function of each cohort, and the numbers of the functions."""
    hashes = Hashes(salt, buckets, cohorts, functions)
    cases = []
    for text in ["", *TEXTS, "x" * 200]:
        code = hashes.fingerprint(text.encode())
        places = [[hashes.bucket(code, cohort, at) for at in range(functions)] for cohort in range(cohorts)]
        fingerprint = [code >> 31, code & P]
        cases.append({"text": text, "utf8": text.encode().hex(), "fingerprint": fingerprint, "buckets": places})
    words = [[list(hashes.words(cohort, at)) for at in range(functions)] for cohort in range(cohorts)]
    return {
        "salt": salt,
        "buckets": buckets,
        "cohorts": cohorts,
        "functions": functions,
        "words": words,
        "cases": cases,
    }


def histories(m: Longitudinal, seed: int) -> list[dict[str, Any]]:
    made = [history(m, 100 * seed + at) for at in range(3)]
    return made + [skipped(m, 100 * seed + at) for at in range(3)] if isinstance(m, sv.Changes) else made


def history(m: Longitudinal, seed: int) -> dict[str, Any]:
    """One device over eight waves: its value changes now and then, and may come back."""
    chance, source = random.Random(seed), Recorder(10_000 + seed)
    labels = texts(m.domain) if isinstance(m.domain, sv.Text) else m.domain.labels
    memory, code, steps = m.begin(source), 0, []
    for _ in range(8):
        code = chance.randrange(len(labels)) if chance.random() < 0.5 else code
        step = m.step(labels[code], memory, source)
        memory = step.memory
        steps.append({"value": labels[code], "report": to_json(step.report), "epsilon": step.epsilon})
    return {"draws": source.draws, "steps": steps, "memory": memory}


def skipped(m: sv.Changes, seed: int) -> dict[str, Any]:
    """One device that answers some waves only, which are then named, counted from 0."""
    chance, source = random.Random(seed), Recorder(20_000 + seed)
    memory, steps = m.begin(source), []
    for wave in sorted(chance.sample(range(m.waves), 5)):
        value = m.domain.labels[chance.randrange(2)]
        step = m.step(value, memory, source, wave)
        memory = step.memory
        steps.append({"value": value, "wave": wave, "report": to_json(step.report), "epsilon": step.epsilon})
    return {"draws": source.draws, "steps": steps, "memory": memory}


def mean(m: sv.Mean, tally: sv.Tally[Any]) -> dict[str, Any]:
    e = tally.estimate()
    return {"mean": {"mean": e.mean, "stderr": e.stderr, "population_stderr": e.population_stderr}}


def between_points(scale: sv.Scale) -> list[Any]:
    """Numbers between grid points, which are rounded at random first, and numbers outside, where those are clipped."""
    inner = [scale.low + scale.width * part / 37 for part in (1, 7, 20, 36)]
    return inner + ([scale.low - 1, scale.high + 1e9] if scale.outside == "clip" else [])


def invalid_texts(domain: sv.Text) -> list[Any]:
    missing = [None, ""] if domain.missing == "refuse" else []
    longer = ["x" * (domain.max_bytes + 1), "\u00e9" * domain.max_bytes] if domain.longer == "refuse" else []
    return [5, 1.5, True, ["tea"], {"tea": 1}, "\ud800", "tea\udc00", *missing, *longer]


def invalid_values(m: Mechanism) -> list[Any]:
    if isinstance(m.domain, sv.Text):
        return invalid_texts(m.domain)
    if isinstance(m.domain, sv.Scale):
        return ["no such value", "1", True, None, "", [1], *([-1e3, 10**6] if m.domain.outside == "refuse" else [])]
    missing = [None, ""] if getattr(m.domain, "missing", "refuse") == "refuse" else []
    return ["no such value", -1, 10**6, *missing, *INVALID.get(m.name, [])]


def between(m: sv.KeyValue) -> list[Any]:
    """Answers whose numbers lie between the two ends, and so are rounded at random first."""
    low, high = m.domain.low, m.domain.high
    pairs = [[key, low + (high - low) * part / 7] for part, key in enumerate(m.domain.keys.labels, 1)]
    return [pairs, pairs[:1], pairs[::-1], pairs[-1:]]


def frequencies(m: Pure, tally: sv.Tally[Any]) -> dict[str, Any]:
    e = tally.estimate()
    estimate = {"support": e.support.tolist(), "frequency": e.frequency.tolist(), "stderr": e.stderr.tolist()}
    return {"q": [m.q.numerator, m.q.denominator], "estimate": estimate}


def invalid_reports(m: Mechanism) -> list[Any]:
    if isinstance(m.shape, Index):
        return [-1, m.shape.outcomes, 2**53, 0.5, "0", None, True]
    width = (m.bits + 7) // 8
    spare = [("00" * (width - 1)) + "80"] if m.bits % 8 else []
    return ["", "00" * (width - 1), "00" * (width + 1), *spare, 0, None]


def invalid_mechanisms(m: Mechanism) -> list[dict[str, Any]]:
    """A sound mechanism with one thing wrong."""
    good = m.to_dict()
    changes: list[dict[str, Any]] = [
        {"epsilon": good["epsilon"] * 0.9},
        {"epsilon": good["epsilon"] * 1.1},
        {"p": 0.1 + 2**-57},
        {"p": 0},
        {"p": 1},
        {"p": "0.75"},
        {"domain": {"values": 1, "missing": "refuse"}},
        {"domain": {"values": ["a", "a"], "missing": "refuse"}},
        {"domain": {"values": ["a", ""], "missing": "refuse"}},
        {"domain": {"values": ["a", "b"], "missing": "drop"}},
        {"domain": ["a", "b"]},
        {"mechanism": "no such mechanism"},
        {"extra": 1},
    ]
    changes += CHANGES.get(m.name, [])
    return [good | change for change in changes] + [{k: v for k, v in good.items() if k != name} for name in good]


def main() -> None:
    functions = [hashing("", 1024, 8, 1), hashing("a survey", 1000, 3, 2), hashing("caf\u00e9 \U0001f600", 2**16, 2, 3)]
    (HERE / "hashing.json").write_text(json.dumps({"hashing": functions}, indent=1) + "\n", encoding="utf-8")
    for name, instances in INSTANCES.items():
        content = {
            "order_of_draws": ORDER_OF_DRAWS,
            "vectors": [vector(m, seed) for seed, m in enumerate(instances)],
            "invalid_mechanisms": invalid_mechanisms(instances[0]),
        }
        (HERE / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

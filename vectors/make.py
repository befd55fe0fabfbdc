"""Write the test vectors: for each mechanism, draws -> report -> tally -> estimate, and what must be refused.

Run it only when a mechanism is added: published vectors never change. `python vectors/make.py`
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import sottovoce as sv
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.pure import Pure
from sottovoce.privacy import GRID
from sottovoce.randomness import Source
from sottovoce.reports import Index, Report

HERE = Path(__file__).parent
GAPPED = sv.Domain(["a", "b", "c"], missing="category")
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
}

INVALID: dict[str, list[Any]] = {
    "sets": [["no such option"], [None], [-1], [["tea"]], {"tea": True}],
    "several": [["f"], {"sex": "f", "agee": 1}, {}, ["f", 1, 2], ["x", "y", "z"], [["f"], ["m"]]],
    "key_value": [["film"], {"no such key": 1}, {"film": 6}, {"film": None}, {"film": "5"}, [["film", 1], ["film", 1]]],
}
"""Answers that a kind of mechanism refuses beside those that all of them do."""


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
    labels = [m.domain.labels[code] for code in random.Random(seed).choices(range(m.domain.size), k=24)]
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
        "invalid_values": invalid_values(m),
        "invalid_reports": invalid_reports(m),
    }


def mean(m: sv.Mean, tally: sv.Tally[Any]) -> dict[str, Any]:
    e = tally.estimate()
    return {"mean": {"mean": e.mean, "stderr": e.stderr, "population_stderr": e.population_stderr}}


def between_points(scale: sv.Scale) -> list[Any]:
    """Numbers between grid points, which are rounded at random first, and numbers outside, where those are clipped."""
    inner = [scale.low + scale.width * part / 37 for part in (1, 7, 20, 36)]
    return inner + ([scale.low - 1, scale.high + 1e9] if scale.outside == "clip" else [])


def invalid_values(m: Mechanism) -> list[Any]:
    if isinstance(m.domain, sv.Scale):
        return ["no such value", "1", True, None, "", [1], *([-1e3, 10**6] if m.domain.outside == "refuse" else [])]
    missing = [None, ""] if m.domain.missing == "refuse" else []
    return ["no such value", -1, 10**6, *missing, *INVALID.get(m.name, [])]


def between(m: sv.KeyValue) -> list[Any]:
    """Answers whose numbers lie between the two ends, and so are rounded at random first."""
    low, high = m.domain.low, m.domain.high
    pairs = [[key, low + (high - low) * part / 7] for part, key in enumerate(m.domain.keys.labels, 1)]
    return [pairs, pairs[:1], pairs[::-1], pairs[-1:]]


def frequencies(m: Pure, tally: sv.Tally[sv.Estimate]) -> dict[str, Any]:
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
    return [good | change for change in changes] + [{k: v for k, v in good.items() if k != name} for name in good]


def main() -> None:
    for name, instances in INSTANCES.items():
        content = {
            "vectors": [vector(m, seed) for seed, m in enumerate(instances)],
            "invalid_mechanisms": invalid_mechanisms(instances[0]),
        }
        (HERE / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

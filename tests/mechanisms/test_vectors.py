"""The published vectors hold: draws -> report -> estimate, and what is invalid is refused."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.randomness import Replay
from sottovoce.core.reports import Bits, Report
from sottovoce.mechanisms import REGISTRY
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.longitudinal.base import Longitudinal

FOLDER = Path(__file__).parents[2] / "vectors"
PATHS = sorted(path for path in FOLDER.glob("*.json") if path.stem in REGISTRY)
FILES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in PATHS}
VECTORS = [pytest.param(v, id=f"{name}-{at}") for name, file in FILES.items() for at, v in enumerate(file["vectors"])]


def from_json(m: sv.Mechanism, report: Any) -> Report:
    return bytes.fromhex(report) if isinstance(m.shape, Bits) and isinstance(report, str) else report


def test_every_mechanism_has_vectors() -> None:
    assert set(FILES) == set(REGISTRY)


def test_the_published_vectors_are_those_that_are_made(tmp_path: Path) -> None:
    """`vectors/make.py` runs, and gives the published files byte by byte."""
    make = runpy.run_path(str(FOLDER / "make.py"))["main"]
    make.__globals__["HERE"] = tmp_path
    make()
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {name: (FOLDER / name).read_bytes() for name in made} and len(made) == len(REGISTRY) + 1


@pytest.mark.parametrize("vector", VECTORS)
def test_draws_give_the_report(vector: dict[str, Any]) -> None:
    m = sv.mechanism(vector["mechanism"])
    assert m.bits == vector["bits"]
    for case in vector["cases"]:
        source = Replay(case["draws"])
        assert m._perturb(m._encode(case["value"], source), source) == from_json(m, case["report"])
        with pytest.raises(StopIteration):
            source.draw()


@pytest.mark.parametrize("vector", VECTORS)
def test_draws_give_the_reports_of_a_history(vector: dict[str, Any]) -> None:
    m = sv.mechanism(vector["mechanism"])
    assert isinstance(m, Longitudinal) == ("histories" in vector)
    for history in vector.get("histories", []):
        assert isinstance(m, Longitudinal)
        source = Replay(history["draws"])
        memory = m.begin(source)
        for expected in history["steps"]:
            step = m.step(expected["value"], memory, source, expected.get("wave"))
            memory = json.loads(json.dumps(step.memory))
            assert (step.report, step.epsilon) == (from_json(m, expected["report"]), expected["epsilon"])
        assert memory == history["memory"]


@pytest.mark.parametrize("vector", VECTORS)
def test_reports_give_the_tally_and_the_estimate(vector: dict[str, Any]) -> None:
    m = sv.mechanism(vector["mechanism"])
    tally = m.tally().add_many([from_json(m, case["report"]) for case in vector["cases"]])
    assert (tally.n, tally.cells.tolist()) == (vector["tally"]["n"], vector["tally"]["cells"])
    assert isinstance(m, Pure) == ("estimate" in vector)
    if not isinstance(m, Pure):
        return
    estimate = tally.estimate()
    assert isinstance(estimate, sv.Estimate)
    assert [m.q.numerator, m.q.denominator] == vector["q"]
    assert estimate.support.tolist() == vector["estimate"]["support"]
    np.testing.assert_allclose(estimate.frequency, vector["estimate"]["frequency"], rtol=1e-12)
    np.testing.assert_allclose(estimate.stderr, vector["estimate"]["stderr"], rtol=1e-12)


@pytest.mark.parametrize("vector", VECTORS)
def test_invalid_values_and_reports_are_refused(vector: dict[str, Any]) -> None:
    m = sv.mechanism(vector["mechanism"])
    tally = m.tally()
    for value in vector["invalid_values"]:
        with pytest.raises(sv.DomainError):
            m.randomize(value)
    for report in vector["invalid_reports"]:
        with pytest.raises(sv.ReportError):
            tally.add(from_json(m, report))
        with pytest.raises(sv.ReportError):
            tally.add_many([from_json(m, vector["cases"][0]["report"]), from_json(m, report)])
    assert tally == m.tally()


@pytest.mark.parametrize("name", FILES)
def test_invalid_mechanisms_are_refused(name: str) -> None:
    for data in FILES[name]["invalid_mechanisms"]:
        with pytest.raises(sv.ParameterError):
            sv.mechanism(data)

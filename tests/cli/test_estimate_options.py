"""Every option of `sotto estimate` changes the numbers, and changes them to those of the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sottovoce.cli import main
from sottovoce.data import tally_files
from sottovoce.estimates import Estimate

COLORS = ["red"] * 300 + ["green"] * 500 + ["blue"] * 200 + ["pink"] * 8


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("color\n" + "\n".join(COLORS) + "\n", encoding="utf-8")
    asked = ["-q", "color:choice:red,green,blue,pink,grey", "-e", "1", "--seed", "1"]
    assert main(["randomize", "data.csv", *asked, "-o", "reports.parquet"]) == 0, capsys.readouterr().err

    def run(*options: str) -> Any:
        capsys.readouterr()
        assert main(["estimate", "reports.parquet", "--json", *options]) == 0
        return json.loads(capsys.readouterr().out)["questions"][0]

    return run


def rows(record: Any) -> list[tuple[str, float, float]]:
    return [(row["label"], row["low"], row["high"]) for row in record["estimates"]]


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ((), {}),
        (("--level", "0.5"), {"level": 0.5}),
        (("--simultaneous",), {"simultaneous": True}),
        (("--population",), {"population": True}),
        (
            ("--level", "0.8", "--simultaneous", "--population"),
            {"level": 0.8, "simultaneous": True, "population": True},
        ),
    ],
)
def test_intervals_are_those_of_the_library(told: Any, options: tuple[str, ...], arguments: dict[str, Any]) -> None:
    plain, found = told(), told(*options)
    if options:
        assert rows(found) != rows(plain)
    (tally,) = tally_files("reports.parquet").values()
    estimate = tally.estimate()
    assert isinstance(estimate, Estimate)
    low, high = estimate.interval(**{"level": 0.95} | arguments)
    assert [row[1] for row in rows(found)] == pytest.approx(low.tolist())
    assert [row[2] for row in rows(found)] == pytest.approx(high.tolist())


def test_order_number_and_steps(told: Any) -> None:
    plain = told()
    by_frequency = sorted(plain["estimates"], key=lambda row: -row["frequency"])
    assert [row["label"] for row in plain["estimates"]] == ["red", "green", "blue", "pink", "grey"]
    assert told("--sort")["estimates"] == by_frequency
    for top in (1, 2, 5):
        assert told("--top", str(top))["estimates"] == by_frequency[:top]
    clipped = told("--postprocess", "simplex")
    assert sum(row["frequency"] for row in clipped["estimates"]) == pytest.approx(1.0)
    assert min(row["frequency"] for row in clipped["estimates"]) >= 0
    assert clipped["steps"] == ["simplex"]

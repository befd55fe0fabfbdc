"""The command line of a survey: `sotto analyze`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sottovoce import designs
from sottovoce.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "evades": np.where(designs.Warner(0.7).simulate(rng.random(600) < 0.3, 1), "yes", "no"),
        "region": rng.choice(["north", "south"], 600),
        "weight": rng.choice([1.0, 2.5], 600),
        "same": np.where(designs.Crosswise(0.2).simulate(rng.random(600) < 0.3, 2), "same", "different"),
        "anchor": np.where(designs.Crosswise(0.2).simulate([False] * 600, 3), "same", "different"),
        "red": designs.Kuk(0.8, 0.2, 3).simulate(rng.random(600) < 0.3, 4),
        "sample": rng.choice([1, 2], 600),
    })  # fmt: skip
    frame.to_csv("data.csv", index=False)
    frame.to_parquet("data.parquet")
    return frame


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["analyze", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def record(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    return dict(json.loads(run(capsys, "--json", *arguments)[0]))


EVADES = ("--column", "evades", "--design", "warner:0.7")


@pytest.mark.parametrize("file", ["data.csv", "data.parquet"])
def test_one_proportion(capsys: pytest.CaptureFixture[str], folder: pd.DataFrame, file: str) -> None:
    e = designs.Warner(0.7).estimate(folder["evades"])
    assert run(capsys, file, *EVADES)[0].split() == str(e).split()
    got = record(capsys, file, *EVADES)
    assert got["design"] == designs.Warner(0.7).to_dict() and got["about"] == "population"
    assert got["estimates"] == e.to_dict()["estimates"]
    narrow = record(capsys, file, *EVADES, "--level", "0.5", "--method", "exact", "--respondents")
    assert narrow["estimates"][0]["low"] == e.interval(0.5, "exact", population=False).low


def test_weights_groups_and_a_test(capsys: pytest.CaptureFixture[str], folder: pd.DataFrame) -> None:
    e = designs.Warner(0.7).estimate(folder["evades"], folder["weight"], folder["region"])
    options = ("--weights", "weight", "--by", "region", "--simultaneous", "--test", "0.2", "--alternative", "greater")
    got = record(capsys, "data.csv", *EVADES, *options)
    assert got["estimates"] == e.to_dict(simultaneous=True)["estimates"]
    assert got["tests"]["north"] == json.loads(json.dumps(e.groups[0].test(0.2, "greater").to_dict()))
    out, _ = run(capsys, "data.parquet", *EVADES, *options)
    assert "north: likelihood-ratio test" in out and "weighted" in out
    out, _ = run(capsys, "data.csv", *EVADES, "--test", "0.2", "--explain")
    assert out.startswith("Warner('7/10'): a spinner") and "likelihood-ratio test: statistic" in out


def test_other_designs(capsys: pytest.CaptureFixture[str], folder: pd.DataFrame) -> None:
    cards = designs.Kuk(0.8, 0.2, 3).estimate(folder["red"])
    got = record(capsys, "data.csv", "-c", "red", "-d", "kuk:0.8,0.2,3", "--method", "wald")
    assert got["estimates"][0]["high"] == cards.interval(method="wald").high
    samples = folder["sample"] == 1
    both = designs.Greenberg(0.8, 0.3).estimate(folder["evades"][samples], folder["evades"][~samples])
    got = record(capsys, "data.csv", "-c", "evades", "-d", "greenberg:0.8,0.3", "--by", "sample")
    assert [row["frequency"] for row in got["estimates"]] == pytest.approx(both.frequency.tolist())
    fixed = designs.Crosswise(0.2).corrected(folder["same"], folder["anchor"], weights=folder["weight"])
    got = record(capsys, "data.csv", "-c", "same", "-d", "crosswise:1/5", "--anchor", "anchor", "--weights", "weight")
    assert [row["frequency"] for row in got["estimates"]] == pytest.approx(fixed.frequency.tolist())
    got = record(capsys, "data.csv", "-c", "red", "-d", "custom:0.7,0.1,0.1,0.1;0.1,0.1,0.1,0.7")
    assert len(got["estimates"]) == 2 and got["covariance"][0][0] > 0


@pytest.mark.parametrize(("more", "bytes_"), [((), b"<?xml"), (("--by", "region"), b"<?xml")])
def test_plots(capsys: pytest.CaptureFixture[str], more: tuple[str, ...], bytes_: bytes) -> None:
    run(capsys, "data.csv", *EVADES, *more, "--plot", "plot.svg")
    assert Path("plot.svg").read_bytes().startswith(bytes_)


def test_missing_answers(capsys: pytest.CaptureFixture[str]) -> None:
    Path("gaps.csv").write_text("id,evades\n1,yes\n2,\n3,no\n")
    _, err = run(capsys, "gaps.csv", *EVADES, code=2)
    assert err == "sotto: gaps.csv: row 2: an answer must not be missing, unless missing ones are dropped\n"
    assert record(capsys, "gaps.csv", *EVADES, "--missing", "drop")["n"] == 2


BAD = [
    (("data.csv", "-c", "evades", "-d", "warmer:0.7"), "a design must be one of warner"),
    (("data.csv", "-c", "evades", "-d", "warner:0.5"), "must not make yes as likely"),
    (("data.csv", "-c", "nothing", "-d", "warner:0.7"), "no column 'nothing'"),
    (("nowhere.csv", *EVADES), "no such file"),
    (("data.csv", "-c", "region", "-d", "warner:0.7"), "row 1: an answer must be yes or no"),
    (("data.csv", *EVADES, "--level", "95"), "level must be a number strictly between 0 and 1"),
    (("data.csv", *EVADES, "--method", "best"), "is not one of"),
    (("data.csv", *EVADES, "--test", "2"), "a proportion to test must lie between 0 and 1"),
    (("data.csv", *EVADES, "--weights", "region"), "a weight must be a number"),
    (("data.csv", *EVADES, "--plot", "plot.txt"), "must end in .svg"),
    (("data.csv", *EVADES, "--anchor", "anchor"), "--anchor is for crosswise"),
    (("data.csv", "-c", "evades", "-d", "greenberg:0.8,0.3"), "greenberg must have --by"),
    (("data.csv", "-c", "evades", "-d", "greenberg:0.8,0.3", "--by", "region"), "says 1 or 2"),
    (("data.csv", "-c", "evades", "-d", "greenberg:0.8,0.3", "--by", "sample", "--test", "0"), "one proportion of yes"),
    (("data.csv", "-c", "red", "-d", "custom:0.9,0.1;0.1,0.9", "--by", "region"), "not custom"),
    (("data.csv", "-c", "red", "-d", "kuk:0.8,0.2,3", "--method", "exact"), "method must be one of likelihood, wald"),
    (("data.csv", "--column", "evades"), "Missing option '--design'"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    out, err = run(capsys, *arguments, code=2)
    assert out == "" and message in err and err.count("\n") == 1

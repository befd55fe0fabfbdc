"""Plans for values that nobody listed, by the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sottovoce import Discovery, Hashed
from sottovoce.cli import main


def planned(capsys: pytest.CaptureFixture[str], *options: object) -> Any:
    assert main(["plan", *map(str, options), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_buckets_and_cohorts_for_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--mechanism", "hashed", "--candidates", 100_000, "--epsilon", 2, "--concentration", 0.01)
    made = planned(capsys, *options, "--n", 1_000_000)
    m = Hashed.plan(1_000_000, 2.0, 100_000, concentration=0.01)
    assert made["mechanism"] == m.to_dict() and (made["bits"], made["cells"]) == (m.bits, m.cells)
    assert made["margin"] == pytest.approx(1.959964 * m.stderr(1_000_000, 0.01), rel=1e-6)
    back = planned(capsys, *options, "--margin", made["margin"])
    assert 0.98e6 < back["n"] < 1.02e6 and back["margin"] <= made["margin"]


def test_groups_for_discovery(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--mechanism", "discovery", "--length", 12, "--epsilon", 2)
    made = planned(capsys, *options, "--n", 1_000_000)
    m = Discovery.plan(1_000_000, 2.0, 12)
    assert made["mechanism"] == m.to_dict() and made["proportion"] == m.detectable(1_000_000)
    assert planned(capsys, *options, "--proportion", made["proportion"])["n"] == pytest.approx(1_000_000, rel=1e-3)


def test_the_table_shows_ten_times_fewer_and_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-m", "discovery", "--length", "12", "--n", "4000", "-e", "2"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "texts of up to 12 bytes are found from a share of" in shown
    assert "400" in shown and "not enough data" in shown and "40,000" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-m hashed --n 5 -e 1", "hashed needs --epsilon and --candidates"),
        ("-m hashed --candidates 5 --n 5", "hashed needs --epsilon and --candidates"),
        ("-m hashed --candidates 5 -e 1", "--n or --margin"),
        ("-m hashed --candidates 5 -e 1 --n 5 --margin 0.1", "--n or --margin"),
        ("-m hashed --candidates 5 -e 1 --n 0", "n must be"),
        ("-m hashed --candidates 5 -e 1 --margin 2", "margin must lie"),
        ("-m hashed --candidates 5 -e 1 --margin 1e-12", "out of reach"),
        ("-m hashed --candidates 5 -e 1 --n 5 --length 4", "--length does not go with"),
        ("-m hashed --candidates 5 -e -1 --n 5", "epsilon must"),
        ("-m discovery --length 5 -e 1 --n 5", "not enough data"),
        ("-m discovery --length 5 -e 1 --n 5 --domain 4", "--domain does not go with"),
        ("-m discovery --length 500 -e 1 --n 50000", "length must be"),
    ],
)
def test_plans_that_cannot_be_made(options: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *options.split()]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1

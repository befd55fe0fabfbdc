"""The comparison of trust models: laws, closed forms, slopes, and what a person can get wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.randomness import Keystream, Replay
from sottovoce.estimates import Interval
from sottovoce.trust import (
    MODELS,
    Central,
    DiscreteLaplace,
    Local,
    OpenDPLaplace,
    Release,
    TrustModel,
    multinomial,
    zipf,
)
from sottovoce.trust.noise import Noise

ALARM = 1e-6
"""The false-alarm rate of a chi-square test here."""


def law_fits(noise: Sequence[int], m: Noise, most: int = 6) -> float:
    """The p-value of noise against its declared law: -most .. most, and the two tails."""
    a, n = float(m.ratio), len(noise)
    chances = [(1 - a) / (1 + a) * a ** abs(k) for k in range(-most, most + 1)]
    tail = (1 - sum(chances)) / 2
    seen = np.bincount(np.clip(noise, -most - 1, most + 1) + most + 1, minlength=2 * most + 3)
    return float(chisquare(seen, np.array([tail, *chances, tail]) * n).pvalue)


# The noise of both engines.


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.3, 1.0, math.log(3), 2.1972245773362196, 7.7, 20.0])
def test_opendp_spends_what_we_spend(epsilon: float, sensitivity: int) -> None:
    theirs, ours = OpenDPLaplace(epsilon, sensitivity), DiscreteLaplace(epsilon, sensitivity)
    for m in (theirs, ours):
        assert epsilon * (1 - 1e-7) < m.epsilon <= epsilon
    assert theirs.stderr == pytest.approx(ours.stderr, rel=1e-6)
    assert theirs.reach(0.95) == ours.reach(0.95)


def test_opendp_says_that_one_person_may_not_change_more() -> None:
    """A histogram with the noise of a single count would cost twice what is declared."""
    m = OpenDPLaplace(1.0, sensitivity=1)
    assert m._measurement.map(2) == pytest.approx(2.0)


def test_our_noise_has_its_law_by_the_column() -> None:
    """A chi-square test, seeded; false alarms 1e-6."""
    m = DiscreteLaplace(1.0, 2)
    assert law_fits(m.release([0] * 20_000, Keystream(1)), m) > ALARM


def test_our_noise_has_its_law_by_the_answer() -> None:
    """A chi-square test, seeded; false alarms 1e-6."""
    m = DiscreteLaplace(1.0, 2)
    assert law_fits(m.release([0] * 5_000, Replay(Keystream(2).draws(200_000).tolist())), m) > ALARM


def test_opendp_has_the_same_law() -> None:
    """A chi-square test against our declared law. OpenDP cannot be seeded: one run in a million fails by chance."""
    assert law_fits(OpenDPLaplace(1.0, 2).release([0] * 20_000), DiscreteLaplace(1.0, 2)) > ALARM


def test_noise_for_another_sensitivity_is_found_out() -> None:
    """The test above would see noise that is too small."""
    assert law_fits(DiscreteLaplace(1.0, 1).release([0] * 20_000, Keystream(1)), DiscreteLaplace(1.0, 2)) < ALARM


def test_noise_of_many_rounds() -> None:
    """At a small epsilon the coins of one count fill many rows. Moments within 5 standard errors, seeded: 1e-6 each."""
    m, n = DiscreteLaplace(0.001), 4_000
    noise = np.array(m.release([0] * n, Keystream(3)))
    assert abs(noise.mean()) < 5 * m.stderr / math.sqrt(n)
    assert (noise**2).mean() == pytest.approx(m.stderr**2, rel=5 * math.sqrt(5 / n))


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0, 20.0])
def test_the_reach_is_the_least_that_holds(epsilon: float, level: float) -> None:
    m = DiscreteLaplace(epsilon, 2)
    a = float(m.ratio)

    def inside(k: int) -> float:
        return sum((1 - a) / (1 + a) * a ** abs(j) for j in range(-k, k + 1)) if k >= 0 else 0.0

    assert inside(m.reach(level)) >= level - 1e-12
    assert inside(m.reach(level) - 1) < level


def test_noise_that_would_take_forever_is_refused() -> None:
    with pytest.raises(sv.ParameterError, match="at least 2\\^-24"):
        DiscreteLaplace(1e-9).release([1], Keystream(1))


@pytest.mark.parametrize("source", [Keystream(1), Replay([1, 2])])
def test_opendp_takes_no_seed(source: Any) -> None:
    with pytest.raises(sv.ParameterError, match="OpenDP cannot be seeded"):
        OpenDPLaplace(1.0).release([1], source)


# The answers.


def test_drawn_answers_have_their_probabilities() -> None:
    """A chi-square test, seeded; false alarms 1e-6."""
    chances = [0.4, 0.3, 0.0, 0.2, 0.1]
    seen = np.bincount(multinomial(sv.Domain(5), 50_000, chances, seed=4), minlength=5)
    assert seen[2] == 0
    assert chisquare(seen[[0, 1, 3, 4]], np.array([0.4, 0.3, 0.2, 0.1]) * 50_000).pvalue > ALARM


def test_drawn_answers_are_alike_unless_told() -> None:
    """A chi-square test, seeded; false alarms 1e-6."""
    assert chisquare(np.bincount(multinomial(sv.Domain(300), 90_000, seed=5), minlength=300)).pvalue > ALARM


def test_zipf() -> None:
    assert zipf(3, 1) == pytest.approx([6 / 11, 3 / 11, 2 / 11])
    assert zipf(4, 0) == [0.25] * 4


COUNTS = {"tea": 500, "coffee": 300, "milk": 200}
ANSWERS = [label for label, count in COUNTS.items() for _ in range(count)]


@pytest.mark.parametrize(
    "column", [ANSWERS, np.array(ANSWERS), pd.Series(ANSWERS), pl.Series(ANSWERS), pa.array(ANSWERS)]
)
def test_a_column_of_any_library_is_what_its_counts_are(column: Any) -> None:
    told = sv.compare(column, domain=list(COUNTS), seed=1)
    assert told.to_dict() == sv.compare(COUNTS, seed=1).to_dict()
    assert told.truth.tolist() == list(COUNTS.values())


def test_the_domain_is_read_off_a_column() -> None:
    assert sv.compare(ANSWERS, seed=1).domain.labels == ("coffee", "milk", "tea")
    assert sv.compare([3, 1, None, 1], seed=1).domain.labels == (1, 3, None)
    assert sv.compare({"a": 1, None: 2}, seed=1).truth.tolist() == [1, 2]


# The comparison.


def test_errors_are_those_of_the_closed_forms() -> None:
    """2,000 squared errors for each model: the ratio within 5 standard errors of 1, seeded (false alarms 1e-6 each)."""
    c = sv.compare(10, 1.0, 2_000, probabilities=zipf(10), runs=200, seed=1)
    central, local = c.outcomes
    assert central.ratio == pytest.approx(1, abs=5 * math.sqrt(5 / 2000) / 2)
    assert local.ratio == pytest.approx(1, abs=5 * math.sqrt(2 / 2000) / 2)
    assert c.runs == 200 and c.truth.sum() == 2_000


def test_noise_for_half_the_sensitivity_is_found_out() -> None:
    """The test above would see a curator who forgets that a changed answer moves two counts."""

    class Careless(Central):
        def stderr(self, domain: sv.Domain, epsilon: float, n: int) -> float:
            return DiscreteLaplace(epsilon, 1).stderr / n

    (outcome,) = sv.compare(10, 1.0, 2_000, models=[Careless()], runs=200, seed=1).outcomes
    assert outcome.ratio > 1 + 5 * math.sqrt(5 / 2000) / 2


def test_intervals_cover() -> None:
    """Both models, 3,000 intervals each: at least the level less 5 standard errors, seeded (false alarms 3e-7 each)."""
    stream, level, runs, domain = Keystream(6), 0.9, 300, sv.Domain(10)
    codes = multinomial(domain, 1_000, zipf(10), stream)
    truth = np.bincount(codes, minlength=10) / 1_000
    for model in MODELS.values():
        releases = [model.release(domain, 1.0, codes, stream, level) for _ in range(runs)]
        covered = np.mean([(r.interval.low - 1e-12 <= truth) & (truth <= r.interval.high + 1e-12) for r in releases])
        assert covered > level - 5 * math.sqrt(level * (1 - level) / (10 * runs))


def test_two_values_take_one_noisy_count() -> None:
    c = sv.compare([False, True], 1.0, 1000, seed=1)
    central = c.outcomes[0].release
    assert central.frequency.sum() == pytest.approx(1)
    assert central.by == "discrete Laplace noise by sottovoce, sensitivity 1"
    assert c.outcomes[0].expected == pytest.approx(DiscreteLaplace(1.0, 1).stderr)


def test_no_model_spends_more_than_asked() -> None:
    for epsilon in (0.1, 1 / 3, 1.0, math.log(3)):
        c = sv.compare(7, epsilon, 50)
        assert all(epsilon - 1e-6 < o.release.epsilon <= epsilon for o in c.outcomes)


def test_the_engine_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def by(**options: Any) -> str:
        return sv.compare(4, 1.0, 50, **options).outcomes[0].release.by

    assert by() == "discrete Laplace noise by OpenDP, sensitivity 2"
    assert by(seed=1) == "discrete Laplace noise by sottovoce, sensitivity 2"
    assert "by sottovoce" in by(models=[Central("sottovoce")])
    with pytest.raises(sv.ParameterError, match="OpenDP cannot be seeded"):
        by(models=[Central("opendp")], seed=1)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "by sottovoce" in by()


def test_a_seed_repeats() -> None:
    assert sv.compare(9, 0.5, 300, seed=2).to_dict() == sv.compare(9, 0.5, 300, seed=2).to_dict()
    assert sv.compare(9, 0.5, 300, seed=2).to_dict() != sv.compare(9, 0.5, 300, seed=3).to_dict()


@dataclass(frozen=True)
class Exact(TrustModel):
    """No privacy at all; or, for a broken one, noise that grows with the people."""

    noise: float = 0.0
    trusts: ClassVar[str] = "everybody"

    @property
    def name(self) -> str:
        return "exact"

    def release(
        self, domain: sv.Domain, epsilon: float, codes: NDArray[np.integer], stream: Keystream, level: float = 0.95
    ) -> Release:
        signs = 2.0 * stream.below(2, domain.size) - 1
        frequency = np.bincount(codes, minlength=domain.size) / codes.size + signs * self.noise / math.sqrt(codes.size)
        return Release(frequency, Interval(frequency, frequency, level), math.inf, "counting")

    def stderr(self, domain: sv.Domain, epsilon: float, n: int) -> float:
        return 1 / n


def test_a_new_model_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODELS, "exact", Exact())
    c = sv.compare(COUNTS, models=("exact", "central", "local"), seed=1)
    assert c.table()[0][2::2] == ["exact", "central", "local"]
    assert c.outcomes[0].rmse == pytest.approx(0, abs=1e-9)
    assert "exact trusts everybody: counting" in str(c)


# The error over n.


@pytest.mark.parametrize("measure", ["frequency", "mean"])
def test_slopes(measure: str) -> None:
    """The slope of 7 points over 3 decades. The standard error of a log error is at most sqrt(5/400)/2 = 6%, that of
    the slope 0.0092: 0.05 is 5.4 of them (false alarms 1e-7 each), seeded. The mean ratio to the closed form has a
    standard error of 2%."""
    curve = sv.error_curve(epsilon=1.0, measure=measure, runs=50 if measure == "frequency" else 400, seed=1)
    assert curve["central"].slope == pytest.approx(-1, abs=0.05)
    assert curve["local"].slope == pytest.approx(-0.5, abs=0.05)
    for line in curve.lines:
        assert 0.001 < line.slope_stderr < 0.015
        expected = np.polyfit(np.log(line.ns), np.log(line.expected), 1)[0]
        assert expected == pytest.approx(-1 if line.name == "central" else -0.5)
        assert np.exp(np.log(line.ratio).mean()) == pytest.approx(1, abs=0.11)


def test_the_slope_knows_its_error() -> None:
    """Over 100 curves the slopes spread as they say: within 40%, which is more than 5 standard errors, seeded."""
    curves = [sv.error_curve(10, 1.0, ns=[10, 20, 40], runs=10, seed=seed) for seed in range(100)]
    for name in ("central", "local"):
        spread = np.std([curve[name].slope for curve in curves])
        assert np.sqrt(np.mean([curve[name].slope_stderr ** 2 for curve in curves])) == pytest.approx(spread, rel=0.4)


def test_a_wrong_slope_is_found_out() -> None:
    line = sv.error_curve(10, 1.0, ns=[100, 1000, 10_000], models=[Exact(noise=1.0)], runs=5, seed=1)["exact"]
    assert line.slope == pytest.approx(-0.5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_mean_of_signs_has_the_errors_of_the_textbook(epsilon: float) -> None:
    """Laplace noise of scale 2/(epsilon n), but for rounding to whole people; c = (e^eps+1)/(e^eps-1) locally."""
    curve = sv.error_curve(epsilon=epsilon, measure="mean", ns=[10, 100, 1000], runs=1, seed=1)
    n = curve["local"].ns
    c = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    assert curve["local"].expected == pytest.approx(np.sqrt((c**2 - 1) / n))
    a = math.exp(-epsilon)
    assert curve["central"].expected == pytest.approx(2 * math.sqrt(2 * a) / (1 - a) / n)
    if epsilon == 0.1:
        assert curve["central"].expected == pytest.approx(math.sqrt(2) * 2 / (epsilon * n), rel=1e-3)


def test_a_curve_without_error_has_no_slope() -> None:
    curve = sv.error_curve(5, 30.0, ns=[10, 20, 30], runs=1, seed=1)
    assert math.isnan(curve["central"].slope) and math.isnan(curve["local"].slope_stderr)
    assert curve.to_dict()["models"][0]["slope"] is None
    assert curve.plot() is not None


# Showing.


def test_tables_and_frames() -> None:
    c = sv.compare(COUNTS, seed=1)
    assert c.table()[0] == ["value", "true", "central", "95% interval", "local", "95% interval"]
    assert len(c.table()[1]) == 3 and c.table(most=2)[1][-1][0] == "... and 1 more"
    assert "not private" in str(c) and "not private" in c._repr_html_()
    for kind, columns in (("pandas", "columns"), ("polars", "columns"), ("arrow", "column_names")):
        frame = c.to_frame(kind)
        assert list(getattr(frame, columns))[:5] == ["label", "true", "central", "central low", "central high"]
        curve = sv.error_curve(3, 1.0, ns=[5, 6, 7], runs=1, seed=1)
        assert len(curve.to_frame(kind)) == 6
    assert "slope" in str(curve) and "slope" in curve._repr_html_()
    json.dumps([c.to_dict(), curve.to_dict()])


def test_plots() -> None:
    c = sv.compare(COUNTS, seed=1)
    ax: Any = c.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == list(COUNTS)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["truth", "central", "local"]
    assert c.plot(ax) is ax
    curve = sv.error_curve(3, 1.0, ns=[5, 6, 7], runs=1, seed=1)
    ax = curve.plot()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    with pytest.raises(sv.ParameterError, match="at most 200 rows"):
        sv.compare(201, 1.0, 10, seed=1).plot()


def test_whoever_watches_is_told_of_every_run() -> None:
    seen = []

    def track(steps: Sequence[Any]) -> Iterable[Any]:
        for step in steps:
            seen.append(step)
            yield step

    sv.compare(3, 1.0, 10, runs=4, track=track)
    assert len(seen) == 8
    sv.error_curve(3, 1.0, ns=[5, 6, 7], runs=2, track=track)
    assert len(seen) == 8 + 6


# What a person can get wrong.


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: sv.compare(10), "n must be given with a domain"),
    (lambda: sv.compare(10, n=0), "n must be a whole number from 1 to 100,000,000, got 0"),
    (lambda: sv.compare(10, n=2.5), "n must be a whole number"),  # type: ignore[arg-type]
    (lambda: sv.compare(10, n=True), "n must be a whole number"),
    (lambda: sv.compare(10, n=math.nan), "n must be a whole number"),  # type: ignore[arg-type]
    (lambda: sv.compare(1, n=5), "a domain must have from 2"),
    (lambda: sv.compare(2**21, n=5), "at most 1,048,576 values"),
    (lambda: sv.compare(10, 0, 5), "epsilon must be positive"),
    (lambda: sv.compare(10, math.nan, 5), "epsilon must be a number"),
    (lambda: sv.compare(10, "1", 5), "epsilon must be a number"),  # type: ignore[arg-type]
    (lambda: sv.compare(10, n=5, runs=0), "runs must be a whole number from 1"),
    (lambda: sv.compare(10, n=5, level=1.0), "level must lie strictly between 0 and 1"),
    (lambda: sv.compare(10, n=5, seed=-1), "seed must be a whole number"),
    (lambda: sv.compare(10, n=5, seed=1.5), "seed must be a whole number"),  # type: ignore[arg-type]
    (lambda: sv.compare(10, n=5, models=()), "models must be at least one"),
    (lambda: sv.compare(10, n=5, models="local"), "models must be a list"),
    (lambda: sv.compare(10, n=5, models=["local", "local"]), "each of them once"),
    (lambda: sv.compare(10, n=5, models=["oracle"]), "a trust model must be one of central, shuffle, local"),
    (lambda: sv.compare(10, n=5, models=[3]), "a trust model must be one of"),  # type: ignore[list-item]
    (lambda: sv.compare(10, n=5, models=[Local("rr")]), "a domain of 2 values"),
    (lambda: sv.compare(10, n=5, models=[Local("best")]), "a mechanism must be auto or one of"),
    (lambda: Central("laplace"), "engine must be one of opendp, sottovoce, got 'laplace'"),
    (lambda: sv.compare(3, n=5, probabilities=[0.5, 0.5]), "as many as the values, 3, got 2"),
    (lambda: sv.compare(3, n=5, probabilities=[0.5, 0.5, 0.5]), "must add up to 1, got 1.5"),
    (lambda: sv.compare(2, n=5, probabilities=[1.5, -0.5]), "a probability must be a number from 0 to 1, got 1.5"),
    (lambda: sv.compare(2, n=5, probabilities=[math.nan, 1]), "a probability must be a number"),
    (lambda: sv.compare(2, n=5, probabilities=[True, 0]), "a probability must be a number"),
    (lambda: sv.compare(2, n=5, probabilities=["1", 0]), "a probability must be a number"),  # type: ignore[list-item]
    (lambda: sv.compare(2, n=5, probabilities="10"), "must be a list of numbers"),  # type: ignore[arg-type]
    (lambda: sv.compare(2, n=5, probabilities=0.5), "must be a list of numbers"),  # type: ignore[arg-type]
    (lambda: sv.compare(["a", "b"], probabilities=[0.5, 0.5]), "give n and a domain"),
    (lambda: sv.compare(["a", "b"], n=5, domain=2), "the domain is the first argument"),
    (lambda: sv.compare({"a": 1}, n=5), "the domain is the first argument"),
    (lambda: sv.compare({"a": 1, "b": -1}), "the count of 'b' must be a whole number"),
    (lambda: sv.compare({"a": 1, "b": 0.5}), "the count of 'b' must be a whole number"),
    (lambda: sv.compare({"a": 0, "b": 0}), "must add up to 1 to"),
    (lambda: sv.compare({"a": 1}), "a domain must have from 2"),
    (lambda: sv.compare({"a": 1, "b": 1}, domain=2), "names its domain itself"),
    (lambda: sv.compare([]), "at least 2 distinct values, has 0"),
    (lambda: sv.compare(["a", "a"]), "at least 2 distinct values, has 1"),
    (lambda: sv.compare([], domain=2), "at least one answer"),
    (lambda: sv.compare(["a", "c"], domain=["a", "b"]), "row 2: an answer must be one of"),
    (lambda: sv.compare([["a"], ["b"]]), "an answer must be text, a number or a truth value"),  # type: ignore[list-item]
    (lambda: sv.compare("abc"), "a column of answers must be a list"),
    (lambda: sv.compare(None), "a column of answers must be a list"),  # type: ignore[arg-type]
    (lambda: sv.compare(COUNTS).to_frame("excel"), "kind must be one of"),
    (lambda: sv.error_curve(epsilon=1.0, ns=[1, 2]), "at least 3 different n, got 2"),
    (lambda: sv.error_curve(epsilon=1.0, ns="123"), "ns must be a list"),  # type: ignore[arg-type]
    (lambda: sv.error_curve(epsilon=1.0, ns=7), "ns must be a list"),  # type: ignore[arg-type]
    (lambda: sv.error_curve(epsilon=1.0, ns=[1, 2, 0]), "n must be a whole number from 1"),
    (lambda: sv.error_curve(10, 1.0, measure="mean"), "name none"),
    (lambda: sv.error_curve(epsilon=1.0, measure="median"), "measure must be one of frequency, mean"),
    (lambda: sv.error_curve(epsilon=0.0), "epsilon must be positive"),
    (lambda: sv.error_curve(epsilon=1.0, ns=[1, 2, 3], runs=1).to_frame("excel"), "kind must be one of"),
    (lambda: sv.error_curve(epsilon=1.0, ns=[1, 2, 3], runs=1)["shuffle"], "the curve has the models central, local"),
    (lambda: zipf(10, math.inf), "the exponent of a Zipf distribution"),
    (lambda: zipf(0), "the number of values must be"),
    (lambda: DiscreteLaplace(1.0).reach(0), "level must lie strictly"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_one_clear_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(sv.SottovoceError) as caught:
        call()
    assert message in str(caught.value) and "\n" not in str(caught.value)


# The command line.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"drink": [*ANSWERS, None]}).to_csv("gaps.csv", index=False)
    pd.DataFrame({"drink": ANSWERS, "cups": [1, 2] * 500}).to_parquet("data.parquet")
    return tmp_path


def sotto(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["compare", *arguments]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_a_column_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = sotto(capsys, "data.parquet", "-c", "drink", "-d", "tea,coffee,milk", "--seed", "1", "--plot", "c.svg")
    assert out.splitlines()[1].split()[:2] == ["tea", "500"] and "not private" in out
    assert Path("c.svg").read_text().startswith("<?xml")
    record = json.loads(sotto(capsys, "data.parquet", "-c", "drink", "-d", "tea,coffee,milk", "--seed", "1", "--json"))
    assert record == sv.compare(COUNTS, seed=1).to_dict()
    assert json.loads(sotto(capsys, "data.parquet", "-c", "cups", "--json"))["labels"] == ["1", "2"]
    assert json.loads(sotto(capsys, "gaps.csv", "-c", "drink", "--missing", "category", "--json"))["true"][-1] == 1


def test_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    record = json.loads(sotto(capsys, "--n", "60", "--probabilities", "1/6,1/3,.5", "--seed", "1", "--json"))
    chances: list[Any] = [Fraction(1, 6), Fraction(1, 3), 0.5]
    assert record == sv.compare(3, 1.0, 60, probabilities=chances, seed=1).to_dict()
    out = sotto(
        capsys, "--domain", "150", "--n", "60", "--zipf", "1.1", "-e", "2", "-m", "krr", "--engine", "sottovoce"
    )
    assert "... and 50 more" in out and "KRR(150 values, epsilon=2)" in out and "by sottovoce" in out


def test_curve(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--curve", "--ns", "10,20,40", "--runs", "3", "--seed", "1")
    record = json.loads(sotto(capsys, *options, "--mean", "--plot", "k.png", "--json"))
    assert record == sv.error_curve(epsilon=1.0, measure="mean", ns=[10, 20, 40], runs=3, seed=1).to_dict()
    assert Path("k.png").stat().st_size > 1000
    assert "slope" in sotto(capsys, *options, "-d", "5")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name DATA and its --column"),
        (["--n", "5"], "name DATA and its --column"),
        (["-d", "5"], "name DATA and its --column"),
        (["data.parquet"], "DATA goes with a --column"),
        (["data.parquet", "-c", "drinks"], "no column 'drinks'"),
        (["nowhere.csv", "-c", "x"], "no such file"),
        (["gaps.csv", "-c", "drink"], "row 1001: an answer must not be missing"),
        (["data.parquet", "-c", "drink", "--n", "5"], "--n does not go with DATA"),
        (["data.parquet", "-c", "drink", "--mean"], "--mean does not go with DATA"),
        (["-c", "drink", "--n", "5", "-d", "5"], "--column does not go with --n"),
        (["--curve", "--level", "0.9"], "--level does not go with --curve"),
        (["data.parquet", "--curve"], "DATA does not go with --curve"),
        (["--n", "5", "--probabilities", "1,x"], "--probabilities must be numbers"),
        (["--n", "5", "--probabilities", "1/0,1"], "--probabilities must be numbers"),
        (["--n", "5", "--probabilities", "1/2,1/2", "--zipf", "1"], "--zipf goes with a --domain"),
        (["--n", "5", "--probabilities", "1/2,1/2", "--missing", "category"], "--missing goes with"),
        (["--n", "5", "-d", "5", "--plot", "x.gif"], "a plot must end in .svg, .png, .pdf"),
        (["--n", "5", "-d", "5", "--engine", "opendp", "--seed", "1"], "OpenDP cannot be seeded"),
        (["--n", "5", "-d", "5", "-e", "nan"], "epsilon must be a number"),
    ],
)
def test_one_line_and_exit_2(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    err = sotto(capsys, *arguments, code=2)
    assert message in err and err.startswith("sotto: ") and err.count("\n") == 1

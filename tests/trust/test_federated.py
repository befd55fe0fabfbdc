from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from noise_fit import FALSE_ALARM, chi_square
from scipy import stats

from sottovoce.cli import main
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError, Refusal, ReportError
from sottovoce.core.privacy import Probability
from sottovoce.core.randomness import Keystream
from sottovoce.trust import Central, compare, curator_curve
from sottovoce.trust.federated import (
    Additive,
    Average,
    DivisibleLaplace,
    Federated,
    Histogram,
    NoiseLaw,
    Parties,
    SecureSum,
    Shamir,
    add_noisy,
    both_randomized,
    compare_intersections,
    one_randomized,
    query,
    secure,
    secure_sum,
)
from sottovoce.trust.federated.divisible import negative_binomial
from sottovoce.trust.federated.sharing import MAX_COUNT

# The law of noise.


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000), Fraction(1, 10**6)])
def test_a_shape_of_one_is_discrete_laplace_noise(a: Fraction) -> None:
    table = NoiseLaw(a, Fraction(1)).table(30)
    k = np.arange(-30, 31)
    np.testing.assert_allclose(table, float((1 - a) / (1 + a)) * float(a) ** np.abs(k), atol=1e-14)


@pytest.mark.parametrize("shape", [Fraction(1, 7), Fraction(5, 2), Fraction(12)])
def test_other_shapes_are_differences_of_negative_binomials(shape: Fraction) -> None:
    k = np.arange(4000)
    one = stats.nbinom.pmf(k, float(shape), 0.3)
    wanted = [float(one[: one.size - j] @ one[j:]) for j in range(20)]
    np.testing.assert_allclose(NoiseLaw(Fraction(7, 10), shape).table(19)[19:], wanted, rtol=1e-9)


def test_shapes_add_up() -> None:
    third, whole = (NoiseLaw(Fraction(3, 5), Fraction(r)).table(200) for r in (Fraction(1, 3), 1))
    thrice = np.convolve(np.convolve(third, third), third)
    np.testing.assert_allclose(thrice[400:801], whole, atol=1e-14)


@pytest.mark.parametrize("ratio", [Fraction(1, 10), Fraction(4, 5), Fraction(99, 100)])
@pytest.mark.parametrize("shape", [Fraction(1, 9), Fraction(1), Fraction(20)])
def test_the_table_goes_as_far_as_noise_is_ever_seen(ratio: Fraction, shape: Fraction) -> None:
    law = NoiseLaw(ratio, shape)
    assert law._probabilities.size // 2 >= law.farthest - 1


def test_reach_is_the_shortest_that_holds_the_level() -> None:
    law = NoiseLaw(Fraction(4, 5), Fraction(3, 2))
    for level in (0.5, 0.9, 0.95, 0.999):
        reach = law.reach(level)
        assert law.table(reach).sum() >= level - 1e-12 > law.table(reach - 1).sum() - 2e-12
    with pytest.raises(ParameterError, match="level must lie"):
        law.reach(1.0)


@pytest.mark.parametrize("shape", [Fraction(1, 9), Fraction(1, 2), Fraction(1), Fraction(7, 2), Fraction(20)])
def test_epsilon_bounds_every_ratio(shape: Fraction) -> None:
    """From a shape of 1 on it is what discrete Laplace noise spends, and far out it is spent."""
    law = NoiseLaw(Fraction(3, 5), shape)
    table = law.table(30)[30:]
    ratios = np.log(table[:-1] / table[1:])
    assert ratios.max() <= law.epsilon(1) + 1e-9
    assert ratios.min() >= -1e-9
    assert law.epsilon(3) == pytest.approx(3 * law.epsilon(1))
    if shape >= 1:
        assert law.epsilon(1) == pytest.approx(math.log(5 / 3))
    else:
        assert ratios.max() == ratios[0] > math.log(5 / 3)


# Noise in shares.


def test_shares_never_spend_more_than_asked() -> None:
    for epsilon in (0.01, 0.3, 1.0, 5.0):
        noise = DivisibleLaplace(epsilon, 2, 7)
        assert noise.epsilon <= epsilon < noise.epsilon_alone
        assert DivisibleLaplace(epsilon, 2, 1).epsilon_alone == noise.epsilon


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_negative_binomial_draws(parts: int) -> None:
    """Chi-square against the probabilities of scipy; false alarm 1e-6 each."""
    a, n = Probability(3, 4), 100_000
    found = np.bincount(negative_binomial(a, parts, n, Keystream(parts)))
    wanted = stats.nbinom.pmf(np.arange(found.size), 1 / parts, 0.25) * n
    rare = wanted < 10
    both = [np.append(x[~rare], rest) for x, rest in ((found, found[rare].sum()), (wanted, n - wanted[~rare].sum()))]
    assert stats.chisquare(*both).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("honest", "there"), [(1, 1), (2, 3), (5, 5), (4, 7)])
def test_the_noise_of_the_survivors(honest: int, there: int) -> None:
    """Chi-square of the sum of the shares that are there; false alarm 1e-6 each."""
    noise, stream = DivisibleLaplace(1.0, 2, honest), Keystream(honest)
    total = sum(noise.draw(40_000, stream) for _ in range(there))
    assert chi_square(total, noise.law(there)) > FALSE_ALARM


def test_noise_scaled_for_those_who_dropped_out_is_found_out() -> None:
    """The same test on broken samplers: shares for five of which three are there, and runs that are all kept."""
    noise, stream = DivisibleLaplace(1.0, 2, 3), Keystream(1)
    thin = sum(DivisibleLaplace(1.0, 2, 5).draw(40_000, stream) for _ in range(3))
    assert chi_square(thin, noise.law(3)) < FALSE_ALARM
    kept = sum(DivisibleLaplace(1.0, 2, 1).draw(40_000, stream) for _ in range(3))
    assert chi_square(kept, noise.law(3)) < FALSE_ALARM


def test_noise_that_takes_too_long_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon must be at least"):
        DivisibleLaplace(1e-3, 2000, 3)
    for honest in (0, -1, 2.5, True, "3"):
        with pytest.raises(ParameterError, match="honest"):
            DivisibleLaplace(1.0, 1, honest)  # type: ignore[arg-type]


# Secret sharing.

SMALL = [Shamir(3, 1, 5), Shamir(4, 2, 5), Shamir(3, 2, 7), Additive(3, 4), Additive(2, 6)]


def views(scheme: Any, secret: int, group: tuple[int, ...], numbers: range) -> Counter[tuple[int, ...]]:
    """How often each joint view of a group of curators occurs, over all random numbers."""
    seen: Counter[tuple[int, ...]] = Counter()
    for draw in product(numbers, repeat=scheme.threshold):
        random = np.array(draw, dtype=np.uint64).reshape(scheme.threshold, 1)
        pieces = scheme._split(scheme.enter([secret]), random)
        seen[tuple(int(pieces[at, 0]) for at in group)] += 1
    return seen


@pytest.mark.parametrize("scheme", SMALL, ids=repr)
def test_too_few_pieces_tell_nothing(scheme: Any) -> None:
    """By enumeration: whatever the secret, the pieces of any `threshold` curators are equally likely to be anything."""
    for group in combinations(range(scheme.curators), scheme.threshold):
        first = views(scheme, 0, group, range(scheme.modulus))
        assert set(first.values()) == {1}
        assert len(first) == scheme.modulus**scheme.threshold
        assert all(views(scheme, secret, group, range(scheme.modulus)) == first for secret in range(scheme.modulus))


@pytest.mark.parametrize("scheme", SMALL, ids=repr)
def test_one_piece_more_or_worse_random_numbers_tell_something(scheme: Any) -> None:
    """The enumeration can fail: with a piece more, and with random numbers that are never the largest."""
    more, group = tuple(range(scheme.needed)), tuple(range(1, scheme.needed))
    assert views(scheme, 0, more, range(scheme.modulus)) != views(scheme, 1, more, range(scheme.modulus))
    assert views(scheme, 0, group, range(scheme.modulus - 1)) != views(scheme, 1, group, range(scheme.modulus - 1))


def whole_view(secrets: tuple[int, int, int]) -> Counter[tuple[int, ...]]:
    """All that curator 0 and the analyst see of a sum of three modulo 5: pieces, sums of pieces, its own numbers."""
    scheme, seen = Shamir(3, 1, 5), Counter[tuple[int, ...]]()
    for draw in product(range(5), repeat=3):
        pieces = [
            scheme._split(scheme.enter([x]), np.array([[r]], np.uint64))[:, 0]
            for x, r in zip(secrets, draw, strict=True)
        ]
        sums = [int(sum(int(one[at]) for one in pieces)) % 5 for at in range(3)]
        seen[draw[0], int(pieces[1][0]), int(pieces[2][0]), *sums] += 1
    return seen


def test_a_coalition_with_the_analyst_sees_the_sum_of_the_others_alone() -> None:
    assert whole_view((2, 1, 3)) == whole_view((2, 4, 0)) == whole_view((2, 2, 2))
    assert whole_view((2, 1, 3)) != whole_view((2, 1, 4))


@pytest.mark.parametrize("scheme", [Shamir(5, 2), Additive(3)], ids=repr)
def test_pieces_of_two_columns_look_alike(scheme: Any) -> None:
    """For the real moduli: a chi-square of the top six bits of each pair of pieces; false alarm 1e-6 each."""
    n, stream = 50_000, Keystream(7)
    for secret in (0, MAX_COUNT, -MAX_COUNT):
        pieces = scheme.split(np.full(n, secret), stream)
        shift = np.uint64(scheme.modulus.bit_length() - (1 if isinstance(scheme, Additive) else 0) - 3)
        for a, b in combinations(range(2 if isinstance(scheme, Additive) else 5), 2):
            joint = ((pieces[a] >> shift) * np.uint64(8) + (pieces[b] >> shift)).astype(np.int64)
            assert stats.chisquare(np.bincount(joint, minlength=64)).pvalue > FALSE_ALARM


def test_pieces_from_too_few_bits_are_found_out() -> None:
    scheme, stream = Shamir(5, 2), Keystream(7)
    weak = np.stack([stream.draws(50_000), stream.draws(50_000)])
    top = (scheme._split(np.zeros(50_000, np.uint64), weak)[2] >> np.uint64(58)).astype(np.int64)
    assert stats.chisquare(np.bincount(top, minlength=8)).pvalue < FALSE_ALARM


@pytest.mark.parametrize("scheme", [Additive(1), Additive(7), Shamir(1, 0), Shamir(9, 4), Shamir(9, 8), Shamir(40, 1)])
def test_extreme_and_negative_numbers_come_back(scheme: Any) -> None:
    column = np.array([0, 1, -1, MAX_COUNT, -MAX_COUNT, 123_456_789])
    pieces = scheme.split(column, Keystream(1))
    assert scheme.join(dict(enumerate(pieces))).tolist() == column.tolist()
    assert scheme.join({at: pieces[at] for at in range(scheme.curators)[-scheme.needed :]}).tolist() == column.tolist()


@pytest.mark.parametrize("column", [[MAX_COUNT + 1], [-MAX_COUNT - 1], [2**63], [], [[1]], [1.5], [True], ["1"]])
def test_what_cannot_be_shared_is_refused(column: Any) -> None:
    for scheme in (Shamir(3, 1), Additive(3)):
        with pytest.raises(ParameterError, match=r"2\^48|column"):
            scheme.split(column, Keystream(1))


def test_pieces_are_checked() -> None:
    scheme = Shamir(5, 1)
    pieces = dict(enumerate(scheme.split([5, 7], Keystream(1))))
    with pytest.raises(ReportError, match="2 pieces are needed"):
        scheme.join({0: pieces[0]})
    with pytest.raises(ReportError, match="curators 0 to 4"):
        scheme.join({0: pieces[0], 5: pieces[1]})
    with pytest.raises(ReportError, match="same length"):
        scheme.join({0: pieces[0], 1: pieces[1][:1]})
    with pytest.raises(ReportError, match="below the modulus"):
        scheme.check(np.array([2**61 - 1], dtype=np.uint64))
    for at in range(5):
        wrong = {**pieces, at: pieces[at] ^ np.uint64(1)}
        with pytest.raises(ReportError, match="one polynomial"):
            scheme.join(wrong)
    for curators, threshold, modulus in ((5, 5, 7), (0, 0, 7), (7, 1, 7), (3, -1, 7), (3, 1, 9), (3, 1, 2**62)):
        with pytest.raises(ParameterError):
            Shamir(curators, threshold, modulus)


# Secure sums.


def test_who_may_collude_and_drop_out() -> None:
    assert (Parties(5).threshold, Parties(5).dropouts, Parties(5).honest) == (1, 1, 3)
    assert (Parties(2).threshold, Parties(2).dropouts, Parties(2).honest) == (1, 0, 1)
    assert (Parties(3, sharing="additive").threshold, Parties(3, sharing="additive").honest) == (2, 1)
    assert Parties(4, 1, 1, noise="full").honest == 1
    assert Parties(5).against_liars and not Parties(5, 1, 2).against_liars
    wrong: list[tuple[Any, ...]] = [(1,), (5, 5), (5, 0), (5, 2, 3), (5, -1), (5, 1, -1), (2000,), (True,), (3.5,)]
    wrong += [
        (5, 1, 1, "half"),
        (5, 1, 1, "full", "none"),
        (5, 2, 0, "full", "additive"),
        (5, 4, 1, "full", "additive"),
    ]
    for arguments in wrong:
        with pytest.raises(ParameterError):
            Parties(*arguments)


def test_what_each_coalition_spends() -> None:
    parties = Parties(5, 2, 1)
    noise = parties.shares(1.0, 2)
    found = {c.size: c.epsilon for c in parties.coalitions(noise, 4)}
    assert set(found) == {0, 1, 2, 3}
    assert found[0] == found[1] == found[2] == noise.epsilon <= 1.0
    assert found[3] == pytest.approx(1 + 2 * math.log(2), abs=1e-12)
    full = Parties(5, 2, 1, noise="full")
    assert all(c.epsilon <= 1 for c in full.coalitions(full.shares(1.0, 2), 4))
    with pytest.raises(Refusal, match="4 curators must be in the sum"):
        parties.coalitions(noise, 3)


@pytest.mark.parametrize(
    "parties", [Parties(5, 1, 2), Parties(5, 2, 1, "full"), Parties(5, sharing="additive")], ids=repr
)
def test_a_secure_sum_is_the_total_with_the_promised_noise(parties: Parties) -> None:
    """Chi-square of the error, unmasked by as few as can; false alarm 1e-6 each."""
    columns = np.arange(5)[:, None] * np.ones(8000, dtype=np.int64) - 3
    noise = parties.shares(1.0, 2)
    total = secure_sum(columns, parties, noise, Keystream(3), range(5)[-parties.scheme().needed :])
    assert chi_square(total - columns.sum(axis=0), noise.law(5)) > FALSE_ALARM
    with pytest.raises(ReportError, match="pieces are needed"):
        secure_sum(columns[:, :3], parties, noise, Keystream(3), [0])
    for wrong in (columns[:3], columns[0], [[0.5]] * 5):
        with pytest.raises(ParameterError, match="a column of whole numbers for each"):
            secure_sum(wrong, parties, noise, Keystream(3))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("sharing", ["shamir", "additive"])
def test_a_hundred_curators_and_ten_thousand_values(sharing: str) -> None:
    """Right for every value, to within what noise never does."""
    parties = Parties(100, sharing=sharing)
    columns = np.arange(10_000)[None] * np.arange(100)[:, None] - 200_000
    noise = parties.shares(1.0, 2)
    total = secure_sum(columns, parties, noise, Keystream(1))
    assert abs(total - columns.sum(axis=0)).max() <= noise.law(100).farthest


def test_models_between_central_and_local() -> None:
    domain = Domain(10)
    assert Federated(1).stderr(domain, 1.0, 100) == pytest.approx(Central().stderr(domain, 1.0, 100))
    result = compare(10, n=3000, models=["central", Federated(9), SecureSum(Parties(9))], runs=60, seed=1)
    central, federated, secured = (outcome.rmse for outcome in result.outcomes)
    assert federated / central == pytest.approx(3, rel=0.2)
    assert secured / central == pytest.approx(math.sqrt(9 / 5), rel=0.2)
    for outcome in result.outcomes:
        assert outcome.ratio == pytest.approx(1, abs=5 * outcome.doubt)
    two = compare(["a", "b"], n=500, models=[Federated(4), SecureSum(Parties(4))], runs=100, seed=1)
    assert all(o.ratio == pytest.approx(1, abs=5 * o.doubt) and o.release.frequency.sum() == 1 for o in two.outcomes)
    with pytest.raises(ParameterError, match="somebody for each of 10"):
        compare(["a", "b"], n=5, models=[Federated(10)])


def test_the_error_grows_like_the_root_of_the_number_of_curators() -> None:
    """The slope is within five of its standard errors: 1/2 with noise from each, and less than 1/10 in a secure sum."""
    curve = curator_curve(10, 1.0, 2000, ks=[1, 4, 10, 40, 400, 2000], runs=25, seed=1)
    line = curve.lines[0]
    assert abs(line.slope - 0.5) < 5 * line.slope_stderr < 0.1
    assert abs(curve.slopes["secure sum"]) < 0.1
    assert curve.to_dict()["models"][0]["curators"] == [1, 4, 10, 40, 400, 2000]
    assert len(curve.table()[1]) == 6 and "slope" in str(curve)
    ax = curve.plot()
    assert ax.get_xlabel().startswith("curators")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    for ks in ([1, 2], [1, 2, 3000], [0, 1, 2], "12", 5):
        with pytest.raises(ParameterError):
            curator_curve(n=2000, ks=ks)  # type: ignore[arg-type]


def test_noise_by_opendp() -> None:
    """The error of 20 releases of ten counts is within a third of the closed form; false alarm below 1e-4."""
    model, codes = Federated(4, "opendp"), np.arange(1000) % 10
    errors = [model.release(Domain(10), 1.0, codes, Keystream()).frequency * 1000 - 100 for _ in range(20)]
    expected = model.stderr(Domain(10), 1.0, 1000) * 1000
    assert np.sqrt(np.mean(np.square(errors))) / expected == pytest.approx(1, abs=0.35)
    assert model.name == "federated 4 opendp"
    with pytest.raises(ParameterError, match="engine must be one of"):
        Federated(4, "mine")


def test_each_curator_adds_noise_to_a_sum() -> None:
    people: list[list[float | None]] = [[1.0, 2.0, 3.0] * 100, [7.0, None] * 50, [-4.0] * 10]
    count, total, mean = add_noisy(Average(-5, 10, 150), people, 2.0, seed=1)
    assert count.low <= 360 <= count.high and total.low <= 600 + 350 - 40 <= total.high
    assert mean.low <= 910 / 360 <= mean.high
    found = [add_noisy(Histogram(("a", "b")), [["a"] * 5] * 9, 1.0, seed)[1].value for seed in range(400)]
    assert np.std(found) == pytest.approx(DivisibleLaplace(1.0, 2).law(9).stderr, rel=0.2)
    with pytest.raises(ParameterError, match="at least one curator"):
        add_noisy(Histogram(("a",)), [], 1.0)


def test_curators_in_the_comparison_command(capsys: pytest.CaptureFixture[str]) -> None:
    curve = ["compare", "--curve", "--curators", "1,4,16", "--n", "64", "--domain", "3", "--runs", "5", "--seed", "1"]
    assert main([*curve, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"][1]["curators"] == [4, 16]
    assert main(curve) == 0
    assert "secure sum" in capsys.readouterr().out
    drawn = ["compare", "--domain", "a,b", "--n", "50", "--models", "federated,secure", "--seed", "1", "--curators"]
    assert main([*drawn, "5", "--json"]) == 0
    assert [m["model"] for m in json.loads(capsys.readouterr().out)["models"]] == ["federated 5", "secure sum 5"]
    for wrong in ([*curve, "--mean"], [*drawn, "1"], [*drawn, "x"], [*drawn, "51"]):
        assert main(wrong) == 2
        assert capsys.readouterr().err.count("\n") == 1


# What is asked.


def test_a_histogram_counts_what_it_names() -> None:
    asked = Histogram(("a", "b", "None"))
    assert asked.column(["a", "b", "a", "c", None, 1]).tolist() == [2, 1, 0]
    assert asked.column([]).tolist() == [0, 0, 0]
    assert (asked.sensitivity, Histogram(("a",)).sensitivity) == (2, 1)
    assert query(asked.to_dict()) == asked
    numbered = Histogram(3, missing=True)
    assert numbered.column(["0", 2, "2", "02", "3", "-1", None, ""]).tolist() == [1, 0, 2, 2]
    assert numbered.size == 4 and query(numbered.to_dict()) == numbered
    for values in ((), ("a", "a"), ("",), (1,), (None,), 0, -1, True, 2**21):
        with pytest.raises(ParameterError):
            Histogram(values)  # type: ignore[arg-type]


def test_one_person_changes_a_column_by_the_sensitivity_at_most() -> None:
    people = [-100, -5, -1.2, 0, 3.3, 5, 1e308, None, "x", math.nan, math.inf, "2", True, "a", "b"]
    for asked in (Average(-5, 5, 10), Average(-5, 5, 10, outside="refuse"), Histogram(("a", "b")), Histogram(("a",)),
                  Histogram(("a",), missing=True)):  # fmt: skip
        columns = [asked.column([one]) for one in people]
        assert max(abs(a - b).sum() for a in columns for b in columns) == asked.sensitivity
    assert Average(-5, 5, 10).sensitivity == 20


def test_an_average_with_missing_numbers() -> None:
    asked, law = Average(-10, 10, 1000), NoiseLaw(Fraction(999, 1000), Fraction(1))
    column = asked.column([5.0, -3.0, None, 99.0, "1"] * 1000)
    people, total, mean = asked.rows(column, law)
    assert (people.value, total.value, mean.value) == pytest.approx((4000, 13_000, 3.25))
    assert mean.low < 3.25 < mean.high and total.low < total.value < total.high
    empty = asked.rows(asked.column([None]), law)[2]
    assert math.isnan(empty.value) and (empty.low, empty.high) == (-10, 10)
    assert query(asked.to_dict()) == asked


def test_intervals_of_an_average_cover() -> None:
    """Of 2,000 intervals at 90% at least 85% hold all three numbers; by chance that fails in less than 1 of 10^9."""
    asked, stream = Average(0, 1, 10), Keystream(1)
    noise = Parties(5, 1, 1).shares(1.0, asked.sensitivity)
    column = asked.column(np.linspace(0, 1, 500))
    law, hits = noise.law(4), 0
    drawn = [sum(noise.draw(2000, stream) for _ in range(4)) for _ in range(2)]
    truth = [row.value for row in asked.rows(column, law)]
    for up, down in zip(*drawn, strict=True):
        rows = asked.rows(column + np.array([up, down]), law, 0.9)
        hits += all(row.low - 1e-9 <= value <= row.high + 1e-9 for row, value in zip(rows, truth, strict=True))
    assert hits >= 1700


@pytest.mark.parametrize(
    "record",
    [None, {}, [], {"kind": "sum"}, {"kind": "histogram"}, {"kind": ["mean"]}, {"kind": "mean", "low": 0, "high": 1}],
)
def test_what_is_no_query_is_refused(record: Any) -> None:
    with pytest.raises(ParameterError, match="a query must be one of"):
        query(record)


@pytest.mark.parametrize(
    "change",
    [{"values": "ab"}, {"values": ["a", "a"]}, {"values": [1]}, {"missing": 1}, {"missing": None}, {"more": 1},
     {"low": 1}, {"high": 0}, {"low": 2, "high": 1}, {"steps": 0}, {"steps": 1e9}, {"steps": True}, {"low": math.nan},
     {"low": "0"}, {"low": -1e308, "high": 1e308}, {"outside": "cut"}, {"outside": None}, {"outside": ["clip"]}],
)  # fmt: skip
def test_every_field_of_a_query_is_checked(change: dict[str, Any]) -> None:
    for asked in (Histogram(("a", "b")), Average(0, 1, 5)):
        record = asked.to_dict()
        if set(change) <= set(record) or "more" in change:
            with pytest.raises(ParameterError):
                query(record | change)


def test_numbers_outside_count_as_the_nearest_end_or_for_nobody() -> None:
    answers = [-1e300, -0.001, 0, 4, "10", 10.001, "1e9", math.inf, math.nan, None, "x", True]
    assert Average(0, 10, 10).column(answers).tolist() == [0 + 0 + 0 + 4 + 10 + 10 + 10, 10 + 10 + 10 + 6]
    assert Average(0, 10, 10, outside="refuse").column(answers).tolist() == [14, 16]


# Two sets.


def test_the_reference_errors_of_an_intersection() -> None:
    """Universe 1e5, two sets of 1e4, epsilon 1: about 315, 97 and 1.4. Measured within 4 of its standard errors."""
    found = compare_intersections(runs=30, seed=1)
    assert list(found.expected.values()) == pytest.approx([321, 96, 1.36], rel=0.01)
    for way, rmse in found.rmse.items():
        assert rmse / found.expected[way] == pytest.approx(
            1, abs=4 / math.sqrt(2 * 30) * (1.6 if way == "secure" else 1)
        )


def test_standard_errors_are_those_measured() -> None:
    first, second = np.arange(400) < 150, np.arange(400) >= 100
    for way in (both_randomized, one_randomized, secure):
        found = [way(first, second, 1.5, Keystream(seed)) for seed in range(200)]
        errors = np.array([one.value - 50 for one in found])
        assert abs(errors.mean()) < 4 * found[0].stderr / math.sqrt(200)
        assert errors.std() / np.mean([one.stderr for one in found]) == pytest.approx(1, abs=0.25)
        assert all(one.epsilon <= 1.5 for one in found)


@pytest.mark.parametrize("sets", [([], []), ([True], [True, False]), ([1, 0], [0, 1]), ([[True]], [[True]])])
def test_what_are_no_two_sets_is_refused(sets: Any) -> None:
    first, second = sets
    for way in (both_randomized, one_randomized, secure):
        with pytest.raises(ParameterError, match="set"):
            way(first, second, 1.0)


def test_sets_that_cannot_be_are_refused() -> None:
    for sizes, common in (((11, 2), 1), ((5, 5), 6), ((8, 8), 5), ((-1, 5), 0)):
        with pytest.raises(ParameterError):
            compare_intersections(10, sizes, common)

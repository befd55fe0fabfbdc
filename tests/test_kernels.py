"""The hot loops: compiled or not, on one thread or several, the same integers from the same draws."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import sottovoce as sv
from sottovoce import kernels
from sottovoce.privacy import GRID, Probability
from sottovoce.randomness import Keystream

BOUNDS = [1, 2, 2**46, 2**47, 3 * 2**49, 2**52 - 1, 2**52, 2**52 + 1, GRID - 1, 0x0123456789ABCD]


@pytest.fixture(params=["numpy", "compiled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways in turn, whatever the amount of work."""
    found = None
    if request.param == "compiled":
        pytest.importorskip("numba")
        from sottovoce.kernels import compiled as found  # type: ignore[assignment]
    monkeypatch.setattr(kernels.loops, "found", found)
    return str(request.param)


def coins(bound: int, count: int, seed: int) -> tuple[list[int], list[int]]:
    """The coins, and what the stream gives next: it shows how many draws were taken."""
    stream = Keystream(seed)
    out = stream.coins(Probability(bound, GRID), count)
    return out.tolist(), stream.words(2).tolist()


@pytest.mark.parametrize("bound", BOUNDS)
def test_a_coin_is_a_comparison_of_53_bits(way: str, bound: int) -> None:
    """The loop is fed the bits of 64 chosen numbers, close to the bound for the most part, from the top."""
    chosen = random.Random(bound)
    numbers = [bound, bound - 1, 0, GRID - 1] + [
        min(max(bound + chosen.choice([-1, 1]) * chosen.getrandbits(size % 53), 0), GRID - 1) for size in range(60)
    ]
    planes = iter(
        [sum((number >> shift & 1) << lane for lane, number in enumerate(numbers)) for shift in range(52, -1, -1)]
    )
    word = np.empty(1, dtype=np.uint64)
    kernels.below(lambda count: np.array([next(planes) for _ in range(count)], dtype=np.uint64), bound, word)
    assert [int(word[0]) >> lane & 1 for lane in range(64)] == [number < bound for number in numbers]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("count", [1, 2, 63, 64, 1000, 2**15 + 1])
def test_compiled_coins_are_the_same_and_take_the_same_draws(
    bound: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: Any = pytest.importorskip("sottovoce.kernels.compiled", exc_type=ImportError)
    monkeypatch.setattr(kernels.loops, "found", None)
    plain = coins(bound, count, 7)
    monkeypatch.setattr(kernels.loops, "found", compiled)
    assert coins(bound, count, 7) == plain


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 12, 16, 33])
@pytest.mark.parametrize("count", [0, 1, 7, 15, 16, 17, 255, 1000])
def test_column_sums(way: str, width: int, count: int) -> None:
    rows = np.frombuffer(random.Random(width).randbytes(2 * count * width), dtype=np.uint8).reshape(2 * count, width)
    for given_rows in (
        rows[:count],
        rows[:count].copy(),
        rows[::2],
        rows[:, ::-1],
        np.full((count, width), 255, dtype=np.uint8),
    ):
        expected = np.unpackbits(given_rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        assert kernels.column_sums(given_rows).tolist() == expected.tolist()


def test_a_broken_adder_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        @staticmethod
        def column_sums(rows: NDArray[np.uint64], total: NDArray[np.int64]) -> None:
            total += 1

    monkeypatch.setattr(kernels.loops, "found", Broken)
    with pytest.raises(AssertionError):
        test_column_sums("broken", 3, 17)


@pytest.mark.parametrize(
    "make", [lambda: sv.KRR(5, 1.0), lambda: sv.Unary(11, epsilon=1.0), lambda: sv.Subset(70, 0.5)]
)
def test_threads_change_nothing(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, n = make(), 2 * kernels.PART + 3
    codes = np.arange(n) % mechanism.domain.size
    outcomes = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("SOTTO_THREADS", threads)
        reports = mechanism.randomize_many(codes, seed=3)
        outcomes.append((reports.data.tobytes(), mechanism.tally().add_many(reports).cells.tolist()))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_every_part_of_a_long_column_is_randomized(monkeypatch: pytest.MonkeyPatch) -> None:
    """An estimate of each part is within 6 standard errors: false alarms once in 10^8."""
    monkeypatch.setenv("SOTTO_THREADS", "2")
    mechanism, n = sv.KRR(4, 2.0), 3 * kernels.PART + 1
    data = mechanism.randomize_many(np.full(n, 1)).data
    for at in range(0, n - 1, kernels.PART):
        kept = (data[at : at + kernels.PART] == 1).mean()
        assert abs(kept - mechanism.p) < 6 * 0.5 / kernels.PART**0.5


@given(st.integers(1, GRID - 1), st.integers(1, 300))
def test_shares_of_coins(bound: int, count: int) -> None:
    """Heads are within 6 standard deviations and 9 of their mean: false alarms about once in 10^8."""
    tossed = Keystream(1).coins(Probability(bound, GRID), count)
    heads, mean = int(np.bitwise_count(tossed).sum()), 64 * count * bound / GRID
    assert abs(heads - mean) <= 6 * (mean * (1 - bound / GRID)) ** 0.5 + 9


def test_loading_waits_for_enough_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOTTO_COMPILED", raising=False)
    fresh = kernels.Loops()
    assert fresh(10) is None and fresh.found is ...
    monkeypatch.setenv("SOTTO_COMPILED", "0")
    assert kernels.Loops()(2**40) is None

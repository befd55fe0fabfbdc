from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from compiled_loops import compiled_loops
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import KRR
from sottovoce.core import kernels, randomness
from sottovoce.core.errors import ParameterError
from sottovoce.core.kernels import UNUSED_BITS, below
from sottovoce.core.privacy import GRID, Probability
from sottovoce.core.randomness import BUFFER_WORDS, SYSTEM, Keystream, Replay, threshold

on_grid = st.integers(1, GRID - 1)


@given(on_grid)
def test_a_coin_is_one_comparison(bound: int) -> None:
    p = Probability(bound, GRID)
    assert Replay([bound - 1]).bernoulli(p)
    assert not Replay([bound]).bernoulli(p)


@given(st.integers(2, 2**40))
def test_below_rejects_the_incomplete_run(k: int) -> None:
    limit = GRID - GRID % k
    assert limit % k == 0 and GRID - limit < k
    assert Replay([limit - 1]).below(k) == k - 1
    if limit < GRID:
        assert Replay([limit, GRID - 1, 7 % k]).below(k) == 7 % k


def test_below_one_draws_nothing() -> None:
    assert Replay([]).below(1) == 0


def test_off_the_grid_is_refused() -> None:
    for p in (Probability(1, 3), Probability(1, 2**54), Probability(0), Probability(1)):
        with pytest.raises(ParameterError, match="p must be a multiple"):
            threshold(p)


def test_the_system_draws_53_bits() -> None:
    draws = [SYSTEM.draw() for _ in range(2000)]
    assert min(draws) >= 0 and max(draws) < GRID
    assert max(draws) >= GRID // 2  # Misses with probability 2^-2000.
    assert len(set(draws)) == 2000  # Repeats with probability below 1e-9.
    assert Counter(draw & 1 for draw in draws)[1] in range(850, 1150)  # Misses with probability below 1e-10.


@given(bound=on_grid, seed=st.integers(0, 2**32), agreed=st.integers(0, 53))
def test_bit_sliced_coins_are_comparisons(bound: int, seed: int, agreed: int) -> None:
    """Put together the 53 bits that each of 64 lanes was shown, and compare the number with the bound."""
    random = np.random.default_rng(seed)
    planes = random.integers(0, 2**64, 53, dtype=np.uint64)
    # Half the lanes start with the bound's own bits, so that the deep comparisons are reached.
    lanes = random.integers(0, 2**64, dtype=np.uint64)
    for depth in range(agreed):
        bits = ~np.uint64(0) if bound >> (52 - depth) & 1 else np.uint64(0)
        planes[depth] = planes[depth] & ~lanes | bits & lanes
    numbers = [sum((int(plane) >> lane & 1) << (52 - at) for at, plane in enumerate(planes)) for lane in range(64)]
    coin, shown = np.zeros(1, dtype=np.uint64), iter(planes)
    below(lambda count: np.array([next(shown, 0) for _ in range(count)], dtype=np.uint64), bound, coin)
    assert [bool(int(coin[0]) >> lane & 1) for lane in range(64)] == [number < bound for number in numbers]


class Chosen(Keystream):
    """Gives words that were written down."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = iter(numbers)

    def words(self, count: int) -> np.ndarray:
        return np.array([next(self.numbers) << UNUSED_BITS | 1234 for _ in range(count)], dtype=np.uint64)

    lent = words


def test_columns_reject_the_incomplete_run() -> None:
    """2^53 = 8 mod 12: of the last eight numbers, none is used; each is drawn again in its own place."""
    stream = Chosen([5, GRID - 8, GRID - 9, GRID - 1, 7, GRID - 2, 3])
    assert stream.below(12, 4).tolist() == [5, 7, 11, 3]
    assert next(stream.numbers, None) is None
    assert Chosen([GRID - 1]).below(16, 1).tolist() == [15], "a power of two has no incomplete run"


def response(found: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """K-ary response over 13 values; all coins fall tails, and two draws are beyond the last run of multiples of 12."""
    monkeypatch.setattr(kernels.loops, "found", found)
    stream, out = Chosen([GRID - 1, GRID - 2, 5, GRID - 8, GRID - 1, 6]), np.empty(2, dtype=np.uint8)
    KRR(13, epsilon=1.0)._perturb_into(np.array([4, 9]), stream, out)
    assert next(stream.numbers, None) is None
    return out.tolist()


def test_a_response_rejects_the_incomplete_run_too(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coins come first, whatever they are; the words that are divided are drawn again like those of `below`."""
    assert response(kernels.loops.found, monkeypatch) == [6, 6]


def test_a_careless_response_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiled_loops()

    class Careless:
        @staticmethod
        def respond(*arguments: Any) -> bool:
            compiled.respond(*arguments)
            return True

    with pytest.raises(AssertionError):
        response(Careless, monkeypatch)


def test_a_loop_is_fed_until_its_words_are_fair() -> None:
    """Coins stay as they fell."""
    seen, last = [], GRID - 9

    def loop(coins: Any, some: Any) -> bool:
        seen.append([[word >> UNUSED_BITS for word in column.tolist()] for column in (coins, some)])
        return bool((some >> np.uint64(UNUSED_BITS) <= last).all())

    Chosen([5, GRID - 1, 7, GRID - 1, GRID - 2, last]).feed(loop, 2, Probability(1, 2), 12)
    assert seen == [[[5, GRID - 1], [7, GRID - 1]], [[5, GRID - 1], [7, last]]]


def test_what_is_lent_is_nobody_elses() -> None:
    """A draw within a draw, as by the handler of a signal, takes other memory; later ones take the same again."""
    outer, inner, earlier = Keystream(1), Keystream(2), Keystream(3)
    with earlier.settled():
        earlier.lent(1)
    with outer.settled():
        words = outer.lent(100)
        with inner.settled():
            assert not np.shares_memory(inner.lent(100), words)
        assert (words == Keystream(1).words(100)).all()
    with inner.settled():
        assert np.shares_memory(inner.lent(100), words)
    assert not np.shares_memory(outer.lent(100), words), "once given back, it is not used any more"
    assert outer.lent(BUFFER_WORDS).size == BUFFER_WORDS, "much is not lent but given"


@pytest.mark.parametrize("shape", [(3, 5), (8, 16), (1, 1)])
def test_coins_are_tossed_where_rows_lie(shape: tuple[int, int]) -> None:
    """Whole words or not, in line with them or not: the same coins. Rows that would be copied are refused."""
    size = shape[0] * shape[1]
    coins = Keystream(3).coins(Probability(1, 4), (size + 7) // 8).astype("<u8").view(np.uint8)[:size].reshape(shape)
    for start in (0, 1, 8):
        room = np.zeros(size + 8, dtype=np.uint8)
        rows = room[start : start + size].reshape(shape)
        assert Keystream(3).coin_rows(Probability(1, 4), rows) is rows
        assert (rows == coins).all() and room.sum() == coins.sum(dtype=np.int64)
    if min(shape) > 1:
        with pytest.raises(ValueError, match="in one piece"):
            Keystream(3).coin_rows(Probability(1, 4), np.empty(shape, dtype=np.uint8, order="F"))


def test_keystreams() -> None:
    assert not Keystream().simulated
    assert Keystream(1).simulated
    assert (Keystream(1).words(5) == Keystream(1).words(5)).all()
    assert not (Keystream(1).words(5) == Keystream(2).words(5)).any()
    assert not (Keystream().words(5) == Keystream().words(5)).any()
    stream = Keystream(3)
    assert Keystream.of(stream) is stream
    # The key of a seed is published: simulations can be repeated by anyone, on any machine.
    assert Keystream(1).words(1)[0] == 4590481635277393405


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_bad_seed(seed: object) -> None:
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        Keystream(seed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "p", [Probability(1, 2), Probability(1, GRID), Probability(2**53 // 3, GRID), Probability(7, 8)]
)
def test_coins_have_their_probability(p: Probability) -> None:
    """A million coins by each method are within 5 standard deviations: false alarms 6e-7 each, seeded."""
    n = 2**20
    sliced = int(np.bitwise_count(Keystream(7).coins(p, n // 64)).sum())
    plain = int(Keystream(8).bernoulli(p, n).sum())
    allowed = 5 * (n * float(p * (1 - p))) ** 0.5 + 1e-9
    assert abs(sliced - n * float(p)) <= allowed
    assert abs(plain - n * float(p)) <= allowed


@pytest.mark.parametrize("k", [1, 2, 3, 10, 1023, 2**40 + 1])
def test_columns_of_choices(k: int) -> None:
    """Uniform by chi-square over at most ten classes; 60 is exceeded with probability below 1e-8."""
    n = 100_000
    drawn = Keystream(4).below(k, n)
    assert drawn.min() >= 0 and drawn.max() < k
    classes = min(k, 10)
    counts = np.bincount((drawn.astype(object) * classes // k).astype(int), minlength=classes)
    sizes = np.array([len(range(-(-c * k // classes), -(-(c + 1) * k // classes))) for c in range(classes)])
    expected = n * np.array([float(Fraction(int(s), k)) for s in sizes])
    assert ((counts - expected) ** 2 / expected).sum() < 60


def test_a_fork_does_not_repeat_its_parent() -> None:
    stream = Keystream()
    stream._process = (stream._process[0] - 1, stream._process[1])  # As a forked process finds it.
    before = stream._key
    stream.words(1)
    assert stream._key != before
    simulated = Keystream(1)
    simulated._process = (simulated._process[0] - 1, simulated._process[1])
    assert simulated.words(1)[0] == Keystream(1).words(1)[0]


def test_a_process_id_that_is_given_out_again_does_not_repeat_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grandchild may get the id of the process that made the stream, when that has ended."""
    stream = Keystream()
    before = stream._key
    monkeypatch.setattr(randomness, "FORKS", [randomness.FORKS[0] + 2])
    stream.words(1)
    assert stream._key != before


FORKED_STREAMS = """
import os, sys, threading
from sottovoce.core.randomness import SYSTEM, Keystream

def draw(streams):
    return [stream.words(4).tobytes().hex() for stream in streams] + [str(SYSTEM.draw())]

def in_child(streams):
    read, write = os.pipe()
    if not os.fork():
        os.write(write, " ".join(draw(streams)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read().decode().split()
    os.wait()
    return told

used = Keystream()
used.words(3)
streams = [used, Keystream(), used.split()]
stop = threading.Event()
busy = Keystream()
noise = threading.Thread(target=lambda: [busy.words(1000) for _ in iter(stop.is_set, True)])
noise.start()
told = []
maker = threading.Thread(target=lambda: told.extend(in_child(streams) for _ in range(3)))
maker.start()
maker.join()
stop.set()
noise.join()
told.append(draw(streams))
print(len({bits for each in told for bits in each}), len(told) * 4)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_and_their_parent_draw_apart() -> None:
    """Three children, forked from a thread while another one draws, from used, unused and split streams."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED_STREAMS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    distinct, drawn = map(int, done.stdout.split())
    assert distinct == drawn == 16


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, *(partial(pickle.dumps, protocol=p) for p in range(pickle.HIGHEST_PROTOCOL + 1))],
)
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("used", ["unused", "used", "split", "held by another object"])
def test_streams_are_not_copied(used: str, seed: int | None, again: Callable[[Any], Any]) -> None:
    stream: Any = Keystream(seed)
    if used == "used":
        stream.words(1)
    elif used == "split":
        stream = stream.split()
    elif used == "held by another object":
        stream = {"a": [stream]} if again is not copy.copy else stream
    with pytest.raises(TypeError, match="a Keystream cannot be copied or pickled, for the copy would repeat"):
        again(stream)


def test_streams_do_not_travel_in_closures() -> None:
    """Spark and joblib pickle functions with all that they close over."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    stream = Keystream()
    with pytest.raises((TypeError, pickle.PicklingError), match="a Keystream cannot be copied or pickled"):
        cloudpickle.dumps(lambda: stream.words(1))


def test_the_systems_source_holds_nothing_that_a_copy_could_repeat() -> None:
    copies = [SYSTEM, copy.copy(SYSTEM), copy.deepcopy(SYSTEM), pickle.loads(pickle.dumps(SYSTEM))]  # noqa: S301
    assert len({source.draw() for source in copies for _ in range(3)}) == 12  # Repeats once in 10^14.
    assert not vars(SYSTEM)

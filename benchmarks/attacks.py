"""What somebody who sees all reports of one device learns over time: the figures and tables of docs/over-time.md.

`python benchmarks/attacks.py` prints the tables and draws two figures into docs/figures, in about half a minute.

The attacker knows everything but the device's value and coins. Averaging: is the answer yes or no? The moment: the
answer turns from no to yes in one of the waves, or an age goes up by one; in which wave? The guess is the likeliest
wave, all of them being as likely beforehand, and it counts as a hit within one wave of the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import binom

import sottovoce as sv
from sottovoce.estimates.render import ACCENT, INK, TRUTH, text_table
from sottovoce.mechanisms.longitudinal.base import Longitudinal

Floats = NDArray[np.float64]
FIGURES = Path(__file__).parents[1] / "docs" / "figures"
WAVES, PEOPLE, AGES = 64, 2000, 64


# Averaging.


def majority(p: float, reports: int) -> float:
    """How often the majority of so many independent reports, each right with probability p, is right."""
    ties = float(binom.pmf(reports // 2, reports, p)) / 2 if reports % 2 == 0 else 0.0
    return float(binom.sf(reports // 2, reports, p)) + ties


def fresh_success(epsilon: float, reports: int) -> float:
    return majority(float(sv.RandomizedResponse(epsilon).p), reports)


def memoized_success(m: sv.Memoized, reports: int) -> float:
    """The majority finds the permanent answer, which is the true one with its own probability only."""
    found, truth = majority(float(m.instantaneous.p), reports), float(m.permanent.p)
    return found * truth + (1 - found) * (1 - truth)


def reports_until(epsilon: float, success: float = 0.95) -> int:
    """How many reports with fresh noise tell the answer with this probability."""
    return next(k for k in range(1, 10**7, 2) if fresh_success(epsilon, k) >= success)


# The moment of a change.


def moments(rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each person the wave of the change, and in rows whether it has happened by each wave."""
    moment = rng.integers(1, WAVES, PEOPLE)
    return moment, np.arange(WAVES) >= moment[:, None]


def likeliest(scores: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """The best of the scores of waves 1 to the last, ties at random."""
    best: NDArray[np.int64] = 1 + np.argmax(scores + rng.random(scores.shape) * 1e-9, axis=1)
    return best


def segments(told: Floats, before: Floats, after: Floats) -> Floats:
    """The log-likelihood of each moment of change, where a permanent answer x is drawn before it and another after.

    `told[i, t, x]` is the log-probability of the report in wave t given x; `before` and `after` are those of x.
    """
    sums = np.concatenate([np.zeros_like(told[:, :1]), np.cumsum(told, axis=1)], axis=1)
    first = np.logaddexp.reduce(sums + before[:, None], axis=2)
    second = np.logaddexp.reduce(sums[:, -1:] - sums + after[:, None], axis=2)
    scores: Floats = (first + second)[:, 1:WAVES]
    return scores


def answers(told: Any, p: Any, q: Any, size: int) -> Floats:
    """The log-probabilities of one answer of each row, for every x: p if it is x, otherwise q."""
    return np.where(np.asarray(told)[..., None] == np.arange(size), math.log(p), math.log(q))


def attack_fresh(m: sv.KRR, changed: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    reports = np.stack([m.randomize_many(column, seed=int(rng.integers(2**40))).data for column in changed.T], axis=1)
    ratio = answers(reports, m.p, m.q, 2) @ np.array([1.0, -1.0])
    scores: Floats = np.cumsum(ratio, axis=1)[:, : WAVES - 1]
    return scores


def attack_memoized(m: sv.Memoized, values: NDArray[Any], rng: np.random.Generator) -> Floats:
    """`values` has a row of codes for each person, of which the attacker knows the first and the last."""
    reports = np.stack([r.data for r in m.randomize_waves(list(values.T), seed=int(rng.integers(2**40)))], axis=1)
    if isinstance(m.permanent, sv.Unary):
        return attack_bits(m, reports.view(np.uint8), values)
    size = m._chain.size
    cohort, told = np.divmod(reports.astype(np.int64), size)
    keys = [m._where.place_many(values[:, at].astype(np.int64), cohort[:, 0]) for at in (0, -1)]
    return segments(answers(told, m.instantaneous.p, m.instantaneous.q, size),
                    *(answers(key, m._where.inner.p, m._where.inner.q, size) for key in keys))  # fmt: skip


def attack_bits(m: sv.Memoized, reports: NDArray[np.uint8], values: NDArray[Any]) -> Floats:
    """Bits are independent: their log-likelihoods add up."""
    bits = np.unpackbits(reports, axis=2, bitorder="little")[:, :, : m.domain.size]
    one, zero = m.instantaneous.p, m.instantaneous.q
    total = np.zeros((len(values), WAVES - 1))
    for place in range(m.domain.size):
        told = np.stack([np.where(bits[:, :, place], math.log(c), math.log(1 - c)) for c in (zero, one)], axis=2)
        chances = [np.where(values[:, at] == place, float(m.permanent.p), float(m.permanent.q)) for at in (0, -1)]
        total += segments(told, *(np.log(np.stack([1 - c, c], axis=1)) for c in chances))
    return total


def attack_flips(m: sv.DBitFlip, values: NDArray[Any], rng: np.random.Generator) -> Floats:
    """A report that differs from the one before gives the moment away."""
    reports = np.stack([r.data for r in m.randomize_waves(list(values.T), seed=int(rng.integers(2**40)))], axis=1)
    scores: Floats = (reports[:, 1:] != reports[:, :-1]).astype(float)
    return scores


def attack_changes(m: sv.Changes, changed: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """A change within a run favours the sign that the device gave at its end."""
    reports = np.stack([r.data for r in m.randomize_waves(list(changed.T), seed=int(rng.integers(2**40)))], axis=1)
    order, up = np.divmod(reports.astype(np.int64), 2)
    run = 1 << order[:, :1]
    end = (np.arange(1, WAVES) // run + 1) * run - 1  # The wave (from 0) at which the run of a change at t ends.
    said = np.take_along_axis(up, np.minimum(end, WAVES - 1), axis=1)
    scores: Floats = np.where(end < WAVES, np.where(said == 1, float(m.p), 1 - float(m.p)), 0.5)
    return scores


def success(attack: Callable[..., Floats], m: Any, ages: bool = False, seed: int = 1) -> float:
    """The share of people whose moment is guessed within one wave."""
    rng = np.random.default_rng(seed)
    moment, changed = moments(rng)
    values = rng.integers(0, AGES - 1, PEOPLE)[:, None] + changed if ages else changed
    return float((abs(likeliest(attack(m, values, rng), rng) - moment) <= 1).mean())


BLIND = float(np.mean([(min(w + 1, WAVES - 1) - max(w - 1, 1) + 1) / (WAVES - 1) for w in range(1, WAVES)]))
"""A guess without any reports."""


def error(m: Any, n: int = 10_000) -> float:
    """The standard error of a frequency in one wave, from so many people."""
    if isinstance(m, sv.Changes):
        runs = np.mean([wave.bit_count() for wave in range(1, WAVES + 1)])
        return math.sqrt(runs * m.orders / n) / m._shrinkage
    return math.sqrt(m.variance / n)


def cases() -> list[tuple[str, float, float, float, float]]:
    """Name, success of the attacker, and what the mechanism costs: without a change, with one, for any history."""
    yes_no: dict[str, tuple[Callable[..., Floats], Any]] = {
        "yes/no, fresh noise, 1 a wave": (attack_fresh, sv.RandomizedResponse(1.0)),
        "yes/no, memoized, 2 and 1": (attack_memoized, sv.Memoized.of([False, True], "rr", permanent=2.0, first=1.0)),
        "yes/no, memoized, 2 and 0.1": (attack_memoized, sv.Memoized.of([False, True], "rr", permanent=2.0, first=0.1)),
        "yes/no, Changes, 2 in all": (attack_changes, sv.Changes(WAVES, 1, 2.0)),
    }
    age: dict[str, tuple[Callable[..., Floats], Any]] = {
        "age, memoized unary, 2 and 1": (attack_memoized, sv.Memoized.of(AGES, "unary", permanent=2.0, first=1.0)),
        "age, LOLOHA, 4 buckets, 2 and 1": (attack_memoized, sv.Memoized.loloha(AGES, permanent=2.0, first=1.0)),
        "age, LOLOHA, 2 buckets, 2 and 1": (
            attack_memoized,
            sv.Memoized.loloha(AGES, permanent=2.0, first=1.0, kind="binary"),
        ),
        "age, 4-bit flip, 2": (attack_flips, sv.DBitFlip(AGES, 2.0, sampled=4)),
    }
    rows = []
    for name, (attack, m) in (yes_no | age).items():
        found = success(attack, m, ages=name in age)
        costs = (
            (m.epsilon_over(WAVES), m.epsilon_pattern(WAVES))
            if isinstance(m, Longitudinal)
            else (WAVES * m.epsilon,) * 2
        )
        rows.append((name, found, *costs, error(m)))
    return rows


# Figures.


def style(ax: Any, xlabel: str, ylabel: str, title: str) -> None:
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.set_title(title, loc="left", color=INK, fontsize="medium")
    ax.grid(color="#e2e8f0", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def draw_averaging() -> None:
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    ax = figure.subplots()
    counts = sorted({2 * round((10 ** (k / 12) - 1) / 2) + 1 for k in range(49)})
    for epsilon, line in ((1.0, "-"), (0.3, "--"), (0.1, ":")):
        found = [fresh_success(epsilon, k) for k in counts]
        ax.plot(counts, found, line, color=TRUTH, label=f"fresh noise, epsilon = {epsilon:g} a report")
    for permanent, first, line in ((2.0, 1.0, "-"), (1.0, 0.3, "--")):
        m = sv.Memoized.of([False, True], "rr", permanent=permanent, first=first)
        label = f"memoized, {permanent:g} forever, {first:g} for one"
        ax.plot(counts, [memoized_success(m, k) for k in counts], line, color=ACCENT, label=label)
    ax.axhline(0.95, color="#94a3b8", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_ylim(0.5, 1.01)
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    style(ax, "reports of one unchanged answer", "attacker is right", "Is the answer yes or no?")
    figure.savefig(FIGURES / "averaging.svg", metadata={"Date": None})


def draw_moments(rows: list[tuple[str, float, float, float, float]]) -> None:
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    ax = figure.subplots()
    names, found = [row[0] for row in rows], [row[1] for row in rows]
    places = range(len(rows))
    ax.barh(places, found, color=[TRUTH if "fresh" in name else ACCENT for name in names], height=0.6)
    for place, share in zip(places, found, strict=True):
        ax.text(share + 0.01, place, f"{share:.0%}", va="center", color=INK, fontsize="small")
    ax.axvline(BLIND, color=INK, linewidth=1, linestyle="--")
    ax.text(BLIND + 0.015, -0.75, f"a blind guess: {BLIND:.1%}", color=INK, fontsize="small", va="center")
    ax.set_yticks(places, names)
    ax.set_ylim(len(rows) - 0.4, -1.1)
    ax.set_xlim(0, 1.08)
    style(ax, "attacker finds the wave of the change, give or take one", "", f"When did it change? {WAVES} waves")
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    figure.savefig(FIGURES / "moment-of-change.svg", metadata={"Date": None})


def main() -> None:
    header = ["epsilon a report", "reports until 95%"]
    print(text_table(header, [[f"{e:g}", f"{reports_until(e):,}"] for e in (2.0, 1.0, 0.5, 0.3, 0.1)]))
    print()
    m = sv.Memoized.of([False, True], "rr", permanent=2.0, first=1.0)
    counts = (1, 3, 11, 101, 10_001)
    lines = [[f"{k:,}", f"{fresh_success(1.0, k):.4f}", f"{memoized_success(m, k):.4f}"] for k in counts]
    print(text_table(["reports", "fresh, 1 a report", "memoized, 2 and 1"], lines))
    print()
    rows = cases()
    cells = [[r[0], f"{r[1]:.3f}", f"{r[2]:.3g}", f"{r[3]:.3g}", f"{r[4]:.4f}"] for r in rows]
    print(text_table(["asked by", "found", "eps, no change", "eps, any history", "std. error"], cells))
    print(f"a blind guess: {BLIND:.3f}")
    draw_averaging()
    draw_moments(rows)


if __name__ == "__main__":
    main()

"""Finding words that nobody listed: our methods beside the three protocols of pure-ldp, on the same people.

Every person holds one word of up to ten letters, drawn by its frequency in `wordfreq`; English ones by default. The
constants of the search were chosen on the English words, so that another language is the fairer comparison.

A protocol is asked for the k most frequent words. As many are counted as are among the k that are the most frequent in
truth, divided by k (recall) and by the number of words given (precision). Our words are k guesses, and in lines of
their own those that are surely among the first k; how many words pass the test, and how many of those nobody holds, is
in columns of their own. Some of pure-ldp's protocols give fewer than k words too. It searches as widely as it is asked
for words; what a wider search gives is printed as well.

    python benchmarks/discovery.py [--language it] [--seeds 3] [--plot docs/figures/discovery.svg]
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from frequencies import HERE, PYTHON, install, run

import sottovoce as sv
from sottovoce.core.lazy import load
from sottovoce.estimates.render import text_table

LENGTH = 10
TOPS = (16, 64)
WIDTHS = {"SFP": (16, 64)}
"""How widely pure-ldp is asked to search: for 256 words, SFP did not end in five minutes of processor time."""
ALL_WIDTHS = (16, 64, 256)
PEERS = ("PEM", "TreeHist", "SFP")
METHODS = ("prefixes", "fragments", "rounds")
ROUNDS = 3
HEADER = ["epsilon", "protocol", "recall 16", "precision 16", "recall 64", "precision 64", "found by test", "wrong",
          "seconds", *(f"beside {method}" for method in METHODS)]  # fmt: skip


@dataclass
class Score:
    """Means over the runs."""

    epsilon: float
    protocol: str
    recall: dict[int, float]
    precision: dict[int, float]
    seconds: float
    found: float | None = None
    wrong: float | None = None
    note: str = ""
    peer: bool = True

    def cells(self, ours: list[Score]) -> list[str]:
        if self.note:
            return [f"{self.epsilon:g}", self.protocol, self.note, *[""] * (len(HEADER) - 3)]
        pairs = [cell for k in TOPS for cell in (f"{self.recall[k]:.2f}", f"{self.precision[k]:.2f}")]
        tested = ["" if each is None else f"{each:.1f}" for each in (self.found, self.wrong)]
        ratios = [f"{self.seconds / each.seconds:.0f} times" if self.peer else "" for each in ours]
        return [
            f"{self.epsilon:g}",
            self.protocol,
            *pairs,
            *tested,
            f"{self.seconds:.1f}" * bool(self.seconds),
            *ratios,
        ]


def people(n: int, seed: int = 1, language: str = "en") -> list[str]:
    """A word for each person."""
    wordfreq: Any = load("wordfreq")
    words = [w for w in wordfreq.top_n_list(language, 20_000) if w.isascii() and w.isalpha() and len(w) <= LENGTH]
    weights = np.array([wordfreq.word_frequency(word, language) for word in words])
    drawn = np.random.default_rng(seed).choice(len(words), n, p=weights / weights.sum())
    return [words[at] for at in drawn]


def rates(given: Sequence[str], truth: list[str], k: int) -> tuple[float, float]:
    shown = list(given)[:k]
    right = len(set(shown) & set(truth[:k]))
    return right / k, right / max(len(shown), 1)


def one(method: str, epsilon: float, answers: list[str], seed: int) -> Any:
    """All steps: randomizing, counting, searching, testing."""
    if method == "rounds":
        return sv.Rounds(len(answers), epsilon, ROUNDS).simulate(answers, seed=seed)
    m = sv.Discovery.plan(len(answers), epsilon, LENGTH, method=method)
    return sv.discover(m.tally().add_many(m.randomize_many(answers, seed=seed)))


def ours(method: str, epsilon: float, answers: list[str], seeds: int) -> list[Score]:
    """Our guesses, and of them those that are sure."""
    counts = Counter(answers)
    truth = [word for word, _ in counts.most_common(max(TOPS))]
    guessed: dict[int, list[Any]] = {k: [] for k in TOPS}
    sure: dict[int, list[Any]] = {k: [] for k in TOPS}
    found = wrong = seconds = 0.0
    for seed in range(seeds):
        start = process_time()
        result = one(method, epsilon, answers, seed)
        seconds += (process_time() - start) / seeds
        for k in TOPS:
            guessed[k].append(rates([str(label) for label in result.guesses(k).labels], truth, k))
            sure[k].append(rates([str(label) for label in result.surely(k).labels], truth, k))
        found += len(result) / seeds
        wrong += sum(label not in counts for label in result.labels) / seeds
    return [
        Score(epsilon, method, *_means(guessed), seconds, found, wrong, peer=False),
        Score(epsilon, f"{method}, surely", *_means(sure), 0.0, peer=False),
    ]


def _means(runs: dict[int, list[Any]]) -> tuple[dict[int, float], dict[int, float]]:
    """Recall and precision for each k."""
    each = {k: np.mean(pairs, axis=0) for k, pairs in runs.items()}
    return {k: float(pair[0]) for k, pair in each.items()}, {k: float(pair[1]) for k, pair in each.items()}


def peer(name: str, epsilon: float, words: Path, truth: list[str], limit: float, kept: Path) -> Score:
    """One run; its results are kept in a folder, and taken from there the next time."""
    place, widths = kept / f"{name}_{epsilon:g}.json", WIDTHS.get(name, ALL_WIDTHS)
    if not place.exists() or not place.read_text():
        options = [f"--epsilon={epsilon:g}", f"--length={LENGTH}", "--k", *map(str, widths)]
        lines, failure = run([PYTHON, HERE / "discovery_peers.py", name, words, *options], limit)
        if failure:
            return Score(epsilon, f"pure-ldp {name}", {}, {}, 0.0, note=failure[:60])
        place.write_text(lines)
    record = json.loads(place.read_text())
    best = {k: max(rates(found, truth, k)[0] for found in record["found"].values()) for k in TOPS}
    print(f"pure-ldp {name}, epsilon {epsilon:g}, the best of widths {widths}: recall {best}")
    recall, precision = _means({k: [rates(record["found"][str(k)], truth, k)] for k in TOPS})
    return Score(epsilon, f"pure-ldp {name}", recall, precision, record["seconds"][str(max(TOPS))])


def figure(scores: list[Score], path: Path) -> None:
    """Recall of the 16 and 64 most frequent words."""
    from sottovoce.estimates.render import ACCENT, INK

    plt: Any = load("matplotlib.pyplot")
    epsilons = sorted({score.epsilon for score in scores})
    fig, axes = plt.subplots(1, len(epsilons), figsize=(9, 3.3), sharex=True, layout="constrained")
    for ax, epsilon in zip(np.atleast_1d(axes), epsilons, strict=True):
        rows = [score for score in scores if score.epsilon == epsilon and not score.note and score.seconds][::-1]
        for at, (k, colour) in enumerate(zip(TOPS, (INK, ACCENT), strict=True)):
            bars = [row.recall[k] for row in rows]
            ax.barh(np.arange(len(rows)) + 0.2 - 0.4 * at, bars, 0.36, color=colour, label=f"the {k} most frequent")
        ax.set_yticks(range(len(rows)), [row.protocol for row in rows])
        ax.set_title(f"epsilon = {epsilon:g}", loc="left", fontsize="medium")
        ax.set_xlabel("recall")
        ax.set_xlim(0, 1)
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = np.atleast_1d(axes)[0].get_legend_handles_labels()
    fig.legend(handles, labels, frameon=False, fontsize="small", loc="outside upper right", ncols=2)
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--language", default="en", help="of the words; those of the letters a to z are taken")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each of our methods")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[2.0, 4.0])
    parser.add_argument("--peer-seconds", type=float, default=3600.0, help="how long a run of pure-ldp may take")
    parser.add_argument("--kept", type=Path, help="a folder for the results of pure-ldp, which take long")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    answers, scores = people(args.n, language=args.language), []
    truth = [word for word, _ in Counter(answers).most_common(max(TOPS))]
    with tempfile.TemporaryDirectory() as folder:
        words, kept = Path(folder) / "words.txt", args.kept or Path(folder)
        words.write_text("\n".join(answers))
        missing = "" if args.no_peers else install("pure-ldp")
        for epsilon in args.epsilons:
            scores += [score for method in METHODS for score in ours(method, epsilon, answers, args.seeds)]
            if not args.no_peers and not missing:
                scores += [peer(name, epsilon, words, truth, args.peer_seconds, kept) for name in PEERS]
    timed = {
        epsilon: [s for s in scores if s.epsilon == epsilon and s.protocol in METHODS] for epsilon in args.epsilons
    }
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(text_table(HEADER, [score.cells(timed[score.epsilon]) for score in scores]))
    print(f"n = {args.n:,}; {args.seeds} runs of ours, one of pure-ldp; at most {memory:.1f} GB of memory{missing}")
    if args.plot:
        figure(scores, args.plot)


if __name__ == "__main__":
    main()

"""How many curators there are, how many may collude or drop out, and what each coalition sees then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sottovoce.core.errors import ParameterError, Refusal
from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import Keystream
from sottovoce.trust.federated.divisible import MAX_CURATORS, DivisibleLaplace
from sottovoce.trust.federated.sharing import Additive, Shamir, Sharing
from sottovoce.trust.synthetic import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOISES = ("divisible", "full")
SHARINGS = ("shamir", "additive")
MAX_CELLS = 2**22
"""Numbers in a column times curators: what one curator sends stays below fifty megabytes."""

NUMBERS_AT_A_TIME = 2**14
"""Numbers that are shared at a time, of all curators together."""


@dataclass(frozen=True)
class Coalition:
    """Some curators who pool all they see with the analyst: what that is, and what it costs the others' people."""

    who: str
    size: int
    sees: str
    epsilon: float


@dataclass(frozen=True, init=False)
class Parties:
    """`curators` of whom up to `threshold` may collude with the analyst and up to `dropouts` may be gone at the end.

    Noise is divisible, in shares of which those that are surely there and unknown to a coalition, curators - threshold
    - dropouts, make up the whole; or full, the whole from everybody. Of additive pieces all are needed: the threshold
    is all but one, and nobody may drop out. Left out, the threshold and the drop-outs are a third each.

    >>> five = Parties(5, threshold=1, dropouts=2)
    >>> five.honest, five.least, five.factor(5)
    (2, 3, 1.5811388300841898)
    >>> Parties(100).threshold, Parties(100).honest, round(Parties(100).factor(100), 2)
    (33, 34, 1.71)
    """

    curators: int
    threshold: int
    dropouts: int
    noise: str
    sharing: str

    def __init__(
        self,
        curators: int,
        threshold: int | None = None,
        dropouts: int | None = None,
        noise: str = "divisible",
        sharing: str = "shamir",
    ) -> None:
        k = check_whole("the number of curators", curators, MAX_CURATORS, 2)
        _one_of("noise", noise, NOISES)
        _one_of("sharing", sharing, SHARINGS)
        additive, third = sharing == "additive", (k - 1) // 3
        t = check_whole(
            "the threshold", (k - 1 if additive else max(1, third)) if threshold is None else threshold, k - 1
        )
        most = min(k - 1 - t, (k - 1) // 2)
        d = check_whole("drop-outs", min(most, 0 if additive else third) if dropouts is None else dropouts, most, 0)
        if additive and t != k - 1:
            raise ParameterError(f"additive sharing has a threshold of all but one, {k - 1}, got {t}")
        for name, value in zip(
            ("curators", "threshold", "dropouts", "noise", "sharing"), (k, t, d, noise, sharing), strict=True
        ):
            object.__setattr__(self, name, value)

    @property
    def least(self) -> int:
        """How many curators must be in the sum, and agree on whose counts are in it."""
        return self.curators - self.dropouts

    @property
    def honest(self) -> int:
        """How many shares of noise make up the whole."""
        return 1 if self.noise == "full" else self.least - self.threshold

    @property
    def against_liars(self) -> bool:
        """Whether `threshold` curators who lie, and a coordinator with them, cannot have two different sums unmasked.

        Two sums need two groups of `least` curators that agreed, each on another sum; the groups have an honest one in
        common.
        """
        return 2 * self.least > self.curators + self.threshold

    def check_size(self, size: int) -> None:
        """Refuse columns that are too long to be shared among so many."""
        if size * self.curators > MAX_CELLS:
            raise ParameterError(f"values times curators must be at most {MAX_CELLS:,}, got {size * self.curators:,}")

    def scheme(self) -> Sharing:
        return Additive(self.curators) if self.sharing == "additive" else Shamir(self.curators, self.threshold)

    def shares(self, epsilon: float, sensitivity: int) -> DivisibleLaplace:
        """The noise of one curator."""
        return DivisibleLaplace(epsilon, sensitivity, self.honest)

    def factor(self, present: int) -> float:
        """The error with so many curators in the sum, over that of one trusted curator at the same epsilon."""
        return float(np.sqrt(present / self.honest))

    def coalitions(self, noise: DivisibleLaplace, present: int) -> tuple[Coalition, ...]:
        """What each coalition costs people whose curator is not in it, by its size. A curator sees its own people.

        Up to the threshold it sees the sum of the others' counts with their noise, at least `honest` shares. A larger
        one opens every share, and sees each of the others' counts with that curator's share of the noise.
        """
        if present < self.least:
            raise Refusal(f"{self.least} curators must be in the sum, got {present}")
        sums, each = (
            "the sum of the others' counts, with their noise",
            "each curator's counts, with its share of the noise",
        )
        found = [("the analyst", 0, sums)]
        found += [(f"any {size} of the curators and the analyst", size, sums) for size in range(1, self.threshold + 1)]
        if self.threshold + 1 < self.curators:
            found.append((f"more than {self.threshold} curators", self.threshold + 1, each))
        return tuple(
            Coalition(who, size, sees, self.spent(noise, present, size))
            for who, size, sees in found
            if size < present or sees == each
        )

    def spent(self, noise: DivisibleLaplace, present: int, size: int) -> float:
        """The epsilon that `size` curators together cost the others' people, with `present` curators in the sum."""
        beyond = size > self.threshold
        return noise.epsilon_alone if beyond else noise.law(present - size).epsilon(noise.sensitivity)


def secure_sum(
    columns: Sequence[Sequence[int]] | NDArray[np.integer],
    parties: Parties,
    noise: DivisibleLaplace,
    stream: Keystream,
    unmasking: Sequence[int] | None = None,
) -> NDArray[np.int64]:
    """The sum of the curators' columns with their noise, unmasked by some of them (all, if none are named).

    All in one process: for simulation, and to show what the protocol computes. `sottovoce.curators` runs it among
    processes.

    >>> noise = Parties(3).shares(epsilon=1.0, sensitivity=2)
    >>> secure_sum([[10, 0], [20, 5], [30, -4]], Parties(3), noise, Keystream(seed=1))
    array([60, -6])
    """
    scheme, rows = parties.scheme(), _rows(columns, parties.curators)
    sums: NDArray[np.uint64] | None = None
    step = max(1, NUMBERS_AT_A_TIME // rows.shape[1])
    for at in range(0, parties.curators, step):
        part = rows[at : at + step]
        noisy = part + noise.draw(part.size, stream).reshape(part.shape)
        added = scheme.total(scheme.split(noisy.ravel(), stream).reshape(-1, *part.shape))
        sums = added if sums is None else scheme.add(sums, added)
    pieces = dict(enumerate([] if sums is None else sums))
    return scheme.join({at: pieces[at] for at in (pieces if unmasking is None else unmasking)})


def _rows(columns: Sequence[Sequence[int]] | NDArray[np.integer], curators: int) -> NDArray[np.int64]:
    rows = np.asarray(columns)
    if rows.ndim != 2 or len(rows) != curators or rows.dtype.kind not in "iu":
        raise ParameterError(f"there must be a column of whole numbers for each of {curators} curators, equally long")
    return rows.astype(np.int64)


def _one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(allowed)}, got {value!r:.40}")

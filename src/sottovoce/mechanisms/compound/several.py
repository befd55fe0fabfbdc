from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from sottovoce.core.domain import AnswerDomain, Attributes, Domain, Label
from sottovoce.core.domain.attributes import Codes
from sottovoce.core.errors import ParameterError
from sottovoce.core.geometry import NOT_SMALL
from sottovoce.core.privacy import check_epsilon
from sottovoce.mechanisms.compound.combine import Combined, Composition, Mixture, Part, better, check_parts
from sottovoce.mechanisms.frequency.krr import KRR

if TYPE_CHECKING:
    from sottovoce.estimates import Result
    from sottovoce.estimates.several_estimate import SeveralEstimate
    from sottovoce.estimates.tally import Tally

HOWS = ("split", "sample", "joint", "pairs")
"""The ways to ask about several attributes."""
MAX_SPLIT_CELLS = 2**24
"""Cells of the largest tally that split reports may need: 128 MB."""


@dataclass(frozen=True, init=False, repr=False)
class Several(Combined):
    """Several attributes of one person in one report.

    `split` answers every attribute with epsilon / k, `sample` one of the k, drawn at random, with all of epsilon;
    `joint` asks for the combination of all values, and `pairs` for that of two attributes, drawn at random. `auto`
    takes the one of the first three with the least mean variance of the attributes' frequencies; `explain` shows them.

    >>> m = Several({"sex": ["f", "m"], "age": ["young", "old"]}, epsilon=1.0)
    >>> m.how, {how: round(variance, 2) for how, variance in m.explain().items()}
    ('sample', {'split': 3.92, 'sample': 2.09, 'joint': 2.52})
    >>> m = Several({"sex": ["f", "m"], "age": ["young", "old"]}, epsilon=4.0, how="joint")
    >>> e = m.tally().add_many(m.randomize_many([("f", "old"), ("m", "young")] * 500, seed=1)).estimate()
    >>> round(e["age"]["old"].frequency, 2), round(e.marginal("sex", "age")["f", "old"].frequency, 2)
    (0.5, 0.5)
    """

    name: ClassVar[str] = "several"
    domain_type: ClassVar[type[AnswerDomain]] = Attributes
    domain: Attributes
    how: str
    parts: tuple[Part, ...]

    def __init__(
        self,
        domain: Mapping[str, int | Iterable[Label] | Domain] | Attributes,
        epsilon: float | None = None,
        how: str = "auto",
        *,
        parts: Sequence[Part] | None = None,
    ) -> None:
        domain = Attributes.of(domain)
        if how not in HOWS and (how != "auto" or parts is not None):
            raise ParameterError(f"how must be auto or one of {', '.join(HOWS)}, got {how!r}")
        if (epsilon is None) == (parts is None):
            raise ParameterError("give either epsilon or parts")
        if parts is None:
            how = _best(domain, check_epsilon(epsilon)) if how == "auto" else how
            parts = _parts(domain, how, check_epsilon(epsilon))
        self._freeze(domain=domain, how=how, parts=check_parts(parts, _sizes(domain, how)))
        if how == "split" and self.cells > MAX_SPLIT_CELLS:
            raise ParameterError(f"split must have at most 2^24 reports, these attributes have {self.cells:.3g}: "
                                 "use sample")  # fmt: skip

    if TYPE_CHECKING:

        def tally(self) -> Tally[SeveralEstimate]: ...

    def explain(self) -> dict[str, float]:
        """For each way that fits, n times the mean variance of the attributes' frequencies at this epsilon.

        It is about the respondents, as if all values were as frequent, and what `auto` compares.
        """
        return _variances(self.domain, self.epsilon)

    @cached_property
    def _combination(self) -> Composition | Mixture:
        return Composition(self.parts) if self.how == "split" else Mixture(self.parts)

    @cached_property
    def asked(self) -> tuple[tuple[int, ...], ...]:
        """The attributes that each part asks about, by their places."""
        return _asked(len(self.domain.names), self.how)

    def _questions(self, code: Codes) -> list[Codes]:
        codes = self.domain.split(code)
        return [_joined(codes, self.domain.sizes, places) for places in self.asked]

    def _questions_of_one(self, code: int) -> list[int]:
        codes = self.domain.split(code + NOT_SMALL * self.domain.size)  # What is divided is as long for all answers.
        return [_joined(codes, self.domain.sizes, places) for places in self.asked]

    def _estimate(self, tally: Tally[Result]) -> SeveralEstimate:
        from sottovoce.estimates.several_estimate import sampled, split

        combination = self._combination
        if isinstance(combination, Composition):
            return split(self.domain, combination, tally)
        return sampled(self.domain, self.asked, combination, tally)


def _asked(count: int, how: str) -> tuple[tuple[int, ...], ...]:
    if how == "joint":
        return (tuple(range(count)),)
    if how == "pairs":
        return tuple(combinations(range(count), 2))
    return tuple((place,) for place in range(count))


def _joined(codes: Sequence[Codes], sizes: Sequence[int], places: Sequence[int]) -> Codes:
    joined = 0 * codes[0]
    for place in places:
        joined = joined * sizes[place] + codes[place]
    return joined


def _sizes(domain: Attributes, how: str) -> list[int]:
    return [math.prod(domain.sizes[place] for place in places) for places in _asked(len(domain.sizes), how)]


def _parts(domain: Attributes, how: str, epsilon: float) -> list[Part]:
    """For split, each part's epsilon is rounded down, so that the sum is never more than asked."""
    count = len(domain.sizes)
    each = math.nextafter(epsilon / count, 0) if how == "split" else epsilon
    return [better(size, each) for size in _sizes(domain, how)]


def _variances(domain: Attributes, epsilon: float) -> dict[str, float]:
    found, parts = {}, _parts(domain, "split", epsilon)
    if math.prod(part.shape.outcomes for part in parts) <= MAX_SPLIT_CELLS:
        found["split"] = _mean([part.variance for part in parts])
    luck = [(len(domain.sizes) - 1) * (size - 1) / size**2 for size in domain.sizes]
    own = [len(domain.sizes) * part.variance for part in _parts(domain, "sample", epsilon)]
    found["sample"] = _mean([a + b for a, b in zip(own, luck, strict=True)])
    if domain.size <= 2**32:
        joint = _parts(domain, "joint", epsilon)[0]
        found["joint"] = _mean([_sum_variance(joint, domain.size // size, size) for size in domain.sizes])
    return found


def _sum_variance(part: Part, merged: int, size: int) -> float:
    """Of the frequency of a value that stands for `merged` values of the part, averaged over the `size` such values.

    For k-ary randomized response this is exact: the sums are a pure mechanism again. For local hashing it leaves out
    the covariances, which are positive, and so it is too low; even so a joint answer by local hashing has nowhere
    been the best of the three where we looked.
    """
    p, q = Fraction(part.p), Fraction(part.q)
    if isinstance(part, KRR):
        p, q = p + (merged - 1) * q, merged * q
        return float((q * (1 - q) + (p * (1 - p) - q * (1 - q)) / size) / (p - q) ** 2)
    return merged * part.variance


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _best(domain: Attributes, epsilon: float) -> str:
    found = _variances(domain, epsilon)
    return min(found, key=found.__getitem__)

"""From a design or mechanism, or its name and an epsilon, to the instrument that it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

from sottovoce.core.domain import Domain, Label
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import check_epsilon, exp_below, round_down
from sottovoce.mechanisms import FREQUENCIES, Mean, Mechanism, build
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.designs import DESIGNS, Crosswise, Custom, Design, Forced, Kuk, Unrelated, Warner, parse
from sottovoce.statistics.designs.base import Number
from sottovoce.statistics.planning.instrument import (
    Direct,
    Instrument,
    MeanInstrument,
    PlannedDesign,
    ReportNoise,
    ShareInstrument,
)
from sottovoce.statistics.proportions.answers import YesNoDesign

MECHANISMS = ("auto", *FREQUENCIES, "mean")

DesignOptions: TypeAlias = dict[str, Any]
"""Parameters by name. Which ones there are depends on the design or mechanism, which checks them."""


@dataclass(frozen=True)
class InstrumentFamily:
    """Instruments of one sort, one for each epsilon, the open question for an infinite one; or just one, `fixed`."""

    name: str
    at: Callable[[float], Instrument]
    fixed: Instrument | None = None

    def asked(self, epsilon: float) -> Instrument:
        """The one there is, or the one for an epsilon."""
        return self.fixed or self.at(epsilon)


def family(
    design: str | PlannedDesign,
    domain: int | Iterable[Label] | Domain | None = None,
    options: DesignOptions | None = None,
) -> InstrumentFamily:
    """The family of a name, or of a design or mechanism whose parameters are known."""
    if design == "direct":
        design = Direct()
    elif isinstance(design, str) and ":" in design:
        design = parse(design)
    if not isinstance(design, str):
        return _fixed(design, domain, options or {})
    make = _maker(design, domain, options or {})

    @cache
    def at(epsilon: float) -> Instrument:
        return opened(instrument(make(1.0))) if epsilon == math.inf else instrument(make(check_epsilon(epsilon)))

    at(1.0)  # What is wrong with the options is said now.
    return InstrumentFamily(design, at)


def _fixed(
    design: PlannedDesign, domain: int | Iterable[Label] | Domain | None, options: DesignOptions
) -> InstrumentFamily:
    made = instrument(design)
    if domain is not None or options:
        raise ParameterError(f"{design!r:.60} has all its parameters, got more: {', '.join(options) or 'domain'}")
    return InstrumentFamily(repr(design), lambda epsilon: opened(made) if epsilon == math.inf else made, made)


# By name and epsilon.


def _maker(
    name: str, domain: int | Iterable[Label] | Domain | None, options: DesignOptions
) -> Callable[[float], PlannedDesign]:
    """Builds the design or mechanism of a name for an epsilon."""
    if name in DESIGNS and name not in REALISED:
        raise ParameterError(f"{name} has no epsilon to choose: give its parameters, as in 'triangular:1/4'")
    if name not in REALISED and name not in MECHANISMS:
        names = ", ".join((*DESIGNS, "direct", *MECHANISMS))
        raise ParameterError(f"a design must be one of {names}, got {name!r:.60}")
    if name == "rr" and domain is None:
        domain = 2
    if (domain is None) == (name in FREQUENCIES or name == "auto"):
        wants = "needs a domain: the number of values, or their labels" if domain is None else "takes no domain"
        raise ParameterError(f"{name} {wants}")

    def make(epsilon: float) -> PlannedDesign:
        try:
            if domain is not None:
                return build(name, Domain.of(domain), epsilon, **options)
            return Mean(epsilon=epsilon, **options) if name == "mean" else REALISED[name](epsilon, **options)
        except TypeError as error:
            raise ParameterError(f"{name} needs other options: {str(error).partition('() ')[2]:.120}") from None

    return make


def _symmetric(
    kind: Callable[..., Design], parts: Callable[[Fraction], tuple[Fraction, ...]]
) -> Callable[[float], Design]:
    """Designs that can have the p = 1 - q of Warner's, which is the best there is for an epsilon."""
    return lambda epsilon: kind(*parts(Warner.from_epsilon(epsilon).p), by="device")


def _unrelated(epsilon: float, prevalence: Number = Fraction(1, 2)) -> Unrelated:
    """As many true questions as epsilon allows: p/q and (1-q)/(1-p) are 1 + truth / ((1-truth) m), with m the
    prevalence or its complement.
    """
    share = Unrelated("1/2", prevalence).prevalence
    odds = min(share, 1 - share) * (exp_below(epsilon) - 1)
    return Unrelated(Fraction(round_down(odds / (1 + odds))), share, by="device")


REALISED: dict[str, Callable[..., Design]] = {
    "warner": Warner.from_epsilon,
    "forced": _symmetric(Forced, lambda p: (2 * p - 1, 1 - p, 1 - p)),
    "unrelated": _unrelated,
    "kuk": _symmetric(Kuk, lambda p: (p, 1 - p)),
    "crosswise": _symmetric(Crosswise, lambda p: (p,)),
}
"""Designs by name: each makes one that costs at most an epsilon."""


# What planning needs to know of a design.


def instrument(design: PlannedDesign) -> Instrument:
    """A design or mechanism as planning sees it."""
    if isinstance(design, Mean):
        return MeanInstrument(design, design.epsilon, 1, design.domain.width)
    if isinstance(design, Pure):
        return _supporting(design, design.domain.size)
    if isinstance(design, Custom):
        return _custom(design)
    if isinstance(design, Mechanism) or not isinstance(design, YesNoDesign):
        raise ParameterError(f"planning covers designs with p and q, frequencies and means, got {design!r:.60}")
    return _drawing(design) if isinstance(design, Kuk) and design.draws > 1 else _supporting(design)


def _supporting(design: YesNoDesign, size: int = 2) -> ShareInstrument:
    """A report supports a value with probability p if it is the answer, and with q if it is not."""
    p, q = Fraction(design.p), Fraction(design.q)
    if p == q:
        raise ParameterError(f"p must differ from q, or reports say nothing, got {design!r:.60}")
    noise = ReportNoise(*(float(chance * (1 - chance) / (p - q) ** 2) for chance in (p, q)))
    laws = ((p, q), (1 - p, 1 - q)) if size == 2 else ()
    return ShareInstrument(
        design, design.epsilon, size if size > 2 else 1, 1.0, (noise,), float(1 / abs(p - q)), laws, p, q
    )


def _drawing(design: Kuk) -> ShareInstrument:
    """Several cards: the noise of their average."""
    p, q = design.p, design.q
    noise = ReportNoise(*(float(chance * (1 - chance) / (p - q) ** 2 / design.draws) for chance in (p, q)))
    laws = tuple((yes, no) for no, yes in zip(*design.matrix, strict=True))
    return ShareInstrument(design, design.epsilon, 1, 1.0, (noise,), float(1 / abs(p - q)), laws)


def _custom(design: Custom) -> ShareInstrument:
    """The scores of the answers are unbiased for each truth; those of the other truths count by the worst of them."""
    scores, squares = design.scores, design.laws @ design.scores.T**2
    truths = range(len(design.truths))
    noises = tuple(
        ReportNoise(
            float(squares[truth, truth]) - 1, max(float(squares[other, truth]) for other in truths if other != truth)
        )
        for truth in truths
    )
    reach = float((scores.max(axis=1) - scores.min(axis=1)).max())
    binary = len(truths) == 2
    laws = tuple((yes, no) for no, yes in zip(*design.matrix, strict=True)) if binary else ()
    return ShareInstrument(design, design.epsilon, 1 if binary else len(truths), 1.0, noises, reach, laws)


def opened(made: Instrument) -> Instrument:
    """The same question asked openly."""
    direct = Direct()
    if isinstance(made, MeanInstrument):
        return MeanInstrument(direct, direct.epsilon, made.values, made.width)
    return _supporting(direct, max(made.values, 2))

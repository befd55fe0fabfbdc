"""A plan: how many people, how much privacy, how sharp a result; two of them give the third."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.lazy import load
from sottovoce.estimates.render import html_table, text_table
from sottovoce.statistics.planning.families import InstrumentFamily
from sottovoce.statistics.planning.instrument import Direct, Instrument, PlannedDesign, Posterior, ShareInstrument
from sottovoce.statistics.planning.margins import margin as margin_of
from sottovoce.statistics.planning.powers import has_power
from sottovoce.statistics.planning.powers import power as power_of
from sottovoce.statistics.planning.solve import least_integer
from sottovoce.statistics.planning.terms import Terms, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sottovoce.statistics.planning.linter import Finding

EPSILONS = (0.5, 1.0, 2.0, 4.0, math.inf)
FRAMES = ("pandas", "polars", "arrow")


class Need(NamedTuple):
    """How many people an epsilon and a margin (or an effect) need; None if no number would do."""

    epsilon: float
    target: float
    n: int | None


@dataclass(frozen=True)
class Plan:
    """What `plan` found. All numbers hold together: `margin` and `power` are those that n and epsilon give.

    >>> from sottovoce import plan
    >>> print(plan("warner", epsilon=1.0, margin=0.03))
    n = 4,997: epsilon = 1, margin = 0.03
    warner (p = 0.7311, q = 0.2689); 95%, about the population; worst case; normal method
    <BLANKLINE>
    epsilon      n for margin 0.015  n for margin 0.03  n for margin 0.06
    0.5                      71,156             17,789              4,448
    1                        19,988              4,997              1,250
    2                         7,359              1,840                460
    4                         4,593              1,149                288
    none (open)               4,269              1,068                267
    """

    solved: str
    n: int
    asked: Instrument
    terms: Terms
    family: InstrumentFamily = field(repr=False, compare=False)
    effect: float | None = None
    wanted: float | None = None
    """The margin or power that was asked for, unless it is what was solved for."""

    @property
    def design(self) -> PlannedDesign:
        """The design or mechanism, with exact probabilities; it never costs more than the epsilon asked for."""
        return self.asked.design

    @property
    def epsilon(self) -> float:
        return self.asked.epsilon

    @property
    def private(self) -> bool:
        return self.epsilon < math.inf

    @property
    def p(self) -> Fraction | None:
        return self.asked.p if isinstance(self.asked, ShareInstrument) else None

    @property
    def q(self) -> Fraction | None:
        return self.asked.q if isinstance(self.asked, ShareInstrument) else None

    @property
    def level(self) -> float:
        return self.terms.level

    @property
    def margin(self) -> float:
        """Half the width of the interval."""
        return margin_of(self.terms, self.asked, self.n)

    @property
    def power(self) -> float | None:
        """The chance to notice the effect, if there is one in the plan."""
        return None if self.effect is None else power_of(self.terms, self.asked, self.n, self.effect)

    def posterior(self, prior: float = 0.5) -> Posterior:
        """What somebody who holds one report can come to believe about its sender's answer.

        >>> from sottovoce import plan
        >>> belief = plan("warner", epsilon=1.0, n=100).posterior(prior=0.1)
        >>> round(belief.low, 3), round(belief.high, 3)
        (0.039, 0.232)
        """
        return self.asked.posterior(number("prior", prior, 0, 1, strictly=True))

    # Other numbers around it.

    @property
    def target(self) -> float:
        """The margin or the effect around which a table is made."""
        if self.effect is not None:
            return self.effect
        return self.margin if self.wanted is None else self.wanted

    def needs(self, epsilons: Sequence[float] | None = None, targets: Sequence[float] | None = None) -> list[Need]:
        """How many people other epsilons and other margins (or effects) would need."""
        if targets is None:
            targets = [self.target / 2, self.target, 2 * self.target] if self.target else []
        for target in targets:
            number("a target", target if self.effect is None else abs(target), 0, math.inf, strictly=True)
        return [
            Need(asked.epsilon, float(target), self._need(asked, target))
            for asked in self.instruments(epsilons)
            for target in dict.fromkeys(targets)
        ]

    def instruments(self, epsilons: Sequence[float] | None = None) -> list[Instrument]:
        """The plan's own and, if its epsilon could be another, those of some others beside it; or those asked for."""
        if self.family.fixed is not None:
            if epsilons is not None:
                raise ParameterError(f"{self.family.name} has its epsilon: name the design without its parameters")
            return [self.asked] if not self.private else [self.asked, self.family.at(math.inf)]
        others = {(asked := self.family.at(epsilon)).epsilon: asked for epsilon in epsilons or EPSILONS}
        own = {} if epsilons is not None else {self.epsilon: self.asked}
        return [asked for _, asked in sorted((others | own).items())]

    def _need(self, asked: Instrument, target: float) -> int | None:
        if self.effect is None:
            return least_integer(lambda n: margin_of(self.terms, asked, n) <= target)
        if self.terms.proportion is not None and not 0 <= self.terms.proportion + target <= 1:
            return None
        power = self.power if self.wanted is None else self.wanted
        return least_integer(lambda n: has_power(self.terms, asked, n, target, power or 0))

    def table(
        self, epsilons: Sequence[float] | None = None, targets: Sequence[float] | None = None
    ) -> tuple[list[str], list[list[str]]]:
        """Header and cells, formatted for people: a row for each epsilon, a column for each margin or effect."""
        rows: dict[float, list[Need]] = {}
        for need in self.needs(epsilons, targets):
            rows.setdefault(need.epsilon, []).append(need)
        name = "margin" if self.effect is None else "effect"
        columns = [f"n for {name} {need.target:.4g}" for need in next(iter(rows.values()), [])]
        cells = [
            [self._epsilon(epsilon), *("-" if need.n is None else f"{need.n:,}" for need in row)]
            for epsilon, row in rows.items()
        ]
        return ["epsilon", *columns], cells

    def to_frame(
        self, kind: str = "pandas", epsilons: Sequence[float] | None = None, targets: Sequence[float] | None = None
    ) -> Any:
        """The table as a data frame with a row for each cell: pandas, Polars or Arrow."""
        if kind not in FRAMES:
            raise ParameterError(f"kind must be one of {', '.join(FRAMES)}, got {kind!r}")
        needs = self.needs(epsilons, targets)
        names = ("epsilon", "margin" if self.effect is None else "effect", "n")
        columns = {name: [need[at] for need in needs] for at, name in enumerate(names)}
        return load("pyarrow").table(columns) if kind == "arrow" else load(kind).DataFrame(columns)

    # For people and programs.

    def words(self, prior: float = 0.5) -> str:
        """Plain words for an ethics board: what is protected, how far, and what is not."""
        from sottovoce.statistics.planning.words import words

        return words(self, prior)

    def lint(self, budget: float | None = None, waves: int = 1, memoized: bool = False) -> list[Finding]:
        """What is wrong with the plan, or risky: see `planning.lint`."""
        from sottovoce.statistics.planning.linter import lint

        return lint(self, budget, waves, memoized)

    def plot(self, epsilons: Sequence[float] | None = None, ax: Axes | None = None) -> Axes:
        """The margin (or power) over n for several epsilons. Needs matplotlib; returns the axes."""
        from sottovoce.statistics.planning.plots import curves

        return curves(self, epsilons, ax)

    def heatmap(self, ax: Axes | None = None) -> Axes:
        """The margin (or power) for every epsilon and n around the plan. Needs matplotlib; returns the axes."""
        from sottovoce.statistics.planning.plots import heatmap

        return heatmap(self, ax)

    def to_dict(self) -> JsonObject:
        """A form for JSON, where an infinite epsilon is null."""
        p, q = (None if chance is None else float(chance) for chance in (self.p, self.q))
        return {
            "n": self.n,
            "epsilon": self.epsilon if self.private else None,
            "margin": self.margin,
            "power": self.power,
            "effect": self.effect,
            "solved": self.solved,
            "design": self.family.name,
            "p": p,
            "q": q,
            "private": self.private,
            "level": self.level,
            "about": "population" if self.terms.population else "respondents",
            "proportion": self.terms.proportion,
            "method": self.terms.method,
            "simultaneous": self.terms.simultaneous,
            "test": None if self.effect is None else self.terms.test,
        }

    @property
    def _chances(self) -> str:
        return "" if self.p is None or self.q is None else f"p = {float(self.p):.4f}, q = {float(self.q):.4f}"

    @property
    def headline(self) -> str:
        """What was solved for, then what else holds."""
        facts = {"n": f"n = {self.n:,}", "epsilon": f"epsilon = {self._epsilon(self.epsilon)}"}
        if self.effect is None:
            facts["margin"] = f"margin = {self.margin:.4g}"
        else:
            facts |= {"effect": f"effect = {self.effect:.4g}", "power": f"power = {self.power:.4g}"}
        return f"{facts.pop(self.solved)}: {', '.join(facts.values())}"

    @property
    def caption(self) -> str:
        """One line that says what the numbers rest on."""
        terms, where = self.terms, f"at a proportion of {self.terms.proportion}"
        parts = [self.family.name if self.p is None else f"{self.family.name} ({self._chances})"]
        parts += [f"{100 * terms.level:.12g}%, about the {'population' if terms.population else 'respondents'}"]
        parts += ["worst case" if terms.proportion is None else where, f"{terms.method} method"]
        parts += [f"all {self.asked.values:,} values at once"] if terms.simultaneous and self.asked.values > 1 else []
        if self.effect is not None and terms.test != "one":
            parts += ["two groups of n each" if terms.test == "groups" else "two waves of the same n people"]
        return "; ".join(parts)

    def __str__(self) -> str:
        header, rows = self.table()
        return "\n".join([self.headline, self.caption, *(["", text_table(header, rows)] if rows else [])])

    def _epsilon(self, epsilon: float) -> str:
        """An infinite one is that of the open question, or of the plan's own design if that hides some answers only."""
        if epsilon < math.inf:
            return f"{epsilon:.6g}"
        return "none (open)" if self.private or isinstance(self.design, Direct) else "infinite"

    def _repr_html_(self) -> str:
        return html_table(*self.table(), f"{self.headline}; {self.caption}")

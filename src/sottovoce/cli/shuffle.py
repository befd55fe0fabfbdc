from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sottovoce.cli.options import Asked, json_option
from sottovoce.cli.show import print_json, print_table
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import rounded_up
from sottovoce.mechanisms import FREQUENCIES

if TYPE_CHECKING:
    from sottovoce.mechanisms import Mechanism
    from sottovoce.trust import Shuffled

SUM = "sum"
"""The protocol for binary sums, beside the mechanisms."""


@click.command()
@click.option("--mechanism", "-m", metavar="NAME",
              help=f"How each report is made: {', '.join(FREQUENCIES)}, or {SUM} for the protocol of binary sums. "
              "Left out, the bound is for any mechanism.")  # fmt: skip
@click.option("--domain", "-d", help="The values: a,b,c, a file with one on each line, or N for 0..N-1.")
@click.option("--epsilon", "-e", type=float, help="What one report costs by itself.")
@click.option("--p", type=float, help=f"For {SUM}: the probability of a coin instead of the truth.")
@click.option("--n", type=int, help="How many honest reports a batch is guaranteed to hold.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="What is left to chance.")
@click.option("--target", type=float, metavar="EPSILON",
              help="What the batch may cost: solves for --epsilon (or --p) or --n, the one left out.")  # fmt: skip
@click.option(
    "--rounds", type=int, default=1, show_default=True, help="How often the same people answer, shuffled anew."
)
@json_option
def shuffle(as_json: bool, **asked: Any) -> None:
    """What a shuffled batch of reports costs, from above and from below; or what reaches a target.

    --n counts the honest: reports of people who collude, drop out or make them up hide nobody.
    """
    shuffled = _solved(asked)
    if as_json:
        print_json(_record(shuffled, asked))
    else:
        _show(shuffled, asked)


def _solved(asked: Asked) -> Shuffled:
    """What the batch costs, with everything given or with what is left out solved for."""
    from sottovoce.trust import shuffle_epsilon, shuffle_local_epsilon, shuffle_n

    _check(asked)
    if asked["mechanism"] == SUM:
        return _sum(asked)
    if asked["target"] is not None and asked["epsilon"] is None:
        make = (lambda local: _mechanism(asked, local)) if asked["mechanism"] else None
        return shuffle_local_epsilon(asked["target"], asked["n"], asked["delta"], make)
    local = _mechanism(asked, asked["epsilon"]) if asked["mechanism"] else asked["epsilon"]
    if asked["n"] is None:
        return shuffle_n(local, asked["target"], asked["delta"])
    return shuffle_epsilon(local, asked["n"], asked["delta"], asked["rounds"])


def _check(asked: Asked) -> None:
    noise = "p" if asked["mechanism"] == SUM else "epsilon"
    if asked["p" if noise == "epsilon" else "epsilon"] is not None:
        raise ParameterError(f"--p goes with --mechanism {SUM}, and --epsilon with any other")
    missing = [name for name in (noise, "n", "target") if asked[name] is None]
    if len(missing) != 1:
        raise ParameterError(f"give two of --{noise}, --n and --target")
    if asked["target"] is not None and asked["rounds"] != 1:
        raise ParameterError("--target is for one round: leave out --rounds")
    named = asked["mechanism"] not in (None, SUM, "rr")
    if (named and asked["domain"] is None) or (asked["domain"] is not None and not named):
        raise ParameterError("--domain goes with a --mechanism over several values, and that with a --domain")


def _mechanism(asked: Asked, epsilon: float) -> Mechanism:
    from sottovoce.core.domain import Domain
    from sottovoce.mechanisms import build
    from sottovoce.survey.short_form import read_domain

    domain = Domain([False, True]) if asked["domain"] is None else read_domain(asked["domain"], "refuse")
    return build(asked["mechanism"], domain, epsilon)


def _sum(asked: Asked) -> Shuffled:
    from sottovoce.trust import BinarySum, shuffle_epsilon, shuffle_n

    if asked["p"] is None:
        asked["p"] = float(BinarySum(asked["target"], n=asked["n"], delta=asked["delta"]).p)
    sum_ = BinarySum(n=asked["n"] or 1, delta=asked["delta"], p=asked["p"])
    if asked["n"] is None:
        return shuffle_n(sum_.mechanism, asked["target"], asked["delta"])
    return shuffle_epsilon(sum_.mechanism, asked["n"], asked["delta"], asked["rounds"])


def _record(shuffled: Shuffled, asked: Asked) -> JsonObject:
    given = {name: asked[name] for name in ("mechanism", "p", "target") if asked[name] is not None}
    return given | shuffled.to_dict()


def _show(shuffled: Shuffled, asked: Asked) -> None:
    rows = [
        ["one report by itself", f"{shuffled.local:.6g}"],
        ["the shuffled batch, at most", f"{rounded_up(shuffled.upper, 6):.6g}"],
        ["the shuffled batch, at least", f"{shuffled.lower:.6g}"],
    ]
    if asked["p"] is not None:
        rows.insert(0, ["a coin instead of the truth, p", f"{asked['p']:.6g}"])
    caption = f"n = {shuffled.n:,} honest reports; delta = {shuffled.delta:g}; by {shuffled.to_dict()['by']}"
    print_table(["what", "epsilon"], rows, caption)
    click.echo()
    click.echo(shuffled.words)

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from sottovoce.cli.options import FILE, PLOTS, Asked, json_option, refuse
from sottovoce.cli.plan_changes import asks_for_changes, plan_changes
from sottovoce.cli.plan_texts import NAMES, plan_texts
from sottovoce.cli.show import console, print_json, print_table, write_figure
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import ParameterError
from sottovoce.core.privacy import compose
from sottovoce.mechanisms import Mean, Mechanism
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.statistics.planning.families import MECHANISMS
from sottovoce.statistics.planning.terms import METHODS, TESTS

if TYPE_CHECKING:
    from sottovoce.core.domain import Domain
    from sottovoce.statistics.planning import Finding, Plan

QUANTITIES = ("epsilon", "n", "margin", "effect", "power")
TERMS = ("level", "proportion", "population", "method", "test", "correlation", "simultaneous")
RULES = ("budget", "waves", "memoized")


@click.command()
@click.option("--design", "-d", metavar="NAME[:...]",
              help="How a yes-or-no question is asked: warner (the default), forced, kuk ..., or direct for openly; "
              "with parameters (forced:4/6,1/6,1/6) its epsilon is known.")  # fmt: skip
@click.option("--mechanism", "-m", type=click.Choice((*MECHANISMS, *NAMES)),
              help="How another kind of question is asked.")  # fmt: skip
@click.option("--candidates", type=click.IntRange(min=1), help="For hashed: how many values will be asked about.")
@click.option("--concentration", type=click.FloatRange(0, 1), default=1.0, show_default=True,
              help="For hashed: the sum of the squared shares of all values; about 0.01 for words.")  # fmt: skip
@click.option("--length", type=click.IntRange(min=1), help="For discovery: the bytes of the longest text.")
@click.option("--domain", help="For a mechanism: the values a,b,c, a file with one on each line, or how many.")
@click.option("--low", type=float, help="For a mean: the least number.")
@click.option("--high", type=float, help="For a mean: the largest number.")
@click.option("--set", "options", multiple=True, metavar="NAME=VALUE",
              help="Another parameter of the design, such as prevalence=1/4.")  # fmt: skip
@click.option("--epsilon", "-e", type=float, help="What a report may cost; inf for an open question.")
@click.option("--n", type=int, help="How many people (in each group or wave).")
@click.option("--margin", type=float, help="Half the width of the interval.")
@click.option("--effect", type=float, help="The difference that a test should notice.")
@click.option("--power", type=float, help="The chance that it does.")
@click.option("--level", type=float, default=0.95, show_default=True, help="The coverage of the interval.")
@click.option("--proportion", type=float, help="The share expected or assumed; the worst case if left out.")
@click.option("--population/--respondents", default=True, show_default=True,
              help="Whom the result is about: those sampled from, or the respondents alone.")  # fmt: skip
@click.option("--method", type=click.Choice(METHODS), default="normal", show_default=True, help="Which margin.")
@click.option("--test", type=click.Choice(TESTS), default="one", show_default=True, help="What an effect is against.")
@click.option("--correlation", type=float, default=0.0, help="Of a person's answers in two waves.")
@click.option("--simultaneous", is_flag=True, help="One margin for all values of the domain at once.")
@click.option("--prior", type=float, default=0.5, show_default=True, help="What an attacker believes beforehand.")
@click.option("--budget", type=float, help="What all reports of one person may cost together.")
@click.option("--waves", type=click.IntRange(min=1), default=1, show_default=True,
              help="How often each person is asked.")  # fmt: skip
@click.option("--memoized", is_flag=True,
              help="Devices remember their report and send it again. With --budget, --waves, --domain and --n alone: "
              "what it costs to follow changes of the answer.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(0, 1),
              help="With that: the share of people whose answer changes from one wave to the next.")  # fmt: skip
@click.option("--questions", type=FILE, help="A YAML or JSON file of questions, as for randomize, to look at together.")
@click.option("--table", is_flag=True, help="Only the table of other epsilons and margins.")
@click.option("--words", is_flag=True, help="Only the plain words, for an ethics board.")
@click.option("--plot", type=FILE, help="Draw the margin or power over n: .svg, .png or .pdf.")
@click.option("--heatmap", type=FILE, help="Draw it over n and epsilon: .svg, .png or .pdf.")
@click.option("--strict", is_flag=True, help="Exit with 1 if the plan has an error.")
@json_option
def plan(**asked: Any) -> int:
    """How many people, how much privacy, how sharp a result: leave one out, and it is solved for.

    That is one of --epsilon, --n and --margin, or one of --epsilon, --n, --effect and --power. For values that nobody
    listed, hashed takes --candidates and --n or --margin, discovery takes --length and --n or --proportion. What
    --json then prints is a file for `sotto randomize --mechanism FILE.json`.
    """
    for path in (asked["plot"], asked["heatmap"]):
        if path is not None and path.suffix not in PLOTS:
            raise ParameterError(f"{path}: must end in {', '.join(PLOTS)}")
    if asked["mechanism"] in NAMES:
        plan_texts(asked)
        return 0
    refuse(("candidates", "concentration"), "is for --mechanism hashed")
    if asks_for_changes(asked):
        plan_changes(asked)
        return 0
    refuse(("rate",), "goes with --memoized, --budget, --waves, --domain and --n alone")
    refuse(("length",), "is for --mechanism discovery")
    findings = _several(asked) if asked["questions"] else _one(asked)
    return int(asked["strict"] and any(finding.severity == "error" for finding in findings))


def _one(asked: Asked) -> list[Finding]:
    """One question: solve, draw, print."""
    from sottovoce.statistics import planning

    if asked["design"] and asked["mechanism"]:
        raise ParameterError("name a --design or a --mechanism, not both")
    design = asked["design"] or asked["mechanism"] or "warner"
    quantities = {name: asked[name] for name in (*QUANTITIES, *TERMS)}
    made = planning.plan(design, **quantities, domain=_domain(asked["domain"]), **_options(asked))
    findings = made.lint(**{name: asked[name] for name in RULES})
    for path, draw in ((asked["plot"], made.plot), (asked["heatmap"], made.heatmap)):
        if path:
            write_figure(path, draw().get_figure())
    if asked["as_json"]:
        print_json(_record(made, findings, asked))
    else:
        _show(made, findings, asked)
    return findings


def _options(asked: Asked) -> Asked:
    """Parameters of the design that have no option of their own, numbers among them as exact fractions."""
    from fractions import Fraction

    options = {name: asked[name] for name in ("low", "high") if asked[name] is not None}
    for text in asked["options"]:
        name, _, value = text.partition("=")
        if not name.isidentifier() or not value:
            raise ParameterError(f"--set must be NAME=VALUE, got {text!r:.60}")
        try:
            options[name] = Fraction(value)
        except (ValueError, ZeroDivisionError):
            options[name] = value
    return options


def _domain(text: str | None) -> Domain | None:
    from sottovoce.survey.short_form import read_domain

    return None if text is None else read_domain(text, "refuse")


def _record(made: Plan, findings: list[Finding], asked: Asked) -> JsonObject:
    record = made.to_dict() | {"posterior": made.posterior(asked["prior"])._asdict()}
    if asked["table"]:
        rows = made.to_frame("arrow").to_pylist()
        record["table"] = [row | {"epsilon": row["epsilon"] if row["epsilon"] < math.inf else None} for row in rows]
    if asked["words"]:
        record["words"] = made.words(asked["prior"])
    return record | {"findings": [finding.to_dict() for finding in findings]}


def _show(made: Plan, findings: list[Finding], asked: Asked) -> None:
    everything = not asked["table"] and not asked["words"]
    out, text = console(), made.words(asked["prior"])
    if everything:
        out.print(f"[bold]{made.headline}[/bold]\n")
    if everything or asked["table"]:
        print_table(*made.table(), made.caption)
    if everything:
        out.print()
    if everything or asked["words"]:
        out.print(text, markup=False)
    _show_findings(findings)


def _show_findings(findings: list[Finding]) -> None:
    if findings:
        click.echo()
    for finding in findings:
        click.echo(str(finding))


def _several(asked: Asked) -> list[Finding]:
    """The questions of a file: what each costs, how sharp its result is with n people, and what is wrong."""
    from sottovoce.statistics import planning
    from sottovoce.survey import short_form

    alone = [name for name in (*QUANTITIES[2:], "design", "mechanism", "domain", "plot", "heatmap") if asked[name]]
    if alone or asked["n"] is None:
        raise ParameterError(f"--questions goes with --n and --epsilon{f', not with --{alone[0]}' if alone else ''}")
    questions = [entry.question() for entry in short_form.read(asked["questions"])]
    mechanisms = short_form.settle(questions, asked["epsilon"])
    terms = {name: asked[name] for name in ("n", "level", "population", "simultaneous")}
    margins = {name: planning.plan(m, **terms).margin for name, m in mechanisms.items() if isinstance(m, Pure | Mean)}
    items = [
        {"name": name} | ({"design": m, **terms} if name in margins else {"epsilon": m.epsilon})
        for name, m in mechanisms.items()
    ]
    findings = planning.lint(items, **{name: asked[name] for name in RULES})
    _show_several(mechanisms, margins, findings, asked)
    return findings


def _show_several(
    mechanisms: dict[str, Mechanism], margins: dict[str, float], findings: list[Finding], asked: Asked
) -> None:
    """A row for each question; "-" where planning knows no margin, as for a distribution."""
    total = compose(m.epsilon for m in mechanisms.values())
    if asked["as_json"]:
        rows = [
            {"question": name, "mechanism": m.name, "epsilon": m.epsilon, "margin": margins.get(name)}
            for name, m in mechanisms.items()
        ]
        found = [finding.to_dict() for finding in findings]
        print_json({"n": asked["n"], "epsilon": total, "questions": rows, "findings": found})
        return
    cells = [[name, repr(m), f"{margins[name]:.4g}" if name in margins else "-"] for name, m in mechanisms.items()]
    print_table(["question", "asked by", "margin"], cells, f"n = {asked['n']:,}; epsilon = {total:.6g} a person")
    _show_findings(findings)

"""The client for browsers and Node: its own tests, its numbers and its law beside Python's, and what it sends.

Its randomness cannot be seeded. All statistical tests here together raise a false alarm less often than once in 10^5
runs, by the levels that they state.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from javascript import BUILT, CLIENT, MODULES, answer_to, needs_node, node
from scipy import stats

import sottovoce as sv
from sottovoce.core import canonical
from sottovoce.core.privacy import GRID, compose, log_above
from sottovoce.core.randomness import Source
from sottovoce.device import wire
from sottovoce.statistics.auditing import Audit
from sottovoce.survey import Survey

ROOT = Path(__file__).parents[2]
RARE = 1e-7
"""The false-alarm rate of one statistical test."""


def ask(tasks: list[dict[str, Any]]) -> list[Any]:
    """What the client makes of some tasks: see clients/js/test/replay.js."""
    lines = node("test/replay.js", given="".join(json.dumps(task) + "\n" for task in tasks)).splitlines()
    assert len(lines) == len(tasks)
    return [json.loads(line) for line in lines]


# The client's own tests, and its one file.


@needs_node
@pytest.mark.parametrize("library", [BUILT, MODULES])
def test_the_tests_of_the_client(library: str) -> None:
    node("--test", *(str(path) for path in sorted((CLIENT / "test").glob("*.test.js"))), library=library)


def test_the_package_is_of_this_version_and_depends_on_nothing() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == sv.__version__
    assert [field for field in package if "ependencies" in field] == ["devDependencies"]
    assert all(re.fullmatch(r">=[\d.]+", version) for version in package["devDependencies"].values())


@needs_node
def test_the_examples_of_the_page(tmp_path: Path) -> None:
    """Each block of JavaScript that is followed by what it prints."""
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "sottovoce").symlink_to(CLIENT)
    page = (ROOT / "docs" / "javascript.md").read_text(encoding="utf-8")
    examples = re.findall(r"```js\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(examples) == page.count("```js\n")
    for at, (code, expected) in enumerate(examples):
        (tmp_path / f"{at}.mjs").write_text(code, encoding="utf-8")
        assert node(str(tmp_path / f"{at}.mjs"), folder=tmp_path) == expected


# The same numbers as in Python, on mechanisms and ratios that no vector has.


class Recorder(Source):
    def __init__(self, seed: random.Random) -> None:
        self._random = seed
        self.draws: list[int] = []

    def draw(self) -> int:
        self.draws.append(self._random.choice([self._random.getrandbits(53)] * 8 + [0, GRID - 1]))
        return self.draws[-1]


def mechanisms(seed: random.Random) -> Iterator[tuple[sv.Mechanism, Any]]:
    """One of every kind, of random size and epsilon, each with an answer."""
    e, size = round(math.exp(seed.uniform(-2, 1.5)), 6), seed.randrange(3, 200)
    labels = [seed.choice(["a", "ä", "😀"]) * at for at in range(1, seed.randrange(3, 8))]
    gapped = sv.Domain(labels, missing="category")
    for made in (
        sv.RandomizedResponse(e, domain=labels[:2]),
        sv.KRR(gapped, e),
        sv.Unary(size, e, kind=seed.choice(["optimal", "symmetric"])),
        sv.LocalHash(size, e),
        sv.Subset(size, e),
        sv.Subset(size, e, size=seed.randrange(1, size)),
        sv.Hadamard(size, e),
        sv.Projective(size, e),
        sv.Ranges(size, e),
        sv.Memoized.of(gapped, seed.choice(["krr", "unary", "local_hash"]), permanent=2 * e, first=e),
        sv.DBitFlip(size, e, sampled=seed.randrange(1, 4)),
    ):
        yield made, seed.choice(made.domain.labels)
    low, high = sorted(seed.uniform(-1e3, 1e3) for _ in range(2))
    for kind in ("rounding", "piecewise", "hybrid"):
        yield sv.Mean(low, high, e, kind=kind, steps=seed.randrange(1, 50)), seed.uniform(low, high)
    yield sv.SquareWave(low, high, bins=4, epsilon=e, steps=8), seed.uniform(low, high)
    yield sv.Sets(labels, e), seed.sample(labels, 2)
    yield sv.KeyValue(20, low, high, e), [[key, seed.uniform(low, high)] for key in seed.sample(range(20), 20)]
    for how in ("split", "sample", "joint", "pairs"):
        yield sv.Several({"b": gapped, "a": 3, "c": 2}, e, how=how), [labels[-1], seed.randrange(3), 1]
    yield sv.Changes(seed.randrange(2, 100), 1, e), seed.choice([False, True])
    yield sv.Hashed("auto", size, seed.randrange(1, 9), e, salt=labels[-1]), labels[-1] + labels[0]
    yield sv.Hashed.rappor(16, 2, seed.randrange(1, 5), f=0.5), labels[-1]
    hashing: dict[str, Any] = {"cohorts": seed.randrange(1, 9), "salt": labels[0], "permanent": 2 * e, "first": e}
    yield sv.Memoized.of(sv.Text(), "hashed", **hashing), labels[-1]
    yield sv.Memoized.of(sv.Text(), "bloom", buckets=20, hashes=seed.randrange(1, 4), **hashing), labels[-1]


@needs_node
def test_random_mechanisms_have_the_same_epsilon_and_the_same_report() -> None:
    """Any difference is a failure: nothing here is left to chance but the cases."""
    seed, tasks, expected = random.Random(20261115), [], []
    for _ in range(12):
        for m, value in mechanisms(seed):
            for _ in range(2):
                source = Recorder(seed)
                report = m._perturb(m._encode(value, source), source)
                data = json.loads(canonical.dumps(m.to_dict()))
                tasks.append({"task": "randomize", "data": data, "value": value, "draws": source.draws})
                written = report.hex() if isinstance(report, bytes) else report
                expected.append({"epsilon": m.epsilon, "report": written, "left": 0})
    for task, wanted, got in zip(tasks, expected, ask(tasks), strict=True):
        assert got == wanted, task


@needs_node
def test_p_and_q_are_those_of_python() -> None:
    """Wherever Python has both, but for Bloom filters: there they are those of a bit, and not of a value."""
    seed, tasks, expected = random.Random(3), [], []
    for _ in range(6):
        for m, _ in mechanisms(seed):
            p, q = getattr(m, "p", None), getattr(m, "q", None)
            data = json.loads(canonical.dumps(m.to_dict()))
            if (
                p is not None
                and q is not None
                and "bloom" not in (data["mechanism"], data.get("permanent", data)["mechanism"])
            ):
                tasks.append({"task": "chances", "data": data})
                expected.append({"p": pytest.approx(float(p), rel=1e-12), "q": pytest.approx(float(q), rel=1e-12)})
    got = ask(tasks)
    assert {task["data"]["mechanism"] for task in tasks} >= {
        "krr",
        "unary",
        "local_hash",
        "subset",
        "projective",
        "hadamard",
    }
    assert got == expected


@needs_node
def test_logarithms_are_rounded_up_to_the_same_double() -> None:
    seed, tasks, expected = random.Random(1), [], []
    for _ in range(3000):
        d = seed.getrandbits(seed.choice([3, 53, 106])) + 1
        n = d + 1 + seed.getrandbits(seed.choice([1, 20, 53, 106, 350]))
        tasks.append({"task": "log", "n": str(n), "d": str(d)})
        expected.append(log_above(Fraction(n, d)))
    assert ask(tasks) == expected


@needs_node
def test_canonical_json_is_the_same() -> None:
    seed = random.Random(2)
    values: list[Any] = [math.ldexp(seed.uniform(-1, 1), seed.randrange(-1000, 1000)) for _ in range(1000)]
    letters = [(chr(seed.randrange(0xD800)), chr(seed.randrange(0xE000, 0x110000))) for _ in range(500)]
    values += [{key: [seed.randrange(-99, 99), letter], letter: None} for key, letter in letters]
    values += [{"\uffff": 1, "\U00010000": 2, "a": {"b": [[]]}}]
    tasks = [{"task": "canonical", "text": json.dumps(value)} for value in values]
    assert ask(tasks) == [canonical.dumps(value).decode() for value in values]


KINDS = ("yes_no", "choice", "multiple", "ordered", "number", "text")


def asking(m: sv.Mechanism, kind: str) -> dict[str, Any]:
    """A question of a kind that is asked by a mechanism, with the mechanism's own values where the kind has such."""
    written = m.to_dict()
    domain = (written.get("permanent") or written)["domain"]
    told: dict[str, Any] = {"values": ["no", "yes"], "missing": "refuse", "low": 0, "high": 1, "outside": "refuse",
                            "max_bytes": 64, "longer": "refuse", "normalise": "none", "estimate": "mean"}  # fmt: skip
    told |= domain if isinstance(domain, dict) else {}
    told |= {"values": domain["options"]} if "options" in domain else {}
    told |= {"estimate": "distribution", "bins": written["bins"]} if "bins" in written else {}
    names = {"multiple": "values", "number": "low high outside estimate bins",
             "text": "max_bytes missing longer normalise"}.get(kind, "values missing")  # fmt: skip
    own = {name: told[name] for name in names.split() if name in told}
    return {"id": "q", "text": "?", "kind": kind, **own, "epsilon": m.epsilon, "mechanism": written}


def accepted(document: dict[str, Any]) -> bool:
    try:
        return Survey.from_dict(document).published
    except sv.SottovoceError:
        return False


@needs_node
def test_the_same_mechanisms_are_for_the_same_kinds_of_questions() -> None:
    """Every mechanism with every kind of question: both take it, or neither does."""
    seed, documents = random.Random(7), []
    more = [sv.Sets(2**20, 1.0), sv.Sets(["no", "yes"], 1.0), sv.Ranges(["no", "yes"], 1.0), sv.Sets([0, 1], 1.0)]
    for m in [*(m for m, _ in mechanisms(seed)), *more]:
        for kind in KINDS:
            document = {"sottovoce": 1, "id": "s", "title": "S", "trust": "local", "budget": 900, "minimum": 1,
                        "schedule": {"waves": 2}, "questions": [asking(m, kind)]}  # fmt: skip
            documents.append(json.loads(canonical.dumps(document)))
    large = json.loads(json.dumps(documents[-1]))
    large["questions"] = [asking(sv.Sets(2**20, 1.0), "multiple")]
    large["questions"][0]["values"] = large["questions"][0]["mechanism"]["domain"]["options"] = 2**20 + 1
    wanted = [accepted(document) for document in documents]
    assert 20 < sum(wanted) < 60
    got = ask([{"task": "accepts", "survey": document} for document in [*documents, large]])
    assert got == [*wanted, False]
    assert not accepted(large)


# What a person sends.


def surveys() -> list[Survey]:
    file = json.loads((ROOT / "vectors" / "surveys.json").read_text(encoding="utf-8"))
    text = {"id": "drink", "text": "What do you drink?", "kind": "text", "max_bytes": 16, "epsilon": 1}
    kept = [text | {"id": "page", "memoize": True}, text | {"id": "word", "memoize": True, "mechanism": "bloom"}]
    course = sv.Changes(8, 2, 1.0, domain=["no", "yes"])
    ill = {"id": "ill", "text": "Are you ill?", "kind": "yes_no", "mechanism": course.to_dict()}
    words = {"sottovoce": 1, "id": "words", "title": "Words", "questions": [text]}
    panel = {"sottovoce": 1, "id": "panel", "title": "Panel", "schedule": {"waves": 3}, "questions": [*kept, ill]}
    made = [Survey.from_dict(document).publish() for document in (words, panel)]
    return [*(Survey.from_dict(entry["document"]) for entry in file["surveys"]), *made]


@needs_node
@pytest.mark.parametrize("survey", surveys(), ids=lambda survey: survey.id)
def test_python_counts_what_the_client_sends(survey: Survey) -> None:
    answers = [{q.id: answer_to(q, wave) for q in survey.questions} for wave in range(survey.waves)]
    covariates = {covariate.id: covariate.values[0] for covariate in survey.covariates}
    document = json.loads(survey.canonical())
    task = {"task": "answer", "survey": document, "answers": answers, "covariates": covariates, "budget": 50}
    (got,) = ask([task])
    for wave, body in enumerate(got["bodies"]):
        submission = wire.decode(body.encode(), survey)
        assert (submission.wave, dict(submission.covariates)) == (wave, covariates)
        assert wire.encode(submission) == body.encode()
        for question in survey.questions:
            report = submission.reports[question.id]
            assert report is not None
            question.mechanism.tally().add(report)
    assert got["epsilon"] == survey.epsilon
    assert Fraction(got["ledger"]["spent"]) <= Fraction(survey.epsilon)
    assert got["ledger"]["spent"] == compose(charge["epsilon"] for charge in got["ledger"]["charges"])


# Its law.

EACH = 100_000
LAWS: dict[str, sv.Mechanism] = {
    "krr": sv.KRR(8, 1.0),
    "rr": sv.RandomizedResponse(2.0, domain=[0, 1]),
    "unary": sv.Unary(5, 1.0),
    "local_hash": sv.LocalHash(6, 1.5),
    "memoized": sv.Memoized.of(4, "krr", permanent=2.0, first=1.0),
}
FAST = ("krr", "rr")
NAMES = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in LAWS]


@cache
def draw(name: str, *broken: str) -> tuple[list[Any], list[Any]]:
    """200,000 reports from one process, in turns of 0 and of 1."""
    given = "0\n1\n" * EACH
    lines = node("test/reports.js", json.dumps(LAWS[name].to_dict()), *broken, given=given).splitlines()
    assert len(lines) == 2 * EACH
    reports = [json.loads(line) for line in lines]
    return reports[::2], reports[1::2]


def p_value(m: sv.Mechanism, value: int, reports: list[Any]) -> float:
    """Of a chi-square test of the reports of one answer with the exact law."""
    law = {r.hex() if isinstance(r, bytes) else r: float(chance) for r, chance in m.channel()[value].items()}
    counts = Counter(reports)
    assert set(counts) <= set(law)
    found = stats.chisquare([counts[report] for report in law], [EACH * chance for chance in law.values()])
    return float(found.pvalue)


def found(m: sv.Mechanism, reports: tuple[list[Any], list[Any]]) -> Audit:
    """The audit of reports that are there already; its bound is wrong with probability RARE at most."""
    left = [iter(each) for each in reports]
    return sv.audit(lambda value: next(left[value]), 0, 1, EACH, level=1 - RARE, seed=1, claimed=m.epsilon)


@needs_node
@pytest.mark.parametrize("name", NAMES)
def test_the_law_is_that_of_python(name: str) -> None:
    """Both answers, each at level RARE: the least expected count of a cell is above 500."""
    for value, reports in enumerate(draw(name)):
        assert p_value(LAWS[name], value, reports) > RARE


@needs_node
@pytest.mark.parametrize("name", NAMES)
def test_an_audit_finds_no_more_than_is_declared(name: str) -> None:
    m = LAWS[name]
    audit = found(m, draw(name))
    assert 0.8 * m.epsilon < audit.epsilon_lower <= m.epsilon


@needs_node
def test_a_client_with_coins_that_are_5_percent_off_is_caught() -> None:
    """Both tests must see it: the laws are 40 deviations apart, and epsilon is 2.5 and not 2."""
    m, reports = LAWS["rr"], draw("rr", "broken")
    assert all(p_value(m, value, each) < 1e-12 for value, each in enumerate(reports))
    assert found(m, reports).epsilon_lower > m.epsilon

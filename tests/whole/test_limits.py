"""Every published limit, at the limit and one beyond it. The numbers stand here again, so that none moves unnoticed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import shuffler_service
from collector_service import submission, survey

import sottovoce as sv
from sottovoce.core import canonical
from sottovoce.core.domain import Attributes, Keyed, Options, Scale, Text
from sottovoce.core.errors import SottovoceError
from sottovoce.core.field import Field
from sottovoce.core.hashing import Hashes
from sottovoce.core.sealing import PrivateKey, PublicKey
from sottovoce.device import accounting, envelope, wire
from sottovoce.survey import Survey
from sottovoce.trust.federated import DivisibleLaplace, Parties

ASKED = {"id": "q", "text": "Which?", "kind": "yes_no", "epsilon": 0.001}
KEYS = [str(PrivateKey(bytes([at] * 32)).public) for at in (1, 2)]


def document(**fields: Any) -> Survey:
    return Survey.from_dict({"sottovoce": 1, "id": "habits", "title": "Habits", "questions": [ASKED], **fields})


def question(**fields: Any) -> Survey:
    return document(questions=[ASKED | fields])


def shuffled(**fields: Any) -> Survey:
    route = {"analyst": KEYS[0], "shuffler": KEYS[1], "address": "http://a", "minimum": 10, "honest": 1, "delta": 0.1}
    return document(trust="shuffle", shuffle=route | fields)


def federated(**fields: Any) -> Survey:
    return document(trust="federated", federated={"curators": ["a", "b", "c"]} | fields)


def items(count: int) -> list[dict[str, Any]]:
    return [ASKED | {"id": f"q{at}"} for at in range(count)]


def covariates(count: int) -> list[dict[str, Any]]:
    return [{"id": f"c{at}", "values": ["a", "b"]} for at in range(count)]


def listed(count: int) -> list[str]:
    return [str(at) for at in range(count)]


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def padded(size: int) -> bytes:
    """A submission of so many bytes, with spaces at its end."""
    return submission(survey(), name="0" * 32).ljust(size)


Build = Callable[[Any], Any]
LIMITS: dict[str, tuple[Build, Any, Any, str]] = {
    "survey id": (lambda n: document(id="a" * n), 64, 65, r"id must match \[a-z0-9-\]\{1,64\}"),
    "survey id, shortest": (lambda n: document(id="a" * n), 1, 0, "id must match"),
    "question id": (lambda n: question(id="a" * n), 64, 65, "id must match"),
    "covariate id": (lambda n: document(covariates=[{"id": "a" * n, "values": ["a", "b"]}]), 64, 65, "id must match"),
    "title": (lambda n: document(title="a" * n), 200, 201, "title must have at most 200 characters, got 201"),
    "description": (lambda n: document(description="a" * n), 10_000, 10_001, "at most 10,000 characters, got 10,001"),
    "contact": (lambda n: document(contact="a" * n), 200, 201, "contact must have at most 200 characters, got 201"),
    "question text": (lambda n: question(text="a" * n), 1000, 1001, "text must have at most 1,000 characters"),
    "label": (lambda n: question(values=["a", "b" * n]), 200, 201, "at most 200 characters, got 201"),
    "questions": (lambda n: document(questions=items(n)), 100, 101, "questions must be .*1 to 100"),
    "questions, fewest": (lambda n: document(questions=items(n)), 1, 0, "questions must be"),
    "covariates": (lambda n: document(covariates=covariates(n)), 20, 21, "covariates must be .*0 to 20"),
    "waves": (lambda n: document(schedule={"waves": n}), 10_000, 10_001, "from 1 to 10,000, got 10001"),
    "waves, fewest": (lambda n: document(schedule={"waves": n}), 1, 0, "from 1 to 10,000, got 0"),
    "minimum": (lambda n: document(minimum=n), 10**9, 10**9 + 1, "from 1 to 1,000,000,000"),
    "minimum, least": (lambda n: document(minimum=n), 1, 0, "from 1 to 1,000,000,000, got 0"),
    "values": (lambda n: question(kind="choice", values=listed(n)), 10_000, 10_001, "list of 2 to 10,000 values"),
    "values, fewest": (lambda n: question(kind="choice", values=listed(n)), 2, 1, "list of 2 to 10,000 values"),
    "count of values": (
        lambda n: question(kind="choice", values=n), 2**32, 2**32 + 1, "from 2 to 4,294,967,296, got 4294967297",
    ),
    "count of values, least": (lambda n: question(kind="choice", values=n), 2, 1, "from 2 to 4,294,967,296, got 1"),
    "bins": (
        lambda n: question(kind="number", low=0, high=9, estimate="distribution", bins=n), 1024, 1025, "2 to 1,024",
    ),
    "bins, fewest": (
        lambda n: question(kind="number", low=0, high=9, estimate="distribution", bins=n), 2, 1, "from 2 to 1,024",
    ),
    "bytes of a text": (lambda n: question(kind="text", max_bytes=n), 4096, 4097, "from 1 to 4,096, got 4097"),
    "bytes of a text, fewest": (lambda n: question(kind="text", max_bytes=n), 1, 0, "from 1 to 4,096, got 0"),
    "epsilon": (lambda e: question(epsilon=e), 36, 36.000001, "epsilon must be at most 36"),
    "reports in a batch": (lambda n: shuffled(minimum=n), 10**9, 10**9 + 1, "minimum must be .* to 1,000,000,000"),
    "reports in a batch, fewest": (lambda n: shuffled(minimum=n), 2, 1, "minimum must be .* from 2"),
    "honest, fewest": (lambda n: shuffled(honest=n), 1, 0, "honest must be .* from 1"),
    "honest, most": (lambda n: shuffled(honest=n), 10, 11, "honest must be at most minimum, 10, got 11"),
    "address": (lambda n: shuffled(address="http://" + "a" * n), 500, 501, "address must match"),
    "delta": (lambda d: shuffled(delta=d), 1 - 2**-53, 1, "delta must be between 0 and 1"),
    "delta, least": (lambda d: shuffled(delta=d), 5e-324, 0, "delta must be between 0 and 1"),
    "curators": (lambda n: federated(curators=listed(n)), 1000, 1001, "list of 2 to 1,000 names"),
    "curators, fewest": (lambda n: federated(curators=listed(n)), 2, 1, "list of 2 to 1,000 names"),
    "curator's name": (lambda n: federated(curators=["a" * n, "b"]), 64, 65, "each of curators must match"),
    "parties": (lambda n: Parties(n, 1), 1000, 1001, "number of curators must .*1,?000, got 1,?001"),
    "parties, fewest": (lambda n: Parties(n, 1), 2, 1, "number of curators must"),
    "cells among parties": (lambda n: Parties(2, 1).check_size(n), 2**21, 2**21 + 1, "at most 4,194,304, got"),
    "divisible noise, least epsilon": (
        lambda e: DivisibleLaplace(e), 2.0**-16 * 1.0001, 2.0**-16 * 0.999, r"epsilon must be at least 2\^-16",
    ),
    "honest curators": (lambda n: DivisibleLaplace(1.0, 1, n), 1000, 1001, "number of honest curators"),
    "domain": (sv.Domain, 2**32, 2**32 + 1, r"from 2 to 2\^32 values"),
    "domain, smallest": (sv.Domain, 2, 1, r"from 2 to 2\^32 values, got 1"),
    "text": (Text, 4096, 4097, "from 1 to 4,096, got 4097"),
    "text, shortest": (Text, 1, 0, "from 1 to 4,096, got 0"),
    "text that is cut, shortest": (lambda n: Text(n, longer="cut"), 4, 3, "from 4 to 4,096, got 3"),
    "texts in a list": (lambda n: Text(n).labels, 2, 3, "up to 2 bytes, not up to 3"),
    "steps": (lambda n: Scale(0.0, 1.0, n), 2**20, 2**20 + 1, r"from 1 to 2\^20"),
    "steps, fewest": (lambda n: Scale(0.0, 1.0, n), 1, 0, r"from 1 to 2\^20"),
    "options": (Options, 2**20, 2**20 + 1, "options must be at most 1,048,576, got 1,048,577"),
    "options in a list": (lambda n: Options(n).labels, 16, 17, "at most 16 options or keys, got 17"),
    "keys": (lambda n: Keyed(n, 0, 1), 2**20, 2**20 + 1, "keys must be at most 1,048,576"),
    "combinations": (
        lambda n: Attributes({"a": 2**31, "b": n}), 2**31, 2**31 + 1, r"at most 2\^62 combinations",
    ),
    "attributes, fewest": (lambda n: Attributes({str(at): 2 for at in range(n)}), 2, 1, "at least 2 named domains"),
    "buckets": (lambda n: Hashes("a", n, 1), 2**16, 2**16 + 1, "buckets must be .* from 2 to 65,536, got 65537"),
    "buckets, fewest": (lambda n: Hashes("a", n, 1), 2, 1, "buckets must be .* from 2 to 65,536, got 1"),
    "cohorts": (lambda n: Hashes("a", 2, n), 2**16, 2**16 + 1, "cohorts must be .* to 65,536, got 65537"),
    "hashes": (lambda n: Hashes("a", 2, 1, functions=n), 16, 17, "hashes must be .* from 1 to 16, got 17"),
    "hashes, fewest": (lambda n: Hashes("a", 2, 1, functions=n), 1, 0, "hashes must be .* from 1 to 16, got 0"),
    "first cohort": (lambda n: Hashes("a", 2, 6, first=n), 2**16 - 6, 2**16 - 5, "first must be .* from 0 to 65,530"),
    "salt": (lambda n: Hashes("a" * n, 2), 1024, 1025, "at most 1024 characters"),
    "field": (Field, 4096, 4099, "from 2 to 4096, got 4099"),
    "key": (lambda n: PublicKey(bytes(n)), 32, 33, "32 bytes"),
    "submission": (lambda n: wire.decode(padded(n), survey()), 2**20, 2**20 + 1, "at most 1,048,576 bytes"),
    "nesting": (lambda n: canonical.dumps(nested(n)), 32, 33, "at most 32 levels deep"),
    "nesting, read": (lambda n: canonical.loads(json.dumps(nested(n))), 32, 33, "at most 32 levels deep"),
    "whole number": (canonical.dumps, 2**53 - 1, 2**53, "number"),
    "whole number, least": (canonical.dumps, 1 - 2**53, -(2**53), "number"),
    "answers to compose": (lambda n: accounting.composed(1e-9, n, 0.5), 10_000, 10_001, "at most 10,000 answers"),
    "delta of a ledger": (accounting.check_delta, 1 - 2**-53, 1.0, "from 0 to below 1, got 1.0"),
    "delta of a ledger, least": (accounting.check_delta, 0.0, -5e-324, "from 0 to below 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_at_a_limit_and_beyond_it(name: str) -> None:
    build, at, beyond, message = LIMITS[name]
    build(at)
    with pytest.raises(SottovoceError, match=message):
        build(beyond)


def test_numbers_that_json_cannot_hold_are_written_as_text() -> None:
    assert wire._written(2**53 - 1) == 2**53 - 1
    assert wire._written(2**53) == "9007199254740992"


def test_versions_of_a_survey_are_whole_numbers_up_to_a_million() -> None:
    with pytest.raises(SottovoceError, match="1000000 is a newer format"):
        document(sottovoce=10**6)
    with pytest.raises(SottovoceError, match="from 1 to 1,000,000, got 1000001"):
        document(sottovoce=10**6 + 1)


def test_the_largest_batch() -> None:
    """2^28 bytes, less an id of 16, a wave of 4 and a code of 32."""
    asked = shuffler_service.survey()
    assert envelope.most_reports(asked) == (2**28 - 52) // envelope.inner_size(asked)


def test_units_are_composed_up_to_their_limit() -> None:
    """Beyond it only the sum is known, which is more."""
    costs = [1e-3] * 10_000
    assert accounting.spent(costs, 1e-6, unit=1e-3) < 1
    assert accounting.spent([*costs, 1e-3], 1e-6, unit=1e-3) == pytest.approx(10.001)

"""Sottovoce: learn from answers you should not see.

>>> import sottovoce as sv
>>> m = sv.KRR(["a", "b", "c"], epsilon=1.0)
>>> reports = m.randomize_many(["a", "b", "a", "c"] * 1000, seed=1)
>>> e = m.tally().add_many(reports).estimate()
>>> e.frequency.round(2), e.stderr.round(2)
(array([0.52, 0.25, 0.23]), array([0.02, 0.02, 0.02]))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "Changes",
    "DBitFlip",
    "Discovery",
    "Domain",
    "DomainError",
    "Estimate",
    "FileError",
    "Hadamard",
    "Hashed",
    "KeyValue",
    "LocalHash",
    "Mean",
    "Mechanism",
    "Memoized",
    "ParameterError",
    "Projective",
    "RandomizedResponse",
    "Ranges",
    "ReportError",
    "Rounds",
    "Scale",
    "Sets",
    "Several",
    "SottovoceError",
    "SquareWave",
    "Subset",
    "Survey",
    "Tally",
    "Text",
    "Unary",
    "audit",
    "cheating",
    "choose",
    "compare",
    "correlation",
    "designs",
    "discover",
    "error_curve",
    "inference",
    "likelihood",
    "linear",
    "logistic",
    "mechanism",
    "plan",
    "postprocess",
    "shuffle_epsilon",
    "shuffle_local_epsilon",
    "shuffle_n",
]

# Each name is imported when it is first used, so that a device loads nothing that it does not run.
_ROOMS = ["designs", "inference", "postprocess"]
_HOMES = {
    "auditing": "audit",
    "discovery": "discover Rounds",
    "domain": "Domain Scale Text",
    "errors": "DomainError FileError ParameterError ReportError SottovoceError",
    "estimate": "Estimate",
    "inference.cheating": "cheating",
    "inference.correlation": "correlation",
    "inference.histogram": "likelihood",
    "inference.regression": "linear logistic",
    "mechanisms": (
        "Changes choose DBitFlip Discovery Hadamard Hashed KeyValue KRR LocalHash Mean Mechanism mechanism Memoized "
        "Projective RandomizedResponse Ranges Sets Several SquareWave Subset Unary"
    ),
    "models": "compare error_curve shuffle_epsilon shuffle_local_epsilon shuffle_n",
    "planning": "plan",
    "survey": "Survey",
    "tally": "Tally",
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(f"sottovoce.{_NAMES[name]}"), name)
    elif name in _ROOMS:
        value = import_module(f"sottovoce.{name}")
    else:
        raise AttributeError(f"module 'sottovoce' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if TYPE_CHECKING:
    from sottovoce import designs, inference, postprocess
    from sottovoce.auditing import audit
    from sottovoce.discovery import Rounds, discover
    from sottovoce.domain import Domain, Scale, Text
    from sottovoce.errors import DomainError, FileError, ParameterError, ReportError, SottovoceError
    from sottovoce.estimate import Estimate
    from sottovoce.inference.cheating import cheating
    from sottovoce.inference.correlation import correlation
    from sottovoce.inference.histogram import likelihood
    from sottovoce.inference.regression import linear, logistic
    from sottovoce.mechanisms import (
        KRR,
        Changes,
        DBitFlip,
        Discovery,
        Hadamard,
        Hashed,
        KeyValue,
        LocalHash,
        Mean,
        Mechanism,
        Memoized,
        Projective,
        RandomizedResponse,
        Ranges,
        Sets,
        Several,
        SquareWave,
        Subset,
        Unary,
        choose,
        mechanism,
    )
    from sottovoce.models import compare, error_curve, shuffle_epsilon, shuffle_local_epsilon, shuffle_n
    from sottovoce.planning import plan
    from sottovoce.survey import Survey
    from sottovoce.tally import Tally

"""Sottovoce: learn from answers you should not see.

>>> import sottovoce as sv
>>> m = sv.KRR(["a", "b", "c"], epsilon=1.0)
>>> reports = m.randomize_many(["a", "b", "a", "c"] * 1000, seed=1)
>>> e = m.tally().add_many(reports).estimate()
>>> e.frequency.round(2), e.stderr.round(2)
(array([0.52, 0.25, 0.23]), array([0.02, 0.02, 0.02]))
"""

from __future__ import annotations

from sottovoce import postprocess
from sottovoce.domain import Domain, Scale
from sottovoce.errors import DomainError, FileError, ParameterError, ReportError, SottovoceError
from sottovoce.estimate import Estimate
from sottovoce.mechanisms import (
    KRR,
    Hadamard,
    KeyValue,
    LocalHash,
    Mean,
    Mechanism,
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
from sottovoce.tally import Tally

__version__ = "0.1.0"

__all__ = [
    "KRR",
    "Domain",
    "DomainError",
    "Estimate",
    "FileError",
    "Hadamard",
    "KeyValue",
    "LocalHash",
    "Mean",
    "Mechanism",
    "ParameterError",
    "Projective",
    "RandomizedResponse",
    "Ranges",
    "ReportError",
    "Scale",
    "Sets",
    "Several",
    "SottovoceError",
    "SquareWave",
    "Subset",
    "Tally",
    "Unary",
    "choose",
    "mechanism",
    "postprocess",
]

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
from typing import TYPE_CHECKING

from sottovoce.core.lazy import exports
from sottovoce.mechanisms import MECHANISMS

if TYPE_CHECKING:
    from sottovoce import statistics as statistics
    from sottovoce.core.domain import Domain as Domain
    from sottovoce.core.domain import Scale as Scale
    from sottovoce.core.domain import Text as Text
    from sottovoce.core.errors import DomainError as DomainError
    from sottovoce.core.errors import FileError as FileError
    from sottovoce.core.errors import ParameterError as ParameterError
    from sottovoce.core.errors import ReportError as ReportError
    from sottovoce.core.errors import SottovoceError as SottovoceError
    from sottovoce.device.ledger import Ledger as Ledger
    from sottovoce.device.respondent import Respondent as Respondent
    from sottovoce.estimates import Estimate as Estimate
    from sottovoce.estimates import Result as Result
    from sottovoce.estimates import postprocess as postprocess
    from sottovoce.estimates.tally import Tally as Tally
    from sottovoce.mechanisms import *  # noqa: F403
    from sottovoce.statistics import designs as designs
    from sottovoce.statistics.auditing import audit as audit
    from sottovoce.statistics.discovery import Rounds as Rounds
    from sottovoce.statistics.discovery import discover as discover
    from sottovoce.statistics.likelihood import likelihood as likelihood
    from sottovoce.statistics.planning import plan as plan
    from sottovoce.statistics.proportions.cheating import cheating as cheating
    from sottovoce.statistics.proportions.correlation import correlation as correlation
    from sottovoce.statistics.regression import linear as linear
    from sottovoce.statistics.regression import logistic as logistic
    from sottovoce.survey import Survey as Survey
    from sottovoce.trust import compare as compare
    from sottovoce.trust import error_curve as error_curve
    from sottovoce.trust import shuffle_epsilon as shuffle_epsilon
    from sottovoce.trust import shuffle_local_epsilon as shuffle_local_epsilon
    from sottovoce.trust import shuffle_n as shuffle_n

__version__ = "0.1.0"

# Each name is imported when it is first used, so that a device loads nothing that it does not run.
_MODULES = {"designs": "statistics.designs", "postprocess": "estimates.postprocess", "statistics": "statistics"}
_EXPORTED = {
    "core.domain": "Domain Scale Text",
    "core.errors": "DomainError FileError ParameterError ReportError SottovoceError",
    "device.ledger": "Ledger",
    "device.respondent": "Respondent",
    "estimates": "Estimate Result",
    "estimates.tally": "Tally",
    "mechanisms": f"Mechanism choose mechanism {' '.join(MECHANISMS)}",
    "statistics.auditing": "audit",
    "statistics.discovery": "discover Rounds",
    "statistics.likelihood": "likelihood",
    "statistics.planning": "plan",
    "statistics.proportions.cheating": "cheating",
    "statistics.proportions.correlation": "correlation",
    "statistics.regression": "linear logistic",
    "survey": "Survey",
    "trust": "compare error_curve shuffle_epsilon shuffle_local_epsilon shuffle_n",
}
_HOMES = {name: home for home, names in _EXPORTED.items() for name in names.split()}
__all__ = sorted([*_HOMES, *_MODULES])


_export = exports("sottovoce", _HOMES)


def __getattr__(name: str) -> object:
    return import_module(f"sottovoce.{_MODULES[name]}") if name in _MODULES else _export(name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

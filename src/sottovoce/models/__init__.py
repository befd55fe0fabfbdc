"""The same question under other trust models, for comparison with the local one."""

from sottovoce.models.base import Release, TrustModel
from sottovoce.models.central import Central
from sottovoce.models.compare import Comparison, Outcome, compare
from sottovoce.models.curve import ErrorCurve, Line, error_curve
from sottovoce.models.local import Local
from sottovoce.models.noise import DiscreteLaplace, OpenDPLaplace
from sottovoce.models.registry import MODELS
from sottovoce.models.synthetic import multinomial, zipf

__all__ = [
    "MODELS",
    "Central",
    "Comparison",
    "DiscreteLaplace",
    "ErrorCurve",
    "Line",
    "Local",
    "OpenDPLaplace",
    "Outcome",
    "Release",
    "TrustModel",
    "compare",
    "error_curve",
    "multinomial",
    "zipf",
]

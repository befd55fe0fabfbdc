"""The same question under other trust models, for comparison with the local one."""

from sottovoce.models.base import Release, TrustModel
from sottovoce.models.central import Central
from sottovoce.models.compare import Comparison, Outcome, compare
from sottovoce.models.curator_curve import CuratorCurve, curator_curve
from sottovoce.models.curve import ErrorCurve, Line, error_curve
from sottovoce.models.federated import Federated, Parties, SecureSum
from sottovoce.models.local import Local
from sottovoce.models.noise import DiscreteLaplace, OpenDPLaplace
from sottovoce.models.registry import MODELS
from sottovoce.models.shuffle import (
    BinarySum,
    Histogram,
    RealSum,
    Shuffle,
    Shuffled,
    shuffle_epsilon,
    shuffle_local_epsilon,
    shuffle_n,
)
from sottovoce.models.synthetic import multinomial, zipf

__all__ = [
    "MODELS",
    "BinarySum",
    "Central",
    "Comparison",
    "CuratorCurve",
    "DiscreteLaplace",
    "ErrorCurve",
    "Federated",
    "Histogram",
    "Line",
    "Local",
    "OpenDPLaplace",
    "Outcome",
    "Parties",
    "RealSum",
    "Release",
    "SecureSum",
    "Shuffle",
    "Shuffled",
    "TrustModel",
    "compare",
    "curator_curve",
    "error_curve",
    "multinomial",
    "shuffle_epsilon",
    "shuffle_local_epsilon",
    "shuffle_n",
    "zipf",
]

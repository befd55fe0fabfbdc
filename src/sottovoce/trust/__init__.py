"""The same question under other trust models, for comparison with the local one."""

from sottovoce.trust.base import Release, TrustModel
from sottovoce.trust.central import Central
from sottovoce.trust.compare import Comparison, ModelOutcome, compare
from sottovoce.trust.curator_curve import CuratorCurve, curator_curve
from sottovoce.trust.curve import ErrorCurve, Line, error_curve
from sottovoce.trust.federated import Federated, Parties, SecureSum
from sottovoce.trust.local import Local
from sottovoce.trust.noise import DiscreteLaplace, OpenDPLaplace
from sottovoce.trust.registry import MODELS
from sottovoce.trust.shuffle import (
    BinarySum,
    RealSum,
    Shuffle,
    Shuffled,
    ShuffledHistogram,
    shuffle_epsilon,
    shuffle_local_epsilon,
    shuffle_n,
)
from sottovoce.trust.synthetic import multinomial, zipf

__all__ = [
    "MODELS",
    "BinarySum",
    "Central",
    "Comparison",
    "CuratorCurve",
    "DiscreteLaplace",
    "ErrorCurve",
    "Federated",
    "Line",
    "Local",
    "ModelOutcome",
    "OpenDPLaplace",
    "Parties",
    "RealSum",
    "Release",
    "SecureSum",
    "Shuffle",
    "Shuffled",
    "ShuffledHistogram",
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

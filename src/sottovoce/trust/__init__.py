"""The same question under other trust models, for comparison with the local one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import exports

if TYPE_CHECKING:
    from sottovoce.trust.base import Release as Release
    from sottovoce.trust.base import TrustModel as TrustModel
    from sottovoce.trust.central import Central as Central
    from sottovoce.trust.comparison import Comparison as Comparison
    from sottovoce.trust.comparison import ModelOutcome as ModelOutcome
    from sottovoce.trust.comparison import compare as compare
    from sottovoce.trust.curator_errors import CuratorCurve as CuratorCurve
    from sottovoce.trust.curator_errors import curator_curve as curator_curve
    from sottovoce.trust.curve import ErrorCurve as ErrorCurve
    from sottovoce.trust.curve import Line as Line
    from sottovoce.trust.curve import error_curve as error_curve
    from sottovoce.trust.federated import Federated as Federated
    from sottovoce.trust.federated import Parties as Parties
    from sottovoce.trust.federated import SecureSum as SecureSum
    from sottovoce.trust.local import Local as Local
    from sottovoce.trust.noise import DiscreteLaplace as DiscreteLaplace
    from sottovoce.trust.noise import OpenDPLaplace as OpenDPLaplace
    from sottovoce.trust.registry import MODELS as MODELS
    from sottovoce.trust.shuffle import BinarySum as BinarySum
    from sottovoce.trust.shuffle import RealSum as RealSum
    from sottovoce.trust.shuffle import Shuffle as Shuffle
    from sottovoce.trust.shuffle import Shuffled as Shuffled
    from sottovoce.trust.shuffle import ShuffledHistogram as ShuffledHistogram
    from sottovoce.trust.shuffle import shuffle_epsilon as shuffle_epsilon
    from sottovoce.trust.shuffle import shuffle_local_epsilon as shuffle_local_epsilon
    from sottovoce.trust.shuffle import shuffle_n as shuffle_n
    from sottovoce.trust.synthetic import multinomial as multinomial
    from sottovoce.trust.synthetic import zipf as zipf

_HOMES = {
    "Release": "base",
    "TrustModel": "base",
    "Central": "central",
    "Comparison": "comparison",
    "ModelOutcome": "comparison",
    "compare": "comparison",
    "CuratorCurve": "curator_errors",
    "curator_curve": "curator_errors",
    "ErrorCurve": "curve",
    "Line": "curve",
    "error_curve": "curve",
    "Federated": "federated",
    "Parties": "federated",
    "SecureSum": "federated",
    "Local": "local",
    "DiscreteLaplace": "noise",
    "OpenDPLaplace": "noise",
    "MODELS": "registry",
    "BinarySum": "shuffle",
    "RealSum": "shuffle",
    "Shuffle": "shuffle",
    "Shuffled": "shuffle",
    "ShuffledHistogram": "shuffle",
    "shuffle_epsilon": "shuffle",
    "shuffle_local_epsilon": "shuffle",
    "shuffle_n": "shuffle",
    "multinomial": "synthetic",
    "zipf": "synthetic",
}
__all__ = sorted(_HOMES)
__getattr__ = exports(__name__, _HOMES)  # Each name is imported when it is first used.

"""Several curators, each with some people's answers: noise from each, secure sums, the intersection of two sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sottovoce.core.lazy import exports

if TYPE_CHECKING:
    from sottovoce.trust.federated.curators import Federated as Federated
    from sottovoce.trust.federated.curators import SecureSum as SecureSum
    from sottovoce.trust.federated.curators import add_noisy as add_noisy
    from sottovoce.trust.federated.divisible import DivisibleLaplace as DivisibleLaplace
    from sottovoce.trust.federated.intersection import Intersections as Intersections
    from sottovoce.trust.federated.intersection import both_randomized as both_randomized
    from sottovoce.trust.federated.intersection import compare_intersections as compare_intersections
    from sottovoce.trust.federated.intersection import one_randomized as one_randomized
    from sottovoce.trust.federated.intersection import secure as secure
    from sottovoce.trust.federated.law import NoiseLaw as NoiseLaw
    from sottovoce.trust.federated.parties import Coalition as Coalition
    from sottovoce.trust.federated.parties import Parties as Parties
    from sottovoce.trust.federated.parties import secure_sum as secure_sum
    from sottovoce.trust.federated.queries import Average as Average
    from sottovoce.trust.federated.queries import Histogram as Histogram
    from sottovoce.trust.federated.queries import Query as Query
    from sottovoce.trust.federated.queries import query as query
    from sottovoce.trust.federated.sharing import Additive as Additive
    from sottovoce.trust.federated.sharing import Shamir as Shamir
    from sottovoce.trust.federated.sharing import Sharing as Sharing

_HOMES = {
    "Federated": "curators",
    "SecureSum": "curators",
    "add_noisy": "curators",
    "DivisibleLaplace": "divisible",
    "Intersections": "intersection",
    "both_randomized": "intersection",
    "compare_intersections": "intersection",
    "one_randomized": "intersection",
    "secure": "intersection",
    "NoiseLaw": "law",
    "Coalition": "parties",
    "Parties": "parties",
    "secure_sum": "parties",
    "Average": "queries",
    "Histogram": "queries",
    "Query": "queries",
    "query": "queries",
    "Additive": "sharing",
    "Shamir": "sharing",
    "Sharing": "sharing",
}
__all__ = sorted(_HOMES)
__getattr__ = exports(__name__, _HOMES)  # Each name is imported when it is first used.

"""Several curators, each with some people's answers: noise from each, secure sums, the intersection of two sets."""

from sottovoce.trust.federated.curators import Federated, SecureSum, add_noisy
from sottovoce.trust.federated.divisible import DivisibleLaplace
from sottovoce.trust.federated.intersection import (
    Intersections,
    both_randomized,
    compare_intersections,
    one_randomized,
    secure,
)
from sottovoce.trust.federated.law import NoiseLaw
from sottovoce.trust.federated.parties import Coalition, Parties, secure_sum
from sottovoce.trust.federated.queries import Average, Histogram, Query, query
from sottovoce.trust.federated.sharing import Additive, Shamir, Sharing

__all__ = [
    "Additive",
    "Average",
    "Coalition",
    "DivisibleLaplace",
    "Federated",
    "Histogram",
    "Intersections",
    "NoiseLaw",
    "Parties",
    "Query",
    "SecureSum",
    "Shamir",
    "Sharing",
    "add_noisy",
    "both_randomized",
    "compare_intersections",
    "one_randomized",
    "query",
    "secure",
    "secure_sum",
]

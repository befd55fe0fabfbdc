"""Several curators, each with some people's answers: noise from each, secure sums, the intersection of two sets."""

from sottovoce.models.federated.curators import Federated, SecureSum, add_noisy
from sottovoce.models.federated.divisible import DivisibleLaplace
from sottovoce.models.federated.intersection import (
    Intersections,
    both_randomized,
    compare_intersections,
    one_randomized,
    secure,
)
from sottovoce.models.federated.law import NoiseLaw
from sottovoce.models.federated.parties import Coalition, Parties, secure_sum
from sottovoce.models.federated.queries import Average, Histogram, Query, query
from sottovoce.models.federated.sharing import Additive, Shamir, Sharing

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

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from sottovoce.core.canonical import JsonObject
from sottovoce.core.domain import Text
from sottovoce.core.domain.text import END_MARK
from sottovoce.core.errors import ParameterError
from sottovoce.core.hashing import MAX_COHORTS
from sottovoce.core.lazy import numpy as np
from sottovoce.estimates.discovery_estimate import first_whole_span
from sottovoce.mechanisms.base import Mechanism
from sottovoce.mechanisms.frequency.pure import Pure
from sottovoce.mechanisms.text.bucket_mechanism import BucketMechanism
from sottovoce.mechanisms.text.cohorts import check_text
from sottovoce.mechanisms.text.hashed import Hashed, read_base

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sottovoce.estimates import HashedEstimate, Result
    from sottovoce.estimates.tally import Tally
    from sottovoce.mechanisms.text.discovery_plan import DiscoveryPlanOptions

MAX_GROUPS = 2**10
MAX_TAG_BITS = 24
TAG_BYTES = 3
METHODS = ("prefixes", "fragments")
ESTIMATES = ("mean", "regression")

DEFAULT_BUCKETS = 4096
DEFAULT_COHORTS = 4
"""Of each group, if nothing is known about the number of people; `Discovery.plan` knows better."""

DEFAULT_LENGTH_BYTES = 16
"""Texts up to this length are found unless another length is asked for."""
FIRST_PREFIX_BYTES = 2
"""Bytes of the first prefix: the search begins with some ten thousand of them, which takes little time."""

DEFAULT_TAG_BITS = 10
WHOLE_TEXT_GROUPS = {"prefixes": 2, "fragments": 3}
"""Groups that tell the whole text. Where prefixes grow, those after a text's end tell all of it too."""


@dataclass(frozen=True, eq=False)
class Views:
    """A column of texts as the groups are told them: fingerprints, a row for each span, and the place of each text."""

    table: NDArray[np.int64]
    texts: NDArray[np.int64]

    def __len__(self) -> int:
        return self.texts.size

    size = property(__len__)

    def __getitem__(self, places: slice | NDArray[np.int64]) -> Views:
        return Views(self.table, self.texts[places])


@dataclass(frozen=True, init=False, repr=False)
class Discovery(BucketMechanism):
    r"""Texts that nobody listed and nobody can name: each group of devices tells another part of its texts.

    The groups are drawn at random. A group has a span [start, stop) of bytes, and its devices report those bytes of
    their text, with a mark behind its end, as `Hashed` reports a text. With spans that begin at 0 and grow, frequent
    texts are found by their prefixes. With a tag, a public hash of the whole text of so many bits is reported beside
    the bytes, and texts are put together from fragments that share a tag. The last groups report the whole text: they
    tell how frequent it is.

    >>> m = Discovery(2.0, length=4)
    >>> m.method, m.spans
    ('prefixes', ((0, 2), (0, 3), (0, 4), (0, 5), (0, 65), (0, 65)))
    >>> m.view("crème".encode(), 2), m.view(b"tea", 2), m.view(b"tea", 5)
    (b'cr\xc3\xa8', b'tea\xff', b'tea\xff')
    >>> Discovery(2.0, length=4, method="fragments").spans[:4]
    ((0, 1), (1, 2), (2, 3), (3, 4))
    """

    name: ClassVar[str] = "discovery"
    question_kinds: ClassVar[tuple[str, ...]] = ("text",)
    domain: Text
    spans: tuple[tuple[int, int], ...]
    tag: int
    cohorts: int
    salt: str
    base: Pure

    def __init__(
        self,
        epsilon: float | None = None,
        length: int | None = None,
        method: str = "prefixes",
        *,
        base: str | Pure = "auto",
        buckets: int | None = None,
        cohorts: int | None = None,
        spans: Sequence[Sequence[int]] | None = None,
        tag: int | None = None,
        salt: str = "",
        domain: Text | None = None,
    ) -> None:
        if method not in METHODS:
            raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {method!r:.40}")
        domain = check_text(domain)
        tag = (DEFAULT_TAG_BITS if method == "fragments" else 0) if tag is None else tag
        if type(tag) is not int or not 0 <= tag <= MAX_TAG_BITS:
            raise ParameterError(f"tag must be a whole number of bits from 0 to {MAX_TAG_BITS}, got {tag!r:.40}")
        spans = check_spans(grown(domain, length, method) if spans is None else spans, domain, tag)
        cohorts = DEFAULT_COHORTS * len(spans) if cohorts is None else cohorts
        if type(cohorts) is not int or cohorts % len(spans) or not 0 < cohorts <= MAX_COHORTS:
            most = f"{MAX_COHORTS:,} in all"
            raise ParameterError(
                f"cohorts must be as many for each of the {len(spans)} groups, up to {most}, got {cohorts!r:.40}"
            )
        made = Hashed(
            base, DEFAULT_BUCKETS if buckets is None and isinstance(base, str) else buckets, cohorts, epsilon, salt=salt
        )
        self._freeze(domain=domain, spans=spans, tag=tag, cohorts=cohorts, salt=salt, base=made.base)
        _ = self.shape

    @staticmethod
    def plan(n: int, epsilon: float, length: int, **options: Unpack[DiscoveryPlanOptions]) -> Discovery:
        """The groups and cohorts that find the rarest texts: see `discovery_plan.plan`."""
        from sottovoce.mechanisms.text.discovery_plan import plan

        return plan(n, epsilon, length, **options)

    def detectable(self, n: int) -> float:
        """The share of people from which a text is found more often than not, from n reports."""
        from sottovoce.mechanisms.text.discovery_plan import detectable

        return detectable(self, n)

    @property
    def method(self) -> str:
        """How texts are found: by growing prefixes, or from tagged fragments."""
        return METHODS[bool(self.tag)]

    # What each group tells.

    @property
    def share(self) -> int:
        """How many cohorts a group has."""
        return self.cohorts // len(self.spans)

    def view(self, data: bytes, group: int) -> bytes:
        """What the devices of a group tell of a text."""
        start, stop = self.spans[group]
        return self.label(data) + (data + END_MARK)[start:stop]

    def label(self, data: bytes) -> bytes:
        """The tag of a text, if there are tags."""
        return (
            (self.hashing.fingerprint(data, self.domain.max_bytes) % 2**self.tag).to_bytes(TAG_BYTES, "big")
            if self.tag
            else b""
        )

    def labels(self, rows: list[bytes]) -> list[bytes]:
        """The tags of a column."""
        if not self.tag:
            return [b""] * len(rows)
        return [tag.to_bytes(3, "big") for tag in (self.hashing.fingerprints(rows) % 2**self.tag).tolist()]

    def tested(self, length: int) -> int:
        """The first of the last groups, all of which tell a text of so many bytes as a whole."""
        return first_whole_span(self.spans, length)

    def _code(self, data: bytes) -> bytes:
        return data

    def _place(self, code: bytes, cohort: int) -> int:
        shown = self.view(code, cohort // self.share)
        fingerprint = self.hashing.marked(shown, self.domain.max_bytes + len(END_MARK) + TAG_BYTES)
        return self.hashing.bucket(fingerprint, cohort)

    def _code_many(self, rows: list[bytes]) -> Any:
        """For each text, the fingerprints of what the groups are told: one for each span that there is.

        Texts share their beginnings, and are told alike once they have ended: each view is hashed once.
        """
        spans, labels = dict.fromkeys(self.spans), self.labels(rows)
        told = [(label, data + END_MARK) for label, data in zip(labels, rows, strict=True)]
        views = [label + data[start:stop] for start, stop in spans for label, data in told]
        places = {view: at for at, view in enumerate(dict.fromkeys(views))}
        codes = self.hashing.fingerprints(list(places))
        table = codes[np.fromiter(map(places.__getitem__, views), dtype=np.int64, count=len(views))]
        return Views(table.reshape(len(spans), -1), np.arange(len(rows)))

    def _place_many(self, codes: Any, cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        distinct = list(dict.fromkeys(self.spans))
        shown = np.array([distinct.index(span) for span in self.spans])[cohorts // self.share]
        return self.hashing.spread(codes.table[shown, codes.texts], cohorts)

    # What the counts tell.

    def _estimate(self, tally: Tally[Result], values: Iterable[str | None] | None = None,
                  method: str = "mean") -> HashedEstimate:  # fmt: skip
        if method not in ESTIMATES:
            raise ParameterError(f"method must be one of {', '.join(ESTIMATES)}, got {method!r}")
        if values is None:
            raise ParameterError(
                "name the values to estimate, estimate(values=[...]), or find them: sv.discover(tally)"
            )
        from sottovoce.estimates.discovery_estimate import counted

        labels, _ = self._candidates(values)
        return counted([tally]).estimate(labels, method)

    # What travels.

    def to_dict(self) -> JsonObject:
        return super().to_dict() | {"spans": [list(span) for span in self.spans]}

    @classmethod
    def from_dict(cls, data: JsonObject) -> Mechanism:
        spans = data.get("spans")
        if not isinstance(spans, list) or not all(isinstance(span, list) for span in spans):
            raise ParameterError(f"spans must be a list of lists, got {spans!r:.80}")
        return super().from_dict(data | {"spans": tuple(map(tuple, spans))})

    @classmethod
    def _assemble(cls, **parameters: Any) -> Discovery:
        return cls(**parameters | {"base": read_base(parameters["base"])})

    def __repr__(self) -> str:
        size = f"{len(self.spans)} groups of {self.share} cohorts, {self.buckets} buckets"
        return f"Discovery({self.method}, {size}, {self.base.name}, epsilon={self.epsilon:.6g})"


def grown(domain: Text, length: int | None, method: str) -> list[tuple[int, int]]:
    """The spans that find texts of up to so many bytes: one byte more each, or one byte each; then the whole."""
    length = min(DEFAULT_LENGTH_BYTES, domain.max_bytes) if length is None else length
    if type(length) is not int or not 1 <= length <= domain.max_bytes:
        raise ParameterError(
            f"length must be a whole number from 1 to max_bytes = {domain.max_bytes}, got {length!r:.40}"
        )
    last = min(length + 1, domain.max_bytes)
    parts = (
        [(0, stop) for stop in range(min(FIRST_PREFIX_BYTES, last), last + 1)]
        if method == "prefixes"
        else [(at, at + 1) for at in range(last)]
    )
    return [*parts, *[(0, domain.max_bytes + 1)] * WHOLE_TEXT_GROUPS[method]]


def check_spans(spans: Sequence[Sequence[int]], domain: Text, tag: int) -> tuple[tuple[int, int], ...]:
    most = domain.max_bytes + 1
    if not 1 <= len(spans) <= MAX_GROUPS:
        raise ParameterError(f"spans must be from 1 to {MAX_GROUPS:,}, got {len(spans):,}")
    for span in spans:
        if len(span) != 2 or not all(type(at) is int for at in span) or not 0 <= span[0] < span[1] <= most:
            raise ParameterError(f"a span must be two whole numbers from 0 to {most}, in order, got {span!r:.40}")
    checked = tuple((start, stop) for start, stop in spans)
    if checked[-1] != (0, most):
        raise ParameterError(f"the last span must be the whole text, from 0 to {most}, got {checked[-1]}")
    if not tag and (any(start for start, _ in checked) or list(checked) != sorted(checked)):
        raise ParameterError("spans without a tag must begin at 0, and none be shorter than the one before")
    parts = [span for span in checked if span != (0, most)]
    if tag and (parts != [(at, at + 1) for at in range(len(parts))] or list(checked[: len(parts)]) != parts):
        raise ParameterError(
            "spans with a tag must be of one byte each, [0, 1], [1, 2] and so on, before the whole text"
        )
    return checked

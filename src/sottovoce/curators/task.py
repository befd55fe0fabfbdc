"""The task that curators agree on: one query, who takes part, how much privacy it costs and how many may fail.

Its digest stands for it in every message, so that whatever is said is said about the same task. A task has no secret in
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from sottovoce.core import canonical
from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import FileError, ParameterError, SealError, SottovoceError
from sottovoce.core.privacy import check_epsilon
from sottovoce.curators.identity import Card, digest
from sottovoce.survey.federation import NAME
from sottovoce.survey.shuffle_settings import ADDRESS
from sottovoce.trust.federated import DivisibleLaplace, Parties, Query, query

VERSION = 1
TASK_ID = re.compile(r"[a-z0-9-][a-z0-9._-]{0,149}", re.ASCII)
TASK_FIELDS = {"task", "id", "column", "query", "epsilon", "threshold", "dropouts", "noise", "sharing", "curators",
          "asked"}  # fmt: skip


@dataclass(frozen=True)
class AskedQuestion:
    """The question of a published survey that a task asks, in one of its waves.

    From fewer than `minimum` people there is no result.
    """

    survey: str
    question: str
    wave: int
    minimum: int

    def __post_init__(self) -> None:
        if not all(isinstance(text, str) and 0 < len(text) <= 100 for text in (self.survey, self.question)):
            raise ParameterError("a task of a survey names its digest and a question")
        if not all(type(number) is int and 0 <= number <= 10**9 for number in (self.wave, self.minimum)):
            raise ParameterError("the wave and the minimum of a survey must be whole numbers")

    @classmethod
    def from_dict(cls, record: object) -> Self:
        if not isinstance(record, Mapping) or set(record) != {"survey", "question", "wave", "minimum"}:
            raise ParameterError("a task of a survey names its digest, a question, a wave and a minimum")
        return cls(**record)


@dataclass(frozen=True)
class Task:
    """A task. `curators` has the public keys by name; their order is the order of the pieces.

    If it asks the question of a survey, `asked` says which: see `sottovoce.curators.survey_task`.
    """

    id: str
    column: str
    query: Query
    epsilon: float
    parties: Parties
    curators: Mapping[str, Card]
    asked: AskedQuestion | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not TASK_ID.fullmatch(self.id):
            raise ParameterError(f"a task must be named in small letters, digits, . - and _, got {self.id!r:.70}")
        for name in self.curators:
            check_name(name)
        if not isinstance(self.column, str) or not 0 < len(self.column) <= 200:
            raise ParameterError(f"a column must be named in up to 200 characters, got {self.column!r:.40}")
        check_epsilon(self.epsilon)
        if len(self.curators) != self.parties.curators:
            raise ParameterError(f"{self.parties.curators} curators must be named, got {len(self.curators)}")
        _check_keys(self.curators.values())
        self.parties.check_size(self.query.size)

    @cached_property
    def noise(self) -> DivisibleLaplace:
        return self.parties.shares(self.epsilon, self.query.sensitivity)

    @cached_property
    def names(self) -> list[str]:
        return list(self.curators)

    @cached_property
    def digest(self) -> str:
        return digest(self.to_dict())

    def seal_info(self, sender: str, receiver: str) -> bytes:
        """What a sealed share is bound to."""
        return canonical.dumps({"task": self.digest, "step": "share", "from": sender, "to": receiver})

    def to_dict(self) -> JsonObject:
        p = self.parties
        return {
            "task": VERSION,
            "id": self.id,
            "column": self.column,
            "query": self.query.to_dict(),
            "epsilon": self.epsilon,
            "threshold": p.threshold,
            "dropouts": p.dropouts,
            "noise": p.noise,
            "sharing": p.sharing,
            "curators": [{"name": name, "key": str(card)} for name, card in self.curators.items()],
            "asked": None if self.asked is None else asdict(self.asked),
        }

    @classmethod
    def from_dict(cls, record: object) -> Self:
        """The task that `to_dict` wrote; anything else is refused."""
        if not isinstance(record, Mapping) or set(record) != TASK_FIELDS or record["task"] != VERSION:
            raise ParameterError(f"a task of version {VERSION} has the fields {', '.join(sorted(TASK_FIELDS))}")
        listed = record["curators"]
        if not isinstance(listed, list) or not all(
            isinstance(one, Mapping) and set(one) == {"name", "key"} for one in listed
        ):
            raise ParameterError("the curators of a task must be a list of names and keys")
        names = [check_name(one["name"]) for one in listed]
        if len(set(names)) < len(names):
            raise ParameterError("a curator must be named once")
        cards = {name: Card.from_text(one["key"]) for name, one in zip(names, listed, strict=True)}
        if record["threshold"] is None or record["dropouts"] is None:
            raise ParameterError("a task must say how many may collude and how many may drop out")
        parties = Parties(len(cards), record["threshold"], record["dropouts"], record["noise"], record["sharing"])
        asked = None if record["asked"] is None else AskedQuestion.from_dict(record["asked"])
        return cls(record["id"], record["column"], query(record["query"]), record["epsilon"], parties, cards, asked)


@dataclass(frozen=True)
class Peer:
    """A curator that one knows: its key, and where it is."""

    card: Card
    url: str


def read_peers(path: Path) -> dict[str, Peer]:
    """The curators in a JSON file: {"name": {"url": "http://...", "key": "..."}}."""
    try:
        record = canonical.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None
    except (ParameterError, ValueError) as error:
        raise FileError(f"{path}: {error}") from None
    if not isinstance(record, dict) or not record:
        raise FileError(f"{path}: must hold the curators by name")
    try:
        peers = {check_name(name): _peer(name, entry) for name, entry in record.items()}
        _check_keys(peer.card for peer in peers.values())
    except SottovoceError as error:
        raise FileError(f"{path}: {error}") from None
    return peers


def _peer(name: str, entry: object) -> Peer:
    if not isinstance(entry, dict) or not {"url", "key"} <= set(entry) or not _is_url(entry["url"]):
        raise ParameterError(f"curator {name!r:.70} must have a url and a key")
    try:
        return Peer(Card.from_text(entry["key"]), entry["url"].rstrip("/"))
    except SealError as error:
        raise ParameterError(f"curator {name!r:.70}: {error}") from None


def _check_keys(cards: Iterable[Card]) -> None:
    keys = list(map(str, cards))
    if len(set(keys)) < len(keys):
        raise ParameterError("every curator must have a key of its own")


def check_name(name: object) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ParameterError(
            f"a name must be up to 64 small letters, digits, dots, dashes and underscores, got {name!r:.70}"
        )
    return name


def _is_url(text: object) -> bool:
    try:
        return isinstance(text, str) and bool(ADDRESS.fullmatch(text)) and urlsplit(text).port != 0
    except ValueError:  # A port that is no number, or an address with a bracket too few.
        return False

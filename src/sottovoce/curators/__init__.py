"""Curators who add up their counts without showing them: each a process with its own data, key, store and ledger."""

from sottovoce.curators.coordinator import Network, federate
from sottovoce.curators.curator import Curator
from sottovoce.curators.data import CuratorData
from sottovoce.curators.identity import Card, Identity
from sottovoce.curators.remote import Remote
from sottovoce.curators.result import FederatedResult
from sottovoce.curators.survey_task import survey_task
from sottovoce.curators.task import AskedQuestion, Peer, Task, read_peers

__all__ = [
    "AskedQuestion",
    "Card",
    "Curator",
    "CuratorData",
    "FederatedResult",
    "Identity",
    "Network",
    "Peer",
    "Remote",
    "Task",
    "federate",
    "read_peers",
    "survey_task",
]

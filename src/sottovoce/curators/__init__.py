"""Curators who add up their counts without showing them: each a process with its own data, key, store and ledger."""

from sottovoce.curators.asking import survey_task
from sottovoce.curators.coordinator import Network, federate
from sottovoce.curators.curator import Curator
from sottovoce.curators.data import Data
from sottovoce.curators.identity import Card, Identity
from sottovoce.curators.remote import Remote
from sottovoce.curators.result import Published
from sottovoce.curators.task import Asked, Peer, Task, read_peers

__all__ = [
    "Asked",
    "Card",
    "Curator",
    "Data",
    "Identity",
    "Network",
    "Peer",
    "Published",
    "Remote",
    "Task",
    "federate",
    "read_peers",
    "survey_task",
]

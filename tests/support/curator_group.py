"""What the tests of curators share: a group of them, in this process or in others, with the Adult occupations."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sottovoce.core.randomness import Keystream
from sottovoce.curators import Card, Curator, CuratorData, FederatedResult, Identity, Remote, Task, read_peers
from sottovoce.demo.adult import MISSING, OCCUPATIONS
from sottovoce.device.http_client import Undelivered
from sottovoce.device.ledger import Ledger
from sottovoce.trust.federated import Histogram, Parties, Query

NAMES = ("north", "east", "south", "west", "centre")
HISTOGRAM = Histogram(tuple(OCCUPATIONS))
PEOPLE = [label for label, count in OCCUPATIONS.items() for _ in range(count)] + [""] * MISSING
LOST = "lost"
TOLERANT: dict[str, Any] = {"threshold": 1, "dropouts": 2}
RUN = "from sottovoce.cli import main; raise SystemExit(main())"


def rows(at: int) -> list[str]:
    """The occupations of one curator's people, who come in turn."""
    return PEOPLE[at :: len(NAMES)]


def truth(names: Any) -> list[int]:
    """The exact counts of some curators' people."""
    people = [person for at, name in enumerate(NAMES) if name in names for person in rows(at)]
    return [people.count(value) for value in OCCUPATIONS]


@cache
def table(at: int) -> str:
    """The file of one curator."""
    return _csv(rows(at), "occupation")


def write(path: Path, answers: list[str], column: str = "occupation") -> Path:
    path.write_text(_csv(answers, column))
    return path


def _csv(answers: list[str], column: str) -> str:
    return "\n".join(["person," + column, *(f"{at},{answer}" for at, answer in enumerate(answers))]) + "\n"


class Group:
    """Curators in this process. `before` a step something may be raised, and `after` it its answer be changed."""

    def __init__(self, folder: Path, data: Mapping[str, Path], budget: float = 10.0, seed: int | None = None) -> None:
        self.folder, self.data, self.budget, self.seed = folder, data, budget, seed
        self.identities = {name: Identity.at(folder / f"{name}.key") for name in data}
        self.cards: dict[str, Card] = {name: one.card for name, one in self.identities.items()}
        self.curators = {name: self.restart(name) for name in data}
        self.asked: list[tuple[str, str, Any]] = []
        self.before: Callable[[str, str, Any], None] = lambda name, step, request: None
        self.after: Callable[[str, str, Any], Any] = lambda name, step, answer: answer

    def restart(self, name: str) -> Curator:
        """A curator that knows what is in its files and no more."""
        stream = None if self.seed is None else Keystream(self.seed + list(self.data).index(name))
        ledger = Ledger(self.folder / f"{name}.sqlite", budget=self.budget)
        return Curator(name, self.identities[name], CuratorData(self.data[name]), ledger, lambda: self.cards, stream)

    def ask(self, name: str, step: str, request: Any) -> Any:
        request = json.loads(json.dumps(request))
        self.asked.append((name, step, request))
        self.before(name, step, request)
        return self.after(name, step, self.curators[name].step(step, request))

    def task(
        self,
        name: str = "jobs",
        query: Query = HISTOGRAM,
        epsilon: float = 1.0,
        column: str = "occupation",
        **parties: Any,
    ) -> Task:
        return Task(name, column, query, epsilon, Parties(len(self.cards), **parties), self.cards)


def killer(victims: Any, at: str) -> Callable[[str, str, Any], None]:
    """Some curators are gone from a step on."""
    steps = ["agree", "share", "confirm", "sum"]

    def before(name: str, step: str, request: Any) -> None:
        if name in victims and steps.index(step) >= steps.index(at):
            raise Undelivered(LOST)

    return before


def adult(folder: Path, seed: int | None = None, budget: float = 10.0) -> Group:
    """Five curators with the occupations of the Adult extract, split by rows."""
    data = {name: folder / f"{name}.csv" for name in NAMES}
    for at, path in enumerate(data.values()):
        path.write_text(table(at))
    return Group(folder, data, budget, seed)


class Processes:
    """Curators in processes of their own, each with a home, started by `sotto curator`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.peers = folder, folder / "peers.json"
        self.running: dict[str, subprocess.Popen[str]] = {}
        self.known: dict[str, Any] = {}

    def start(self, *names: str, more: Sequence[str] = ()) -> None:
        """Start some, with the Adult occupations unless they have a file already."""
        for name in names:
            data = self.folder / f"{name}.csv"
            if not data.exists():
                data.write_text(table(NAMES.index(name)))
            port = str(self.known[name]["url"].rpartition(":")[2]) if name in self.known else "0"
            command = [sys.executable, "-c", RUN, "curator", str(data), "--name", name, "--port", port,
                       "--home", str(self.folder / name), "--peers", str(self.peers), "--json", *more]  # fmt: skip
            self.running[name] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for name in names:
            stdout = self.running[name].stdout
            assert stdout is not None
            card = json.loads("".join(iter(stdout.readline, "}\n")) + "}")
            self.known[name] = {"url": card["url"], "key": card["key"]}
        self.peers.write_text(json.dumps(self.known))

    def kill(self, *names: str) -> None:
        for name in names:
            process = self.running.pop(name)
            process.kill()
            process.wait(30)
            assert process.stdout is not None
            process.stdout.close()


@contextlib.contextmanager
def processes(folder: Path) -> Iterator[Processes]:
    made = Processes(folder)
    try:
        yield made
    finally:
        made.kill(*list(made.running))


class CuratorKiller(Remote):
    """Kills some curators just before a step; those that are to come back do so at the next one."""

    def __init__(self, group: Processes, victims: tuple[str, ...], step: str, back: bool = False) -> None:
        peers = read_peers(group.peers)
        super().__init__({name: peer.url for name, peer in peers.items()}, timeout=30, attempts=1)
        self.cards = {name: peer.card for name, peer in peers.items()}
        self.group, self.victims, self.step, self.back = group, victims, step, back

    def task(self, name: str) -> Task:
        return Task(name, "occupation", HISTOGRAM, 1.0, Parties(5, **TOLERANT), self.cards)

    def ask(self, name: str, step: str, request: Any) -> Any:
        if step == self.step and name == NAMES[0] and not self.back:
            self.group.kill(*(one for one in self.victims if one in self.group.running))
        if step == self.step and name in self.victims:
            if not self.back:
                raise Undelivered("killed")
            self.group.kill(name)
            self.group.start(name)
        return super().ask(name, step, request)


def is_right(result: FederatedResult) -> bool:
    """Whether the total is that of the curators in it, to within what noise does once in 10^12."""
    return bool((abs(result.total - truth(result.curators)) <= result.law.farthest).all())

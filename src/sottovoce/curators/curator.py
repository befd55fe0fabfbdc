"""A curator: it holds some people's answers, and takes part in a task one step at a time.

    agree    it checks the task, and that it knows everybody in it; its share of noise is drawn aside
    share    it charges its ledger, adds that noise to its counts, and seals a piece to each of the others
    confirm  it fixes whose pieces are added up, once and for all
    sum      once enough others fixed the same, it opens the pieces sealed to it, and gives out their sum

What a step gave out is kept in the ledger's file (see `steps`), written before it is given out: asked again, after a
crash too, the curator gives out the same bytes and charges nothing. Asked for something else in the same task, it
refuses: with two sums over different groups, what lies between them would be told. The counts themselves are never
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sottovoce.core.errors import FileError, ParameterError, Refusal, ReportError
from sottovoce.core.lazy import numpy as np
from sottovoce.core.randomness import Keystream
from sottovoce.curators.data import CuratorData
from sottovoce.curators.identity import Card, Identity, digest, from_base64, to_base64
from sottovoce.curators.noise_ahead import NoiseAhead
from sottovoce.curators.steps import AGREE, CONFIRM, SHARE, SUM, KeptSteps, Message
from sottovoce.curators.survey_task import Clock, check_asked, now
from sottovoce.curators.task import Task, check_name
from sottovoce.device.ledger import Ledger
from sottovoce.survey import Survey
from sottovoce.trust.federated.sharing import MAX_COUNT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

COUNT_BYTES = 8
"""Bytes of each count in a piece."""


class Curator:
    """One curator. `peers` gives the keys of those it knows, itself among them, whenever a task is proposed.

    It takes part only in tasks that hold against at least `threshold` of the others together: whoever proposes a task
    chooses its threshold, and might work with more of them. If it has `surveys`, it takes part in their questions
    alone, asked as they say.
    """

    def __init__(
        self,
        name: str,
        identity: Identity,
        data: CuratorData,
        ledger: Ledger,
        peers: Callable[[], Mapping[str, Card]],
        stream: Keystream | None = None,
        threshold: int = 1,
        surveys: Sequence[Survey] = (),
        clock: Clock = now,
    ) -> None:
        self.name, self.identity, self.data, self.ledger, self.peers = check_name(name), identity, data, ledger, peers
        self._stream, self.threshold, self.surveys, self.clock = stream, threshold, surveys, clock
        self._noise = NoiseAhead(stream)

    def step(self, name: str, request: object) -> Message:
        """The answer to one step of a task."""
        fields = {"agree": ["task"], "share": ["roster", "task"], "confirm": ["manifests", "task"],
                  "sum": ["confirmations", "sealed", "task"]}  # fmt: skip
        if not isinstance(request, Mapping) or sorted(request) != fields[name]:
            raise ParameterError(f"the step {name} takes {', '.join(fields[name])}")
        run: Callable[..., Message] = getattr(self, name)
        return run(**request)

    def agree(self, task: object) -> Message:
        """Take part in a task, if it is one that this curator would charge its people for."""
        asked = Task.from_dict(task)
        with self.ledger.transaction() as entries:
            steps = KeptSteps(entries)
            if kept := steps.find(asked.digest, AGREE):
                return dict(kept["message"])
            self._check(asked)
            entries.pin(asked.id, asked.digest)
            entries.refuse_beyond_budget(self._cost(asked))
            self._noise.prepare(asked)
            message = self._signed(asked, AGREE, {"agreed": True})
            return steps.keep(asked.digest, AGREE, {"message": message, "task": asked.to_dict()})

    def _check(self, task: Task) -> None:
        known = self.peers()
        if task.curators.get(self.name) != self.identity.card:
            raise Refusal(f"the task does not name {self.name} with its key")
        for name, card in task.curators.items():
            if name != self.name and known.get(name) != card:
                raise Refusal(f"{name} is not known here with the key that the task names")
        if task.parties.threshold < self.threshold:
            raise Refusal(f"the threshold must be at least {self.threshold} here, got {task.parties.threshold}")
        if self.surveys:
            check_asked(task, self.surveys, self.clock)
        self.data.check(task.column)

    def _cost(self, task: Task) -> dict[str, float]:
        return {task.column: task.noise.epsilon}

    def share(self, task: object, roster: object) -> Message:
        """Charge the ledger, and give out a sealed piece of the noisy counts for each curator on the roster."""
        with self._transaction(task) as (steps, asked):
            receivers = _roster(asked, roster)
            if kept := steps.find(asked.digest, SHARE):
                if kept["message"]["body"]["roster"] != receivers:
                    raise Refusal("pieces were made for another roster already: a task is carried out once")
                return dict(kept)
            if self.name not in receivers:
                raise Refusal(f"{self.name} is not on the roster")
            self._check(asked)  # What its owner allows may have changed since it agreed.
            steps.entries.charge(asked.id, asked.digest, 0, self._cost(asked))
            pieces, rows = self._pieces(asked)
            sealed = {name: self._seal(asked, name, pieces) for name in receivers}
            commitments = {name: digest(data) for name, data in sealed.items()}
            body = {"commitments": commitments, "roster": receivers, "rows": rows}
            answer = {"message": self._signed(asked, SHARE, body),
                      "sealed": {name: to_base64(data) for name, data in sealed.items()}}  # fmt: skip
            steps.keep(asked.digest, SHARE, answer)
            return answer

    def _pieces(self, task: Task) -> tuple[NDArray[np.uint64], int]:
        noise = self._noise.take(task)  # Drawn before it was asked for: its time would tell how large it is.
        try:
            counts, rows = self.data.count(task.column, task.query)
        except FileError:
            raise Refusal(f"the column {task.column!r:.80} cannot be counted") from None
        return task.parties.scheme().split(counts + noise, self._stream or Keystream()), rows

    def _seal(self, task: Task, receiver: str, pieces: NDArray[np.uint64]) -> bytes:
        piece = pieces[task.names.index(receiver)].astype("<u8").tobytes()
        return task.curators[receiver].sealing.seal(piece, info=task.seal_info(self.name, receiver))

    def confirm(self, task: object, manifests: object) -> Message:
        """Fix the senders whose pieces are added up. There is no second choice."""
        with self._transaction(task) as (steps, asked):
            mine = steps.find(asked.digest, SHARE)
            if mine is None:
                raise Refusal("no pieces were given out in this task")
            checked = check_manifests(asked, manifests)
            transcript = digest(checked)
            if kept := steps.find(asked.digest, CONFIRM):
                if kept["message"]["body"]["transcript"] != transcript:
                    raise Refusal("another group was confirmed already: a task is carried out once")
                return dict(kept["message"])
            if mine["message"] not in checked:
                raise Refusal("the pieces of this curator are not among those to be added up")
            message = self._signed(asked, CONFIRM, {"transcript": transcript})
            return steps.keep(asked.digest, CONFIRM, {"message": message, "manifests": checked})

    def sum(self, task: object, confirmations: object, sealed: object) -> Message:
        """The sum of the pieces sealed to this curator, after enough curators confirmed the same group."""
        with self._transaction(task) as (steps, asked):
            if kept := steps.find(asked.digest, SUM):
                return dict(kept["message"])
            confirmed = steps.find(asked.digest, CONFIRM)
            if confirmed is None:
                raise Refusal("no group was confirmed in this task")
            transcript = confirmed["message"]["body"]["transcript"]
            check_confirmations(asked, confirmations, transcript, [one["from"] for one in confirmed["manifests"]])
            total = self._added(asked, confirmed["manifests"], sealed)
            body = {"sum": to_base64(total.astype("<u8").tobytes()), "transcript": transcript}
            return steps.keep(asked.digest, SUM, {"message": self._signed(asked, SUM, body)})

    def _added(self, task: Task, manifests: list[Message], sealed: object) -> NDArray[np.uint64]:
        if not isinstance(sealed, Mapping) or sorted(sealed) != sorted(one["from"] for one in manifests):
            raise ReportError("there must be a sealed piece of each curator in the confirmed group")
        scheme = task.parties.scheme()
        total = np.zeros(task.query.size, dtype=np.uint64)
        for manifest in manifests:
            total = scheme.add(total, self._opened(task, manifest, from_base64(sealed[manifest["from"]])))
        return total

    def _opened(self, task: Task, manifest: Message, sealed: bytes) -> NDArray[np.uint64]:
        sender = manifest["from"]
        if digest(sealed) != manifest["body"]["commitments"][self.name]:
            raise ReportError(f"the sealed piece of {sender} is not the one it committed itself to")
        data = self.identity.key.open(sealed, info=task.seal_info(sender, self.name))
        if len(data) != COUNT_BYTES * task.query.size:
            raise ReportError(f"the piece of {sender} has the wrong length")
        piece = np.frombuffer(data, dtype="<u8").astype(np.uint64)
        task.parties.scheme().check(piece)
        return piece

    @contextmanager
    def _transaction(self, task: object) -> Iterator[tuple[KeptSteps, Task]]:
        """The steps that were taken, and the task that was agreed on."""
        with self.ledger.transaction() as entries:
            steps = KeptSteps(entries)
            kept = steps.find(task, AGREE) if isinstance(task, str) else None
            if kept is None:
                raise Refusal("this task was not agreed on")
            yield steps, Task.from_dict(kept["task"])

    def _signed(self, task: Task, step: str, body: object) -> Message:
        return self.identity.signed(task.digest, step, self.name, body)


def _roster(task: Task, roster: object) -> list[str]:
    """Names in the order of the task, each once, and enough of them."""
    if not isinstance(roster, list) or [name for name in task.names if name in roster] != roster:
        raise ParameterError("a roster must list curators of the task in its order")
    if len(roster) < task.parties.least:
        raise Refusal(f"{task.parties.least} curators must take part, got {len(roster)}")
    return roster


def check_manifests(task: Task, manifests: object) -> list[Message]:
    """The signed manifests of enough curators, in the order of the task, all for the same roster."""
    if not isinstance(manifests, list) or not all(isinstance(one, Mapping) for one in manifests):
        raise ReportError("manifests must be a list of messages")
    senders = _roster(task, [one.get("from") for one in manifests])
    for sender, message in zip(senders, manifests, strict=True):
        check_manifest(task, sender, message)
    rosters = [message["body"]["roster"] for message in manifests]
    if any(roster != rosters[0] for roster in rosters) or not set(senders) <= set(rosters[0]):
        raise ReportError("all pieces must have been made for one roster, by curators on it")
    people = sum(message["body"]["rows"] for message in manifests)
    if task.asked is not None and people < task.asked.minimum:
        raise Refusal(f"by its survey at least {task.asked.minimum:,} people must be in a result, got {people:,}")
    return [dict(message) for message in manifests]


def check_manifest(task: Task, sender: str, message: object) -> None:
    """Check what a curator says of the pieces it gave out."""
    body = task.curators[sender].verified(message, task.digest, "share", sender)
    if not isinstance(body, Mapping) or sorted(body) != ["commitments", "roster", "rows"]:
        raise ReportError("a manifest has commitments, a roster and a number of rows")
    rows = body["rows"]
    if type(rows) is not int or rows < 0 or task.query.most(rows) > MAX_COUNT:
        raise ReportError(f"{sender} has too many rows for its counts to be added up")
    if not isinstance(body["commitments"], Mapping) or sorted(body["commitments"]) != sorted(
        _roster(task, body["roster"])
    ):
        raise ReportError(f"{sender} must commit itself to a piece for everybody on the roster")


def check_confirmations(task: Task, confirmations: object, transcript: str, group: list[str]) -> None:
    """Check that enough of a group confirmed it."""
    if not isinstance(confirmations, list) or not all(isinstance(one, Mapping) for one in confirmations):
        raise ReportError("confirmations must be a list of messages")
    for sender, message in zip(_roster(task, [one.get("from") for one in confirmations]), confirmations, strict=True):
        body = task.curators[sender].verified(message, task.digest, "confirm", sender)
        if sender not in group or body != {"transcript": transcript}:
            raise Refusal(f"{sender} confirmed another group")

"""The coordinator: it carries messages between curators who need not trust it, and publishes what they unmask.

It sees sealed pieces and, at the end, sums of pieces, which tell the noisy total and nothing else. A curator that does
not answer, refuses or answers wrongly has dropped out. While enough are left the task goes on; otherwise it is refused,
and nothing is published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from sottovoce.core.canonical import JsonObject
from sottovoce.core.errors import Refusal, ReportError, SottovoceError
from sottovoce.core.lazy import numpy as np
from sottovoce.curators.curator import check_manifest, check_manifests
from sottovoce.curators.identity import digest, from_base64
from sottovoce.curators.result import FederatedResult
from sottovoce.curators.steps import Message
from sottovoce.curators.task import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_REQUESTS_AT_ONCE = 16

T = TypeVar("T")


class Network(Protocol):
    """How a curator is asked for a step of a task. Its answer is not checked yet."""

    def ask(self, name: str, step: str, request: JsonObject) -> object: ...


@dataclass
class TaskRun:
    """A task under way: who is left, and why the others are not."""

    task: Task
    network: Network
    dropped: dict[str, str] = field(default_factory=dict)

    def result(self, level: float = 0.95) -> FederatedResult:
        """Take the task through its four steps."""
        agreed = self._all("agree", self.task.names, lambda _: {"task": self.task.to_dict()}, self._agreed)
        self._need(agreed, self.task.parties.least)
        roster = [name for name in self.task.names if name in agreed]
        request = {"task": self.task.digest, "roster": roster}
        shares = self._all("share", roster, lambda _: request, lambda name, answer: self._shared(name, answer, roster))
        self._need(shares, self.task.parties.least)
        group = [name for name in roster if name in shares]
        manifests = check_manifests(self.task, [shares[name]["message"] for name in group])
        sums = self._unmask(shares, group, manifests)
        total = self._total(sums, manifests)
        rows = {name: shares[name]["message"]["body"]["rows"] for name in group}
        return FederatedResult(self.task, tuple(group), dict(self.dropped), rows, total, level)

    def _unmask(
        self, shares: Mapping[str, JsonObject], group: list[str], manifests: list[Message]
    ) -> dict[str, NDArray[np.uint64]]:
        transcript = digest(manifests)
        request = {"task": self.task.digest, "manifests": manifests}
        confirmed = self._all("confirm", group, lambda _: request, lambda name, answer: self._about_group(
            "confirm", name, answer, transcript))  # fmt: skip
        self._need(confirmed, self.task.parties.least)
        confirmations = [confirmed[name] for name in group if name in confirmed]

        def sealed(name: str) -> JsonObject:
            pieces = {sender: shares[sender]["sealed"][name] for sender in group}
            return {"task": self.task.digest, "confirmations": confirmations, "sealed": pieces}

        names = [name for name in group if name in confirmed]
        sums = self._all("sum", names, sealed, lambda name, answer: self._piece(
            self._about_group("sum", name, answer, transcript)))  # fmt: skip
        self._need(sums, self.task.parties.scheme().needed)
        return sums

    # Asking, and what an answer must be.

    def _all(
        self, step: str, names: Iterable[str], request: Callable[[str], JsonObject], check: Callable[[str, object], T]
    ) -> dict[str, T]:
        """The checked answers of those who gave one; the others have dropped out."""
        wanted = list(names)
        with ThreadPoolExecutor(min(MAX_REQUESTS_AT_ONCE, max(len(wanted), 1))) as pool:
            answers = pool.map(lambda name: self._one(step, name, request, check), wanted)
            return {name: answer for name, answer in zip(wanted, answers, strict=True) if answer is not None}

    def _one(
        self, step: str, name: str, request: Callable[[str], JsonObject], check: Callable[[str, object], T]
    ) -> T | None:
        try:
            return check(name, self.network.ask(name, step, request(name)))
        except SottovoceError as error:
            self.dropped[name] = f"{step}: {error}"
            return None

    def _need(self, left: Mapping[str, object], least: int) -> None:
        if len(left) < least:
            dropped = {name: self.dropped[name] for name in self.task.names if name in self.dropped}
            said = f"{least} curators are needed, {len(left)} are left, and nothing is published"
            raise Refusal(f"{said} ({by_reason(dropped):.600})")

    def _agreed(self, name: str, answer: object) -> bool:
        if self.task.curators[name].verified(answer, self.task.digest, "agree", name) != {"agreed": True}:
            raise ReportError("did not agree")
        return True

    def _shared(self, name: str, answer: object, roster: list[str]) -> JsonObject:
        if not isinstance(answer, Mapping) or set(answer) != {"message", "sealed"}:
            raise ReportError("an answer must have a message and sealed pieces")
        check_manifest(self.task, name, answer["message"])
        body, sealed = answer["message"]["body"], answer["sealed"]
        if body["roster"] != roster or not isinstance(sealed, Mapping) or set(sealed) != set(roster):
            raise ReportError("the pieces are for another roster")
        if any(digest(from_base64(sealed[receiver])) != body["commitments"][receiver] for receiver in roster):
            raise ReportError("a piece is not the one that was committed to")
        return dict(answer)

    def _about_group(self, step: str, name: str, answer: object, transcript: str) -> Message:
        """The message of a curator, if it is about the group of this transcript."""
        body = self.task.curators[name].verified(answer, self.task.digest, step, name)
        if not isinstance(answer, Mapping) or not isinstance(body, Mapping) or body.get("transcript") != transcript:
            raise ReportError("the answer is about another group")
        return dict(answer)

    # The total.

    def _total(self, sums: Mapping[str, NDArray[np.uint64]], manifests: list[Message]) -> NDArray[np.int64]:
        """The noisy total, if all pieces agree and it lies where noise can have brought it."""
        try:
            total = self.task.parties.scheme().join({self.task.names.index(name): sums[name] for name in sums})
        except ReportError as error:
            raise Refusal(f"nothing is published: {error}") from None
        rows = sum(message["body"]["rows"] for message in manifests)
        slack = self.task.noise.law(len(manifests)).farthest
        if int(total.min()) < -slack or int(total.max()) > self.task.query.most(rows) + slack:
            raise Refusal(
                "nothing is published: a total is out of range, so that at least one curator's piece is wrong"
            )
        return total

    def _piece(self, answer: Message) -> NDArray[np.uint64]:
        data = from_base64(answer["body"].get("sum"))
        if len(data) != 8 * self.task.query.size:
            raise ReportError("a sum of pieces has the wrong length")
        piece = np.frombuffer(data, dtype="<u8").astype(np.uint64)
        self.task.parties.scheme().check(piece)
        return piece


def by_reason(reasons: Mapping[str, str]) -> str:
    """Who gave which reason, with each said once.

    >>> by_reason({"north": "no answer", "east": "refused", "south": "no answer"})
    'north, south: no answer; east: refused'
    """
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(who)}: {reason}" for reason, who in names.items())


def federate(task: Task, network: Network, level: float = 0.95) -> FederatedResult:
    """Carry a task out with the curators it names; `Refusal` if too few of them are left for an answer."""
    return TaskRun(task, network).result(level)

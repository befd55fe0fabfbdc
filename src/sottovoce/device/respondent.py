"""The device of one person, with the standard library alone. It protects its owner from the server.

>>> import tempfile
>>> from sottovoce.survey import Survey
>>> survey = Survey.from_dict({
...     "sottovoce": 1, "id": "sleep", "title": "Sleep", "budget": 1,
...     "questions": [{"id": "pills", "text": "Do you take sleeping pills?", "kind": "yes_no"}],
... }).publish()
>>> folder = tempfile.TemporaryDirectory()
>>> me = Respondent(store=folder.name + "/me.sqlite", budget=2.0)
>>> body = me.answer(survey, {"pills": "no"})
>>> body == me.answer(survey, {"pills": "no"})  # One answer, one draw.
True
>>> round(me.ledger.spent, 6)
1.0
>>> folder.cleanup()
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from typing import TYPE_CHECKING

from sottovoce.core.errors import DomainError, ParameterError, Refusal, SottovoceError
from sottovoce.core.randomness import SYSTEM, Source, blur_time
from sottovoce.device import envelope, wire
from sottovoce.device.drafts import Draft, Drafts
from sottovoce.device.hiding import Hiding
from sottovoce.device.ledger import Entries, Ledger
from sottovoce.device.personal_key import PersonalKey
from sottovoce.device.review import Price, Review, memories_of, price, still_ahead
from sottovoce.device.wire import Sendable
from sottovoce.mechanisms.longitudinal.base import Longitudinal
from sottovoce.survey import Survey

if TYPE_CHECKING:
    from sottovoce.mechanisms.longitudinal.base import Memory

MAX_ANSWER_CHARACTERS = 2**16
"""The most characters that the text of an answer may have; no domain needs more."""


class Respondent:
    """A person's device: it answers surveys from a durable store, within the person's budget.

    A survey may come as a `Survey` or as the bytes of a published one. `pins` holds the digests that are expected, by
    the id of the survey; without one, the first digest seen of a survey is pinned by the store. With a personal `key`
    every draw follows from it, so that another device with the same key, or this one after its store was lost, sends
    the same report. The key, a `passphrase` or else the system's `keyring` also hides which values permanent answers
    in the store belong to.
    """

    def __init__(
        self,
        store: str | PathLike[str],
        budget: float | None = None,
        delta: float | None = None,
        unit: float | None = None,
        pins: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        key: PersonalKey | None = None,
        passphrase: str | None = None,
        keyring: bool = True,
    ) -> None:
        self.ledger = Ledger(store, budget, delta, unit)
        self.key = _check_key(key)
        self.hiding = Hiding(self.key, passphrase, keyring)
        self.pins = dict(pins or {})
        self.clock = clock

    def review(self, survey: Survey | bytes, wave: int | None = None) -> Review:
        """What a wave of the survey would cost and whether it would be answered. Nothing is drawn, charged or kept.

        Without a wave it is about one for which nothing was drawn yet. It is not told the answers: where a value that
        was held before costs less than a new one, it says both.
        """
        survey = load(survey)
        if wave is not None:
            _check_wave(survey, wave)
        with self.ledger.transaction() as entries:
            if wave is not None and entries.report(survey.digest, wave) is not None:
                nothing = {question.id: 0.0 for question in survey.questions}
                return Review(survey, nothing, nothing, entries.left(), None, answered=True)
            asked = price(entries, survey, wave)
            refusal = self._refusal(entries, survey, asked, asked.least, asked.set_aside)
            dearer = None
            if refusal is None:
                dearer = self._refusal(entries, survey, asked, asked.most, asked.set_aside_after_new)
            left = entries.left()
        return Review(survey, asked.with_debts(asked.most), asked.with_debts(asked.least), left, refusal, dearer)

    def _refusal(
        self, entries: Entries, survey: Survey, asked: Price, costs: Mapping[str, float], set_aside: Sequence[float]
    ) -> str | None:
        try:
            self._check(survey)
            entries.refuse_changed(survey.id, survey.digest)
            entries.refuse_beyond_budget(costs, [*asked.debts, *set_aside])
        except Refusal as error:
            return str(error)
        return None

    def preview(
        self,
        survey: Survey | bytes,
        answers: Mapping[str, object],
        wave: int = 0,
        covariates: Mapping[str, object] | None = None,
    ) -> Sendable:
        """The very bytes that `answer` will give. They are drawn and kept, but not charged.

        The answers are final from then on: a later `preview` or `answer` of the wave gives these bytes, whatever the
        answers are then. Who looks and does not send biases the estimate.
        """
        survey = load(survey)
        _check_wave(survey, wave)
        with self.ledger.transaction() as entries:
            kept = _released(entries, survey, wave)
            if kept is not None:
                return kept
            draft = self._draft(entries, survey, answers, wave, covariates)
        return envelope.sendable(survey, draft.body, draft.submission)

    def drawn(self, survey: Survey | bytes, wave: int = 0) -> Sendable | None:
        """What was drawn for a wave, sent or not; None as long as its answers may still change."""
        survey = load(survey)
        _check_wave(survey, wave)
        with self.ledger.transaction() as entries:
            kept, draft = _released(entries, survey, wave), Drafts(entries, survey.digest).get(wave)
        if kept is not None:
            return kept
        return None if draft is None else envelope.sendable(survey, draft.body, draft.submission)

    def answer(
        self,
        survey: Survey | bytes,
        answers: Mapping[str, object],
        wave: int = 0,
        covariates: Mapping[str, object] | None = None,
    ) -> Sendable:
        """The bytes to send: randomized, charged and kept before they are handed out, and sealed for a shuffler.

        A wave is answered once. Asked again, with whatever answers, the device gives the same bytes.
        """
        survey = load(survey)
        _check_wave(survey, wave)
        with self.ledger.transaction() as entries:
            kept = _released(entries, survey, wave)
            if kept is not None:
                return kept
            draft = self._draft(entries, survey, answers, wave, covariates)
            memories = memories_of(entries, survey)
            Drafts(entries, survey.digest).release(survey.id, wave, draft, memories, still_ahead(survey, memories))
        return envelope.sendable(survey, draft.body)

    def _check(self, survey: Survey) -> None:
        expected = self.pins.get(survey.id, survey.digest)
        if survey.digest != expected:
            raise Refusal(f"survey {survey.id} must have the pinned digest {expected}, got {survey.digest}")
        if survey.federated is not None:
            raise Refusal(
                f"survey {survey.id} is for curators, to whom its answers are given: no device sends a report"
            )
        if survey.shuffle is not None:
            envelope.refuse_unless_sealing_works(survey)
        if survey.expires is not None and self._now() >= survey.expires:
            raise Refusal(f"survey {survey.id} expired at {survey.expires.isoformat()}")

    def _now(self) -> datetime:
        now = self.clock()
        if not isinstance(now, datetime) or now.utcoffset() is None:
            raise ParameterError(f"clock must give a datetime with a time zone, got {now!r:.60}")
        return now

    def _draft(
        self,
        entries: Entries,
        survey: Survey,
        answers: Mapping[str, object],
        wave: int,
        covariates: Mapping[str, object] | None,
    ) -> Draft:
        """One draw for each question and wave. Asked again, about whatever answers, the same draft."""
        self._check(survey)
        entries.pin(survey.id, survey.digest)
        drafts = Drafts(entries, survey.digest)
        draft = drafts.get(wave)
        if draft is None:
            entries.bind_key(survey.id, self.key.for_survey(survey.digest).name if self.key else None)
            _check_answers(survey, answers)
            public = wire.check_covariates(covariates or {}, survey)
            draft, memories = self._draw(entries, survey, answers, wave, public)
            drafts.keep(wave, draft, memories, still_ahead(survey, memories))
        return draft

    def _draw(
        self, entries: Entries, survey: Survey, answers: Mapping[str, object], wave: int, public: Mapping[str, str]
    ) -> tuple[Draft, dict[str, Memory]]:
        """A new draft, and what each mechanism that remembers something has to remember."""
        reports, costs, memories = {}, {}, {}
        for question in survey.questions:
            mechanism, value = question.mechanism, answers.get(question.id)
            try:
                source = self._source(survey, question.id, wave, value)
                if isinstance(mechanism, Longitudinal):
                    hide = self.hiding.names(entries, survey.digest, question.id)
                    memory = entries.memory(survey.digest, question.id)
                    memory = mechanism.begin(source) if memory is None else memory
                    step = mechanism.step(value, memory, source, wave, hide)
                    report, cost, memories[question.id] = step.report, step.epsilon, step.memory
                else:
                    report, cost = mechanism._perturb(mechanism._encode(value, source), source), mechanism.epsilon
            except SottovoceError as error:
                raise type(error)(f"{question.id}: {error}") from None
            blur_time()
            reports[question.id], costs[question.id] = report, cost
        submission = wire.encode(wire.Submission(self._id(survey, wave), survey.digest, wave, reports, public))
        if survey.shuffle is None:
            return Draft(submission, None, costs), memories
        return Draft(envelope.seal(survey, submission), submission, costs), memories

    def _source(self, survey: Survey, question: str, wave: int, value: object) -> Source:
        """Where the draws of a question come from: the operating system, or the personal key."""
        return self.key.for_survey(survey.digest).source(question, wave, value) if self.key else SYSTEM

    def _id(self, survey: Survey, wave: int) -> str:
        return self.key.for_survey(survey.digest).report_id(wave) if self.key else secrets.token_hex(16)


def _check_key(key: object) -> PersonalKey | None:
    if key is not None and not isinstance(key, PersonalKey):
        raise ParameterError(f"a personal key must be a PersonalKey, got {type(key).__name__}")
    return key


def _released(entries: Entries, survey: Survey, wave: int) -> Sendable | None:
    """What was charged and handed out for a wave. Older versions kept it unsealed: it is sealed then, once."""
    body = entries.report(survey.digest, wave)
    if body is not None and survey.shuffle is not None and len(body) != envelope.outer_size(survey):
        envelope.refuse_unless_sealing_works(survey)
        body = envelope.seal(survey, body)
        entries.replace_report(survey.digest, wave, body)
    return None if body is None else envelope.sendable(survey, body)


def load(survey: Survey | bytes) -> Survey:
    """A published survey. Its costs have been recomputed from its exact probabilities."""
    if isinstance(survey, bytes | bytearray):
        survey = Survey.loads(bytes(survey))
    if not isinstance(survey, Survey):
        raise ParameterError(f"a survey must be a Survey or the bytes of one, got {type(survey).__name__}")
    if not survey.published:
        raise Refusal(f"survey {survey.id} is a draft: a device answers published surveys only")
    return survey


def _check_wave(survey: Survey, wave: object) -> None:
    if type(wave) is not int or not 0 <= wave < survey.waves:
        raise ParameterError(f"a wave of survey {survey.id} must be from 0 to {survey.waves - 1}, got {wave!r:.40}")


def _check_answers(survey: Survey, answers: object) -> None:
    if not isinstance(answers, Mapping):
        raise ParameterError(f"answers must be a mapping from questions, got {type(answers).__name__}")
    unknown = set(answers) - {question.id for question in survey.questions}
    if unknown:
        raise DomainError(f"survey {survey.id} has no question {min(map(str, unknown))!r:.60}")
    for question, answer in answers.items():
        if isinstance(answer, str) and len(answer) > MAX_ANSWER_CHARACTERS:
            raise DomainError(
                f"{question}: an answer must have at most {MAX_ANSWER_CHARACTERS:,} characters, got {len(answer):,}"
            )
    try:
        json.dumps(
            list(answers.items()), default=repr
        )  # An answer that JSON cannot write could not be shown in an error either.
    except (TypeError, ValueError, RecursionError):
        raise DomainError("answers must be text, numbers, truth values or lists of them, got something else") from None

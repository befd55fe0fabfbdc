"""The collector as an ASGI application: it takes reports in, keeps them, and shows estimates to those who may see them.

It answers ASGI itself: a dozen routes need no framework, and the fastest one would halve the reports it takes in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Unpack

from sottovoce.collector import intake, openapi
from sottovoce.collector.access import Access
from sottovoce.collector.api import Api
from sottovoce.collector.batches import Batches
from sottovoce.collector.differences import Differences
from sottovoce.collector.estimate_worker import Estimator
from sottovoce.collector.live import Live
from sottovoce.collector.pages import Pages
from sottovoce.collector.records import Block, StoredSurvey
from sottovoce.collector.store import Store
from sottovoce.collector.traffic import Traffic
from sottovoce.core.sealing import PrivateKey
from sottovoce.web.block_outcome import BlockOutcome
from sottovoce.web.http import Problem, Request
from sottovoce.web.limits import AddressQuota
from sottovoce.web.service import Limits, Service

if TYPE_CHECKING:
    from sottovoce.collector.tallies import Vectors


class Collector(Service[Block]):
    """The service over one store. Every limit is an argument, also those of `Limits`; None for `rate` means no limit.

    `max_json`, `max_lines` and `max_body` are the most bytes of reports in one request: of JSON, of lines of JSON, of
    columns. `max_streams` is how many may watch results at a time, `streams_per_address` how many from one address.

    `public_estimates` shows estimates to everybody, still none from fewer reports than the survey's minimum. `origins`
    is the value of Access-Control-Allow-Origin for what browsers may ask for: to fetch surveys and to send reports.

    `keys` open what shufflers pass on, to the surveys that name their public halves.

    `router.add` takes tables of further routes. Their handlers find all they need here: `find` a survey, read a bounded
    `body`, `add` a block of reports, `access` to ask for a token, and `ending`, which is set when the server ends.
    """

    cheap = {"/assets/": 0.02}  # noqa: RUF012
    """A page loads some twenty files, and a class of sixty may share one address: files hardly count."""

    open_to_pages = frozenset(
        ["/v1/surveys/{id}", "/v1/surveys/{id}/guarantee", "/v1/surveys/{id}/reports", "/openapi.json"]
    )

    def __init__(
        self,
        store: Store,
        *,
        public_estimates: bool = False,
        max_body: int = 2**24,
        max_lines: int = 2**22,
        max_json: int = 2**20,
        max_reports: int = 100_000,
        max_streams: int = 1_000,
        streams_per_address: int = 200,
        keys: Sequence[PrivateKey] = (),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        **limits: Unpack[Limits],
    ) -> None:
        super().__init__(store, **limits)
        self.store, self.public_estimates, self.clock = store, public_estimates, clock
        sizes = {intake.ARROW: max_body, intake.LINES: max_lines, intake.JSON: max_json}
        self.max_body = {kind: min(size, max_body) for kind, size in sizes.items()}
        self.max_reports = max_reports
        self.access, self.traffic, self.live = Access(store), Traffic(), Live(self)
        self.streams = AddressQuota(max_streams, streams_per_address)
        self.estimator = Estimator()
        self.router.add(Api(self).routes())
        self.router.add(Batches(self, keys).routes())
        self.router.add(openapi.routes(self.origins))
        self.router.add(Pages(self).routes())
        self.router.add(self.live.routes())
        self.router.add(Differences(self).routes())

    def stop(self) -> None:
        self.estimator.close()
        super().stop()

    def gauges(self) -> dict[str, int]:
        return {**super().gauges(), "streams": len(self.streams)}

    # What handlers need.

    async def find(self, name: str) -> StoredSurvey:
        """A survey by its id; a `Problem` if there is none."""
        found = self.store.known(name) or await asyncio.to_thread(self.store.survey, name)
        if found is None:
            raise Problem(404, "no_survey", f"there is no survey {name!r:.70}", self.origins)
        return found

    def expired(self, to: StoredSurvey) -> bool:
        return to.survey.expires is not None and self.clock() >= to.survey.expires

    def vectors(self, to: StoredSurvey, wave: int | None = None) -> Vectors:
        """The counts of a survey. If it has ended, the last groups of reports by invitation are closed first."""
        if to.invited:
            self.store.settle(to, self.expired(to))
        return self.store.vectors(to, wave)

    async def admit(self, request: Request) -> None:
        """Let in whoever may see estimates; a `Problem` for others."""
        if not self.public_estimates:
            await self.access.require(request, "analyst", "admin")

    def count_taken(self, to: StoredSurvey, outcome: BlockOutcome) -> None:
        """Count reports that were taken in: for `/metrics`, and for those who look at results."""
        self.metrics.add("accepted", count=outcome.accepted)
        self.metrics.add("duplicates", count=outcome.duplicates)
        self.traffic.taken(to.survey.id, outcome.accepted, outcome.duplicates)

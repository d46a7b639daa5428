"""Connects the race guard of a live scheduler to its events, metrics and reports."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from pilotage.app.core import Core
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.watch.rejection_inquiry import RejectionInquiry
from pilotage.config import handshake
from pilotage.config.handshake import Annotations, Contention
from pilotage.model.pod import Pod
from pilotage.scheduling.sharing.sharing_page import sharing_page
from pilotage.telemetry.metrics import Metrics

REPORT_EVERY = 60.0  # seconds
MOST_REPORTED = 50  # profiles; annotations share one size limit

Annotate = Callable[[Annotations], None]


class RaceWatching:
    """Inquires about lost pods while leading, counts for metrics, and reports profiles with too many rejections."""

    def __init__(
        self, core: Core, api: ApiClient, may_act: Callable[[], bool], annotate: Annotate, clock: Callable[[], float]
    ) -> None:
        self._core = core
        self._may_act = may_act
        self._annotate = annotate
        self._clock = clock
        self._inquiry = RejectionInquiry(api, core.guard.rejected)
        core.pods.on_lost.connect(self._lost)

    def measure(self, metrics: Metrics) -> None:
        """Register the sources of the metrics."""
        guard, looks = self._core.guard, self._core.bindings.bind_check
        metrics.read_sharing(
            rejections=lambda: guard.rejections,
            foreign_binds=lambda: guard.foreign.total,
            checks=lambda: looks.results,
        )

    def jobs(self) -> list[Coroutine[Any, Any, None]]:
        """Return the background tasks."""
        return [self._inquiry.run(), self._report()]

    def page(self) -> str:
        """Return the page about races."""
        checks = self._core.bindings.bind_check.results
        return sharing_page(self._core.guard, self._core.cache, checks, self._clock())

    def contended(self) -> dict[str, Contention]:
        """Return binds and rejections of the profiles with too many rejections, in the operator's format."""
        found, now = self._core.guard.contention, self._clock()
        names = [name for name, each in found.items() if name in self._core.engines and each.is_too_much(now)]
        return {name: Contention(*found[name].counts(now)) for name in sorted(names)[:MOST_REPORTED]}

    def _lost(self, pod: Pod) -> None:
        if self._may_act():  # a standby replica would record a second event
            self._inquiry.ask_about(pod)

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(REPORT_EVERY)
            found = self.contended() if self._may_act() else {}
            self._annotate(handshake.contended(found))

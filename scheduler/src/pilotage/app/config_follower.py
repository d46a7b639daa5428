"""Follows the ConfigMap with our configuration: every new text is applied, and our pod reports what runs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from pilotage.app.reloading import NeedsRestart, NotListed
from pilotage.cluster.watch.config_map import ConfigMap
from pilotage.cluster.watch.watch_events import ObjectIdentity
from pilotage.config import handshake
from pilotage.config.faults import InvalidConfiguration
from pilotage.config.handshake import (
    FAILING,
    NEEDS_RESTART,
    REFUSED,
    RESTART,
    STRATEGY,
    Annotations,
    InvalidUnit,
    Trouble,
    Unit,
    unit_hash,
    unit_in,
)
from pilotage.framework.api.signal import Signal
from pilotage.plugins.catalogue import BrokenPlugin

log = logging.getLogger(__name__)

UNUSABLE = (InvalidConfiguration, BrokenPlugin, InvalidUnit, NotListed)
# Serves no pod, and runs until there is a configuration. An empty list of profiles would mean the default scheduler,
# and the default plugins would read resources that our role may not allow, because no profile has them.
IDLE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: idle.pilotage.dev
  plugins: {multiPoint: {enabled: [{name: PrioritySort}, {name: DefaultBinder}], disabled: [{name: "*"}]}}
"""

Annotate = Callable[[Annotations], None]


class Applies(Protocol):
    """Applies configurations."""

    async def apply(self, unit: Unit) -> None:
        """Run it from now on, or raise and keep running the previous one."""


async def _no_report() -> None:
    pass


class Following:
    """The sink of the ConfigMap's watch, and the task that acts on it."""

    def __init__(
        self, reloading: Applies, annotate: Annotate, told: Callable[[], Awaitable[None]] = _no_report
    ) -> None:
        self._reloading = reloading
        self._annotate = annotate
        self._told = told  # writes the annotations, and waits briefly for the result
        self._newest: ConfigMap | None = None
        self._news = asyncio.Event()
        self.running = ""  # the hash of the running configuration; "" if there is none yet
        self.swaps = self.refusals = 0
        self.on_applied: Signal[()] = Signal()
        self.on_unchanged: Signal[()] = Signal()  # the running hash was reported again; problems should be, too

    def begin_with(self, hash_: str) -> None:
        """Record the configuration that runs from the start."""
        self._report_running(hash_)

    # -------------------------------------------------------------------------------------------------- watch events

    def added(self, new: ConfigMap) -> None:
        """Read the ConfigMap."""
        self._newest = new
        self._news.set()

    def updated(self, old: ConfigMap, new: ConfigMap) -> None:
        """Read its new version."""
        self.added(new)

    def deleted(self, last: ConfigMap) -> None:
        """Keep running the current configuration: the operator will recreate the ConfigMap."""
        log.warning("the ConfigMap with the configuration was deleted; the current configuration keeps running")
        self._newest = None

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Keep running the current configuration."""
        log.error(
            "the ConfigMap with the configuration cannot be decoded, the current configuration keeps running: %s",
            reason,
        )

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Keep running the current configuration."""

    # ------------------------------------------------------------------------------------------------------ acting

    async def run(self) -> None:
        """Follow until cancelled; NeedsRestart if nothing can be run without a restart."""
        while True:
            await self._news.wait()
            self._news.clear()
            if self._newest is not None:
                await self._follow(self._newest)

    async def _follow(self, given: ConfigMap) -> None:
        wanted = unit_hash(given.data)
        if wanted == self.running:
            self._report_running(wanted)
            self.on_unchanged()
            return
        if given.metadata.annotations.get(STRATEGY) == RESTART and self.running:
            return  # new pods will run it
        try:
            unit = unit_in(given.data)
            if unit.files:
                await self._report_trying(wanted)
            await self._reloading.apply(unit)
        except NeedsRestart as error:
            if not self.running:
                raise  # nothing is lost, and the next process starts with it
            self._report_trouble(NEEDS_RESTART, wanted, str(error))
        except UNUSABLE as error:
            self.refusals += 1
            log.error("the configuration %s was rejected, the current configuration keeps running: %s", wanted, error)
            self._report_trouble(REFUSED, wanted, str(error))
        else:
            self.swaps += 1
            log.info("running the configuration %s", wanted)
            self._report_running(wanted)
            self.on_applied()

    async def _report_trying(self, wanted: str) -> None:
        """Report it before plugin files are imported: if the replica hangs, the cause is known."""
        self._annotate(handshake.trying(wanted))
        await self._told()

    def _report_running(self, found: str) -> None:
        self.running = found
        self._annotate(handshake.running(found))

    def _report_trouble(self, kind: str, wanted: str, message: str) -> None:
        self._annotate(handshake.troubled(Trouble(kind=kind, hash=wanted, message=message)))

    def report_failing(self, scheduler: str, plugin: str, message: str) -> None:
        """Report a profile in which a plugin has failed for every pod since the last change."""
        found = Trouble(kind=FAILING, hash=self.running, scheduler_name=scheduler, plugin=plugin, message=message)
        self._annotate(handshake.troubled(found))

    def report_recovered(self) -> None:
        """Report that no plugin fails for every pod any more."""
        self._report_running(self.running)

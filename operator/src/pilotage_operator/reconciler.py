"""The reconciler: after changes it reads, decides and executes; no other task writes."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from typing import Protocol, TypeVar

from pilotage.config.handshake import UNITS
from pilotage_operator.cluster import NotReachable, Refused, Seen, WorldChanged
from pilotage_operator.metrics import metrics_text
from pilotage_operator.profiles.actions import (
    Action,
    CreateConfigMap,
    PatchConfigMap,
    StampDeployment,
    WakeUp,
)
from pilotage_operator.profiles.config_map import is_intact
from pilotage_operator.profiles.log_lines import sentence
from pilotage_operator.profiles.reconcile import reconcile, rights_needed
from pilotage_operator.profiles.unit_judge import UnitJudge
from pilotage_operator.profiles.world import Answer, Right, StoredProfile, World
from pilotage_operator.settings import Settings
from pilotage_operator.values import ValuesFile
from pilotage_operator.watch_lag import WatchLag

log = logging.getLogger(__name__)

Decided = TypeVar("Decided")

_GATHERING = 0.01  # seconds: several objects often change together
_LOOK_ANYWAY_AFTER = 10.0
_SOON, _FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5, 30.0
_STANDS_STILL_AFTER, _LAGS_AFTER = 120.0, 90.0


class Api(Protocol):
    """The cluster as the reconciler needs it."""

    async def read_state(self, *, with_owner: bool) -> Seen:
        """Read the current state."""

    async def rights(self, wanted: Collection[Right]) -> Mapping[Right, Answer]:
        """Check the scheduler's permissions."""

    async def do(self, action: Action) -> None:
        """Execute one action."""


class Reconciler:
    """Reconciles the cluster with the profiles, one round at a time."""

    def __init__(self, settings: Settings, api: Api, judge: UnitJudge, values: ValuesFile) -> None:
        self.watch_lag = WatchLag()
        self._settings, self._api, self._judge, self._values = settings, api, judge, values
        self._changed = asyncio.Event()
        self._remembered: Mapping[str, str] = {}
        self._failures = 0
        self._finished_at = monotonic()
        self._profiles: tuple[StoredProfile, ...] = ()  # as last seen

    def something_changed(self) -> None:
        """Trigger a round soon."""
        self._changed.set()

    def trouble(self) -> str:
        """Return why this process should be replaced; empty if it is healthy."""
        now = monotonic()
        if (silent := now - self._finished_at) > _STANDS_STILL_AFTER:
            return f"no reconciliation has completed for {silent:.0f} s"
        if (lag := self.watch_lag.seconds(now)) > _LAGS_AFTER:
            return f"the watches missed a change {lag:.0f} s ago"
        return ""

    def metrics(self) -> str:
        """Return the metrics."""
        return metrics_text(self._profiles, self._settings.instance, monotonic() - self._finished_at)

    async def run(self) -> None:
        """Run rounds until cancelled."""
        while True:
            pause = await self._safe_round()
            self._finished_at = monotonic()
            if self._failures:
                await asyncio.sleep(pause)  # back off from a failing server, even with changes meanwhile
            else:
                await self._wait(pause)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
            await asyncio.sleep(_GATHERING)
        except TimeoutError:
            pass

    async def _safe_round(self) -> float:
        """Run a round; returns the seconds until the next one without changes."""
        self._changed.clear()
        try:
            pause = await self.round()
        except WorldChanged as changed:
            log.info("reconciling again: %s", changed)
            return self._pause(_SOON)
        except NotReachable as error:
            log.warning("the API server failed, retrying: %s", error)
            return max(self._pause(_FIRST_PAUSE), error.retry_after)
        except Refused as error:
            log.error("the API server rejected a request, retrying: %s", error)
            return self._pause(_FIRST_PAUSE)
        except Exception:
            log.exception("the reconciliation failed, retrying")
            return self._pause(_FIRST_PAUSE)
        self._failures = 0
        return pause

    def _pause(self, first: float) -> float:
        self._failures += 1
        return min(first * 2.0 ** (self._failures - 1), _LONGEST_PAUSE)

    async def round(self) -> float:
        """Read, decide and execute; returns the seconds until the next round."""
        world = await self._world()
        actions = await self._decided(reconcile, world)
        for action in actions:
            await self._do(action)
        wake = min((action.at for action in actions if isinstance(action, WakeUp)), default=None)
        seconds = (wake - datetime.now(UTC)).total_seconds() if wake else _LOOK_ANYWAY_AFTER
        return min(max(seconds, _SOON), _LOOK_ANYWAY_AFTER)

    async def _world(self) -> World:
        kept = self._values.profiles()
        seen = await self._api.read_state(with_owner=kept is not None)
        self.watch_lag.seen(seen.versions, monotonic())
        self._profiles = seen.profiles
        if seen.config_map is not None and is_intact(seen.config_map):
            self._remembered = seen.config_map.data
        world = World(
            now=datetime.now(UTC),
            profiles=seen.profiles,
            replicas=seen.replicas,
            deployment=seen.deployment,
            config_map=seen.config_map,
            kept=kept,
            owner=seen.owner,
            kube_scheduler=seen.kube_scheduler,
            remembered=self._remembered,
            plugin_sources=seen.plugin_sources,
        )
        return replace(world, rights=await self._api.rights(await self._decided(rights_needed, world)))

    async def _decided(self, decide: Callable[[World, Settings, UnitJudge], Decided], world: World) -> Decided:
        """Decide; in a thread if plugin files must be validated, since the sandbox may take seconds."""
        if not world.plugin_sources and UNITS not in self._remembered:
            return decide(world, self._settings, self._judge)
        return await asyncio.to_thread(decide, world, self._settings, self._judge)

    async def _do(self, action: Action) -> None:
        if told := sentence(action):
            log.info("%s", told)
        try:
            await self._api.do(action)
        except Refused as error:
            # A failed write of one profile does not stop others, but the configuration must be written.
            if isinstance(action, CreateConfigMap | PatchConfigMap | StampDeployment):
                raise
            log.error("the API server rejected this (%s): %s", told or type(action).__name__, error)

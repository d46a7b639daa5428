"""Follows the ConfigMap with our configuration: every new text is brought into service, and our pod tells what runs."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from pilotage.app.reloading import NeedsRestart, NotListed
from pilotage.cluster.config_map import ConfigMap, content_hash
from pilotage.cluster.watch_events import ObjectIdentity
from pilotage.config.faults import InvalidConfiguration
from pilotage.plugins.catalogue import BrokenPlugin

log = logging.getLogger(__name__)

KEY = "scheduler-config.yaml"
HASH, TROUBLE, STRATEGY = "pilotage.dev/config-hash", "pilotage.dev/config-trouble", "pilotage.dev/strategy"
RESTART = "Restart"
LONGEST_MESSAGE = 4096  # characters; annotations have a limit that all of them share
REFUSED = (InvalidConfiguration, BrokenPlugin, NotListed)
# Serves nobody: what runs until there is a configuration. An empty list of profiles would mean the default scheduler,
# and default plugins would read what our role may not allow, because no profile has them.
IDLE = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: idle.pilotage.dev
  plugins: {multiPoint: {enabled: [{name: PrioritySort}, {name: DefaultBinder}], disabled: [{name: "*"}]}}
"""

Annotate = Callable[[Mapping[str, str | None]], None]


class Applies(Protocol):
    """Who brings a configuration into service."""

    async def apply(self, text: str) -> None:
        """Run it from now on, or raise and let the one of before go on."""


class Following:
    """The sink of the ConfigMap's watch, and the task that acts on it."""

    def __init__(self, reloading: Applies, annotate: Annotate) -> None:
        self._reloading = reloading
        self._annotate = annotate
        self._newest: ConfigMap | None = None
        self._news = asyncio.Event()
        self.running = ""  # the hash of what runs; "" before there is anything
        self.swaps = self.refusals = 0
        self.on_applied: Callable[[], None] = lambda: None

    def begin_with(self, text: str) -> None:
        """Take note of what runs from the start."""
        self._tell_running(content_hash(text))

    # ----------------------------------------------------------------------------------- what the API server says

    def added(self, new: ConfigMap) -> None:
        """Take in the ConfigMap."""
        self._newest = new
        self._news.set()

    def updated(self, old: ConfigMap, new: ConfigMap) -> None:
        """Take in what it is now."""
        self.added(new)

    def deleted(self, last: ConfigMap) -> None:
        """Go on with what runs: whoever wrote it will write it again."""
        log.warning("the ConfigMap with our configuration is gone; what runs goes on")
        self._newest = None

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Go on with what runs."""
        log.error("the ConfigMap with our configuration cannot be understood, what runs goes on: %s", reason)

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Go on with what runs."""

    # ------------------------------------------------------------------------------------------------------ acting

    async def run(self) -> None:
        """Follow until cancelled; NeedsRestart if there is nothing to go on with."""
        while True:
            await self._news.wait()
            self._news.clear()
            if self._newest is not None:
                await self._follow(self._newest)

    async def _follow(self, given: ConfigMap) -> None:
        text = given.data.get(KEY, "")
        wanted = content_hash(text)
        if wanted == self.running:
            self._tell_running(wanted)
            return
        if given.metadata.annotations.get(STRATEGY) == RESTART and self.running:
            return  # new pods will run it
        try:
            if not text:
                raise NotListed(f"the ConfigMap has no {KEY}")
            await self._reloading.apply(text)
        except NeedsRestart as error:
            if not self.running:
                raise  # nothing is lost, and the next start begins with it
            self._tell_trouble("restart", wanted, str(error))
        except REFUSED as error:
            self.refusals += 1
            log.error("the configuration %s is refused, what runs goes on: %s", wanted, error)
            self._tell_trouble("refused", wanted, str(error))
        else:
            self.swaps += 1
            log.info("running the configuration %s", wanted)
            self._tell_running(wanted)
            self.on_applied()

    def _tell_running(self, found: str) -> None:
        self.running = found
        self._annotate({HASH: found, TROUBLE: None})

    def _tell_trouble(self, kind: str, wanted: str, message: str, **more: str) -> None:
        trouble = {"kind": kind, "hash": wanted, **more, "message": message[:LONGEST_MESSAGE]}
        self._annotate({TROUBLE: json.dumps(trouble)})

    def tell_failing(self, scheduler: str, plugin: str, message: str) -> None:
        """Tell that since the last change a plugin has failed for every pod of a profile."""
        self._tell_trouble("failing", self.running, message, schedulerName=scheduler, plugin=plugin)

    def tell_well(self) -> None:
        """Tell that no plugin fails for every pod any more."""
        self._tell_running(self.running)

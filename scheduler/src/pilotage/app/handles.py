"""Creates the handle of every plugin that starts, and closes it with the plugin."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.handle import (
    NO_NOMINATIONS,
    OFFLINE_API,
    Announce,
    Api,
    Handle,
    LoadQuery,
    LoadSource,
    Nominations,
)
from pilotage.framework.api.own_metrics import MetricStore, OwnMetrics
from pilotage.framework.api.plugin import FollowsPods, Plugin
from pilotage.framework.api.remit import EVERYTHING, Remit
from pilotage.framework.api.waiting import WaitingPods
from pilotage.framework.runtime.fence import CycleFailed, fence
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import BrokenPlugin
from pilotage.scheduling.object_changes import ObjectChanges
from pilotage.scheduling.outside import Recorder


class Subscriptions(Protocol):
    """Collects load figures while a plugin needs them."""

    def subscribe(self, query: LoadQuery) -> LoadSource | None:
        """Start collecting figures; None if there is no collector."""

    def unsubscribe(self, query: LoadQuery) -> None:
        """Stop collecting figures."""


class NoSubscriptions:
    """Collects no figures."""

    def subscribe(self, query: LoadQuery) -> LoadSource | None:
        """Return None."""
        return None

    def unsubscribe(self, query: LoadQuery) -> None:
        """Do nothing."""


class _Silent:
    """Discards events."""

    def record(
        self, pod: Pod, severity: str, reason: str, action: str, note: str, *, controller: str, once: bool = False
    ) -> None:
        """Discard it."""


NO_SUBSCRIPTIONS: Subscriptions = NoSubscriptions()
SILENT: Recorder = _Silent()


@dataclass
class _Load:
    """The load figures of one plugin, while it runs."""

    subscriptions: Subscriptions
    at_end: Callable[[Callable[[], None]], None]

    def source(self, query: LoadQuery) -> LoadSource | None:
        """Collect figures while the plugin runs."""
        found = self.subscriptions.subscribe(query)
        self.at_end(partial(self.subscriptions.unsubscribe, query))
        return found


@dataclass(frozen=True)
class _Events:
    """Records events in the name of one profile."""

    recorder: Recorder
    profile: str

    def record(self, pod: Pod, reason: str, note: str, *, warning: bool = False) -> None:
        """Record what happened to a pod."""
        severity = "Warning" if warning else "Normal"
        self.recorder.record(pod, severity, reason, "Scheduling", note, controller=self.profile)


@dataclass
class Handles:
    """The dependencies that all plugins share, and the handle of each; by default without a cluster."""

    cache: ClusterCache
    waiting: WaitingPods = field(default_factory=WaitingPods)
    nominations: Nominations = NO_NOMINATIONS
    api: Api = OFFLINE_API
    load: Subscriptions = NO_SUBSCRIPTIONS
    clock: Callable[[], float] | None = None
    recorder: Recorder = SILENT
    find_pod: Callable[[str], Pod | None] = lambda _key: None
    changes: ObjectChanges = field(default_factory=ObjectChanges)
    metrics: MetricStore = field(default_factory=MetricStore)
    announce: Announce = lambda _old, _new: None
    _given: dict[int, tuple[Plugin, Handle]] = field(default_factory=dict)  # by the id of the plugin

    def start(self, plugin: Plugin, profile: str, remit: Remit = EVERYTHING) -> None:
        """Start a plugin; BrokenPlugin if that fails."""
        handle = self._handle(plugin, profile, remit)
        self._given[id(plugin)] = plugin, handle
        try:
            with fence("{} cannot start: {}", plugin):
                plugin.start(handle)
        except CycleFailed as error:
            broken = BrokenPlugin(str(error))
            broken.plugin = plugin.name
            raise broken from error
        if isinstance(plugin, FollowsPods):
            self.cache.follow(plugin)

    def move(self, plugin: Plugin, remit: Remit) -> None:
        """Update the nodes of a plugin that keeps running to those of its profile."""
        if id(plugin) in self._given:
            self._given[id(plugin)][1].remit = remit

    def end(self, plugins: Collection[Plugin]) -> None:
        """Disconnect plugins that no longer run."""
        for plugin in plugins:
            if isinstance(plugin, FollowsPods):
                self.cache.unfollow(plugin)
            _, handle = self._given.pop(id(plugin), (None, None))
            if handle is not None:
                handle.close()

    def _handle(self, plugin: Plugin, profile: str, remit: Remit) -> Handle:
        handle = Handle(
            objects=self.cache.objects,
            waiting_pods=self.waiting,
            nominations=self.nominations,
            api=self.api,
            events=_Events(self.recorder, profile),
            metrics=OwnMetrics(plugin.name, profile, self.metrics),
            log=logging.getLogger(f"pilotage.plugin.{plugin.name}"),
            find_node=self.cache.find_node,
            find_pod=self.find_pod,
            remit=remit,
            all_nodes=self.cache.nodes,
            changes=self.changes,
            announce=lambda old, new: self.announce(old, new),
        )
        handle.load = _Load(self.load, handle.at_end)
        if self.clock is not None:
            handle.clock = self.clock
        return handle

"""The whole engine with a few plugins, for tests of what they decide together."""

from collections.abc import Mapping
from random import Random
from typing import Any

from pilotage.framework.api.plugin import POINTS, FollowsPods, Plugin, Score
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.framework.runtime.runner import Runner
from pilotage.model.pod import DEFAULT_SCHEDULER, Pod
from pilotage.profiles import POINTS as PLUGIN_SET_POINTS
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.equivalence.equivalence_cache import EquivalenceCache
from pilotage.scheduling.explanation import Explanation, explain
from pilotage.scheduling.outcome import Outcome
from pilotage.testing.cluster import FakeCluster, Nominations
from pilotage.testing.handle import handle_of


def plugin_set_of(*plugins: Plugin, weights: Mapping[str, int] | None = None) -> PluginSet:
    """Let every plugin take part wherever it can, in this order; one that scores weighs 1 unless it is told."""
    points: dict[str, Any] = {
        field: tuple(plugin for plugin in plugins if isinstance(plugin, POINTS[point]))
        for field, point in PLUGIN_SET_POINTS.items()
    }
    scoring = {plugin.name: 1 for plugin in plugins if isinstance(plugin, Score)}
    return PluginSet(**points, weights=scoring | dict(weights or {}))


class FakeScheduler:
    """Places pods on a cluster in memory with these plugins and no others; who is placed is counted from then on."""

    def __init__(
        self,
        *plugins: Plugin,
        cluster: FakeCluster,
        weights: Mapping[str, int] | None = None,
        percentage: int = 0,
        seed: int = 0,
    ) -> None:
        self.cluster = cluster
        runner = Runner(plugin_set_of(*plugins, weights=weights))
        self.engine = Engine(runner, EquivalenceCache(runner, cluster.cache.columns), percentage)
        for plugin in plugins:
            plugin.start(handle_of(cluster))
            if isinstance(plugin, FollowsPods):
                cluster.cache.follow(plugin)
        engines = {DEFAULT_SCHEDULER: self.engine}
        self._scheduler = Scheduler(cluster.cache, engines, Nominations(cluster), Random(seed))  # noqa: S311 - no secret

    def schedule(self, pod: Pod) -> Outcome:
        """Find a place for a pod and hold it, or say why there is none."""
        return self._scheduler.schedule(pod)

    def explain(self, pod: Pod) -> Explanation:
        """Ask all plugins about all nodes, without giving the pod a place."""
        return explain(self.cluster.cache, self.engine, Nominations(self.cluster), pod)

    def attempt(self, pod: Pod) -> Attempt:
        """Begin an attempt, to take its steps one by one."""
        return Attempt(self.cluster.cache, self.engine, Nominations(self.cluster), pod)

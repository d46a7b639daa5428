"""The complete engine with a few plugins, for tests of their combined decisions."""

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
    """Enable every plugin at all of its points, in this order; the default weight for scoring is 1."""
    points: dict[str, Any] = {
        field: tuple(plugin for plugin in plugins if isinstance(plugin, POINTS[point]))
        for field, point in PLUGIN_SET_POINTS.items()
    }
    scoring = {plugin.name: 1 for plugin in plugins if isinstance(plugin, Score)}
    return PluginSet(**points, weights=scoring | dict(weights or {}))


class FakeScheduler:
    """Places pods on a cluster in memory with only these plugins; placed pods count from then on."""

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
        """Find and reserve a node for a pod, or return why none fits."""
        return self._scheduler.schedule(pod)

    def explain(self, pod: Pod) -> Explanation:
        """Run all plugins for all nodes, without reserving a node."""
        return explain(self.cluster.cache, self.engine, Nominations(self.cluster), pod)

    def attempt(self, pod: Pod) -> Attempt:
        """Create an attempt, to run its steps one by one."""
        return Attempt(self.cluster.cache, self.engine, Nominations(self.cluster), pod)

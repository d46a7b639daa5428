"""Tries a remedy: the engine's own attempt on the changed cluster."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.remedies import Difference, Remedy
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.framework.runtime.runner import Runner
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Attempt, Nominations
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.equivalence.equivalence_cache import EquivalenceCache
from pilotage.scheduling.remedies.altered import altered
from pilotage.scheduling.remedies.objections import Objections


def aside(cache: ClusterCache, engine: Engine) -> Engine:
    """Return an engine that decides the same, with a cache and measurements of its own."""
    runner = Runner(engine.runner.plugin_set)
    return replace(engine, runner=runner, equivalence_cache=EquivalenceCache(runner, cache.columns))


@dataclass(frozen=True)
class Asked:
    """What the plugins say about a pod: one of them rejects it as a whole, or every filter has judged all nodes."""

    attempt: Attempt
    rejection: Rejection | None
    objections: Objections | None


class Tries:
    """The tries of one search, which share an engine and its cache."""

    def __init__(self, cache: ClusterCache, engine: Engine, nominations: Nominations, pod: Pod) -> None:
        self.cache = cache
        self.engine = aside(cache, engine)
        self.pod = pod
        self._nominations = nominations
        self.number = 0
        self._asked: Asked | None = None
        self._asked_at: object = None

    @property
    def version(self) -> tuple[int, int, int]:
        """Return counters, one of which grows with every change of the cluster."""
        columns = self.cache.columns
        return columns.static_version, columns.pods_version, self.cache.objects.changes

    def attempt(self, pod: Pod | None = None) -> Attempt:
        """Begin an attempt for the pod, or for another one in its place."""
        return Attempt(self.cache, self.engine, self._nominations, pod or self.pod)

    def asked(self) -> Asked:
        """Ask all plugins about the pod; their answer holds until the cluster changes."""
        now = self.version, self.pod
        if self._asked is None or self._asked_at != now:
            self._asked, self._asked_at = self.asked_about(self.pod), now
        return self._asked

    def asked_about(self, pod: Pod) -> Asked:
        """Ask all plugins about any pod."""
        attempt = self.attempt(pod)
        rejection = attempt.run_pre_filter().rejection
        return Asked(attempt, rejection, None if rejection is not None else Objections(attempt))

    @contextmanager
    def altered(self, difference: Difference) -> Iterator[None]:
        """Let the cluster be as with a difference; afterwards it is as it was, so that earlier answers hold."""
        holds = self._asked_at == (self.version, self.pod)
        try:
            with altered(self.cache, difference):
                yield
        finally:
            if holds:
                self._asked_at = self.version, self.pod

    def tried(self, remedy: Remedy) -> Remedy | None:
        """Return a remedy with the nodes that it opens; None if it opens none."""
        self.number += 1
        difference = remedy.difference
        with self.altered(difference):
            try:
                found = self._places(difference, remedy.example)
            except PluginFailed:
                return None
        if not found:
            return None
        is_there = self.cache.find_node(found[0]) is not None
        return replace(remedy, nodes=len(found), example=found[0] if is_there else remedy.example, verified=True)

    def _places(self, difference: Difference, example: str) -> list[str]:
        attempt = self.attempt(difference.pod)
        if difference.agreeing:  # nothing in the cache was computed without these plugins
            attempt.engine = aside(self.cache, self.engine)
        before = attempt.run_pre_filter()
        if before.rejection is not None:
            return []
        before.skipped |= difference.agreeing
        if difference.leaving:
            return _without(attempt, difference.leaving, example)
        feasible = attempt.feasible()
        return [feasible[0].name, *[""] * (len(feasible) - 1)] if len(feasible) else []


def _without(attempt: Attempt, leaving: Iterable[Pod], example: str) -> list[str]:
    """Return the nodes on which the pod fits without these pods, on that node or elsewhere."""
    by_node: dict[str, list[Pod]] = {example: []} if example else {}
    for pod in leaving:
        by_node.setdefault(pod.node_name, []).append(pod)
    infos = (attempt.cycle.nodes.find(name) for name in by_node)
    return [info.name for info in infos if info is not None and _fits(attempt, info, by_node)]


def _fits(attempt: Attempt, info: NodeInfo, by_node: dict[str, list[Pod]]) -> bool:
    trial = attempt.cycle.try_on(info)
    for pods in by_node.values():
        for pod in pods:
            trial.remove(pod)
    return trial.verdict() is None

"""Pods that wait for an event, indexed by the plugins that rejected them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from pilotage.queue.pod_heap import PodHeap
from pilotage.queue.queued_pod import QueuedPod

Rejector = tuple[str, str]  # scheduler name, plugin


class Pool:
    """Pods without an order, indexed by the plugins that they wait for."""

    def __init__(self, name: str, plugins_of: Callable[[QueuedPod], Iterable[str]]) -> None:
        self.name = name
        self._plugins_of = plugins_of
        self._pods: dict[str, QueuedPod] = {}
        self._rejectors_of: dict[str, list[Rejector]] = {}  # when the pod arrived; plugins may change meanwhile
        self._by_rejector: dict[Rejector, dict[str, QueuedPod]] = {}
        self._alarms = PodHeap(name, _again_at, _again_at)  # pods with a retry time

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(list(self._pods.values()))

    def add(self, queued: QueuedPod) -> None:
        """Add a pod."""
        self._pods[queued.key] = queued
        scheduler = queued.pod.scheduler_name
        rejectors = self._rejectors_of[queued.key] = [(scheduler, plugin) for plugin in self._plugins_of(queued)]
        for rejector in rejectors:
            self._by_rejector.setdefault(rejector, {})[queued.key] = queued
        if queued.again_at is not None:
            self._alarms.add(queued)

    def remove(self, queued: QueuedPod) -> None:
        """Remove a pod."""
        del self._pods[queued.key]
        if queued.again_at is not None:
            self._alarms.remove(queued)
        for rejector in self._rejectors_of.pop(queued.key):
            filed = self._by_rejector[rejector]
            del filed[queued.key]
            if not filed:
                del self._by_rejector[rejector]

    def waiting_for(self, rejector: Rejector) -> Mapping[str, QueuedPod]:
        """Return the pods that a plugin rejected, by key."""
        return self._by_rejector.get(rejector, {})

    def rejectors(self) -> Iterable[Rejector]:
        """Return the plugins that pods wait for."""
        return self._by_rejector

    def untouched_since(self, before: float) -> list[QueuedPod]:
        """Return the pods that arrived, and were last flushed for waiting too long, before a time."""
        return [queued for queued in self._pods.values() if max(queued.timestamp, queued.flush_timestamp) < before]

    def next_alarm(self) -> float | None:
        """Return the earliest retry time."""
        first = self._alarms.first()
        return None if first is None else first.again_at

    def due(self, now: float) -> QueuedPod | None:
        """Return a pod whose retry is due."""
        first = self._alarms.first()
        return None if first is None or _again_at(first) > now else first


def _again_at(queued: QueuedPod) -> float:
    assert queued.again_at is not None
    return queued.again_at


def unschedulable_pool() -> Pool:
    """Return an empty pool for unschedulable pods, indexed by the plugins that rejected them."""
    return Pool("unschedulable", lambda queued: queued.unschedulable_plugins | queued.pending_plugins)


def gated_pool() -> Pool:
    """Return an empty pool for gated pods, indexed by the gating plugin, unless that reports when its gate opens."""
    return Pool("gated", lambda queued: [] if queued.gate_reports_opening else [queued.gating_plugin or ""])


def waiting_for_any(
    pools: Sequence[Pool], ranks: Mapping[Rejector, int], narrow: Mapping[Rejector, Collection[str]]
) -> list[QueuedPod]:
    """Return the pods of these pools that wait for any of these plugins, each once, in the order of the plugins.

    With many profiles there may be far more plugins than pods wait for. `narrow` limits the pods that wait for a
    plugin to those with the given keys.
    """
    asked = {rejector for pool in pools for rejector in pool.rejectors() if rejector in ranks}
    found: dict[str, QueuedPod] = {}
    for rejector in sorted(asked, key=ranks.__getitem__):
        for pool in pools:
            waiting, keys = pool.waiting_for(rejector), narrow.get(rejector)
            found.update(waiting if keys is None else {key: waiting[key] for key in keys if key in waiting})
    return list(found.values())

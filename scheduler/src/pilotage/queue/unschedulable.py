"""Pods that wait for an event, indexed by the plugins that rejected them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from pilotage.queue.pod_heap import PodHeap
from pilotage.queue.queued_pod import QueuedPod

Desk = tuple[str, str]  # scheduler name, plugin


class Pool:
    """Pods without an order, found by the plugins that they wait for."""

    def __init__(self, name: str, plugins_of: Callable[[QueuedPod], Iterable[str]]) -> None:
        self.name = name
        self._plugins_of = plugins_of
        self._pods: dict[str, QueuedPod] = {}
        self._desks_of: dict[str, list[Desk]] = {}  # as of the pod's arrival; plugins may change meanwhile
        self._by_desk: dict[Desk, dict[str, QueuedPod]] = {}
        self._alarms = PodHeap(name, _again_at, _again_at)  # pods with a retry time

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(list(self._pods.values()))

    def add(self, queued: QueuedPod) -> None:
        """Take a pod in."""
        self._pods[queued.key] = queued
        scheduler = queued.pod.scheduler_name
        desks = self._desks_of[queued.key] = [(scheduler, plugin) for plugin in self._plugins_of(queued)]
        for desk in desks:
            self._by_desk.setdefault(desk, {})[queued.key] = queued
        if queued.again_at is not None:
            self._alarms.add(queued)

    def remove(self, queued: QueuedPod) -> None:
        """Remove a pod."""
        del self._pods[queued.key]
        if queued.again_at is not None:
            self._alarms.remove(queued)
        for desk in self._desks_of.pop(queued.key):
            filed = self._by_desk[desk]
            del filed[queued.key]
            if not filed:
                del self._by_desk[desk]

    def waiting_for(self, desk: Desk) -> Mapping[str, QueuedPod]:
        """Return the pods that a plugin rejected, by key."""
        return self._by_desk.get(desk, {})

    def desks(self) -> Iterable[Desk]:
        """Return the plugins that pods wait for."""
        return self._by_desk

    def untouched_since(self, before: float) -> list[QueuedPod]:
        """Return the pods that arrived, and were last retried for waiting too long, before a time."""
        return [queued for queued in self._pods.values() if max(queued.timestamp, queued.flush_timestamp) < before]

    def next_alarm(self) -> float | None:
        """Return the earliest retry time."""
        first = self._alarms.first()
        return None if first is None else first.again_at

    def due(self, now: float) -> QueuedPod | None:
        """Return a pod whose retry time has come."""
        first = self._alarms.first()
        return None if first is None or _again_at(first) > now else first


def _again_at(queued: QueuedPod) -> float:
    assert queued.again_at is not None
    return queued.again_at


def unschedulable_pool() -> Pool:
    """Return an empty pool of pods that were tried, indexed by the plugins that rejected them."""
    return Pool("unschedulable", lambda queued: queued.unschedulable_plugins | queued.pending_plugins)


def gated_pool() -> Pool:
    """Return an empty pool of gated pods, indexed by the gating plugin, unless that reports by itself."""
    return Pool("gated", lambda queued: [] if queued.gate_will_tell else [queued.gating_plugin or ""])


def waiting_for_any(
    pools: Sequence[Pool], ranks: Mapping[Desk, int], narrow: Mapping[Desk, Collection[str]]
) -> list[QueuedPod]:
    """Return the pods of these pools that wait for any of these plugins, each once, in the order of the plugins.

    There may be far more plugins, of many profiles, than pods wait for. Of the pods that wait for a plugin in
    `narrow` only the ones with these keys count.
    """
    asked = {desk for pool in pools for desk in pool.desks() if desk in ranks}
    found: dict[str, QueuedPod] = {}
    for desk in sorted(asked, key=ranks.__getitem__):
        for pool in pools:
            waiting, keys = pool.waiting_for(desk), narrow.get(desk)
            found.update(waiting if keys is None else {key: waiting[key] for key in keys if key in waiting})
    return list(found.values())

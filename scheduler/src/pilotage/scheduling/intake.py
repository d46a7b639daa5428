"""Routes watch events to the cache and the queue; all changes of the cluster enter here."""

import logging
from collections.abc import Callable, Container

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.watch.known_objects import key_of
from pilotage.cluster.watch.watch_events import ObjectIdentity
from pilotage.framework.api.events import NOT_UNDERSTOOD, POD_GONE, POD_PLACED, Action, Event, Resource, what_changes
from pilotage.framework.api.signal import Signal
from pilotage.framework.api.waiting import WaitingPods
from pilotage.framework.runtime.changes import node_events, pod_events
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.kubelet_rejection import MIRROR
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node
from pilotage.model.pod import Pod, PodObject
from pilotage.model.pod_spec import PodSpec
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.eviction import Evictions
from pilotage.scheduling.object_changes import ObjectChanges

log = logging.getLogger(__name__)

NODE_ADDED = Event(Resource.NODE, Action.ADD)
NODE_GONE = Event(Resource.NODE, Action.DELETE)


class PodIntake:
    """Handles events of pods: bound ones go to the cache, others to the queue if a profile serves them."""

    def __init__(
        self,
        cache: ClusterCache,
        queue: SchedulingQueue,
        waiting: WaitingPods,
        evictions: Evictions,
        served: Container[str],
        wake: Callable[[], None],
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._waiting = waiting
        self._evictions = evictions
        self._served = served
        self._wake = wake
        self.on_undecodable: Signal[Pod, str] = Signal()  # with the reason
        self.on_pending_deleted: Signal[Pod] = Signal()  # a pending pod was deleted
        self.on_resolved: Signal[Pod | None, str] = Signal()  # bound (its current state), or deleted (None)
        self.on_foreign_bind: Signal[Pod] = Signal()
        self.on_left: Signal[Pod] = Signal()  # any pod that had a node, as it was in the cache
        self.on_started: Signal[Pod] = Signal()  # one of ours
        self.on_lost: Signal[Pod] = Signal()  # one of ours that was not deleted and not started

    def added(self, new: Pod) -> None:
        """Add a pod."""
        if new.node_name:
            self._place(new)
        elif new.scheduler_name in self._served:
            self._queue.add(new)
        self._wake()

    def updated(self, old: Pod, new: Pod) -> None:
        """Update a pod."""
        if new.is_terminating and not old.is_terminating:
            self._evictions.noticed(new)
        if old.node_name:
            self._change(old, new)
        elif new.node_name:
            self._place(new)
            if new.scheduler_name in self._served:
                self._queue.delete(old)
            else:
                self.on_foreign_bind(new)
            self.on_resolved(new, new.uid)
        elif new.scheduler_name in self._served:
            self._change_waiting(old, new)
        self._wake()

    def deleted(self, last: Pod) -> None:
        """Remove a pod; its last known state may not name its node."""
        self._evictions.noticed(last)
        placed, assumed = self._cache.find_pod(last.uid), self._cache.is_assumed(last.uid)
        nominated = self._queue.nominator.node_of(last) or last.nominated_node
        if not last.node_name and last.scheduler_name in self._served:
            self._queue.delete(last)
            self.on_pending_deleted(last)
        if assumed:
            self._drop_assumed(last)
        elif (counted := self._cache.remove_pod(last.uid)) is not None:
            self.on_left(counted)
            self._queue.move_all(POD_GONE, last, None)
        elif nominated and last.scheduler_name in self._served:
            self._free_nomination(last.with_nominated_node(nominated))
        self.on_resolved(None, last.uid)
        if placed is not None and _may_be_rejected(last) and last.scheduler_name in self._served:
            self.on_lost(last.on(placed.node_name))
        self._wake()

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Report a pod that cannot be decoded; other pods are not affected."""
        log.error("pod %s/%s cannot be decoded: %s", metadata.namespace, metadata.name, reason)
        if metadata.node_name or metadata.scheduler_name not in self._served:
            return
        spec = PodSpec(scheduler_name=metadata.scheduler_name)
        identity = Metadata(name=metadata.name, namespace=metadata.namespace, uid=metadata.uid)
        self.on_undecodable(Pod(PodObject(identity, spec)), f"the pod cannot be decoded: {reason}")

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Do nothing: it was not added."""

    def _place(self, pod: Pod) -> None:
        known = self._cache.put_pod(pod)
        if known is not None and known.node_name != pod.node_name:
            log.warning("pod %s was expected on node %s and is on %s", pod.key, known.node_name, pod.node_name)
        self._queue.move_all(POD_PLACED, None, pod)

    def _change(self, old: Pod, new: Pod) -> None:
        self._cache.put_pod(new)
        if new.status.start_time and not old.status.start_time and new.scheduler_name in self._served:
            self.on_started(new)
        for event in pod_events(old, new, target=False):
            self._queue.move_all(event, old, new)

    def _change_waiting(self, old: Pod, new: Pod) -> None:
        if self._cache.is_assumed(new.uid):
            if new.is_terminating and not old.is_terminating:
                self._drop_assumed(new)
            return
        self._queue.update(old, new)
        if old.nominated_node and old.nominated_node != new.nominated_node:
            self._free_nomination(old)

    def _drop_assumed(self, pod: Pod) -> None:
        """Release the reservation of a pod that is deleted before its bind; a bind in flight will fail."""
        if not self._waiting.remove(pod.uid):
            self._cache.forget(pod.uid)
        self._queue.move_all(POD_GONE, pod, None)

    def _free_nomination(self, pod: Pod) -> None:
        """Wake the pods that a nomination blocked, now that it is gone."""
        self._queue.move_all(POD_GONE, pod, None, lambda other: other.priority <= pod.priority)


def _may_be_rejected(last: Pod) -> bool:
    """Return whether a kubelet may have rejected a deleted pod: the watch does not show that."""
    if last.is_terminating or last.status.start_time or MIRROR in last.annotations:
        return False
    # Only pods with a bind count: a user who sets nodeName could otherwise keep all pods off a node.
    scheduled = last.status.condition("PodScheduled")
    return not last.node_name or (scheduled is not None and scheduled.status == "True")


class NodeIntake:
    """Handles events of nodes."""

    def __init__(self, cache: ClusterCache, queue: SchedulingQueue, wake: Callable[[], None]) -> None:
        self._cache = cache
        self._queue = queue
        self._wake = wake

    def added(self, new: Node) -> None:
        """Add a node."""
        self._cache.put_node(new)
        self._queue.move_all(NODE_ADDED, None, new)
        self._wake()

    def updated(self, old: Node, new: Node) -> None:
        """Update a node; a mere heartbeat wakes no pod."""
        self._cache.put_node(new)
        for event in node_events(old, new):
            self._queue.move_all(event, old, new)
            self._wake()

    def deleted(self, last: Node) -> None:
        """Remove a node; the queue is notified while the cache still has it, as in kube-scheduler."""
        self._queue.move_all(NODE_GONE, last, None)
        self._cache.remove_node(last.name)
        self._wake()

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Ignore a node that cannot be decoded."""
        log.error("node %s cannot be decoded, so no pods are scheduled there: %s", metadata.name, reason)

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Do nothing: it was not added."""


class ObjectIntake:
    """Handles events of all other objects that plugins read."""

    def __init__(
        self,
        cache: ClusterCache,
        queue: SchedulingQueue,
        wake: Callable[[], None],
        changes: ObjectChanges | None = None,
    ) -> None:
        self._objects = cache.objects
        self._queue = queue
        self._wake = wake
        self._changes = ObjectChanges() if changes is None else changes

    def added(self, new: KubeObject) -> None:
        """Add an object."""
        self._objects.put(new)
        self._notify(Action.ADD, None, new)

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        """Update an object."""
        self._objects.put(new)
        self._notify(Action.UPDATE, old, new)

    def deleted(self, last: KubeObject) -> None:
        """Remove an object."""
        self._objects.drop(last)
        self._notify(Action.DELETE, last, None)

    def announce(self, old: KubeObject | None, new: KubeObject) -> None:
        """Retry the pods that an own write helps; the watch shows the object later."""
        self._retry(Action.ADD if old is None else Action.UPDATE, old, new)

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Record the problem of an object, and retry pods that may need it."""
        log.error("%s %s cannot be decoded: %s", metadata.resource, key_of(metadata), reason)
        self._objects.note_trouble(metadata.shape, metadata.name, metadata.namespace, reason)
        self._retry_all(metadata.shape)

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Remove an object that could not be decoded."""
        self._objects.forget_trouble(metadata.shape, metadata.name, metadata.namespace)
        self._retry_all(metadata.shape)

    def _retry_all(self, kind: type[KubeObject]) -> None:
        """Retry pods that wait for an object of this kind."""
        if kind.api.wakes:
            self._queue.move_all(Event(what_changes(kind), Action.UPDATE), None, NOT_UNDERSTOOD)
            self._wake()

    def _notify(self, action: Action, old: KubeObject | None, new: KubeObject | None) -> None:
        changed = old if new is None else new
        assert changed is not None
        self._changes.notify(changed)
        self._retry(action, old, new)

    def _retry(self, action: Action, old: KubeObject | None, new: KubeObject | None) -> None:
        changed = old if new is None else new
        assert changed is not None
        if changed.api.wakes:
            self._queue.move_all(Event(what_changes(type(changed)), action), old, new)
            self._wake()

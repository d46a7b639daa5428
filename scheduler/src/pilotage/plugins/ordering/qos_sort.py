"""Who is next in the queue, where it counts how well a pod is served."""

from pilotage.framework.api.plugin import QueuedPod, QueueSort
from pilotage.model.qos import QOSClass, qos_of

TURNS = {qos: turn for turn, qos in enumerate(QOSClass)}


class QOSSort(QueueSort):
    """Take the highest priority first, of equal ones the best QoS class, then the pod that has waited longest."""

    retry_on = ()

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Return whether one goes before the other."""
        return self.sort_key(one) < self.sort_key(other)

    def sort_key(self, queued: QueuedPod) -> tuple[int, int, float]:
        """Return what to sort by, the smallest first; comparing keys is faster than asking for every two pods."""
        return -queued.pod.priority, TURNS[qos_of(queued.pod)], queued.timestamp

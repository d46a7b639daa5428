"""QOSSort: sorts the queue by priority and QoS class."""

from pilotage.framework.api.plugin import QueuedPod, QueueSort
from pilotage.model.qos import QOSClass, qos_of

TURNS = {qos: turn for turn, qos in enumerate(QOSClass)}


class QOSSort(QueueSort):
    """Sort by priority, then by QoS class, then by the time in the queue."""

    retry_on = ()

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Return whether the first pod goes before the second."""
        return self.sort_key(one) < self.sort_key(other)

    def sort_key(self, queued: QueuedPod) -> tuple[int, int, float]:
        """Return the sort key, the smallest first; comparing keys is faster than calling `less` for each pair."""
        return -queued.pod.priority, TURNS[qos_of(queued.pod)], queued.timestamp

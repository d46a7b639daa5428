"""Who is next in the queue."""

from pilotage.framework.api.plugin import QueuedPod, QueueSort


class PrioritySort(QueueSort):
    """Take the pod with the highest priority first, and of equal ones the one that has waited longest."""

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Return whether one goes before the other."""
        return self.sort_key(one) < self.sort_key(other)

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        """Return what to sort by, the smallest first; comparing keys is faster than asking for every two pods."""
        return -queued.pod.priority, queued.timestamp

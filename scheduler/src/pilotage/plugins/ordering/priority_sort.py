"""The order of the queue: by priority."""

from pilotage.framework.api.plugin import QueuedPod, QueueSort


class PrioritySort(QueueSort):
    """Take the pod with the highest priority first, and of equal ones the one that has waited longest."""

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Return whether the first pod goes before the second."""
        return self.sort_key(one) < self.sort_key(other)

    def sort_key(self, queued: QueuedPod) -> tuple[int, float]:
        """Return what to sort by, the smallest first; comparing keys is faster than calling `less` for each pair."""
        return -queued.pod.priority, queued.timestamp

"""Pods placed so recently that their nodes' metrics may not include them yet."""

from collections.abc import Callable

from pilotage.model.node_load import seconds_since_1970
from pilotage.model.pod import Pod

LONG_AGO = float("-inf")
UNNOTICED = 60.0  # seconds before the end of a measurement in which a new pod may not be included
KEPT = 900.0  # seconds; older figures are never used


class RecentPods:
    """The times when pods were placed; those placed before the first use are not recent."""

    def __init__(self) -> None:
        self.is_asked = False  # in use
        self._moments: dict[str, dict[str, tuple[float, Pod]]] = {}  # by node and uid
        self._left: dict[str, tuple[str, float]] = {}  # node and time by uid, in case of an update
        self._swept = 0.0

    def placed(self, pod: Pod, now: float) -> None:
        """Record a pod."""
        node, moment = self._left.pop(pod.uid, ("", LONG_AGO))
        if node != pod.node_name:
            moment = self._moment(pod, now)
        if moment > now - KEPT:
            self._moments.setdefault(pod.node_name, {})[pod.uid] = moment, pod
        self._sweep(now)

    def left(self, pod: Pod) -> None:
        """Record that a pod has left, or is about to be updated."""
        pods = self._moments.get(pod.node_name, {})
        known = pods.pop(pod.uid, None)
        self._left[pod.uid] = pod.node_name, LONG_AGO if known is None else known[0]
        if not pods:
            self._moments.pop(pod.node_name, None)

    def unnoticed(self, node: str, until: float, use: Callable[[Pod], int]) -> int:
        """Return the total usage of the pods that a measurement until then may not include."""
        pods = self._moments.get(node)
        if not pods:
            return 0
        return sum(use(pod) for moment, pod in pods.values() if moment > until - UNNOTICED)

    def nodes(self) -> list[str]:
        """Return the names of all nodes with such pods."""
        return list(self._moments)

    def _moment(self, pod: Pod, now: float) -> float:
        """Return when a pod arrived; by its status, unless it was just placed."""
        scheduled = pod.status.condition("PodScheduled")
        if scheduled is not None and scheduled.status == "True":
            told = seconds_since_1970(scheduled.last_transition_time)
        else:
            told = seconds_since_1970(pod.status.start_time)
        if told is not None:
            return min(told, now)
        return now if self.is_asked else LONG_AGO

    def _sweep(self, now: float) -> None:
        """Periodically forget outdated entries."""
        if now < self._swept + UNNOTICED:
            return
        self._swept = now
        self._left.clear()  # an updated pod is placed again immediately
        for node, pods in list(self._moments.items()):
            young = {uid: known for uid, known in pods.items() if known[0] > now - KEPT}
            if young:
                self._moments[node] = young
            else:
                del self._moments[node]

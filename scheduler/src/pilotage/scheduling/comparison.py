"""Compares the cache and the queue with a fresh list from the API server."""

from collections.abc import Collection, Container, Mapping
from typing import NamedTuple

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.queue.scheduling_queue import SchedulingQueue


class Difference(NamedTuple):
    """A difference between the two sides; one that occurs in two comparisons is not due to timing."""

    kind: str
    uid: str
    problem: str


class Comparison:
    """Compares the cache and the queue with a list; changes in flight look like differences, too."""

    def __init__(self, cache: ClusterCache, queue: SchedulingQueue, served: Container[str]) -> None:
        self._cache = cache
        self._queue = queue
        self._served = served

    def differences(
        self, pods: Mapping[str, Pod], nodes: Mapping[str, Node], not_understood: Collection[str] = ()
    ) -> set[Difference]:
        """Return all differences from the listed pods and nodes; the list may contain other uids as well."""
        return self._of_nodes(nodes) | self._of_pods(pods) | self._left_over({*not_understood}, pods)

    def _of_nodes(self, nodes: Mapping[str, Node]) -> set[Difference]:
        known = {info.name: info.node.uid for info in self._cache.nodes()}
        missing = {
            Difference("nodes", node.uid, f"node {name} is not in the cache")
            for name, node in nodes.items()
            if known.get(name) != node.uid
        }
        gone = {
            Difference("nodes", uid, f"node {name} is in the cache and does not exist")
            for name, uid in known.items()
            if name not in nodes
        }
        return missing | gone

    def _of_pods(self, pods: Mapping[str, Pod]) -> set[Difference]:
        found = set()
        for pod in pods.values():
            problem = self._problem_of(pod)
            if problem:
                found.add(Difference("pods", pod.uid, f"pod {pod.key} {problem}"))
        return found

    def _problem_of(self, pod: Pod) -> str:
        counted = self._cache.find_pod(pod.uid)
        if pod.node_name:
            if counted is None:
                return f"is on node {pod.node_name} and not in the cache"
            same = counted.node_name == pod.node_name
            return "" if same else f"is on node {pod.node_name} and counted on {counted.node_name}"
        if pod.scheduler_name not in self._served or counted is not None or self._queue.is_in_flight(pod.uid):
            return ""
        waiting = self._queue.find(pod.key)
        return "" if waiting is not None and waiting.pod.uid == pod.uid else "waits for a node and is not in the queue"

    def _left_over(self, uids: set[str], pods: Mapping[str, Pod]) -> set[Difference]:
        exist = uids | {pod.uid for pod in pods.values()}
        return {
            Difference("pods", pod.uid, f"pod {pod.key} is in the cache and does not exist")
            for pod in self._cache.pods()
            if pod.uid not in exist and not self._cache.is_assumed(pod.uid)
        }

"""The remit of a profile: the nodes that it uses, and the pods that it may evict."""

import numpy as np

from pilotage.framework.api.node_matching import match_labels
from pilotage.framework.api.nodes import Bools, Nodes
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelMatcher


class Remit:
    """The schedulers whose pods may be evicted, and the selector of the profile's nodes; None means all."""

    __slots__ = ("_count", "_mask", "_nodes", "_version", "labels", "schedulers")

    def __init__(self, schedulers: frozenset[str] | None = None, labels: LabelMatcher | None = None) -> None:
        self.schedulers = schedulers
        self.labels = labels
        self._nodes: Nodes | None = None  # the nodes that the mask is for, at a version
        self._version = -1
        self._mask: Bools = np.zeros(0, np.bool_)
        self._count = 0

    def is_same(self, other: "Remit") -> bool:
        """Return whether another remit permits the same."""
        return self.schedulers == other.schedulers and self.labels is other.labels  # equal selectors share a matcher

    def own(self, nodes: Nodes) -> Bools | None:
        """Return a mask of the profile's nodes among all nodes of the cluster; None for all."""
        if self.labels is None:
            return None
        if self._nodes is None or self._version != nodes.static_version or not self._nodes.same_cluster(nodes):
            self._nodes, self._version = nodes, nodes.static_version
            self._mask = match_labels(self.labels, nodes)
            self._count = int(np.count_nonzero(self._mask))
        return self._mask

    def count(self, nodes: Nodes) -> int:
        """Return how many nodes of the cluster belong to the profile."""
        return len(nodes) if self.own(nodes) is None else self._count

    def is_foreign(self, pod: Pod) -> bool:
        """Return whether a pod belongs to another scheduler and must not be evicted."""
        return self.schedulers is not None and pod.scheduler_name not in self.schedulers

    def may_evict(self, pod: Pod, nodes: Nodes) -> bool:
        """Return whether a placed pod may be evicted: it is not foreign, and on a node of the profile."""
        if self.is_foreign(pod):
            return False
        if self.labels is None:
            return True
        info = nodes.find(pod.node_name)
        return info is not None and self.labels.matches(info.labels)


EVERYTHING = Remit()

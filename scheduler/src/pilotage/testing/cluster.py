"""A cluster in memory, for tests of plugins."""

from collections.abc import Iterable, Sequence

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.delegation import Delegation
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.objects import Kind
from pilotage.model.node import Node
from pilotage.model.pod import Pod


class FakeCluster:
    """Nodes, pods that name their node, and other objects."""

    def __init__(self, nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), objects: Iterable[Kind] = ()) -> None:
        self.cache = ClusterCache()
        self.nominations: dict[str, list[Pod]] = {}
        self.delegation = Delegation()
        for given in objects:
            self.cache.objects.put(given)
        for node in nodes:
            self.cache.put_node(node)
        for pod in pods:
            self.cache.put_pod(pod)

    @property
    def nodes(self) -> Nodes:
        """Return all nodes."""
        return self.cache.nodes()

    def add_pod(self, pod: Pod) -> None:
        """Place a pod on the node that it names."""
        self.cache.put_pod(pod)

    def remove_pod(self, pod: Pod) -> None:
        """Remove a pod from its node."""
        self.cache.remove_pod(pod.uid)

    def nominated(self, node: str) -> Sequence[Pod]:
        """Return the pods for which a node is nominated."""
        return self.nominations.get(node, ())

    def cycle(self, pod: Pod) -> Cycle:
        """Start a scheduling cycle for a pod."""
        return Cycle(pod, self.nodes, self.cache.placed, self.cache.objects, nominated=self.nominated)


class Nominations:
    """The nominations of a cluster, with the engine's interface."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    @property
    def nodes(self) -> Sequence[str]:
        """Return the nodes with a nomination."""
        return [node for node, pods in self._cluster.nominations.items() if pods]

    version = 0

    def changed_since(self, version: int) -> None:
        """Return None for all nodes: tests may change nominations in any way."""

    def node_of(self, pod: Pod) -> str | None:
        """Return the node that is nominated for a pod."""
        nominations = self._cluster.nominations.items()
        return next((node for node, pods in nominations if any(each.uid == pod.uid for each in pods)), None)

    def pods_for_node(self, node: str) -> Sequence[Pod]:
        """Return the pods for which a node is nominated."""
        return self._cluster.nominated(node)

"""A cluster in memory, for tests of plugins."""

from collections.abc import Iterable, Sequence

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.objects import Kind
from pilotage.model.node import Node
from pilotage.model.pod import Pod


class FakeCluster:
    """Nodes, pods that name their node, and other objects."""

    def __init__(self, nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), objects: Iterable[Kind] = ()) -> None:
        self.cache = ClusterCache()
        self.nominations: dict[str, list[Pod]] = {}
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
        """Take a pod away."""
        self.cache.remove_pod(pod.uid)

    def nominated(self, node: str) -> Sequence[Pod]:
        """Return the pods for which a node was nominated."""
        return self.nominations.get(node, ())

    def cycle(self, pod: Pod) -> Cycle:
        """Begin to schedule a pod."""
        return Cycle(pod, self.nodes, self.cache.placed, self.cache.objects, nominated=self.nominated)

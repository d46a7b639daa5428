"""PodState: prefers nodes with terminating pods and few nominated ones."""

from pilotage.framework.api.caching import SHAPE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.node_facts import NodeColumn
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Score
from pilotage.framework.api.scoring import by_range
from pilotage.model.pod import Pod


class PodState(Score):
    """Prefer nodes with many terminating pods and few nominated ones."""

    # Nominations change without a change of the node.
    caching = Caching(per=SHAPE)
    retry_on = ()
    normalize = by_range

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._leaving = NodeColumn()

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the number of terminating pods of the node minus the number of its nominated pods."""
        return leaving(node) - len(cycle.nominated(node.name))

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes; few of them have nominated pods."""
        scores = self._leaving.read(cycle.nodes, leaving).copy()
        for name in cycle.nominated_nodes():
            if (node := cycle.nodes.find(name)) is not None:
                scores[node.slot] -= len(cycle.nominated(name))
        return nodes.at(scores)


def leaving(node: NodeInfo) -> int:
    """Return how many pods of a node are being deleted."""
    return sum(pod.is_terminating for pod in node.pods.values())

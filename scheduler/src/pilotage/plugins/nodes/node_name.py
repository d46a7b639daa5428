"""NodeName: pods that name their node."""

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import NODE_ADDED
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter
from pilotage.framework.api.verdicts import SKIP, Filtered, OnlyNodes, PreFiltered, Rejection, Verdicts
from pilotage.model.pod import Pod

OTHER_NODE = Rejection("node(s) didn't match the requested node name", preemption_helps=False)


class NodeName(PreFilter, Filter):
    """Keep a pod that names a node on that node."""

    # Not cached: the name is not part of a pod's shape, and hardly any pods have one.
    retry_on = (NODE_ADDED,)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Return the node that the pod names."""
        return OnlyNodes(frozenset((pod.node_name,))) if pod.node_name else SKIP

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject every other node."""
        return OTHER_NODE if pod.node_name and pod.node_name != node.name else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject every other node, all at once."""
        if not pod.node_name:
            return Verdicts.all_fit(len(nodes))
        named = nodes.find(pod.node_name)
        return Verdicts.where(nodes.slots != (-1 if named is None else named.slot), OTHER_NODE)

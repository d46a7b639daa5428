"""NodeUnschedulable: cordoned nodes."""

from collections.abc import Iterator

from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.node_changes import node_remedy, with_facts
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter, nothing_to_note
from pilotage.framework.api.pod_changes import plain
from pilotage.framework.api.remedies import Change, Remedy
from pilotage.framework.api.verdicts import Filtered, Rejection, Verdicts
from pilotage.model.node import Node
from pilotage.model.pod import Pod, PodShape
from pilotage.model.tolerations import NO_SCHEDULE, Taint, tolerated

CORDONED = Rejection("node(s) were unschedulable", preemption_helps=False)
# A cordoned node is treated as if it had this taint.
CORDON = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)


class NodeUnschedulable(PreFilter, Filter):
    """Keep pods off cordoned nodes, unless they tolerate that."""

    caching = Caching(STATIC, per=SHAPE)
    retry_on = (
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, "became_schedulable"),
        Retry(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION, "now_tolerates"),
    )

    pre_filter = nothing_to_note

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a cordoned node."""
        return CORDONED if node.node.unschedulable and not _tolerates(pod) else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all cordoned nodes."""
        return Verdicts.all_fit(len(nodes)) if _tolerates(pod) else Verdicts.where(nodes.unschedulable, CORDONED)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer to uncordon a node, which also removes the taint for it."""
        node = nodes[0].node
        taints = tuple(taint for taint in node.taints if taint.key != CORDON.key)
        changed = with_facts(node, unschedulable=False, taints=taints)
        words = "uncordon {node}" if len(nodes) == 1 else "uncordon {node} (or another of {count} nodes)"
        patch = {"spec": {"unschedulable": None, **({"taints": plain(taints)} if taints != node.taints else {})}}
        change = Change("spec.unschedulable", "true", "false")
        yield node_remedy("uncordon", words, node, changed, patch, change, count=len(nodes))

    def became_schedulable(self, pod: Pod, event: Event, old: Node | None, new: Node) -> bool:
        """Return whether the node is schedulable now, and was cordoned before or is new."""
        return not new.unschedulable and (old is None or old.unschedulable)

    def now_tolerates(self, pod: Pod, event: Event, old: Pod | None, new: Pod) -> bool:
        """Return whether the pod tolerates cordoned nodes now."""
        return _tolerates(new)


def _tolerates(pod: Pod) -> bool:
    return pod.shape.remember(("NodeUnschedulable", "tolerates"), _shape_tolerates)


def _shape_tolerates(shape: PodShape) -> bool:
    return tolerated(CORDON, shape.tolerated)

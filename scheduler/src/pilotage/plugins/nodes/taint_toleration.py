"""Taints of nodes and tolerations of pods."""

from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter, PreScore, Score, nothing_to_note
from pilotage.framework.api.scoring import by_maximum_reversed
from pilotage.framework.api.taint_matching import tolerates_all, untolerated_preferences
from pilotage.framework.api.verdicts import Filtered, Rejection, Verdicts
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.model.tolerations import count_untolerated_preferences, first_untolerated

TAINTED = Rejection("node(s) had untolerated taint(s)", preemption_helps=False)


class TaintToleration(PreFilter, Filter, PreScore, Score):
    """Keep pods off nodes with taints that they do not tolerate, and prefer nodes that do not mind them."""

    caching = Caching(STATIC, per=SHAPE)
    retry_on = (
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, "became_tolerable"),
        Retry(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION),
    )
    normalize = by_maximum_reversed

    pre_filter = nothing_to_note

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node with a taint that forbids the pod."""
        return None if _may_run(pod, node.node) else TAINTED

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes."""
        return Verdicts.where(~tolerates_all(pod.shape.tolerated, nodes), TAINTED)

    pre_score = nothing_to_note  # even without any taint every node gets its 100

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return how many taints ask the pod to stay away; the fewest is best."""
        return count_untolerated_preferences(node.taints, pod.shape.tolerated)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for all nodes."""
        return untolerated_preferences(pod.shape.tolerated, nodes)

    def became_tolerable(self, pod: Pod, event: Event, old: Node | None, new: Node) -> bool:
        """Return whether the taints forbade the pod, or the node was not there, and they allow it now."""
        return _may_run(pod, new) and (old is None or not _may_run(pod, old))


def _may_run(pod: Pod, node: Node) -> bool:
    return first_untolerated(node.taints, pod.shape.tolerated) is None

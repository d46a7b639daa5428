"""The filter for a profile's own nodes; all other plugins never see the other nodes."""

from pilotage.config.sharing import OwnNodes
from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import NODE_ADDED, NODE_LABELS_CHANGED
from pilotage.framework.api.node_matching import match_labels
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter
from pilotage.framework.api.verdicts import Filtered, Rejection, Verdicts
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelMatcher

NOT_OWN = Rejection("node(s) are not among the profile's own", preemption_helps=False)


class NodesOfProfile(Filter):
    """Reject nodes that the profile's selector does not match; runs first, and only with a selector."""

    nodes: OwnNodes

    caching = Caching(STATIC, per=SHAPE)
    retry_on = (NODE_ADDED, NODE_LABELS_CHANGED)

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._matcher: LabelMatcher | None = None

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node with other labels."""
        return None if self._labels().matches(node.labels) else NOT_OWN

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes at once."""
        return Verdicts.where(~match_labels(self._labels(), nodes), NOT_OWN)

    def _labels(self) -> LabelMatcher:
        if self._matcher is None:
            self._matcher = self.nodes.matcher()
        assert self._matcher is not None  # this plugin is never created for all nodes
        return self._matcher


def is_left_out(rejection: Rejection) -> bool:
    """Return whether a node was rejected because it does not belong to the profile."""
    return rejection.plugin == NodesOfProfile.name

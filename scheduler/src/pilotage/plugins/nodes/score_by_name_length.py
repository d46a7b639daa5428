"""A sample: the name of a node as its score."""

import numpy as np

from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Score
from pilotage.model.pod import Pod


class ScoreByNameLength(Score):
    """Prefer nodes by the last digit of the sum of the bytes of their name: a sample, to see a plugin at work."""

    caching = Caching(STATIC, per=SHAPE)
    retry_on = ()

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return 0 to 9; the length of the name plays no part, whatever the plugin is called."""
        return sum(node.name.encode()) % 10

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        return np.fromiter((sum(node.name.encode()) for node in nodes), np.int64, len(nodes)) % 10

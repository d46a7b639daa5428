"""ScoreByNameLength: a sample plugin that scores nodes by their names."""

import numpy as np

from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Score
from pilotage.model.pod import Pod


class ScoreByNameLength(Score):
    """Prefer nodes by the last digit of the sum of the bytes of their name; a sample plugin to try things out."""

    caching = Caching(STATIC, per=SHAPE)
    retry_on = ()

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return 0 to 9; despite the plugin's name, the length does not matter."""
        return sum(node.name.encode()) % 10

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        return np.fromiter((sum(node.name.encode()) for node in nodes), np.int64, len(nodes)) % 10

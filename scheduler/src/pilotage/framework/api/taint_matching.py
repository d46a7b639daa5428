"""Taints of many nodes at once: which nodes they forbid, and which they only discourage."""

import numpy as np

from pilotage.framework.api.distinct import answer_for_each
from pilotage.framework.api.nodes import Bools, Ints, Nodes
from pilotage.model.tolerations import Tolerations, count_untolerated_preferences, coverage, first_untolerated


def tolerates_all(tolerations: Tolerations, nodes: Nodes) -> Bools:
    """Return on which nodes all taints that forbid scheduling or running are tolerated."""
    covered = coverage(tolerations)
    return answer_for_each(
        nodes.taint_set_ids, nodes.taint_sets, lambda taints: first_untolerated(taints, covered) is None, np.bool_
    )


def untolerated_preferences(tolerations: Tolerations, nodes: Nodes) -> Ints:
    """Return how many taints of each node only ask pods to stay away and are not tolerated."""
    covered = coverage(tolerations)
    return answer_for_each(
        nodes.taint_set_ids, nodes.taint_sets, lambda taints: count_untolerated_preferences(taints, covered), np.int64
    )

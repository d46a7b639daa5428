"""Taints of many nodes at once: NoSchedule and NoExecute, and PreferNoSchedule."""

import numpy as np

from pilotage.framework.api.distinct import answer_for_each
from pilotage.framework.api.nodes import Bools, Ints, Nodes
from pilotage.model.tolerations import Tolerations, count_untolerated_preferences, coverage, first_untolerated


def tolerates_all(tolerations: Tolerations, nodes: Nodes) -> Bools:
    """Return on which nodes the pod tolerates all NoSchedule and NoExecute taints."""
    covered = coverage(tolerations)
    return answer_for_each(
        nodes.taint_set_ids, nodes.taint_sets, lambda taints: first_untolerated(taints, covered) is None, np.bool_
    )


def untolerated_preferences(tolerations: Tolerations, nodes: Nodes) -> Ints:
    """Return the number of PreferNoSchedule taints of each node that the pod does not tolerate."""
    covered = coverage(tolerations)
    return answer_for_each(
        nodes.taint_set_ids, nodes.taint_sets, lambda taints: count_untolerated_preferences(taints, covered), np.int64
    )

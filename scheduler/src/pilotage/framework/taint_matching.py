"""Taints of many nodes at once: who is kept away by them, and who would rather stay away."""

from collections.abc import Collection

import numpy as np

from pilotage.framework.distinct import answer_for_each
from pilotage.framework.nodes import Bools, Ints, Nodes
from pilotage.model.tolerations import Toleration, count_untolerated_preferences, first_untolerated


def tolerates_all(tolerations: Collection[Toleration], nodes: Nodes) -> Bools:
    """Tell on which nodes all taints that forbid scheduling or running are tolerated."""
    return answer_for_each(
        nodes.taint_set_ids, nodes.taint_sets, lambda taints: first_untolerated(taints, tolerations) is None, np.bool_
    )


def untolerated_preferences(tolerations: Collection[Toleration], nodes: Nodes) -> Ints:
    """Return how many taints of each node only ask pods to stay away and are not tolerated."""
    return answer_for_each(
        nodes.taint_set_ids,
        nodes.taint_sets,
        lambda taints: count_untolerated_preferences(taints, tolerations),
        np.int64,
    )

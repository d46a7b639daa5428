"""The resources that a cluster as a whole lacks."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from pilotage.framework.api.huge_amounts import exact_sum
from pilotage.framework.api.nodes import Nodes
from pilotage.kinds.quota_accounting import quantity_text
from pilotage.model.pod import Pod
from pilotage.model.quantity import InvalidQuantity
from pilotage.model.requests import counted


def resource_gap(
    nodes: Nodes,
    wanted: Mapping[str, str | int | float],
    pods: int,
    own: Iterable[Pod],
    serves: Callable[[str], bool] = lambda _resource: False,
) -> str:
    """Return which resources are missing, "" if none; the group's own pods do not count as used.

    An overcommitted node counts as zero, not as negative. What devices serve is not counted: no node reports it.
    """
    try:
        need = {**counted(wanted), "pods": pods}
    except InvalidQuantity as error:
        return f"minResources is invalid: {error}"
    mine = list(own)
    gaps = []
    for resource, amount in need.items():
        if serves(resource):
            continue
        if resource == "pods":
            free = exact_sum(np.maximum(nodes.allowed_pods - nodes.pod_count, 0)) + len(mine)
        else:
            free = exact_sum(np.maximum(nodes.allocatable(resource) - nodes.requested(resource), 0))
            free += sum(pod.usage.get(resource, 0) for pod in mine)
        if amount > free:
            gaps.append(_gap(resource, amount, free))
    return ", ".join(sorted(gaps))


def _gap(resource: str, wanted: int, free: int) -> str:
    missing, all_of_it, there = (quantity_text(resource, amount) for amount in (wanted - free, wanted, free))
    return f"{resource}: {missing} (wants {all_of_it}, {there} free)"

"""The simple check: could this pod go to this node now."""

from auditor.node import Node
from auditor.occupancy import Occupancy
from auditor.placement import allows, endures
from auditor.pod import Pod
from auditor.ports import conflict


def fits(pod: Pod, node: Node, occupancy: Occupancy) -> bool:
    """Return whether the node is ready, matches the pod's affinity and tolerations, and has the room."""
    return (
        node.usable
        and allows(pod.placement, node.name, node.labels)
        and all(endures(pod.placement.tolerations, taint) for taint in node.taints)
        and has_room(pod, node, occupancy)
    )


def has_room(pod: Pod, node: Node, occupancy: Occupancy) -> bool:
    """Return whether the pod fits beside the node's pods and nominated ones of the same or higher priority."""
    held = occupancy.held(node.name)
    nominated = list(occupancy.nominated(node.name, pod.priority, but=pod.uid))
    if len(held.pods) + len(nominated) + 1 > node.allocatable.get("pods", 0):
        return False
    for name, amount in pod.demand:
        reserved = sum(dict(other.demand).get(name, 0) for other in nominated)
        if held.total[name] + reserved + amount > node.allocatable.get(name, 0):
            return False
    if not pod.ports:
        return True
    return not conflict(pod.ports, [*held.ports, *(port for other in nominated for port in other.ports)])

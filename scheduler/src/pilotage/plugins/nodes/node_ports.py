"""Ports that pods take of their node."""

from collections.abc import Collection
from functools import cache, partial

import numpy as np

from pilotage.framework.cycle import Cycle
from pilotage.framework.events import NODE_ADDED, Action, Event, Resource, Retry
from pilotage.framework.nodes import NodeInfo, Nodes
from pilotage.framework.plugin import NODE, Filter, PreFilter
from pilotage.framework.verdicts import SKIP_SHAPE, Filtered, PreFiltered, Rejection, Verdicts
from pilotage.model.pod import ANY_ADDRESS, HostPort, Pod

TAKEN = Rejection("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilter, Filter):
    """Keep pods off nodes where another pod has a host port that they want."""

    depends_on = NODE
    same_for_shape = True
    retry_on = (Retry(Resource.ASSIGNED_POD, Action.DELETE, "freed_a_port"), NODE_ADDED)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Have nothing to say about pods without host ports."""
        return None if pod.shape.host_ports else SKIP_SHAPE

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node where a port is taken."""
        return TAKEN if _conflict(pod.shape.host_ports, node.used_ports) else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes; there is no column of ports, but few pods have any, and most nodes use the same."""
        taken = cache(partial(_conflict, pod.shape.host_ports))
        verdicts = Verdicts(np.zeros(len(nodes), np.uint16), (TAKEN,))
        places = [i for i, node in enumerate(nodes) if node.used_ports and taken(tuple(node.used_ports))]
        verdicts.codes[places] = 1
        return verdicts

    def freed_a_port(self, pod: Pod, event: Event, old: Pod, new: Pod | None) -> bool:
        """Tell whether the pod that is gone had, or was promised, a port that this one wants."""
        placed = old.node_name or old.nominated_node
        return bool(placed) and _conflict(pod.shape.host_ports, old.shape.host_ports)


def _conflict(wanted: Collection[HostPort], used: Collection[HostPort]) -> bool:
    return any(_is_taken(port, used) for port in wanted)


def _is_taken(wanted: HostPort, used: Collection[HostPort]) -> bool:
    address, protocol, port = wanted
    if address == ANY_ADDRESS:
        return any((protocol, port) == other[1:] for other in used)
    return wanted in used or (ANY_ADDRESS, protocol, port) in used

"""Ports that pods take of their node."""

from collections.abc import Container, Set

import numpy as np

from pilotage.framework.api.caching import NODE, SHAPE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import NODE_ADDED, Action, Event, Resource, Retry
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter
from pilotage.framework.api.verdicts import SKIP_SHAPE, Filtered, PreFiltered, Rejection, Verdicts
from pilotage.model.pod import ANY_ADDRESS, HostPort, Pod, PodShape, PortNumber

TAKEN = Rejection("node(s) didn't have free ports for the requested pod ports")


class NodePorts(PreFilter, Filter):
    """Keep pods off nodes where another pod has a host port that they want."""

    caching = Caching(NODE, per=SHAPE)
    retry_on = (Retry(Resource.ASSIGNED_POD, Action.DELETE, "freed_a_port"), NODE_ADDED)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Skip pods without host ports."""
        return None if pod.shape.host_ports else SKIP_SHAPE

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node where a port is taken."""
        return TAKEN if _conflict(pod.shape, node.used_ports, node.port_numbers.keys()) else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes; there is no column of ports, but few pods have any."""
        verdicts, shape = Verdicts(np.zeros(len(nodes), np.uint16), (TAKEN,)), pod.shape
        used = ((place, node) for place, node in enumerate(nodes) if node.used_ports)
        taken = [place for place, node in used if _conflict(shape, node.used_ports, node.port_numbers.keys())]
        verdicts.codes[taken] = 1
        return verdicts

    def freed_a_port(self, pod: Pod, event: Event, old: Pod, new: Pod | None) -> bool:
        """Return whether the pod that is gone had a port that this one wants, or was nominated to a node with it."""
        placed, numbers = old.node_name or old.nominated_node, old.shape.port_numbers
        if not placed or numbers.isdisjoint(pod.shape.port_numbers):
            return False
        return _conflict(pod.shape, frozenset(old.shape.host_ports), numbers)


def _conflict(wanting: PodShape, used: Container[HostPort], numbers: Set[PortNumber]) -> bool:
    """Return whether any port that a pod wants is used; the numbers are those of the used ones."""
    # Iterate over the shorter of two tables: a single pod can have thousands of ports.
    if numbers.isdisjoint(wanting.port_numbers):
        return False
    return any(_is_taken(port, used, numbers) for port in wanting.host_ports)


def _is_taken(wanted: HostPort, used: Container[HostPort], numbers: Container[PortNumber]) -> bool:
    address, protocol, port = wanted
    if address == ANY_ADDRESS:
        return (protocol, port) in numbers
    return wanted in used or (ANY_ADDRESS, protocol, port) in used

"""Ports that pods take of their node."""

from collections.abc import Container, Iterator, Set

import msgspec
import numpy as np

from pilotage.framework.api.caching import NODE, SHAPE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import NODE_ADDED, Action, Event, Resource, Retry
from pilotage.framework.api.node_changes import freed, movable
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter
from pilotage.framework.api.pod_changes import plain, with_spec
from pilotage.framework.api.remedies import Change, Remedy
from pilotage.framework.api.verdicts import SKIP_SHAPE, Filtered, PreFiltered, Rejection, Verdicts
from pilotage.model.pod import ANY_ADDRESS, HostPort, Pod, PodShape, PortNumber

TCP = "TCP"
HIGHEST = 65535
MOST_NODES = 64  # on which the holders of ports are looked up
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

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer that the holders of ports leave the node where they are fewest, or another port."""
        holders = [
            (info, _holders(info, pod)) for info in (nodes[place] for place in range(min(MOST_NODES, len(nodes))))
        ]
        leaving = [(info, pods) for info, pods in holders if pods and all(pod in movable(info) for pod in pods)]
        if leaving:
            yield freed(*min(leaving, key=lambda each: (len(each[1]), max(other.priority for other in each[1]))))
        yield from _other_ports(pod, nodes)

    def freed_a_port(self, pod: Pod, event: Event, old: Pod, new: Pod | None) -> bool:
        """Return whether the pod that is gone had a port that this one wants, or was nominated to a node with it."""
        placed, numbers = old.node_name or old.nominated_node, old.shape.port_numbers
        if not placed or numbers.isdisjoint(pod.shape.port_numbers):
            return False
        return _conflict(pod.shape, frozenset(old.shape.host_ports), numbers)


def _holders(info: NodeInfo, pod: Pod) -> list[Pod]:
    """Return the pods on a node that have a port which a pod wants."""
    with_ports = (other for other in info.pods.values() if other.shape.host_ports)
    return [
        other
        for other in with_ports
        if _conflict(pod.shape, frozenset(other.shape.host_ports), other.shape.port_numbers)
    ]


def _other_ports(pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
    """Offer the next port that is free, in place of one that is taken everywhere."""
    taken = {number for info in nodes for number in info.port_numbers}
    wanted = {number for number in pod.shape.port_numbers if number in taken}
    if len(wanted) != 1 or pod.spec.host_network:
        return  # on the host's network a container listens on the very port that it names
    protocol, port = wanted.pop()
    found = next((each for each in range(port + 1, HIGHEST + 1) if (protocol, each) not in taken), None)
    if found is not None:
        yield _with_port(pod, protocol, port, found)


def _with_port(pod: Pod, protocol: str, port: int, other: int) -> Remedy:
    changed, patched, changes = [], [], []
    for index, container in enumerate(pod.spec.containers):
        ports = tuple(
            msgspec.structs.replace(each, host_port=other)
            if (each.host_port, each.protocol or TCP) == (port, protocol)
            else each
            for each in container.ports
        )
        if ports != container.ports:
            of_it = [(place, each) for place, each in enumerate(ports) if each != container.ports[place]]
            changes += [Change(f"spec.containers[{index}].ports[{place}].hostPort", port, other) for place, _ in of_it]
            patched.append({"name": container.name, "ports": [plain(each) for _, each in of_it]})
        changed.append(msgspec.structs.replace(container, ports=ports))
    change = with_spec(pod, {"containers": patched}, containers=tuple(changed))
    return Remedy(
        code="otherPort",
        actor="owner",
        words="ask for the host port {to} instead of {from}",
        values={"from": port, "to": other},
        changes=tuple(changes),
        target=change.target,
        patch=change.patch,
        difference=change.difference,
    )


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

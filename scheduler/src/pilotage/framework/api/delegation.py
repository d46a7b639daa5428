"""Extended resources that one plugin serves with devices, on nodes that report none of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from pilotage.framework.api.node_changes import with_facts
from pilotage.framework.api.nodes import Bools, Ids, Ints, NodeInfo, Nodes


class Devices(NamedTuple):
    """How many devices of a node can serve a resource, and how many of them are in use."""

    existing: int = 0
    used: int = 0


class Delegate(Protocol):
    """A plugin that serves extended resources."""

    @property
    def names_version(self) -> int:
        """Return a number that changes with the resources that it serves."""

    @property
    def devices_version(self) -> int:
        """Return a number that changes with devices and their use."""

    def serves(self, resource: str) -> bool:
        """Return whether devices serve a resource where a node reports none of it."""

    def devices(self, resource: str, node: NodeInfo) -> Devices:
        """Return the devices that can serve a resource on a node."""


class Delegation:
    """Who serves extended resources in a profile; without anyone, no plugin may ignore that a node has none."""

    def __init__(self) -> None:
        self._delegates: list[Delegate] = []  # a reload starts the next one before it ends the last
        self._changes = 0

    def begin(self, delegate: Delegate) -> None:
        """Ask this plugin from now on."""
        self._delegates.append(delegate)
        self._changes += 1

    def end(self, delegate: Delegate) -> None:
        """Do not ask this plugin any more."""
        self._delegates.remove(delegate)
        self._changes += 1

    def serves(self, resource: str) -> bool:
        """Return whether devices serve a resource where a node reports none of it."""
        return bool(self._delegates) and self._delegates[-1].serves(resource)

    def epoch(self, scored: Iterable[str] = ()) -> int:
        """Return a number that changes with the resources that are served, and with the devices of these."""
        if not self._delegates:
            return self._changes
        delegate = self._delegates[-1]
        devices = delegate.devices_version if any(map(delegate.serves, scored)) else 0
        return (self._changes << 96) + (delegate.names_version << 48) + devices

    def with_devices(self, nodes: Nodes, resources: Iterable[str]) -> Nodes:
        """Return nodes whose amounts of these resources are numbers of devices where devices serve them."""
        served = [resource for resource in resources if self.serves(resource)]
        if not served:
            return nodes
        return _NodesWithDevices(nodes, {resource: self._amounts(resource, nodes) for resource in served})

    def with_devices_of(self, node: NodeInfo, resources: Iterable[str]) -> NodeInfo:
        """Return the same for one node."""
        served = [resource for resource in resources if self.serves(resource) and not node.allocatable.get(resource)]
        found = {resource: self._delegates[-1].devices(resource, node) for resource in served}
        return _with_amounts(node, {resource: each for resource, each in found.items() if each.existing})

    def _amounts(self, resource: str, nodes: Nodes) -> "_Amounts":
        allocatable, requested = nodes.allocatable(resource).copy(), nodes.requested(resource).copy()
        delegate = self._delegates[-1]
        for place in np.flatnonzero(allocatable == 0).tolist():
            found = delegate.devices(resource, nodes[place])
            if found.existing:
                allocatable[place], requested[place] = found
        return _Amounts(allocatable, requested)


class _Amounts(NamedTuple):
    """The amounts of a resource on some nodes."""

    allocatable: Ints
    requested: Ints


class _NodesWithDevices(Nodes):
    """Nodes that report numbers of devices where they have none of a resource."""

    __slots__ = ("_amounts", "_nodes")

    def __init__(self, nodes: Nodes, amounts: Mapping[str, _Amounts]) -> None:
        super().__init__(nodes._table, nodes.slots)
        self._nodes = nodes
        self._amounts = amounts

    def __getitem__(self, place: int) -> NodeInfo:
        """Return the node at an index of this set."""
        found = {name: Devices(int(all_of[place]), int(used[place])) for name, (all_of, used) in self._amounts.items()}
        return _with_amounts(self._nodes[place], found)

    def __iter__(self) -> Iterator[NodeInfo]:
        """Yield the nodes one by one."""
        return (self[place] for place in range(len(self)))

    def take(self, which: Bools | Ids) -> Nodes:
        """Return the nodes that a mask or a list of indices selects."""
        taken = {name: _Amounts(all_of[which], used[which]) for name, (all_of, used) in self._amounts.items()}
        return _NodesWithDevices(self._nodes.take(which), taken)

    def allocatable(self, resource: str) -> Ints:
        """Return the allocatable amount on each node, or the number of devices."""
        found = self._amounts.get(resource)
        return self._nodes.allocatable(resource) if found is None else found.allocatable

    def requested(self, resource: str) -> Ints:
        """Return the amount that the pods on each node request, or the number of used devices."""
        found = self._amounts.get(resource)
        return self._nodes.requested(resource) if found is None else found.requested


def _with_amounts(node: NodeInfo, devices: Mapping[str, Devices]) -> NodeInfo:
    if not devices:
        return node
    copy = node.clone()
    amounts = {resource: each.existing for resource, each in devices.items()}
    copy.node = with_facts(node.node, allocatable={**node.allocatable, **amounts})
    copy.requested.update({resource: each.used for resource, each in devices.items()})
    return copy

"""Nodes as plugins see them: one by one with their pods, or many at once as arrays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pilotage.model.node import Node
from pilotage.model.pod import HostPort, Pod, PortNumber
from pilotage.model.requests import CPU, MEMORY
from pilotage.model.tolerations import Taint

Ints = NDArray[np.int64]
Ids = NDArray[np.int32]
Bools = NDArray[np.bool_]
Element = TypeVar("Element", bound=np.generic)
Port = TypeVar("Port", HostPort, PortNumber)

ABSENT = 0  # the id of a label that a node does not have


class NodeInfo:
    """A node, the pods on it (bound or about to be), and its free resources."""

    __slots__ = (
        "changes",
        "node",
        "nonzero_cpu",
        "nonzero_memory",
        "pods",
        "port_numbers",
        "requested",
        "slot",
        "used_ports",
    )

    def __init__(self, node: Node, slot: int = -1) -> None:
        self.node = node
        self.slot = slot  # its index in all arrays
        self.changes = 0  # the number of changes of its pods and usage so far
        self.pods: dict[str, Pod] = {}  # by uid
        self.requested: dict[str, int] = {}
        self.nonzero_cpu = 0
        self.nonzero_memory = 0
        self.used_ports: dict[HostPort, int] = {}  # the number of pods that use it
        self.port_numbers: dict[PortNumber, int] = {}  # the same, regardless of the address

    def __repr__(self) -> str:
        return f"NodeInfo({self.name}, {len(self.pods)} pods)"

    @property
    def name(self) -> str:
        """Return the node's name."""
        return self.node.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Return the node's labels."""
        return self.node.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        """Return the node's annotations."""
        return self.node.annotations

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Return the node's taints."""
        return self.node.taints

    @property
    def allocatable(self) -> Mapping[str, int]:
        """Return the allocatable resources: cpu in thousandths, everything else in units."""
        return self.node.allocatable

    def free(self, resource: str) -> int:
        """Return how much of a resource is not requested on the node; negative if overcommitted."""
        return self.node.allocatable.get(resource, 0) - self.requested.get(resource, 0)

    def add_pod(self, pod: Pod) -> None:
        """Add a pod."""
        self.pods[pod.uid] = pod
        self.changes += 1
        self._count(pod, 1)
        if pod.shape.host_ports:
            _count(self.used_ports, pod.shape.host_ports, 1)
            _count(self.port_numbers, pod.shape.port_numbers, 1)

    def remove_pod(self, pod: Pod) -> None:
        """Remove a pod that was added."""
        known = self.pods.pop(pod.uid)  # as it was added, not as it is now
        self.changes += 1
        self._count(known, -1)
        for resource in known.usage:
            if not self.requested[resource]:
                del self.requested[resource]
        if known.shape.host_ports:
            _count(self.used_ports, known.shape.host_ports, -1)
            _count(self.port_numbers, known.shape.port_numbers, -1)

    def take(self, amounts: Mapping[str, int], sign: int = 1) -> None:
        """Add amounts that no visible pod requests, or, if negative, subtract them again."""
        self.changes += 1
        for resource, amount in amounts.items():
            self.requested[resource] = self.requested.get(resource, 0) + sign * amount
            if not self.requested[resource]:
                del self.requested[resource]
        self.nonzero_cpu += sign * amounts.get(CPU, 0)
        self.nonzero_memory += sign * amounts.get(MEMORY, 0)

    def clone(self) -> "NodeInfo":
        """Return a copy whose pods can be changed for a what-if."""
        copy = NodeInfo(self.node, self.slot)
        copy.pods = dict(self.pods)
        copy.requested = dict(self.requested)
        copy.nonzero_cpu, copy.nonzero_memory = self.nonzero_cpu, self.nonzero_memory
        copy.used_ports, copy.port_numbers = dict(self.used_ports), dict(self.port_numbers)
        return copy

    def _count(self, pod: Pod, sign: int) -> None:
        requested = self.requested
        for resource, amount in pod.usage.items():
            requested[resource] = requested.get(resource, 0) + sign * amount
        cpu, memory = pod.nonzero_usage
        self.nonzero_cpu += sign * cpu
        self.nonzero_memory += sign * memory


def _count(counts: dict[Port, int], ports: Iterable[Port], sign: int) -> None:
    for port in ports:
        number = counts[port] = counts.get(port, 0) + sign
        if not number:
            del counts[port]


class NodeTable(Protocol):
    """The source of the arrays: one entry for each node, without gaps; the index is the node's slot."""

    infos: list[NodeInfo]

    @property
    def pod_count(self) -> Ints:
        """Return how many pods are on each node."""

    @property
    def allowed_pods(self) -> Ints:
        """Return how many pods may be on each node."""

    @property
    def nonzero_cpu(self) -> Ints:
        """Return cpu requests with a small amount instead of none."""

    @property
    def nonzero_memory(self) -> Ints:
        """Return memory requests with a small amount instead of none."""

    @property
    def unschedulable(self) -> Bools:
        """Return which nodes are cordoned."""

    @property
    def taint_set_ids(self) -> Ids:
        """Return the id of each node's list of taints."""

    @property
    def static_version(self) -> int:
        """Return a number that grows when a node is added, removed or its object changes."""

    @property
    def pods_version(self) -> int:
        """Return a number that grows when anything about any node changes, its pods included."""

    @property
    def image_version(self) -> int:
        """Return a number that grows when a node's images or the number of nodes change."""

    def changed_since(self, pods_version: int) -> Ids | None:
        """Return the slots with changes since a version, each once; None if the version is too old."""

    def image(self, name: str) -> tuple[int, Ids] | None:
        """Return an image's size in bytes and, by slot, 1 for the nodes that have it; None if no node has."""

    def allocatable(self, resource: str) -> Ints:
        """Return the allocatable amounts of a resource."""

    def requested(self, resource: str) -> Ints:
        """Return the amounts of a resource that the pods on each node request."""

    def has_resource(self, resource: str) -> bool:
        """Return whether any node has a resource."""

    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """Return the distinct lists of taints, which the ids index."""

    def has_label(self, key: str) -> bool:
        """Return whether any node has a label."""

    def label_ids(self, key: str) -> Ids:
        """Return the id of each node's value of a label; ABSENT for those without it."""

    def label_values(self, key: str) -> Sequence[str]:
        """Return the distinct values of a label, which its ids index; the one at ABSENT has no meaning."""

    def label_numbers(self, key: str) -> tuple[Ints, Bools]:
        """Return the values of a label as whole numbers, and a mask of those that are numbers; ids index both."""

    def label_id(self, key: str, value: str) -> int:
        """Return the id of a value, or ABSENT if no node ever had it."""

    def slot(self, name: str) -> int | None:
        """Return the slot of a node by its name."""

    def huge_slots(self) -> Sequence[int]:
        """Return the slots of nodes whose allocatable or requested amounts may overflow 64 bits in sums."""


class Nodes:
    """Any set of nodes, with their facts as arrays in the order of the set."""

    __slots__ = ("_count", "_index", "_table", "slots")

    def __init__(self, table: NodeTable, slots: Ids | None = None) -> None:
        self._table = table
        everything = slots is None
        self.slots: Ids = np.arange(len(table.infos), dtype=np.int32) if slots is None else slots
        self._count = len(self.slots)
        # The set of all nodes is a view of the columns; a selection is a copy.
        self._index: slice | Ids = slice(0, len(table.infos)) if everything else self.slots

    def __len__(self) -> int:
        """Return the number of nodes."""
        return self._count

    def __iter__(self) -> Iterator[NodeInfo]:
        """Yield the nodes one by one."""
        infos = self._table.infos
        return iter(infos) if isinstance(self._index, slice) else (infos[slot] for slot in self.slots.tolist())

    def __getitem__(self, place: int) -> NodeInfo:
        """Return the node at an index of this set."""
        return self._table.infos[int(self.slots[place])]

    def take(self, which: Bools | Ids) -> "Nodes":
        """Return the nodes that a mask or a list of indices selects."""
        return Nodes(self._table, self.slots[which])

    def huge_places(self) -> NDArray[np.intp] | None:
        """Return the indices of nodes with amounts that may overflow 64 bits; None if the cluster has none."""
        slots = self._table.huge_slots()
        return np.flatnonzero(np.isin(self.slots, slots)) if slots else None

    def find(self, name: str) -> NodeInfo | None:
        """Return a node of the whole cluster by its name."""
        slot = self._table.slot(name)
        return None if slot is None else self._table.infos[slot]

    def same_cluster(self, other: "Nodes") -> bool:
        """Return whether both sets are of the same cluster, so that slots and versions agree."""
        return self._table is other._table

    @property
    def static_version(self) -> int:
        """Return a number that grows when a node of the cluster is added, removed or its object changes."""
        return self._table.static_version

    @property
    def pods_version(self) -> int:
        """Return a number that grows when anything about any node of the cluster changes, its pods included."""
        return self._table.pods_version

    @property
    def image_version(self) -> int:
        """Return a number that grows when a node's images or the number of nodes change."""
        return self._table.image_version

    def changed_since(self, pods_version: int) -> Ids | None:
        """Return the slots of the cluster with changes since a version; None if the version is too old."""
        return self._table.changed_since(pods_version)

    def image(self, name: str) -> tuple[int, Ids] | None:
        """Return an image's size and, for all slots of the cluster, 1 where a node has it; None if none has."""
        return self._table.image(name)

    def at(self, per_slot: NDArray[Element]) -> NDArray[Element]:
        """Return the entries for these nodes of an array over all slots."""
        return per_slot[self._index]

    def allocatable(self, resource: str) -> Ints:
        """Return the allocatable amount on each node; 0 for nodes without the resource."""
        return self._table.allocatable(resource)[self._index]

    def has_resource(self, resource: str) -> bool:
        """Return whether any node of the cluster has a resource; otherwise no pod that requests it fits."""
        return self._table.has_resource(resource)

    def requested(self, resource: str) -> Ints:
        """Return the amount that the pods on each node request."""
        return self._table.requested(resource)[self._index]

    @property
    def nonzero_cpu(self) -> Ints:
        """Return the cpu requests, with a small default for containers without one."""
        return self._table.nonzero_cpu[self._index]

    @property
    def nonzero_memory(self) -> Ints:
        """Return the memory requests, with a small default for containers without one."""
        return self._table.nonzero_memory[self._index]

    @property
    def pod_count(self) -> Ints:
        """Return how many pods are on each node."""
        return self._table.pod_count[self._index]

    @property
    def allowed_pods(self) -> Ints:
        """Return how many pods may be on each node."""
        return self._table.allowed_pods[self._index]

    @property
    def unschedulable(self) -> Bools:
        """Return which nodes are cordoned."""
        return self._table.unschedulable[self._index]

    @property
    def taint_set_ids(self) -> Ids:
        """Return the id of each node's list of taints."""
        return self._table.taint_set_ids[self._index]

    @property
    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """Return the distinct lists of taints, which the ids index."""
        return self._table.taint_sets()

    def has_label(self, key: str) -> bool:
        """Return whether any node of the cluster has a label."""
        return self._table.has_label(key)

    def label_ids(self, key: str) -> Ids:
        """Return the id of each node's value of a label; ABSENT for those without it."""
        return self._table.label_ids(key)[self._index]

    def label_values(self, key: str) -> Sequence[str]:
        """Return the distinct values of a label, which its ids index."""
        return self._table.label_values(key)

    def label_numbers(self, key: str) -> tuple[Ints, Bools]:
        """Return the values of a label as whole numbers, and a mask of those that are numbers; its ids index both."""
        return self._table.label_numbers(key)

    def label_id(self, key: str, value: str | None) -> int:
        """Return the id of a value of a label; ABSENT for None and for values that no node ever had."""
        return ABSENT if value is None else self._table.label_id(key, value)

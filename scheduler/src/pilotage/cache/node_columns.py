"""All nodes as columns: a node is a slot, slots have no gaps, and every change is noted in a journal."""

from collections.abc import Sequence

import numpy as np

from pilotage.cache.columns import Column, Columns
from pilotage.cache.images import ImageTable
from pilotage.cache.journal import Journal
from pilotage.cache.label_columns import LabelColumns
from pilotage.framework.nodes import Bools, Ids, Ints, NodeInfo
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.model.quantity import LARGEST
from pilotage.model.tolerations import Taint

SPARE_TAINT_SETS = 1024  # of nodes that are gone or changed, kept until they outnumber the nodes by this
MOST_RESOURCES = 1000  # with a column each; pods may ask for any name, and one that was dropped is built anew


class NodeColumns:
    """What `framework.nodes.NodeTable` asks for, kept up to date node by node and pod by pod."""

    def __init__(self) -> None:
        self.infos: list[NodeInfo] = []
        self.columns = Columns()
        self._slots: dict[str, int] = {}
        self._allocatable: dict[str, Column] = {}
        self._requested: dict[str, Column] = {}
        self._pod_count = self.columns.new(np.int64)
        self._allowed_pods = self.columns.new(np.int64)
        self._nonzero_cpu = self.columns.new(np.int64)
        self._nonzero_memory = self.columns.new(np.int64)
        self._unschedulable = self.columns.new(np.bool_)
        self._taint_set_ids = self.columns.new(np.int32)
        self._taint_sets: dict[tuple[Taint, ...], int] = {(): 0}
        self._labels = LabelColumns(self.columns)
        self._images = ImageTable()
        self._static_changes = Journal()
        self._changes = Journal()

    # What plugins read.

    @property
    def pod_count(self) -> Ints:
        """Return how many pods are on each node."""
        return self._pod_count.data

    @property
    def allowed_pods(self) -> Ints:
        """Return how many pods may be on each node."""
        return self._allowed_pods.data

    @property
    def nonzero_cpu(self) -> Ints:
        """Return cpu requests with a small amount instead of none."""
        return self._nonzero_cpu.data

    @property
    def nonzero_memory(self) -> Ints:
        """Return memory requests with a small amount instead of none."""
        return self._nonzero_memory.data

    @property
    def unschedulable(self) -> Bools:
        """Tell which nodes are cordoned."""
        return self._unschedulable.data

    @property
    def taint_set_ids(self) -> Ids:
        """Return which of the distinct lists of taints each node has."""
        return self._taint_set_ids.data

    @property
    def static_version(self) -> int:
        """Return a number that grows when a node is added, removed or its object changes."""
        return self._static_changes.version

    @property
    def pods_version(self) -> int:
        """Return a number that grows with every change of a node or its pods."""
        return self._changes.version

    @property
    def image_version(self) -> int:
        """Return a number that grows when images or the number of nodes change."""
        return self._images.version

    def allocatable(self, resource: str) -> Ints:
        """Return what nodes can hold of a resource; from now on it has a column."""
        column = self._allocatable.get(resource)
        if column is None:
            _drop_oldest(self._allocatable, MOST_RESOURCES)
            column = self._allocatable[resource] = self.columns.new(np.int64)
            for slot, info in enumerate(self.infos):
                column.data[slot] = within_64_bits(info.allocatable.get(resource, 0))
        return column.data

    def requested(self, resource: str) -> Ints:
        """Return what pods ask for of a resource; from now on it has a column."""
        column = self._requested.get(resource)
        if column is None:
            _drop_oldest(self._requested, MOST_RESOURCES)
            column = self._requested[resource] = self.columns.new(np.int64)
            for slot, info in enumerate(self.infos):
                column.data[slot] = within_64_bits(info.requested.get(resource, 0))
        return column.data

    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """Return the distinct lists of taints."""
        return tuple(self._taint_sets)

    def label_ids(self, key: str) -> Ids:
        """Return the id of each node's value of a label."""
        return self._labels.ids(key, self.infos)

    def label_values(self, key: str) -> Sequence[str]:
        """Return the distinct values of a label."""
        self._labels.ids(key, self.infos)
        return self._labels.values(key)

    def label_id(self, key: str, value: str) -> int:
        """Return the id of a value of a label."""
        self._labels.ids(key, self.infos)
        return self._labels.id_of(key, value)

    def slot(self, name: str) -> int | None:
        """Return the slot of a node."""
        return self._slots.get(name)

    def image(self, name: str) -> tuple[int, Ids] | None:
        """Return an image's size and which nodes have it."""
        return self._images.find(name, self._slots, len(self.infos))

    def changed_since(self, pods_version: int) -> Ids | None:
        """Return the slots with any change since a version, each once."""
        return self._changes.distinct_since(pods_version, len(self.infos))

    def changes_since(self, static_version: int, pods_version: int) -> tuple[Ids | None, Ids | None]:
        """Return the slots whose node objects changed, and those with any change; some of them twice.

        True until the next change: they are views of the journals.
        """
        count = len(self.infos)
        return self._static_changes.since(static_version, count), self._changes.since(pods_version, count)

    # What the cache writes.

    def add_node(self, node: Node) -> NodeInfo:
        """Give a new node a slot."""
        slot = len(self.infos)
        self.columns.make_room(slot + 1)
        info = NodeInfo(node, slot)
        self.infos.append(info)
        self._slots[node.name] = slot
        self._images.add(node)
        self._images.version += 1
        self._write_node(info)
        return info

    def update_node(self, info: NodeInfo, node: Node) -> None:
        """Take over a changed node object."""
        if node.images != info.node.images:
            self._images.remove(info.node)
            self._images.add(node)
            self._images.version += 1
        same = info.node.has_same_facts(node)
        info.node = node
        if not same:  # most updates are heartbeats, which change nothing that anybody asks about
            self._write_node(info)

    def remove_node(self, info: NodeInfo) -> None:
        """Forget a node; the last one moves into its slot."""
        slot, last = info.slot, len(self.infos) - 1
        moved = self.infos[last]
        self.columns.fill(slot, last)
        self.infos[slot] = moved
        moved.slot = slot
        self._slots[moved.name] = slot
        self.infos.pop()
        del self._slots[info.name]
        info.slot = -1
        self._images.remove(info.node)
        self._images.version += 1
        self._note_static(slot)
        self._static_changes.shrink()
        self._changes.shrink()

    def add_pod(self, info: NodeInfo, pod: Pod) -> None:
        """Count a pod in."""
        info.add_pod(pod)
        self._write_pods(info, pod)

    def remove_pod(self, info: NodeInfo, pod: Pod) -> None:
        """Count a pod out."""
        known = info.pods[pod.uid]
        info.remove_pod(pod)
        self._write_pods(info, known)

    def _write_node(self, info: NodeInfo) -> None:
        node, slot = info.node, info.slot
        for resource, column in self._allocatable.items():
            column.data[slot] = node.allocatable.get(resource, 0)
        self._allowed_pods.data[slot] = node.allowed_pods
        self._unschedulable.data[slot] = node.unschedulable
        self._write_taints(info)
        if len(self._taint_sets) > 2 * len(self.infos) + SPARE_TAINT_SETS:
            self._taint_sets = {(): 0}  # some taints have a time in them, and no two nodes ever the same
            for each in self.infos:
                self._write_taints(each)
        self._labels.write(slot, node.labels, len(self.infos))
        self._note_static(slot)

    def _write_taints(self, info: NodeInfo) -> None:
        known = self._taint_sets.setdefault(info.node.taints, len(self._taint_sets))
        self._taint_set_ids.data[info.slot] = known

    def _write_pods(self, info: NodeInfo, pod: Pod) -> None:
        slot, columns, amounts = info.slot, self._requested, info.requested
        for resource in pod.usage:
            column = columns.get(resource)
            if column is not None:
                column.data[slot] = amount if (amount := amounts.get(resource, 0)) <= LARGEST else LARGEST
        self._pod_count.data[slot] = len(info.pods)
        self._nonzero_cpu.data[slot] = within_64_bits(info.nonzero_cpu)
        self._nonzero_memory.data[slot] = within_64_bits(info.nonzero_memory)
        self._changes.note(slot, len(self.infos))

    def _note_static(self, slot: int) -> None:
        for journal in (self._static_changes, self._changes):
            journal.note(slot, len(self.infos))


def _drop_oldest(columns: dict[str, Column], most: int) -> None:
    if len(columns) >= most:
        del columns[next(iter(columns))]


def within_64_bits(amount: int) -> int:
    """Return what a column can hold of an amount; pods may ask for absurd ones, and many of them for more."""
    return min(amount, LARGEST)

"""All nodes as columns: each node has a slot, slots have no gaps, and a journal records every change."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pilotage.cache.columns import Column, Columns
from pilotage.cache.images import ImageTable
from pilotage.cache.journal import Journal
from pilotage.cache.label_columns import LabelColumns
from pilotage.framework.api.nodes import Bools, Ids, Ints, NodeInfo
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.model.quantity import HUGE, LARGEST
from pilotage.model.tolerations import Taint

SPARE_TAINT_SETS = 1024  # of deleted or changed nodes, kept until they outnumber the nodes by this
MOST_BYTES = 64 * 1024 * 1024  # of resource columns; dropped ones are rebuilt on demand
FEWEST_RESOURCES = 64  # always kept, however large the cluster is


class NodeColumns:
    """Implements `framework.nodes.NodeTable`, updated node by node and pod by pod."""

    def __init__(self) -> None:
        self.infos: list[NodeInfo] = []
        self.columns = Columns()
        self._slots: dict[str, int] = {}
        self._allocatable: dict[str, Column] = {}  # the least recently used first
        self._requested: dict[str, Column] = {}
        self._offered: Counter[str] = Counter()  # how many nodes have a resource
        self._nothing = self.columns.new(np.int64)
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
        self._huge: set[NodeInfo] = set()  # nodes with amounts too large for arrays

    # Read by plugins.

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
        """Return which nodes are cordoned."""
        return self._unschedulable.data

    @property
    def taint_set_ids(self) -> Ids:
        """Return the id of each node's list of taints."""
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

    def resources(self) -> list[str]:
        """Return the resources that any node has."""
        return list(self._offered)

    def has_resource(self, resource: str) -> bool:
        """Return whether any node has a resource; only then is a column worth its memory."""
        return resource in self._offered

    def allocatable(self, resource: str) -> Ints:
        """Return the allocatable amounts of a resource; creates its column if any node has it."""
        if resource not in self._offered:
            return self._nothing.data
        column = self._allocatable.pop(resource, None)
        if column is None:
            column = self._new(self._allocatable)
            for slot, info in enumerate(self.infos):
                column.data[slot] = within_64_bits(info.allocatable.get(resource, 0))
        self._allocatable[resource] = column
        return column.data

    def requested(self, resource: str) -> Ints:
        """Return the requested amounts of a resource; creates its column."""
        column = self._requested.pop(resource, None)
        if column is None:
            column = self._new(self._requested)
            for slot, info in enumerate(self.infos):
                column.data[slot] = within_64_bits(info.requested.get(resource, 0))
        self._requested[resource] = column
        return column.data

    def _new(self, columns: dict[str, Column]) -> Column:
        """Return a column of zeros; evicts the least recently used one if there are too many."""
        column = self.columns.new(np.int64)
        while len(columns) >= max(FEWEST_RESOURCES, MOST_BYTES // column.data.nbytes):
            del columns[next(iter(columns))]
        return column

    def taint_sets(self) -> Sequence[tuple[Taint, ...]]:
        """Return the distinct lists of taints."""
        return tuple(self._taint_sets)

    def has_label(self, key: str) -> bool:
        """Return whether any node has a label."""
        return self._labels.has(key)

    def label_ids(self, key: str) -> Ids:
        """Return the id of each node's value of a label."""
        return self._labels.ids(key, self.infos)

    def label_values(self, key: str) -> Sequence[str]:
        """Return the distinct values of a label."""
        return self._labels.values(key, self.infos)

    def label_numbers(self, key: str) -> tuple[Ints, Bools]:
        """Return the distinct values of a label as whole numbers, and a mask of those that are numbers."""
        return self._labels.numbers(key, self.infos)

    def label_id(self, key: str, value: str) -> int:
        """Return the id of a value of a label."""
        return self._labels.id_of(key, value, self.infos)

    def slot(self, name: str) -> int | None:
        """Return the slot of a node."""
        return self._slots.get(name)

    def huge_slots(self) -> Sequence[int]:
        """Return the slots of nodes with amounts that overflow 64 bits."""
        return [info.slot for info in self._huge] if self._huge else ()

    def image(self, name: str) -> tuple[int, Ids] | None:
        """Return an image's size and which nodes have it."""
        return self._images.find(name, self._slots, len(self.infos))

    def changed_since(self, pods_version: int) -> Ids | None:
        """Return the slots with any change since a version, each once."""
        return self._changes.distinct_since(pods_version, len(self.infos))

    def changes_since(self, static_version: int, pods_version: int) -> tuple[Ids | None, Ids | None]:
        """Return the slots whose node objects changed, and those with any change, possibly with duplicates.

        Valid until the next change: they are views of the journals.
        """
        count = len(self.infos)
        return self._static_changes.since(static_version, count), self._changes.since(pods_version, count)

    # Written by the cache.

    def add_node(self, node: Node) -> NodeInfo:
        """Give a new node a slot."""
        slot = len(self.infos)
        self.columns.make_room(slot + 1)
        info = NodeInfo(node, slot)
        self.infos.append(info)
        self._slots[node.name] = slot
        self._images.add(node)
        self._images.version += 1
        self._write_node(info, None)
        return info

    def update_node(self, info: NodeInfo, node: Node) -> None:
        """Update a node."""
        if node.images != info.node.images:
            self._images.remove(info.node)
            self._images.add(node)
            self._images.version += 1
        before, info.node = info.node, node
        if not before.has_same_facts(node):  # most updates are heartbeats, which change nothing here
            self._write_node(info, before)

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
        self._labels.forget(info.labels)
        self._offer(info.allocatable, {})
        self._huge.discard(info)
        self._images.remove(info.node)
        self._images.version += 1
        self._note_static(slot)
        self._static_changes.shrink()
        self._changes.shrink()

    def add_pod(self, info: NodeInfo, pod: Pod) -> None:
        """Add a pod."""
        info.add_pod(pod)
        self._write_pods(info, pod.usage)

    def remove_pod(self, info: NodeInfo, pod: Pod) -> None:
        """Remove a pod."""
        known = info.pods[pod.uid]
        info.remove_pod(pod)
        self._write_pods(info, known.usage)

    def take(self, info: NodeInfo, amounts: Mapping[str, int], sign: int = 1) -> None:
        """Add amounts that no visible pod requests, or, if negative, subtract them again."""
        info.take(amounts, sign)
        self._write_pods(info, amounts)

    def _write_node(self, info: NodeInfo, before: Node | None) -> None:
        node, slot = info.node, info.slot
        self._offer({} if before is None else before.allocatable, node.allocatable)
        for resource, column in self._allocatable.items():
            column.data[slot] = node.allocatable.get(resource, 0)
        self._allowed_pods.data[slot] = node.allowed_pods
        self._unschedulable.data[slot] = node.unschedulable
        self._write_taints(info)
        if len(self._taint_sets) > 2 * len(self.infos) + SPARE_TAINT_SETS:
            self._taint_sets = {(): 0}  # taints with a timestamp differ on every node
            for each in self.infos:
                self._write_taints(each)
        self._labels.write(slot, {} if before is None else before.labels, node.labels, len(self.infos))
        self._judge_size(info)
        self._note_static(slot)

    def _offer(self, before: Mapping[str, int], now: Mapping[str, int]) -> None:
        if before.keys() == now.keys():
            return
        self._offered.update(now.keys())
        self._offered.subtract(before.keys())
        for resource in before:
            if not self._offered[resource]:
                del self._offered[resource]
                self._allocatable.pop(resource, None)

    def _write_taints(self, info: NodeInfo) -> None:
        known = self._taint_sets.setdefault(info.node.taints, len(self._taint_sets))
        self._taint_set_ids.data[info.slot] = known

    def _write_pods(self, info: NodeInfo, resources: Iterable[str]) -> None:
        slot, columns, amounts, is_huge = info.slot, self._requested, info.requested, False
        for resource in resources:
            amount = amounts.get(resource, 0)
            if amount > HUGE:
                is_huge = True
            column = columns.get(resource)
            if column is not None:
                column.data[slot] = amount if amount <= LARGEST else LARGEST  # noqa: FURB136 - half the time of min
        if is_huge or self._huge:
            self._judge_size(info)
        self._pod_count.data[slot] = len(info.pods)
        self._nonzero_cpu.data[slot] = within_64_bits(info.nonzero_cpu)
        self._nonzero_memory.data[slot] = within_64_bits(info.nonzero_memory)
        self._changes.note(slot, len(self.infos))

    def _judge_size(self, info: NodeInfo) -> None:
        most = max(*info.node.allocatable.values(), *info.requested.values(), 0, 0)
        (self._huge.add if most > HUGE else self._huge.discard)(info)

    def _note_static(self, slot: int) -> None:
        for journal in (self._static_changes, self._changes):
            journal.note(slot, len(self.infos))


def within_64_bits(amount: int) -> int:
    """Return an amount limited to 64 bits: pods may request absurd amounts, and their sums can be even larger."""
    return min(amount, LARGEST)

"""The topology domains of nodes for spread constraints, which are constant while no node changes."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.node_matching import match_required
from pilotage.framework.api.nodes import ABSENT, Bools, Ids, Ints, NodeInfo, Nodes
from pilotage.framework.api.remit import EVERYTHING, Remit
from pilotage.framework.api.spreading import Spread
from pilotage.framework.api.taint_matching import tolerates_all
from pilotage.model.pod import PodShape
from pilotage.model.selectors import RequiredNodeAffinity
from pilotage.model.tolerations import tolerations_key

Places = NDArray[np.intp]

MOST_BYTES = 64 * 1024 * 1024  # of all layouts, which contain a few numbers for every node and constraint


class Demands(NamedTuple):
    """A pod's node requirements with keys for comparison; None without requirements."""

    required: RequiredNodeAffinity | None
    required_key: Hashable
    tolerations_key: Hashable


class Domains:
    """The domains of one topology key: by slot, the id of the node's domain."""

    __slots__ = ("_number", "counted", "ids", "named", "present", "size")

    def __init__(self, ids: Places, named: Places, counted: Places, size: int) -> None:
        self.ids = ids  # ABSENT for nodes without the label
        self.named = named  # the same, but nodes without the label are in the domain "", if any
        self.counted = counted  # the same, but ABSENT for nodes that do not count
        self.size = size
        nodes = np.bincount(counted, minlength=size)
        nodes[ABSENT] = 0
        self.present: Places = np.flatnonzero(nodes)  # the domains with a node that counts
        self._number = -1  # the number of domains of all nodes

    def number_among(self, nodes: Nodes) -> int:
        """Return the number of domains of these nodes; nodes without the label form one too."""
        if len(nodes) < len(self.named):
            return self._number_at(nodes.at(self.named))
        if self._number < 0:
            self._number = self._number_at(self.named)
        return self._number

    def _number_at(self, named: Places) -> int:
        seen = np.zeros(self.size, np.bool_)
        seen[named] = True
        return int(np.count_nonzero(seen))

    def sums(self, counts: Ids | None) -> Ints:
        """Return the number of pods in each domain, given the numbers on each node."""
        if counts is None:
            return np.zeros(self.size, np.int64)
        sums = np.bincount(self.counted, counts, self.size).astype(np.int64)
        sums[ABSENT] = 0
        return sums


class Layout(NamedTuple):
    """The domains of each constraint, and a mask of nodes that take part in all of them; None for all nodes."""

    domains: tuple[Domains, ...]
    complete: Bools | None

    def domain(self, place: int, node: NodeInfo) -> int:
        """Return the id of a node's domain for one constraint."""
        return int(self.domains[place].ids[node.slot])

    @property
    def nbytes(self) -> int:
        """Return the memory usage of the layout."""
        arrays = {id(part): part.nbytes for each in self.domains for part in (each.ids, each.named, each.counted)}
        return sum(arrays.values())


class Layouts:
    """The layouts in use since a node last changed."""

    __slots__ = ("_bytes", "_known", "_version")

    def __init__(self) -> None:
        self._version = -1
        self._known: dict[Hashable, Layout] = {}  # the least recently used first
        self._bytes = 0

    def of(
        self, nodes: Nodes, shape: PodShape, spreads: Sequence[Spread], *, complete: bool, remit: Remit = EVERYTHING
    ) -> Layout:
        """Return the layout of all nodes; with `complete`, nodes without one of the keys take no part."""
        if nodes.static_version != self._version:
            self._version = nodes.static_version
            self._known.clear()
            self._bytes = 0
        demands = shape.remember("demands of nodes", _demands)
        key = remit.labels, complete, *(_layout_key(spread, demands) for spread in spreads)
        layout = self._known.pop(key, None)
        if layout is None:
            layout = _layout(nodes, shape, spreads, remit.own(nodes), complete=complete)
            self._make_room(layout.nbytes)
        self._known[key] = layout
        return layout

    def _make_room(self, size: int) -> None:
        """Drop the least recently used layouts until one more of this size fits."""
        self._bytes += size
        while self._bytes > MOST_BYTES and self._known:
            self._bytes -= self._known.pop(next(iter(self._known))).nbytes


def _demands(shape: PodShape) -> Demands:
    spec = shape.spec
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    terms = affinity.required if affinity is not None else None
    tolerated = tolerations_key(spec.tolerations)
    if not spec.node_selector and terms is None:
        return Demands(None, None, tolerated)
    required = RequiredNodeAffinity(spec.node_selector, terms)
    return Demands(required, (required.labels.requirements, None if terms is None else terms.canonical()), tolerated)


def _layout_key(spread: Spread, demands: Demands) -> Hashable:
    required = demands.required_key if spread.honors_affinity else None
    tolerated = demands.tolerations_key if spread.honors_taints else None
    return spread.topology_key, required, tolerated


def _layout(nodes: Nodes, shape: PodShape, spreads: Sequence[Spread], own: Bools | None, *, complete: bool) -> Layout:
    takes_part = _having_all(nodes, [spread.topology_key for spread in spreads]) if complete else None
    if own is not None:  # other nodes have no domains
        takes_part = own if takes_part is None else takes_part & own
    return Layout(tuple(_domains(nodes, shape, spread, takes_part) for spread in spreads), takes_part)


def _having_all(nodes: Nodes, keys: Sequence[str]) -> Bools | None:
    having: Bools = np.logical_and.reduce([nodes.label_ids(key) != ABSENT for key in keys])
    return None if having.all() else having


def _countable(nodes: Nodes, shape: PodShape, spread: Spread) -> Bools | None:
    """Return a mask of the nodes that count by the constraint's policies; None for all."""
    required = shape.remember("demands of nodes", _demands).required if spread.honors_affinity else None
    suits = None if required is None else match_required(required, nodes)
    if spread.honors_taints:
        tolerates = tolerates_all(shape.tolerated, nodes)
        suits = tolerates if suits is None else suits & tolerates
    return suits


def _domains(nodes: Nodes, shape: PodShape, spread: Spread, takes_part: Bools | None) -> Domains:
    key = spread.topology_key
    ids = named = nodes.label_ids(key).astype(np.intp)
    if (unnamed := nodes.label_id(key, "")) != ABSENT:
        named = np.where(ids == ABSENT, unnamed, ids)
    counted = named
    for counts in (takes_part, _countable(nodes, shape, spread)):
        if counts is not None:
            counted = np.where(counts, counted, ABSENT)
    return Domains(ids, named, counted, len(nodes.label_values(key)))

"""One number for the devices of each node and what is taken of them; nodes that are alike share it."""

from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.nodes import Bools, Ids, Nodes
from pilotage.model.node import Node
from pilotage.plugins.devices.dynamic_resources.inventory import Inventory, NodeView
from pilotage.plugins.devices.dynamic_resources.network import Likeness, Network, Views
from pilotage.plugins.devices.dynamic_resources.pools import PoolState
from pilotage.plugins.devices.dynamic_resources.trail import Trail
from pilotage.plugins.devices.dynamic_resources.usage import Usage

Pools = tuple[PoolState, ...]
SPARE = 4096  # states that no node has any more, kept in case that they come back
MOST_CLUSTERS = 2  # the real one, and a copy in which something is tried


class NodeState:
    """The devices that a node sees: pools of its own as they are, and pools that it shares."""

    __slots__ = ("_known", "_order", "_own", "number", "shared", "trouble")

    def __init__(self, number: int, own: Pools, shared: Views, order: tuple[bool, ...], trouble: str) -> None:
        self.number = number
        self.shared = shared
        self.trouble = trouble
        self._own = own
        self._order = order  # of all pools: whether each is a shared one
        self._known: tuple[Pools, Pools] | None = None

    def pools(self, usage: Usage) -> Pools:
        """Return all pools in their order, with what is taken of them now."""
        if not self.shared:
            return self._own
        shared = tuple(view.state(usage) for view in self.shared)
        if self._known is None or self._known[0] != shared:
            own, others = iter(self._own), iter(shared)
            self._known = shared, tuple(next(others if is_shared else own) for is_shared in self._order)
        return self._known[1]


Key = tuple[Pools, Views, tuple[bool, ...], str]


class Changes:
    """Tells a reader which nodes may have another state since its last look."""

    def __init__(self, inventory: Inventory, usage: Usage) -> None:
        self._inventory, self._usage = inventory, usage
        self._network = inventory.network_version
        self._slices, self._uses = inventory.changed.position, usage.changed.position
        self.in_shared_pools = False  # whether the last look found their use changed
        self.in_network = False  # or the pools themselves, or which nodes see them

    def names(self) -> set[str] | None:
        """Return the names of the nodes whose own pools changed, or the use of them; None for all."""
        inventory, slices, usage = self._inventory, self._inventory.changed, self._usage.changed
        now = inventory.network_version, slices.position, usage.position
        before = self._network, self._slices, self._uses
        self.in_shared_pools = self.in_network = False
        if now == before:
            return set()
        names, pools = slices.since(self._slices), usage.since(self._uses)
        self._network, self._slices, self._uses = now
        self.in_shared_pools = pools is None or any(map(inventory.is_shared, pools))
        self.in_network = now[0] != before[0]
        if names is None or pools is None:
            return None
        homes = map(inventory.home_of, pools)  # a pool that several nodes share changes no node's state
        return {*names, *(home for home in homes if home is not None)}


class Known(NamedTuple):
    """The state of a node when the network was like this."""

    node: Node
    network: Network
    state: NodeState


class NodeStates:
    """The distinct states of nodes, by number; a number is given again when no node has its state."""

    def __init__(self, inventory: Inventory, usage: Usage) -> None:
        self._inventory, self._usage = inventory, usage
        self._known: dict[Key, NodeState] = {}
        self.by_number: list[NodeState | None] = []
        self._free: list[int] = []
        self.shared_version = 0  # grows when something of a shared pool is taken or given back
        self.given: Trail[int] = Trail()  # numbers that have another state now
        self.columns: list[StateColumn] = []
        self._by_name: dict[str, Known] = {}  # nodes whose own pools have not changed
        self._changes = Changes(inventory, usage)

    def of(self, node: Node, likeness: Likeness | None) -> NodeState:
        """Return the state of a node; its likeness need not be computed again."""
        known, network = self._by_name.get(node.name), self._inventory.network
        # Only what several nodes share depends on more than the name.
        if known is not None and known.network is network and (known.node is node or network.empty):
            return known.state
        shared: Views = ()
        if not network.empty and not network.trouble:
            likeness = likeness or network.likeness(node)
            shared = network.views(likeness, node)
        if known is not None and known.state.shared == shared and known.state.trouble == network.trouble:
            state = known.state
        else:
            state = self._of(self._inventory.view(node, likeness))
        self._by_name[node.name] = Known(node, network, state)
        return state

    def _of(self, view: NodeView) -> NodeState:
        usage = self._usage
        own = tuple([each.state(usage) for each in view.own])
        order: tuple[bool, ...] = ()
        if view.shared:
            order = tuple(is_shared for _, is_shared in sorted(_marked(view)))
        key = own, view.shared, order, view.trouble
        known = self._known.get(key)
        return self._new(key) if known is None else known

    def read(self, nodes: Nodes) -> Ids:
        """Return the numbers of the states of nodes."""
        names = self._changes.names()
        if self._changes.in_shared_pools:
            self.shared_version += 1
        if names is None or len(self._by_name) > SPARE + 2 * self._slots():
            self._by_name.clear()
        else:
            for name in names:
                self._by_name.pop(name, None)
        for place, column in enumerate(self.columns):
            if column.is_of(nodes):
                if place:
                    self.columns.insert(0, self.columns.pop(place))
                return column.read(nodes)
        self.columns.insert(0, StateColumn(self, self._inventory, self._usage))
        del self.columns[MOST_CLUSTERS:]
        return self.columns[0].read(nodes)

    def _new(self, key: Key) -> NodeState:
        if not self._free and len(self._known) >= SPARE + 2 * self._slots():
            self._sweep()
        number = self._free.pop() if self._free else len(self.by_number)
        state = self._known[key] = NodeState(number, *key)
        if number == len(self.by_number):
            self.by_number.append(state)
        else:
            self.by_number[number] = state
        self.given.note(number)
        return state

    def _sweep(self) -> None:
        """Forget the states that no node has."""
        present: set[int] = set().union(*(column.present() for column in self.columns))
        self._by_name = {name: known for name, known in self._by_name.items() if known.state.number in present}
        for key, state in list(self._known.items()):
            if state.number not in present:
                del self._known[key]
                self.by_number[state.number] = None
                self._free.append(state.number)

    def _slots(self) -> int:
        return sum(column.size for column in self.columns)


def _marked(view: NodeView) -> list[tuple[tuple[bool, str, str], bool]]:
    return [(each.order, False) for each in view.own] + [(each.order, True) for each in view.shared]


class StateColumn:
    """The states of the nodes of one cluster, by slot."""

    def __init__(self, states: NodeStates, inventory: Inventory, usage: Usage) -> None:
        self._states, self._inventory = states, inventory
        self._changes = Changes(inventory, usage)
        self._nodes: Nodes | None = None
        self._version = 0
        self._numbers: Ids = np.zeros(0, np.int32)
        self._doubtful: Bools = np.zeros(0, np.bool_)  # whether the slot has to be looked at
        self._is_any_doubtful = False

    @property
    def size(self) -> int:
        """Return the number of slots."""
        return len(self._numbers)

    def is_of(self, nodes: Nodes) -> bool:
        """Return whether these nodes are of its cluster."""
        return self._nodes is not None and self._nodes.same_cluster(nodes)

    def present(self) -> set[int]:
        """Return the numbers of all states in it."""
        return set(np.unique(self._numbers).tolist())

    def read(self, nodes: Nodes) -> Ids:
        """Return the numbers for these nodes, after all changes."""
        self._doubt_changes(nodes)
        if self._is_any_doubtful:
            self._look_at(nodes, np.flatnonzero(nodes.at(self._doubtful)).astype(np.int32))
            self._is_any_doubtful = bool(self._doubtful.any())
        return nodes.at(self._numbers)

    def _doubt_changes(self, nodes: Nodes) -> None:
        slots = int(nodes.slots.max()) + 1 if len(nodes) else 0
        if slots > self.size:
            self._grow(slots)
        changed = None if self._nodes is None else nodes.changed_since(self._version)
        names = self._changes.names()
        self._nodes, self._version = nodes, nodes.pods_version
        if changed is None or names is None or self._changes.in_network:
            self._doubt(slice(None))
        else:
            self._doubt(changed[changed < self.size])
            found = (nodes.find(name) for name in names)
            self._doubt(np.array([node.slot for node in found if node and node.slot < self.size], np.intp))

    def _look_at(self, nodes: Nodes, places: Ids) -> None:
        network = self._inventory.network
        likenesses: Iterator[Likeness | None] = repeat(None)
        if len(places) > 1 and not network.empty and not network.trouble:
            likenesses = network.likenesses(nodes.take(places))
        for place, likeness in zip(places.tolist(), likenesses, strict=False):
            info = nodes[place]
            self._numbers[info.slot] = self._states.of(info.node, likeness).number
            self._doubtful[info.slot] = False

    def _doubt(self, slots: slice | NDArray[np.integer[Any]]) -> None:
        self._doubtful[slots] = True
        self._is_any_doubtful = True

    def _grow(self, slots: int) -> None:
        more = slots - self.size
        self._numbers = np.concatenate([self._numbers, np.zeros(more, np.int32)])
        self._doubtful = np.concatenate([self._doubtful, np.ones(more, np.bool_)])
        self._is_any_doubtful = True

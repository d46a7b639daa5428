"""All devices of the cluster: slices with taint rules applied, their pools, and what each node sees."""

from typing import NamedTuple

from pilotage.kinds.devices import DeviceTaintRule, ResourceSlice
from pilotage.model.node import Node
from pilotage.plugins.devices.dynamic_resources.device_taints import concerns_slice, taints_differ
from pilotage.plugins.devices.dynamic_resources.network import Likeness, Network, Views
from pilotage.plugins.devices.dynamic_resources.pool_slices import PoolSlices
from pilotage.plugins.devices.dynamic_resources.pools import PoolState, PoolView
from pilotage.plugins.devices.dynamic_resources.slice_facts import SliceFacts
from pilotage.plugins.devices.dynamic_resources.trail import Trail
from pilotage.plugins.devices.dynamic_resources.usage import PoolKey, Usage


class NodeView(NamedTuple):
    """The pools that a node sees: those of its own, and those that it shares with others, each in order."""

    own: Views
    shared: Views
    trouble: str = ""  # why they cannot be told

    def in_order(self) -> list[PoolView]:
        """Return all pools in the order in which they are searched."""
        if not self.shared:
            return list(self.own)
        return sorted((*self.own, *self.shared), key=lambda view: view.order)

    def states(self, usage: Usage) -> tuple[PoolState, ...]:
        """Return them with what is taken of them now."""
        return tuple([each.state(usage) for each in self.in_order()])


class Inventory:
    """The slices of the cluster, kept current by their events."""

    def __init__(self) -> None:
        self._rules: dict[str, DeviceTaintRule] = {}
        self._pools: dict[PoolKey, PoolSlices] = {}
        self._pool_of: dict[str, PoolKey] = {}  # by the name of a slice
        self._own: dict[str, dict[PoolKey, PoolSlices]] = {}  # by node
        self._shared: dict[PoolKey, PoolSlices] = {}
        self._network: Network | None = None
        self.network_version = 0
        self.changed: Trail[str] = Trail()  # nodes whose own pools are different now

    def slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """Follow a new, changed or deleted slice."""
        given = new or old
        if given is None:
            return
        name = given.metadata.name
        key = self._pool_of.pop(name, None)
        facts = None if new is None else SliceFacts(new, self._ordered_rules())
        if key is not None and (facts is None or facts.key != key):
            self._change(key, name, None)
        if facts is not None:
            self._pool_of[name] = facts.key
            self._change(facts.key, name, facts)

    def rule_changed(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> bool:
        """Follow a taint rule, and return whether the taints of some device are different now."""
        given = new or old
        if given is None:
            return False
        name = given.metadata.name
        old = self._rules.pop(name, None)  # as it was applied
        if new is not None:
            self._rules[name] = new
        touched = [rule for rule in (old, new) if rule is not None]
        differs, rules = False, self._ordered_rules()
        for pool in self._pools.values():
            found = [piece for piece in pool.pieces.values() if any(concerns_slice(r, piece.spec) for r in touched)]
            if sum(_apply(piece, old, new, rules) for piece in found):
                differs = True
                pool.forget_views()
                self._touch(pool)
        return differs

    def view(self, node: Node, likeness: Likeness | None = None) -> NodeView:
        """Return the pools that a node sees; its likeness need not be computed again."""
        own = self._own.get(node.name)
        views = () if own is None else self._own_views(own, node)
        network = self.network
        if network.empty:
            return NodeView(views, ())
        if network.trouble:
            return NodeView((), (), network.trouble)
        return NodeView(views, network.views(likeness or network.likeness(node), node))

    @property
    def network(self) -> Network:
        """Return the pools that several nodes can use."""
        if self._network is None:
            self._network = Network(self._shared.values())
        return self._network

    def home_of(self, pool: PoolKey) -> str | None:
        """Return the node that alone has a pool; None for unknown and for shared pools."""
        known = self._pools.get(pool)
        return None if known is None else known.home

    def is_shared(self, pool: PoolKey) -> bool:
        """Return whether several nodes may see a pool."""
        return pool in self._shared

    def _own_views(self, own: dict[PoolKey, PoolSlices], node: Node) -> Views:
        views = [view for pool in own.values() if (view := pool.view(node.labels, node.name)) is not None]
        if len(views) > 1:
            views.sort(key=lambda view: view.order)
        return tuple(views)

    def _change(self, key: PoolKey, name: str, piece: SliceFacts | None) -> None:
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = PoolSlices(key)
        before = pool.home
        if piece is None:
            pool.drop(name)
        else:
            pool.put(piece)
        if before is not None:
            self._own[before].pop(key, None)
            self.changed.note(before)
            if not self._own[before]:
                del self._own[before]
        elif self._shared.pop(key, None) is not None:
            self._forget_network()
        self._enter(pool)

    def _enter(self, pool: PoolSlices) -> None:
        if not pool.pieces:
            del self._pools[pool.key]
        elif pool.home is not None:
            self._own.setdefault(pool.home, {})[pool.key] = pool
            self.changed.note(pool.home)
        else:
            self._shared[pool.key] = pool
            self._forget_network()

    def _touch(self, pool: PoolSlices) -> None:
        home = pool.home
        if home is None:
            self._forget_network()
        else:
            self.changed.note(home)

    def _forget_network(self) -> None:
        self._network = None
        self.network_version += 1

    def _ordered_rules(self) -> list[DeviceTaintRule]:
        return [self._rules[name] for name in sorted(self._rules)]


def _apply(
    piece: SliceFacts, old: DeviceTaintRule | None, new: DeviceTaintRule | None, rules: list[DeviceTaintRule]
) -> bool:
    differs = taints_differ(old, new, piece.spec)
    if differs:
        piece.apply(rules)
    return differs

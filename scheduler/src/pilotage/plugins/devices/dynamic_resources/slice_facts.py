"""Slices as pools are made of them: kinds instead of devices, with the taints of rules, and which nodes they reach."""

from collections.abc import Mapping, Sequence

from pilotage.kinds.devices import Device, DeviceTaintRule, ResourceSlice
from pilotage.model.selectors import (
    InvalidSelector,
    Labels,
    NodeMatcher,
    NodeSelector,
    compile_node_selector,
)
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind, kind_of
from pilotage.plugins.devices.dynamic_resources.device_taints import added_taints, concerns_slice
from pilotage.plugins.devices.dynamic_resources.usage import PoolKey


class Reach:
    """The nodes that can use a slice or a device: all, one by its name, those that a selector matches, or none."""

    __slots__ = ("everywhere", "matcher", "node")

    def __init__(
        self, *, everywhere: bool = False, node: str | None = None, matcher: NodeMatcher | None = None
    ) -> None:
        self.everywhere, self.node, self.matcher = everywhere, node, matcher

    def includes(self, labels: Labels, name: str) -> bool:
        """Return whether a node is one of them."""
        if self.everywhere or self.node is not None:
            return self.everywhere or self.node == name
        return self.matcher is not None and self.matcher.matches(labels, name)


NOWHERE, EVERYWHERE = Reach(), Reach(everywhere=True)


class SliceFacts:
    """A slice with the taints of the rules that concern it."""

    __slots__ = (
        "broken",
        "count",
        "draws",
        "generation",
        "has_groups",
        "key",
        "kinds",
        "name",
        "names",
        "reach",
        "reaches",
        "spec",
    )

    def __init__(self, piece: ResourceSlice, rules: Sequence[DeviceTaintRule]) -> None:
        spec = self.spec = piece.spec
        self.name = piece.metadata.name
        self.key: PoolKey = (spec.driver, spec.pool.name)
        self.generation, self.count = spec.pool.generation, spec.pool.resource_slice_count
        self.names = tuple(device.name for device in spec.devices)
        draws = [draw for device in spec.devices for draw in device.consumes_counters]
        self.draws = bool(draws)
        self.has_groups = any(draw.compatibility_groups for draw in draws)  # for a feature that is not known here
        self.broken = ""  # why the nodes cannot be told
        self.reach: Reach | None = self._reach()
        self.reaches = self._reaches() if self.reach is None else ()  # of each device, if they differ
        self.kinds: tuple[DeviceKind, ...] = ()
        self.apply(rules)

    def apply(self, rules: Sequence[DeviceTaintRule]) -> None:
        """Give the devices the taints of these rules, and of no others."""
        spec = self.spec
        kinds = tuple(kind_of(spec.driver, device) for device in spec.devices)
        concerned = [rule for rule in rules if concerns_slice(rule, spec)]
        if concerned:
            added = (added_taints(concerned, name) for name in self.names)
            kinds = tuple(kind.with_taints(taints) for kind, taints in zip(kinds, added, strict=True))
        self.kinds = kinds

    @property
    def home(self) -> str | None:
        """Return the only node that can use it, if it is named."""
        return self.reach.node if self.reach is not None else None

    def reaches_node(self, labels: Labels, name: str) -> bool:
        """Return whether a node can use the slice, or at least one of its devices."""
        if self.reach is not None:
            return self.reach.includes(labels, name)
        return any(reach.includes(labels, name) for reach in self.reaches)

    def _reach(self) -> Reach | None:
        spec = self.spec
        if spec.node_name:
            return Reach(node=spec.node_name)
        if spec.all_nodes:
            return EVERYWHERE
        if spec.node_selector is not None:
            return self._selected(spec.node_selector, f"slice {self.name}")
        return None if spec.per_device_node_selection else NOWHERE

    def _reaches(self) -> tuple[Reach, ...]:
        return tuple(map(self._device_reach, self.spec.devices))

    def _device_reach(self, device: Device) -> Reach:
        if device.node_name:
            return Reach(node=device.node_name)
        if device.all_nodes:
            return EVERYWHERE
        if device.node_selector is not None:
            return self._selected(device.node_selector, f"device {device.name} in slice {self.name}")
        return NOWHERE

    def _selected(self, selector: NodeSelector, where: str) -> Reach:
        try:
            return Reach(matcher=compile_node_selector(selector))
        except InvalidSelector as wrong:
            self.broken = (
                self.broken or f"gather pool information: failed to perform node selection for {where}: {wrong}"
            )
            return NOWHERE


Slices = Mapping[str, SliceFacts]

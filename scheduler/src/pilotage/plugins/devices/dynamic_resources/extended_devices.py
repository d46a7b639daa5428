"""The devices that serve extended resources, as other plugins count them."""

from collections.abc import Iterable, Sequence
from functools import partial

from pilotage.framework.api.delegation import Devices
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.objects import Objects
from pilotage.kinds.devices import DeviceClass, DeviceSelector
from pilotage.model.node import Node
from pilotage.plugins.devices.dynamic_resources.answers import MOST_STEPS
from pilotage.plugins.devices.dynamic_resources.device_classes import DeviceClasses
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind
from pilotage.plugins.devices.dynamic_resources.device_world import DeviceWorld
from pilotage.plugins.devices.dynamic_resources.meter import Meter, Paused
from pilotage.plugins.devices.dynamic_resources.node_states import Changes
from pilotage.plugins.devices.dynamic_resources.selection import Selection, selection_of
from pilotage.plugins.devices.dynamic_resources.slice_facts import SliceFacts

NONE = Devices()


class ExtendedDevices:
    """Implements `framework.api.delegation.Delegate`."""

    def __init__(self, classes: DeviceClasses, world: DeviceWorld, objects: Objects) -> None:
        self._classes = classes
        self._world = world
        self._objects = objects
        self._inventory = world.inventory
        self._usage = world.usage
        self._find_class = partial(objects.get, DeviceClass)
        self._changes = Changes(world.inventory, world.usage)
        self._caught_up_at = -1
        self._counts: dict[str, tuple[Node, dict[str, Devices]]] = {}  # by node
        self._counted_at = -1, -1
        self._meter = Meter()

    @property
    def names_version(self) -> int:
        """Return a number that changes with the classes."""
        return self._classes.version

    @property
    def devices_version(self) -> int:
        """Return a number that changes with devices and their use."""
        inventory = self._inventory
        if self._caught_up_at != self._objects.changes:
            self._caught_up_at = self._objects.changes
            self._world.catch_up(self._objects)
        return inventory.network_version + inventory.changed.position + self._usage.changed.position

    def serves(self, resource: str) -> bool:
        """Return whether a class serves a resource."""
        return self._classes.serving(resource) is not None

    def devices(self, resource: str, node: NodeInfo) -> Devices:
        """Return the devices of the resource's class that a node can use, in complete pools or not."""
        self._forget_changes()
        known = self._counts.get(node.name)
        if known is None or known[0] is not node.node:
            known = self._counts[node.name] = node.node, {}
        counts = known[1]
        if resource not in counts:
            counts[resource] = self._count(resource, node.node)
        return counts[resource]

    def _forget_changes(self) -> None:
        """Count again where something has changed."""
        now = self.names_version, self.devices_version
        if now == self._counted_at:
            return
        names = self._changes.names()
        if names is None or self._changes.in_shared_pools or now[0] != self._counted_at[0]:
            self._counts.clear()
        else:
            for name in names:
                self._counts.pop(name, None)
        self._counted_at = now
        self._meter.left = MOST_STEPS

    def _count(self, resource: str, node: Node) -> Devices:
        name = self._classes.serving(resource)
        device_class = None if name is None else self._find_class(name)
        if device_class is None:
            return NONE
        try:
            return self._counted([_text(each) for each in device_class.spec.selectors], node)
        except Paused:
            return NONE  # scores are not worth more of the scheduler's time until something changes

    def _counted(self, expressions: Sequence[str | None], node: Node) -> Devices:
        selections = [selection_of(each) for each in expressions]
        existing = used = 0
        for piece in self._inventory.pieces(node):
            use = self._usage.of(piece.key)
            for device, kind in _reached(piece, node):
                answer = _answer(selections, kind, self._meter)
                if isinstance(answer, str):
                    return NONE  # an error in a selector: no number is better than a wrong one
                existing += answer
                used += answer and (device in use.alone or device in use.shares)
        return Devices(existing, used)


def _text(selector: DeviceSelector) -> str | None:
    return None if selector.cel is None else selector.cel.expression


def _reached(piece: SliceFacts, node: Node) -> Iterable[tuple[str, DeviceKind]]:
    """Return the devices of a slice that a node can use."""
    devices = zip(piece.names, piece.kinds, strict=True)
    if piece.reach is not None:
        return devices
    reaches = zip(devices, piece.reaches, strict=True)
    return (device for device, reach in reaches if reach.includes(node.labels, node.name))


def _answer(selections: Iterable[Selection], kind: DeviceKind, meter: Meter) -> bool | str:
    """Return whether all selectors match, or the error of the first that fails."""
    for selection in selections:
        answer = selection.answer(kind, meter)
        if answer is not True:
            return answer
    return True

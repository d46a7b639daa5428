"""Devices, claims and what is taken, in a few words each, and what the allocator makes of them."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, TypeVar

import msgspec

from pilotage.kinds.devices import (
    AllocatedDevice,
    AllocatedDevices,
    Allocation,
    DeviceClass,
    ResourceClaim,
    ResourceSlice,
)
from pilotage.model.node import Node
from pilotage.model.selectors import NodeSelector
from pilotage.plugins.devices.dynamic_resources.allocator import Allocator
from pilotage.plugins.devices.dynamic_resources.inventory import Inventory
from pilotage.plugins.devices.dynamic_resources.outcomes import AllocationFailed, NoSolution
from pilotage.plugins.devices.dynamic_resources.usage import Usage
from pilotage.testing import make_node

Manifest = dict[str, Any]
Kind = TypeVar("Kind")

_numbers = count(1)


def _decoded(manifest: Manifest, kind: type[Kind]) -> Kind:
    return msgspec.json.decode(msgspec.json.encode(manifest), type=kind)


def attribute(value: Any) -> Manifest:
    """Return an attribute with the type of a Python value; a dictionary stands for itself."""
    if isinstance(value, dict):
        return value
    return {{bool: "bool", int: "int", str: "string"}[type(value)]: value}


def device(name: str, capacity: Manifest | None = None, /, **fields: Any) -> Manifest:
    """Return a device; fields that the API does not know are attributes."""
    known = {
        "taints",
        "consumesCounters",
        "nodeName",
        "nodeSelector",
        "allNodes",
        "bindsToNode",
        "bindingConditions",
        "bindingFailureConditions",
        "allowMultipleAllocations",
        "attributes",
    }
    made = {key: value for key, value in fields.items() if key in known}
    attributes = {key: attribute(value) for key, value in fields.items() if key not in known}
    attributes |= made.pop("attributes", {})
    amounts = {key: value if isinstance(value, dict) else {"value": value} for key, value in (capacity or {}).items()}
    return {"name": name, "attributes": attributes, "capacity": amounts, **made}


def shared(name: str, capacity: Manifest | None = None, /, **fields: Any) -> Manifest:
    """Return a device that several claims can share."""
    return device(name, capacity, allowMultipleAllocations=True, **fields)


def draws(counter_set: str = "cs", **counters: str) -> list[Manifest]:
    """Return what a device takes from counters."""
    return [{"counterSet": counter_set, "counters": {name: {"value": value} for name, value in counters.items()}}]


def counter_set(name: str = "cs", **counters: str) -> Manifest:
    """Return a set of counters."""
    return {"name": name, "counters": {key: {"value": value} for key, value in counters.items()}}


def piece(
    name: str,
    *devices: Manifest,
    pool: str = "p",
    driver: str = "a",
    of: int = 1,
    generation: int = 1,
    counters: Iterable[Manifest] = (),
    **where: Any,
) -> ResourceSlice:
    """Return a slice, of node n1 unless it says otherwise."""
    spec = {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": of},
        "devices": devices,
        "sharedCounters": list(counters),
        **(where or {"nodeName": "n1"}),
    }
    return _decoded({"metadata": {"name": name}, "spec": spec}, ResourceSlice)


def device_class(name: str, *selectors: str, config: Iterable[Manifest] = ()) -> DeviceClass:
    """Return a class."""
    spec = {"selectors": [{"cel": {"expression": each}} for each in selectors], "config": list(config)}
    return _decoded({"metadata": {"name": name}, "spec": spec}, DeviceClass)


def exactly(name: str, *selectors: str, of: str = "c", **fields: Any) -> Manifest:
    """Return a request; `capacity` is a dictionary of amounts."""
    return {"name": name, "exactly": _asked(selectors, of, fields)}


def first_of(name: str, *ways: Manifest) -> Manifest:
    """Return a request for the first available of several."""
    return {"name": name, "firstAvailable": [{"name": way["name"], **way["exactly"]} for way in ways]}


def _asked(selectors: Sequence[str], of: str, fields: Manifest) -> Manifest:
    asked: Manifest = {"deviceClassName": of, "selectors": [{"cel": {"expression": each}} for each in selectors]}
    if fields.get("allocationMode", "ExactCount") == "ExactCount":
        asked |= {"allocationMode": "ExactCount", "count": 1}
    if "capacity" in fields:
        fields = {**fields, "capacity": {"requests": fields["capacity"]}}
    return asked | fields


def claim(
    *requests: Manifest,
    name: str = "k",
    constraints: Iterable[Manifest] = (),
    config: Iterable[Manifest] = (),
) -> ResourceClaim:
    """Return a claim."""
    devices = {"requests": requests, "constraints": list(constraints), "config": list(config)}
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
    return _decoded({"metadata": metadata, "spec": {"devices": devices}}, ResourceClaim)


def match(attribute_name: str, *requests: str) -> Manifest:
    """Return the constraint that an attribute is equal."""
    return {"requests": list(requests), "matchAttribute": attribute_name}


def distinct(attribute_name: str, *requests: str) -> Manifest:
    """Return the constraint that an attribute is different on all devices."""
    return {"requests": list(requests), "distinctAttribute": attribute_name}


def selecting(*requirements: tuple[str, str, Sequence[str]]) -> Manifest:
    """Return a node selector with one term."""
    found = [{"key": key, "operator": operator, "values": list(values)} for key, operator, values in requirements]
    return {"nodeSelectorTerms": [{"matchExpressions": found}]}


def held(name: str, consumed: Manifest | None = None, *, pool: str = "p", driver: str = "a") -> Allocation:
    """Return that a claim holds a device, or, if it consumes something, a share of it."""
    share = None if consumed is None else f"share-{next(_numbers)}"
    result = AllocatedDevice("r", driver, pool, name, share_id=share, consumed_capacity=consumed or {})
    return Allocation(AllocatedDevices((result,)))


class Scene:
    """An allocator and all that it reads."""

    def __init__(
        self,
        slices: Iterable[ResourceSlice],
        classes: Iterable[DeviceClass] = (),
        taken: Iterable[Allocation] = (),
        node: Node | None = None,
        timeout: float | None = None,
    ) -> None:
        self.node = node or make_node("n1")
        self.classes = {"c": device_class("c")} | {each.metadata.name: each for each in classes}
        self.inventory, self.usage = Inventory(), Usage()
        for each in slices:
            self.inventory.slice_changed(None, each)
        for number, allocation in enumerate(taken):
            self.usage.take(f"holder-{number}", allocation)
        self.allocator = Allocator(self.inventory, self.usage, self.classes.get, timeout)

    def allocations(self, *claims: ResourceClaim) -> list[Allocation]:
        """Return what the claims get."""
        return self.allocator.ask(claims).allocations(self.node)

    def told(self, *claims: ResourceClaim) -> str:
        """Return what the claims get in short: any=d1 big=d0; or that they get nothing, or the error."""
        ask = self.allocator.ask(claims)
        try:
            found = ask.on_node(self.node)
            if isinstance(found, NoSolution):
                return "-" if not found.invalid_pools else found.text
            return "; ".join(" ".join(map(_told, each.devices.results)) for each in ask.allocations(self.node))
        except AllocationFailed as error:
            return str(error)

    def where(self, *claims: ResourceClaim) -> str:
        """Return the nodes that can use what the claim gets."""
        return told_selector(self.allocations(*claims)[0].node_selector)


def _told(result: AllocatedDevice) -> str:
    pool = "" if (result.driver, result.pool) == ("a", "p") else f"{result.driver}/{result.pool}/"
    share = ""
    if result.share_id is not None:
        amounts = ", ".join(f"{name} {amount}" for name, amount in result.consumed_capacity.items())
        share = f"{{{amounts}}}"
    assert result.share_id is not None or not result.consumed_capacity
    return f"{result.request}={pool}{result.device}{share}{'!' if result.admin_access else ''}"


def told_selector(selector: NodeSelector | None) -> str:
    """Return a node selector in short; "" if all nodes match."""
    if selector is None:
        return ""
    (term,) = selector.node_selector_terms
    return ", ".join(
        f"{each.key} {each.operator} [{','.join(each.values)}]".removesuffix(" []")
        for each in (*term.match_fields, *term.match_expressions)
    )

"""Kinds of devices: all that a search reads of a device, shared by all devices in which it is equal."""

from typing import Final
from weakref import WeakValueDictionary

from msgspec import Struct, msgpack, structs

from pilotage.kinds.devices import Amount, CapacityRange, Device, DeviceTaint, RequestPolicy
from pilotage.model.cel import CelDevice
from pilotage.model.quantity import InvalidQuantity, Quantity, parse

NOT_COMPARED: Final = {"name": "", "node_name": None, "node_selector": None, "all_nodes": None}


class Policy(Struct, frozen=True):
    """How a request for a capacity is rounded and limited."""

    default: Quantity | None
    values: tuple[Quantity, ...]
    min: Quantity | None
    max: Quantity | None
    step: Quantity | None


class Capacity(Struct, frozen=True):
    """A capacity of a device."""

    name: str
    value: Quantity
    policy: Policy | None


class Draw(Struct, frozen=True):
    """What a device takes from the counters of a set, in billionths."""

    counter_set: str
    counters: tuple[tuple[str, int], ...]


class DeviceKind:
    """A device without its name and place; equal devices share one, so it is compared by identity."""

    __slots__ = (
        "__weakref__",
        "_tainted",
        "base",
        "capacities",
        "cel",
        "device",
        "draws",
        "driver",
        "flaw",
        "shared",
        "taints",
    )

    def __init__(self, driver: str, device: Device, base: "DeviceKind | None" = None) -> None:
        self.driver = driver
        self.device = device  # with the taints of rules
        self.base = base or self  # the same kind without the taints of rules, for whatever does not read taints
        self.shared = bool(device.allow_multiple_allocations)
        self.taints = device.taints
        self.cel: CelDevice | None = None  # as expressions see it, made on demand
        self.flaw = ""  # an amount that cannot be read
        self.capacities: tuple[Capacity, ...] = ()
        self.draws: tuple[Draw, ...] = ()
        self._tainted: WeakValueDictionary[tuple[DeviceTaint, ...], DeviceKind] | None = None
        try:
            self.capacities = tuple(
                Capacity(name, parse(each.value), _policy(each.request_policy))
                for name, each in sorted(device.capacity.items())
            )
            self.draws = tuple(
                Draw(each.counter_set, tuple((name, parse(c.value).nanos) for name, c in sorted(each.counters.items())))
                for each in device.consumes_counters
            )
        except InvalidQuantity as wrong:
            self.flaw = str(wrong)

    @property
    def waits_for_conditions(self) -> bool:
        """Return whether the device has binding conditions, even an empty list."""
        return self.device.binding_conditions is not None

    def with_taints(self, added: tuple[DeviceTaint, ...]) -> "DeviceKind":
        """Return the kind with the taints of rules behind its own."""
        if not added:
            return self
        if self._tainted is None:
            self._tainted = WeakValueDictionary()
        known = self._tainted.get(added)
        if known is None:
            device = structs.replace(self.device, taints=self.device.taints + added)
            known = self._tainted[added] = DeviceKind(self.driver, device, self)
        return known


def _policy(given: RequestPolicy | None) -> Policy | None:
    if given is None:
        return None
    span = given.valid_range or CapacityRange()
    return Policy(
        _optional(given.default),
        tuple(map(parse, given.valid_values)),
        _optional(span.min),
        _optional(span.max),
        _optional(span.step),
    )


def _optional(amount: Amount | None) -> Quantity | None:
    return None if amount is None else parse(amount)


_kinds: WeakValueDictionary[tuple[str, bytes], DeviceKind] = WeakValueDictionary()
_encode = msgpack.Encoder(order="deterministic").encode


def kind_of(driver: str, device: Device) -> DeviceKind:
    """Return the kind of a device."""
    bare = structs.replace(device, **NOT_COMPARED)
    key = driver, _encode(bare)
    known = _kinds.get(key)
    if known is None:
        known = _kinds[key] = DeviceKind(driver, bare)
    return known

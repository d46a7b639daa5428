"""Capacities: what a request consumes of a device by its policies, and whether there is room for it."""

from collections.abc import Mapping

from pilotage.model.quantity import LARGEST, NANOS, Quantity, from_value
from pilotage.plugins.devices.dynamic_resources.device_kinds import Capacity, DeviceKind, Policy

Consumed = tuple[Quantity, ...]  # of each capacity of the device, in their order


class ImpossibleRequest(Exception):
    """The requested amount of a capacity is an error."""


def consumption(kind: DeviceKind, requested: Mapping[str, Quantity]) -> Consumed | None:
    """Return what a request consumes of an unused device; None if the device cannot serve it."""
    if requested and not requested.keys() <= kind.device.capacity.keys():
        return None
    consumed = tuple(_rounded(each, requested.get(each.name)) for each in kind.capacities)
    fits = all(_is_allowed(each, used) for each, used in zip(kind.capacities, consumed, strict=True))
    return consumed if fits else None


def _rounded(capacity: Capacity, asked: Quantity | None) -> Quantity:
    policy = capacity.policy
    if asked is None:
        return capacity.value if policy is None or policy.default is None else policy.default
    if asked.nanos < 0:
        raise ImpossibleRequest(f'capacity "{capacity.name}": capacity value is negative')
    if policy is None:
        return asked
    if policy.min is not None:
        return _on_a_step(capacity.name, asked, policy.min, policy.step)
    larger = [value for value in policy.values if value.nanos >= asked.nanos]
    return min(larger, key=lambda value: value.nanos) if larger else asked


def _on_a_step(name: str, asked: Quantity, lowest: Quantity, step: Quantity | None) -> Quantity:
    if asked.nanos < lowest.nanos:
        return lowest
    if step is None:
        return asked
    units, first, each = _units(asked), _units(lowest), _units(step)
    if units > LARGEST:
        raise ImpossibleRequest(f"{_unrepresentable(name)}: request {asked} exceeds MaxInt64")
    if each <= 0:
        return asked
    rounded = first + -(-(units - first) // each) * each
    if rounded > LARGEST:
        raise ImpossibleRequest(
            f"{_unrepresentable(name)}: rounding request {asked} up to the next step passes MaxInt64"
        )
    return from_value(rounded, step.form)


def _is_allowed(capacity: Capacity, used: Quantity) -> bool:
    return used.nanos <= capacity.value.nanos and (capacity.policy is None or _keeps(capacity.policy, used))


def _keeps(policy: Policy, used: Quantity) -> bool:
    if policy.default is not None and used.nanos == policy.default.nanos:
        return True
    if policy.values:
        return any(value.nanos == used.nanos for value in policy.values)
    if policy.max is not None and used.nanos > policy.max.nanos:
        return False
    if policy.step is None or policy.min is None or _units(policy.step) <= 0:
        return True
    return (_units(used) - _units(policy.min)) % _units(policy.step) == 0


def _units(amount: Quantity) -> int:
    return -(-amount.nanos // NANOS)


def _unrepresentable(name: str) -> str:
    return f'capacity "{name}": capacity request cannot be represented in the device\'s range arithmetic'

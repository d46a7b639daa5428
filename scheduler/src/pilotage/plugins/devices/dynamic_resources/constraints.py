"""Constraints of a claim: attributes that are equal or distinct on its devices."""

from pilotage.kinds.devices import DeviceAttribute
from pilotage.plugins.devices.dynamic_resources.claim_plans import Constraint
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind

Value = tuple[str, int | bool | str]  # with its type: 1, true and "1" differ


def value_of(kind: DeviceKind, attribute: str) -> Value | None:
    """Return an attribute of a device by its full name, whose domain may be left out if it is the driver's."""
    attributes = kind.device.attributes
    found = attributes.get(attribute)
    if found is None:
        domain, _, name = attribute.partition("/")
        found = attributes.get(name) if domain == kind.driver else None
    return None if found is None else _typed(found)


def _typed(attribute: DeviceAttribute) -> Value | None:
    if attribute.int_value is not None:
        return "int", attribute.int_value
    if attribute.bool_value is not None:
        return "bool", attribute.bool_value
    if attribute.string_value is not None:
        return "string", attribute.string_value
    if attribute.version_value is not None:
        return "version", attribute.version_value
    return None  # a list needs a feature that is not known here, and satisfies no constraint


class Held:
    """The values of the devices taken so far, for each constraint of a claim."""

    __slots__ = ("_constraints", "_values")

    def __init__(self, constraints: tuple[Constraint, ...]) -> None:
        self._constraints = constraints
        self._values: tuple[list[Value], ...] = tuple([] for _ in constraints)

    def add(self, kind: DeviceKind, concerned: tuple[int, ...]) -> bool:
        """Add a device to the constraints that concern its request, or leave all as they were."""
        for done, index in enumerate(concerned):
            constraint, values = self._constraints[index], self._values[index]
            value = value_of(kind, constraint.attribute)
            if value is None or (values and (values[0] != value if constraint.is_match else value in values)):
                self.remove(concerned[:done])
                return False
            values.append(value)
        return True

    def remove(self, concerned: tuple[int, ...]) -> None:
        """Remove the device that was added last."""
        for index in concerned:
            self._values[index].pop()

    def signature(self) -> tuple[tuple[Value, ...], ...]:
        """Return all values."""
        return tuple(map(tuple, self._values))

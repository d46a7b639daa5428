"""A device as expressions see it."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pilotage.model.cel.quantities import CelQuantity
from pilotage.model.cel.values import Domains
from pilotage.model.semver import Semver


class BadAttribute(Struct, frozen=True):
    """An attribute that cannot be read; every evaluation on its device fails with this text."""

    text: str


AttributeValue = bool | int | str | Semver | tuple[Any, ...] | BadAttribute


class CelDevice:
    """A device: keys are as written, "id" or "domain/id"; what has no domain is in the driver's."""

    __slots__ = ("_view", "allow_multiple", "attributes", "capacity", "driver")

    def __init__(
        self,
        driver: str,
        allow_multiple: bool,
        attributes: Mapping[str, AttributeValue],
        capacity: Mapping[str, CelQuantity],
    ) -> None:
        self.driver = driver
        self.allow_multiple = allow_multiple
        self.attributes = attributes
        self.capacity = capacity
        self._view: DeviceView | None = None

    @property
    def view(self) -> "DeviceView":
        """Return the device by domain, grouped on the first call."""
        if self._view is None:
            self._view = DeviceView(self)
        return self._view


class DeviceView:
    """A device with its attributes and capacities by domain; `failure` is set if it cannot be read."""

    __slots__ = ("allow_multiple", "attributes", "capacity", "driver", "failure")

    def __init__(self, device: CelDevice) -> None:
        self.driver = device.driver
        self.allow_multiple = device.allow_multiple
        self.attributes = _by_domain(device.attributes, device.driver)
        self.capacity = _by_domain(device.capacity, device.driver)
        self.failure = next(
            (
                f"attribute {name}: {value.text}"
                for name, value in device.attributes.items()
                if type(value) is BadAttribute
            ),
            None,
        )

    def as_map(self) -> dict[str, Any]:
        """Return the variable `device` as a value."""
        return {
            "driver": self.driver,
            "allowMultipleAllocations": self.allow_multiple,
            "attributes": self.attributes,
            "capacity": self.capacity,
        }


def _by_domain(written: Mapping[str, Any], driver: str) -> Domains:
    found = Domains()
    for name, value in written.items():
        domain, slash, key = name.partition("/")
        if slash:
            found.setdefault(domain, {})[key] = value
        else:
            found.setdefault(driver, {})[name] = value
    return found

"""The extended resources that device classes serve: which class each name stands for."""

from collections.abc import Iterable

from pilotage.framework.api.objects import Objects
from pilotage.kinds.devices import IMPLICIT_RESOURCE, DeviceClass
from pilotage.model.requests import is_extended


def can_be_served(resource: str) -> bool:
    """Return whether a class could serve a resource: an extended one, or one with the implicit name of a class."""
    return resource.startswith(IMPLICIT_RESOURCE) or is_extended(resource)


def explicit_classes(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """Return the classes by the resources that they name; of several the newest, then the first by name."""
    found: dict[str, str] = {}
    by_name = sorted(classes, key=lambda each: each.metadata.name)
    for each in sorted(by_name, key=lambda each: each.metadata.creation_timestamp or "", reverse=True):
        if each.spec.extended_resource_name:
            found.setdefault(each.spec.extended_resource_name, each.metadata.name)
    return found


class DeviceClasses:
    """Finds the class that serves a resource, in the current set of classes."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._explicit: dict[str, str] = {}
        self._version = -1

    @property
    def version(self) -> int:
        """Return a number that grows when a class changes."""
        return self._objects.version(DeviceClass)

    def serving(self, resource: str) -> str | None:
        """Return the name of the class that serves a resource, or None."""
        if resource.startswith(IMPLICIT_RESOURCE):
            name = resource.removeprefix(IMPLICIT_RESOURCE)
            return None if self._objects.get(DeviceClass, name) is None else name
        if self._version != self.version:
            self._version = self.version
            self._explicit = explicit_classes(self._objects.all(DeviceClass))
        name = self._explicit.get(resource, "")
        return name if name and is_extended(resource) else None

"""API objects by kind, namespace and name."""

from collections.abc import Iterable, Mapping
from typing import Any

from pilotage.framework.api.objects import NO_TROUBLES, Found, Kind


class ObjectStore:
    """Implements `framework.objects.Objects`."""

    def __init__(self) -> None:
        self._objects: dict[type, dict[str, dict[str, Any]]] = {}
        self._troubles: dict[tuple[type, str], dict[str, str]] = {}  # by kind and namespace, then by name
        self._versions: dict[type, int] = {}
        self.changes = 0  # of all kinds

    def put(self, given: Kind) -> Kind | None:
        """Add or replace an object; returns the one that it replaces."""
        kind, metadata = type(given), given.metadata
        objects = self._objects.setdefault(kind, {}).setdefault(metadata.namespace, {})
        old: Kind | None = objects.get(metadata.name)
        objects[metadata.name] = given
        if self._troubles:
            self._settle(kind, metadata.name, metadata.namespace)
        if old is None or not given.says_the_same_as(old):
            self._count_change(kind)
        return old

    def drop(self, given: Kind) -> None:
        """Forget an object, if it is there."""
        kind, metadata = type(given), given.metadata
        if self._objects.get(kind, {}).get(metadata.namespace, {}).pop(metadata.name, None) is not None:
            self._count_change(kind)

    def drop_all(self, kind: type[Kind]) -> None:
        """Forget a kind with all its objects, because no plugin reads it any more."""
        self._objects.pop(kind, None)
        self._versions.pop(kind, None)
        for place in [place for place in self._troubles if place[0] is kind]:
            del self._troubles[place]

    def note_trouble(self, kind: type[Kind], name: str, namespace: str, reason: str) -> None:
        """Record why an object cannot be decoded, until it is put or deleted."""
        self._troubles.setdefault((kind, namespace), {})[name] = reason
        self._count_change(kind)

    def forget_trouble(self, kind: type[Kind], name: str, namespace: str) -> None:
        """Forget an object that could not be decoded."""
        self._settle(kind, name, namespace)
        self._count_change(kind)

    def get(self, kind: type[Found], name: str, namespace: str = "") -> Found | None:
        """Return one object, or None."""
        return self._objects.get(kind, {}).get(namespace, {}).get(name)

    def all(self, kind: type[Found], namespace: str | None = None) -> Iterable[Found]:
        """Return all objects of a kind, or those of one namespace."""
        by_namespace = self._objects.get(kind, {})
        if namespace is not None:
            return list(by_namespace.get(namespace, {}).values())
        return [found for objects in by_namespace.values() for found in objects.values()]

    def kinds(self) -> list[type]:
        """Return the kinds that have, or once had, objects."""
        return list(self._objects)

    def all_troubles(self) -> list[tuple[type, str, str, str]]:
        """Return all objects that cannot be decoded: kind, namespace, name and the error."""
        return [(*place, name, reason) for place, named in self._troubles.items() for name, reason in named.items()]

    def troubles(self, kind: type[Kind], namespace: str = "") -> Mapping[str, str]:
        """Return the names of existing objects that cannot be decoded, with their errors."""
        return self._troubles.get((kind, namespace), NO_TROUBLES)

    def version(self, *kinds: type[Kind]) -> int:
        """Return a number that grows with every change of an object of these kinds."""
        if len(kinds) == 1:
            return self._versions.get(kinds[0], 0)
        return sum([self._versions.get(kind, 0) for kind in kinds])

    def _settle(self, kind: type, name: str, namespace: str) -> None:
        named = self._troubles.get((kind, namespace), {})
        if named.pop(name, None) is not None and not named:
            del self._troubles[kind, namespace]

    def _count_change(self, kind: type) -> None:
        self._versions[kind] = self._versions.get(kind, 0) + 1
        self.changes += 1

"""The API objects that a plugin can look up, besides nodes and pods."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar

from pilotage.kinds.kube_object import KubeObject

Kind = KubeObject

Found = TypeVar("Found", bound=Kind)
NO_TROUBLES: Mapping[str, str] = MappingProxyType({})


class Objects(Protocol):
    """Objects by kind, namespace and name, as last seen."""

    @property
    def changes(self) -> int:
        """Return how many changes of objects of any kind there were."""

    def get(self, kind: type[Found], name: str, namespace: str = "") -> Found | None:
        """Return one object, or None."""

    def all(self, kind: type[Found], namespace: str | None = None) -> Iterable[Found]:
        """Return all objects of a kind, or those of one namespace."""

    def troubles(self, kind: type[Kind], namespace: str = "") -> Mapping[str, str]:
        """Return the names of objects that exist and cannot be decoded, and what is wrong with each.

        `get` and `all` do not return them: their previous state is not used any more.
        """

    def version(self, *kinds: type[Kind]) -> int:
        """Return a number that grows with every change of an object of these kinds, or of the troubles with them: what
        was derived still holds while it stays."""


class _NoObjects:
    """A cluster without any."""

    changes = 0

    def get(self, kind: type[Found], name: str, namespace: str = "") -> Found | None:
        """Return None."""
        return None

    def all(self, kind: type[Found], namespace: str | None = None) -> Iterable[Found]:
        """Return nothing."""
        return ()

    def troubles(self, kind: type[Kind], namespace: str = "") -> Mapping[str, str]:
        """Return nothing."""
        return NO_TROUBLES

    def version(self, *kinds: type[Kind]) -> int:
        """Return the only version there is."""
        return 0


NO_OBJECTS: Objects = _NoObjects()

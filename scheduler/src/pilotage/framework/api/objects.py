"""The API objects that a plugin can look up, other than nodes and pods."""

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
        """Return the number of changes of all objects so far."""

    def get(self, kind: type[Found], name: str, namespace: str = "") -> Found | None:
        """Return one object, or None."""

    def all(self, kind: type[Found], namespace: str | None = None) -> Iterable[Found]:
        """Return all objects of a kind, or those of one namespace."""

    def troubles(self, kind: type[Kind], namespace: str = "") -> Mapping[str, str]:
        """Return the names of existing objects that cannot be decoded, with their errors.

        `get` and `all` do not return them, not even in their previous state.
        """

    def version(self, *kinds: type[Kind]) -> int:
        """Return a number that grows with every change of these kinds, including decoding errors: while it stays the
        same, derived results are valid."""


class _NoObjects:
    """A cluster without objects."""

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
        """Return a constant: nothing changes."""
        return 0


NO_OBJECTS: Objects = _NoObjects()

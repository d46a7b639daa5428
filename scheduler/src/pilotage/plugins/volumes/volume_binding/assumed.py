"""Assumed changes to API objects: decided but not yet seen, and visible to later decisions."""

from typing import Generic, Protocol, TypeVar

from pilotage.framework.api.verdicts import PluginFailed
from pilotage.model.metadata import Metadata


class Stored(Protocol):
    """An object as in the API."""

    metadata: Metadata


Obj = TypeVar("Obj", bound=Stored)
Key = tuple[str, str]


class Assumption(Generic[Obj]):
    """The assumed state of an object, and its state at the decision."""

    __slots__ = ("changed", "holders", "key", "seen")

    def __init__(self, key: Key, seen: Obj, changed: Obj) -> None:
        self.key = key
        self.seen = seen
        self.changed = changed
        self.holders = 0

    def stands(self, stored: Obj) -> bool:
        """Return whether there is no newer version."""
        version = stored.metadata.resource_version
        # In a simulation there are no versions, but also no updates.
        return stored is self.seen or bool(version and version == self.seen.metadata.resource_version)


class Assumed(Generic[Obj]):
    """The assumed states of objects of one kind; a newer version from the API ends an assumption."""

    def __init__(self) -> None:
        self._assumptions: dict[Key, Assumption[Obj]] = {}

    def __len__(self) -> int:
        """Return the number of assumptions."""
        return len(self._assumptions)

    def current(self, stored: Obj) -> Obj:
        """Return an object with its assumed state."""
        assumption = self._assumptions.get(_key(stored))
        if assumption is None:
            return stored
        if assumption.stands(stored):
            return assumption.changed
        del self._assumptions[assumption.key]
        return stored

    def assume(self, stored: Obj | None, changed: Obj, kind: str) -> Assumption[Obj]:
        """Assume a change until it is released as often as it was assumed; PluginFailed if it is outdated."""
        key = _key(changed)
        if stored is None:
            raise PluginFailed(f'{kind} "{_written(key)}" not found')
        now, then = stored.metadata.resource_version, changed.metadata.resource_version
        if now != then:
            raise PluginFailed(f'"{_written(key)}" is out of sync (stored: {now}, assume: {then})')
        assumption = self._assumptions.get(key)
        if assumption is None or not assumption.stands(stored):
            assumption = self._assumptions[key] = Assumption(key, stored, changed)
        assumption.changed = changed
        assumption.holders += 1
        return assumption

    def release(self, assumption: Assumption[Obj]) -> None:
        """Release a change, unless other pods hold it or it has already ended."""
        assumption.holders -= 1
        if assumption.holders <= 0 and self._assumptions.get(assumption.key) is assumption:
            del self._assumptions[assumption.key]


def _key(given: Stored) -> Key:
    return given.metadata.namespace, given.metadata.name


def _written(key: Key) -> str:
    namespace, name = key
    return f"{namespace}/{name}" if namespace else name

"""Assumed changes to API objects: decided but not yet seen, and visible to later decisions."""

from typing import Generic, Protocol, TypeVar

from pilotage.framework.api.verdicts import PluginFailed
from pilotage.model.metadata import Metadata


class Stored(Protocol):
    """An object as the API has it."""

    metadata: Metadata


Obj = TypeVar("Obj", bound=Stored)
Key = tuple[str, str]


class Assumption(Generic[Obj]):
    """An object as it will be, and as it was when that was decided."""

    __slots__ = ("changed", "holders", "key", "seen")

    def __init__(self, key: Key, seen: Obj, changed: Obj) -> None:
        self.key = key
        self.seen = seen
        self.changed = changed
        self.holders = 0

    def stands(self, stored: Obj) -> bool:
        """Return whether there is no newer version."""
        version = stored.metadata.resource_version
        # A simulation has no versions, but its objects are not updated either.
        return stored is self.seen or bool(version and version == self.seen.metadata.resource_version)


class Assumed(Generic[Obj]):
    """Objects of one kind as they will be; a newer one from the API ends the assumption."""

    def __init__(self) -> None:
        self._assumptions: dict[Key, Assumption[Obj]] = {}

    def __len__(self) -> int:
        """Return how many assumptions there are."""
        return len(self._assumptions)

    def current(self, stored: Obj) -> Obj:
        """Return an object as it will be."""
        assumption = self._assumptions.get(_key(stored))
        if assumption is None:
            return stored
        if assumption.stands(stored):
            return assumption.changed
        del self._assumptions[assumption.key]
        return stored

    def assume(self, stored: Obj | None, changed: Obj, kind: str) -> Assumption[Obj]:
        """Hold a change until it is released as often as it was assumed, or raise PluginFailed if it is outdated."""
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
        """Release a change, unless it is held by others or already over."""
        assumption.holders -= 1
        if assumption.holders <= 0 and self._assumptions.get(assumption.key) is assumption:
            del self._assumptions[assumption.key]


def _key(given: Stored) -> Key:
    return given.metadata.namespace, given.metadata.name


def _written(key: Key) -> str:
    namespace, name = key
    return f"{namespace}/{name}" if namespace else name

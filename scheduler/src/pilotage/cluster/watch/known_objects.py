"""The last known objects of one resource, and the sink that receives their changes."""

import logging
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from pilotage.cluster.watch.resources import ApiObject, T
from pilotage.cluster.watch.watch_events import ObjectIdentity, UndecodableObject
from pilotage.cluster.write.turn import Turn
from pilotage.model.metadata import Metadata

log = logging.getLogger(__name__)

UNKNOWN = -1
LONGEST_VERSION = 39  # digits, as many as 128 bits have
MOST_PASSED = 4096  # remembered deletions; late events of an object arrive soon after its deletion

T_contra = TypeVar("T_contra", bound=ApiObject, contravariant=True)


class Sink(Protocol[T_contra]):
    """Receives changes; if it raises, only that change is lost."""

    def added(self, new: T_contra) -> None:
        """Handle a new object."""

    def updated(self, old: T_contra, new: T_contra) -> None:
        """Handle the new state of an object."""

    def deleted(self, last: T_contra) -> None:
        """Handle a deletion; the object is its last known state."""

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Handle an object that cannot be decoded; its last known state was either deleted before, or stays valid."""

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Handle the deletion of an undecodable object; one that becomes decodable is just added."""


def version_number(version: str) -> int:
    """Return a resource version as a comparable number, or UNKNOWN."""
    if len(version) <= LONGEST_VERSION and version.isdecimal() and version.isascii():
        return int(version)
    return UNKNOWN


def key_of(metadata: Metadata | ObjectIdentity) -> str:
    """Return namespace/name, or the name of a cluster-scoped object."""
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


class KnownObjects(Generic[T]):
    """Keeps the newest state of each object, even if events are repeated or out of order.

    Resource versions say which of two states is newer. If one of them is not a number, the later event wins.
    """

    def __init__(self, sink: Sink[T] | None = None, outlasts: Callable[[T], bool] = lambda _: False) -> None:
        self.objects: dict[str, T] = {}
        self.undecodable: dict[str, UndecodableObject] = {}
        self.duplicates = 0  # events without a change
        self.sink_errors = 0
        self._sink = sink
        self._outlasts = outlasts  # whether the last decodable state stays valid while the object is undecodable
        self._listed = UNKNOWN  # events up to this version are old
        self._passed: dict[str, int] = {}  # the version at which an object was deleted, or could not be decoded

    def put(self, new: T) -> bool:
        """Set the current state of an object; False if the event is old."""
        metadata = new.metadata
        key = key_of(metadata)
        old = self.objects.get(key)
        if not self._is_news(key, old, metadata.resource_version):
            self.duplicates += 1
            return False
        if self.undecodable:
            self.undecodable.pop(key, None)
        self._store(key, old, new)
        return True

    def remove(self, gone: ObjectIdentity) -> bool:
        """Remove an object; False if the event is old."""
        key = key_of(gone)
        old = self.objects.get(key)
        broken = self.undecodable.get(key)
        last = old.metadata if old is not None else broken.metadata if broken is not None else None
        if not (_ends(gone, last) if last is not None else self._is_news(key, None, gone.resource_version)):
            self.duplicates += 1
            return False
        self._depart(key, old, gone.resource_version)
        if broken is not None:
            self._notify_vanished(broken)
        return True

    def lose(self, broken: UndecodableObject) -> bool:
        """Record an undecodable state; False if the event is old."""
        key = key_of(broken.metadata)
        old = self.objects.get(key)
        if not self._is_news(key, old, broken.metadata.resource_version):
            self.duplicates += 1
            return False
        if self._still_counts(old, broken):
            self._pass(key, broken.metadata.resource_version)
        else:
            self._depart(key, old, broken.metadata.resource_version)
        self._note(key, broken)
        return True

    async def replace(self, listed: "KnownObjects[T]", version: str) -> None:
        """Replace all objects by a list at a version, and report only the differences, deletions last.

        A reader in between sees too many objects rather than too few, so that nothing in use looks free.
        """
        self._listed = version_number(version)
        self._passed.clear()
        turn = Turn()
        for key, new in listed.objects.items():
            self.undecodable.pop(key, None)
            old = self.objects.get(key)
            if old is None or not _same_state(old.metadata, new.metadata):
                self._store(key, old, new)
            if turn.step():
                await turn.give_way()
        kept = set()
        for key, broken in listed.undecodable.items():
            known, old = self.undecodable.get(key), self.objects.get(key)
            if is_kept := self._still_counts(old, broken):
                kept.add(key)
            if known is None or not _same_state(known.metadata, broken.metadata):
                if not is_kept:
                    self._depart(key, old, "")
                self._note(key, broken)
        for key in self.objects.keys() - listed.objects.keys() - kept:
            self._depart(key, self.objects[key], "")
            if turn.step():
                await turn.give_way()
        for key in self.undecodable.keys() - listed.undecodable.keys():
            self._notify_vanished(self.undecodable.pop(key))

    def _is_news(self, key: str, old: T | None, version: str) -> bool:
        number = version_number(version)
        if number == UNKNOWN:
            return True
        known = UNKNOWN if old is None else version_number(old.metadata.resource_version)
        return number > self._listed and number > known and number > self._passed.get(key, UNKNOWN)

    def _still_counts(self, old: T | None, broken: UndecodableObject) -> bool:
        return old is not None and old.metadata.uid == broken.metadata.uid and self._outlasts(old)

    def _store(self, key: str, old: T | None, new: T) -> None:
        self.objects[key] = new
        if self._sink is None:
            return
        if old is None:
            self._notify(self._sink.added, new)
        elif old.metadata.uid == new.metadata.uid:
            self._notify(self._sink.updated, old, new)
        else:
            self._notify(self._sink.deleted, old)
            self._notify(self._sink.added, new)

    def _depart(self, key: str, old: T | None, version: str) -> None:
        self.undecodable.pop(key, None)
        self._pass(key, version)
        if old is not None:
            del self.objects[key]
            if self._sink is not None:
                self._notify(self._sink.deleted, old)

    def _pass(self, key: str, version: str) -> None:
        number = version_number(version)
        if number != UNKNOWN:
            self._passed[key] = max(number, self._passed.pop(key, UNKNOWN))
            if len(self._passed) > MOST_PASSED:
                del self._passed[next(iter(self._passed))]

    def _note(self, key: str, broken: UndecodableObject) -> None:
        self.undecodable[key] = broken
        if self._sink is not None:
            self._notify(self._sink.undecodable, broken.metadata, broken.reason)

    def _notify_vanished(self, broken: UndecodableObject) -> None:
        if self._sink is not None:
            self._notify(self._sink.vanished, broken.metadata)

    def _notify(self, say: Callable[..., None], *what: Any) -> None:
        try:
            say(*what)
        except Exception:
            self.sink_errors += 1
            log.exception("cannot process a change: %r", key_of(getattr(what[-1], "metadata", what[0])))


def _same_state(one: Metadata | ObjectIdentity, other: Metadata | ObjectIdentity) -> bool:
    return bool(one.resource_version) and (one.uid, one.resource_version) == (other.uid, other.resource_version)


def _ends(gone: ObjectIdentity, last: Metadata | ObjectIdentity) -> bool:
    """Return whether a deletion is of the last known state, or of a later one."""
    deletion, known = version_number(gone.resource_version), version_number(last.resource_version)
    if UNKNOWN in (deletion, known):
        return gone.uid == last.uid
    # Some servers send a deletion with the version of the last state.
    return deletion > known or (deletion == known and gone.uid == last.uid)

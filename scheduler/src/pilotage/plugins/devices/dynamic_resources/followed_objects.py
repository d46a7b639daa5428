"""Passes on how the objects of a kind change, whether or not somebody notifies about it."""

from collections.abc import Callable
from typing import Generic

from pilotage.framework.api.objects import Found, Objects

Key = tuple[str, str]  # namespace and name


class FollowedObjects(Generic[Found]):
    """Knows what has been passed on, and catches up.

    A running scheduler notifies about each change. Simulations and what-ifs change objects without a word: the version
    of the kind shows that, and all objects are compared.
    """

    def __init__(self, kind: type[Found], tell: Callable[[Found | None, Found | None], object]) -> None:
        self._kind = kind
        self._tell = tell
        self._known: dict[Key, Found] = {}
        self._version = 0

    def noticed(self, objects: Objects, key: Key) -> None:
        """Pass on a change of one object, unless that was done already."""
        now, before = objects.get(self._kind, key[1], key[0]), self._known.get(key)
        if now is before:
            return
        self._pass_on(key, before, now)
        if (version := objects.version(self._kind)) - self._version == 1:  # nothing else has changed
            self._version = version

    def catch_up(self, objects: Objects) -> None:
        """Pass on everything that changed without notice."""
        version = objects.version(self._kind)
        if version == self._version:
            return
        there = {(each.metadata.namespace, each.metadata.name): each for each in objects.all(self._kind)}
        for key in [key for key in self._known if key not in there]:
            self._pass_on(key, self._known[key], None)
        for key, now in there.items():
            if (before := self._known.get(key)) is not now:
                self._pass_on(key, before, now)
        self._version = version

    def _pass_on(self, key: Key, before: Found | None, now: Found | None) -> None:
        if now is None:
            del self._known[key]
        else:
            self._known[key] = now
        self._tell(before, now)

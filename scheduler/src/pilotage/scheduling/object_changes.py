"""Notifies plugins that follow a kind about changes of its objects."""

import logging
from collections.abc import Callable
from functools import partial

from pilotage.framework.api.handle import Follower
from pilotage.framework.api.objects import Kind

log = logging.getLogger(__name__)


class ObjectChanges:
    """Notifies every follower of a kind; one that fails does not affect the others."""

    def __init__(self) -> None:
        self._followers: dict[type[Kind], list[Follower]] = {}

    def follow(self, kind: type[Kind], follower: Follower) -> Callable[[], None]:
        """Call a function for every change of a kind's objects; returns a function that ends this."""
        self._followers.setdefault(kind, []).append(follower)
        return partial(self._unfollow, kind, follower)

    def notify(self, changed: Kind) -> None:
        """Notify about an object that was added, changed or deleted."""
        for follower in tuple(self._followers.get(type(changed), ())):
            try:
                follower(changed)
            except Exception:
                log.exception("%s failed on %s %s", follower, type(changed).__name__, changed.metadata.name)

    def _unfollow(self, kind: type[Kind], follower: Follower) -> None:
        followers = self._followers[kind]
        followers.remove(follower)
        if not followers:
            del self._followers[kind]

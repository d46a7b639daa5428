"""A number for each visible state, larger than all before it, even those of earlier processes."""

import time

from pilotage.views.state import State

_EACH_SECOND = 1 << 20  # so many states a second stay below the numbers of a later process


class Revisions:
    """Compares the versions of all parts of a state."""

    def __init__(self, state: State, began: float | None = None) -> None:
        self._state = state
        self._number = int(time.time() if began is None else began) * _EACH_SECOND
        self._seen: tuple[object, ...] = ()

    def now(self) -> int:
        """Return the number of the current state."""
        seen = self._look()
        if seen != self._seen:
            self._seen = seen
            self._number += 1
        return self._number

    def _look(self) -> tuple[object, ...]:
        state, nodes = self._state, self._state.cache.nodes()
        queue, log = state.queue, state.log
        waiting = len(queue), queue.cycles, queue.incoming.total(), len(state.waiting)
        decided = log.count, log.bound.total(), log.hash
        return *waiting, *decided, nodes.pods_version, nodes.static_version, state.cache.objects.changes
